//! Variables, steps, blocks and attributes of files whose contents are known.

use std::fs;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use kymo_bp::{Bp, Data, Dimension, Options, Writer};
use kymo_conformance::{shared, testdata};
use kymo_core::{Context, Source, Value};
use kymo_model::Format;
use kymo_model::arrays::{
    ArraysView, Chunks, Order, Selection, Target, VariableId, VariableKind, statistics,
};

fn view(bytes: Vec<u8>) -> Arc<dyn ArraysView> {
    let source = Source::from_bytes("test.bp", bytes);
    Bp.open(&source, &Context::default()).unwrap().arrays().unwrap()
}

fn sample(name: &str) -> Arc<dyn ArraysView> {
    view(fs::read(testdata(format!("bp/v1-2008-07-11/{name}.bp"))).unwrap())
}

fn find(view: &Arc<dyn ArraysView>, path: &str) -> VariableId {
    let found = view.find(path);
    assert_eq!(found.len(), 1, "{path}");
    found[0]
}

fn read(view: &Arc<dyn ArraysView>, path: &str, step: u64, order: Order) -> ArrayRef {
    let id = find(view, path);
    let variable = view.variable(id);
    let step = view.step(id, step).unwrap();
    let selection = Selection::all(&step.shape);
    let view = Arc::clone(view);
    let mut chunks =
        Chunks::new(view, variable.data_type, step, &selection, order, 1 << 20).unwrap();
    let chunk = chunks.next().unwrap().unwrap();
    assert!(chunks.next().is_none());
    chunk.values
}

/// Four blocks of 2 × 3 whose values count through the global array of 4 × 6 (the old tool's
/// output beside the file shows each).
#[test]
fn blocks_join_into_one_global_array() {
    let view = sample("03_global_blocks");
    let variable = view.variable(find(&view, "/fields/temperature"));
    assert_eq!(variable.kind, VariableKind::Global);
    assert_eq!((variable.steps, variable.blocks), (1, 4));
    assert_eq!(variable.max_shape, [4, 6]);
    let values = read(&view, "/fields/temperature", 0, Order::C);
    let expected: Vec<f64> = (0..24).map(f64::from).collect();
    assert_eq!(values.as_primitive::<Float64Type>().values(), &expected[..]);
    let cube = read(&view, "cube", 0, Order::C);
    let expected: Vec<i32> = (0..64).collect();
    assert_eq!(cube.as_primitive::<Int32Type>().values(), &expected[..]);
}

#[test]
fn repeated_names_are_steps_whose_shape_may_change() {
    let view = sample("06_timesteps");
    let istep = view.variable(find(&view, "/istep"));
    assert_eq!((istep.kind, istep.steps), (VariableKind::Scalar, 5));
    let growing = view.variable(find(&view, "growing"));
    assert_eq!((growing.steps, growing.min_shape, growing.max_shape), (2, vec![3], vec![4]));
    for step in 0..5_u8 {
        let values = read(&view, "/field", step.into(), Order::C);
        let first = f32::from(step) * 100.0;
        let expected: Vec<f32> = (0..6_u8).map(|i| first + f32::from(i)).collect();
        assert_eq!(values.as_primitive::<Float32Type>().values(), &expected[..]);
    }
}

/// Two processes, two steps: as one run after the other, and taking turns.
#[test]
fn steps_are_found_however_the_processes_wrote() {
    let block = |writer: &mut Writer<Vec<u8>>, rank: i32, step: i32| {
        let shape = [Dimension::global(2, 4, rank * 2)];
        let first = step * 100 + rank * 2;
        writer.dataset("/", "x", &shape, Data::Int(&[first, first + 1])).unwrap();
    };
    for order in [[(0, 0), (0, 1), (1, 0), (1, 1)], [(0, 0), (1, 0), (0, 1), (1, 1)]] {
        let mut writer = Writer::new(Vec::new(), Options::default());
        for (rank, step) in order {
            block(&mut writer, rank, step);
        }
        let view = view(writer.finish().unwrap());
        for (step, first) in [(0, 0), (1, 100)] {
            let values = read(&view, "/x", step, Order::C);
            let expected: Vec<i32> = (first..first + 4).collect();
            assert_eq!(values.as_primitive::<Int32Type>().values(), &expected[..]);
        }
    }
}

/// Three steps of two processes that take turns; one block of step 1 was lost.
#[test]
fn a_lost_block_leaves_a_hole_in_its_own_step_and_is_said() {
    for lost in [0, 1] {
        let mut writer = Writer::new(Vec::new(), Options::default());
        for step in 0..3 {
            for rank in (0..2).filter(|&rank| (step, rank) != (1, lost)) {
                let first = step * 10 + rank * 2;
                let shape = [Dimension::global(2, 4, rank * 2)];
                writer.dataset("/", "x", &shape, Data::Int(&[first, first + 1])).unwrap();
            }
        }
        let source = Source::from_bytes("lost.bp", writer.finish().unwrap());
        let dataset = Bp.open(&source, &Context::default()).unwrap();
        let rules: Vec<_> = dataset.findings().iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["uneven-steps"]);
        let view = dataset.arrays().unwrap();
        for step in 0..3 {
            let values = read(&view, "/x", step, Order::C);
            let hole = if step == 1 { lost * 2..lost * 2 + 2 } else { 0..0 };
            let first = i32::try_from(step).unwrap() * 10;
            let expected = (0..4).map(|i| (!hole.contains(&i)).then_some(first + i));
            let found: Vec<_> = values.as_primitive::<Int32Type>().iter().collect();
            assert_eq!(found, expected.collect::<Vec<_>>(), "step {step}, {lost} lost");
        }
    }
}

#[test]
fn an_offset_without_a_global_bound_moves_nothing_and_is_said() {
    let mut writer = Writer::new(Vec::new(), Options::default());
    let stray = [Dimension { local_bound: 3, global_bound: 0, global_offset: 5 }];
    writer.dataset("/", "a", &stray, Data::Int(&[1, 2, 3])).unwrap();
    let mixed = [
        Dimension::global(2, 2, 0),
        Dimension { local_bound: 2, global_bound: 0, global_offset: 3 },
    ];
    writer.dataset("/", "b", &mixed, Data::Int(&[1, 2, 3, 4])).unwrap();
    let source = Source::from_bytes("stray.bp", writer.finish().unwrap());
    let dataset = Bp.open(&source, &Context::default()).unwrap();
    let rules: Vec<_> = dataset.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["global-bounds", "global-bounds"]);
    let view = dataset.arrays().unwrap();
    let values =
        |path| read(&view, path, 0, Order::C).as_primitive::<Int32Type>().values().to_vec();
    assert_eq!(values("/a"), [1, 2, 3]);
    assert_eq!(values("/b"), [1, 2, 3, 4]);
}

#[test]
fn attributes_find_what_they_describe_before_or_after_it() {
    let view = sample("04_attributes");
    let attributes = view.attributes();
    assert_eq!(attributes.len(), 18);
    let first = &attributes[0];
    // It stands before its dataset.
    assert_eq!((first.target, first.path.as_str()), (Target::Variable, "/g/phi"));
    assert_eq!((first.name.as_str(), &first.value), ("units", &Value::from("V")));
    let item = |path: &str| attributes.iter().find(|a| a.path == path).unwrap().target;
    assert_eq!(item("/g"), Target::Group);
    assert_eq!(item("/g/missing"), Target::Nothing);
    assert_eq!(item("/time"), Target::Nothing);
    assert_eq!(item("/g/step"), Target::Variable);
}

#[test]
fn different_spellings_of_a_path_are_one_variable() {
    let mut writer = Writer::new(Vec::new(), Options::default());
    for path in ["/g/h", "g/h/", "//g//h"] {
        writer.scalar(path, "x", Data::Int(&[1])).unwrap();
    }
    let view = view(writer.finish().unwrap());
    assert_eq!(view.variable_count(), 1);
    assert_eq!(view.variable(find(&view, "x")).steps, 3);
}

#[test]
fn a_variable_that_changes_its_type_is_two() {
    let bytes = fs::read(testdata("bp/malformed/m27_two_dst_same_name_diff_type.bp")).unwrap();
    let view = view(bytes);
    let names = view.find("/field").into_iter().map(|id| view.variable(id).type_name);
    assert_eq!(names.collect::<Vec<_>>(), ["float", "int"]);
}

/// The dump of the real file says 400 × 500; the HDF5 file made of it in 2008 has the same.
#[test]
fn the_heat_of_a_real_file_is_read_in_either_order() {
    let Some(path) = shared::file("bp/real/heat_final.bp") else { return };
    let bytes = fs::read(path).unwrap();
    let payload = &bytes[bytes.len() - 800_000..];
    let stored: Vec<f32> =
        payload.as_chunks().0.iter().map(|row| f32::from_le_bytes(*row)).collect();
    let view = view(bytes.clone());
    for order in [Order::C, Order::Fortran] {
        let values = read(&view, "temperature", 0, order);
        assert_eq!(values.as_primitive::<Float32Type>().values(), &stored[..]);
    }
    let found = statistics(&view, find(&view, "/temperature")).unwrap().unwrap();
    let least = stored.iter().copied().fold(f32::INFINITY, f32::min);
    let most = stored.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    assert_eq!((found.min, found.max), (least.into(), most.into()));
    assert_eq!(found.count, 200_000);
}

#[test]
fn the_sixteen_slices_of_a_real_file_are_found_by_path() {
    let Some(path) = shared::file("bp/real/gtc_PHI_00005.bp") else { return };
    let view = view(fs::read(path).unwrap());
    assert_eq!(view.variable_count(), 144);
    for slice in 0..16 {
        let id = find(&view, &format!("/Potential_tor{slice:05}/phi"));
        assert_eq!(view.variable(id).max_shape, [37_345, 1]);
    }
    assert_eq!(view.find("phi"), []);
}

#[test]
fn real_files_have_nothing_above_a_note() {
    shared::each("bp/real", "bp", |path| {
        let source = Source::from_bytes(path, fs::read(path).unwrap());
        let findings = Bp.check(&source, &Context::default()).unwrap();
        let worst = findings.iter().map(|finding| finding.severity).max();
        assert!(worst <= Some(kymo_core::Severity::Note), "{}: {findings:?}", path.display());
    });
}
