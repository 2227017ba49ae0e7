//! What is written is read back: every kind, type, byte order and dialect; appending.

use std::fs;
use std::sync::Arc;

use kymo_bp::{Bp, Data, Dialect, Dimension, LongDouble, Options, Reader, Writer};
use kymo_core::bytes::{Endian, Limits};
use kymo_core::{Context, Source};
use kymo_model::Format;
use proptest::prelude::*;

fn every_option() -> impl Iterator<Item = Options> {
    let both = [Endian::Little, Endian::Big];
    both.into_iter().flat_map(|endian| Dialect::ALL.map(|dialect| Options { endian, dialect }))
}

fn read(bytes: Vec<u8>) -> Arc<Reader> {
    Reader::open(&Source::from_bytes("test.bp", bytes), &Context::default()).unwrap()
}

/// One scalar of each type that every dialect has.
fn scalars() -> Vec<(&'static str, Data<'static>, &'static str)> {
    const HALF: &[LongDouble] =
        &[LongDouble([0, 0, 0, 0, 0, 0, 0, 0x80, 0xFE, 0x3F, 0, 0, 0, 0, 0, 0])];
    vec![
        ("char", Data::Char(&[-3]), "-3"),
        ("short", Data::Short(&[-300]), "-300"),
        ("int", Data::Int(&[-70_000]), "-70000"),
        ("long", Data::Long(&[-5_000]), "-5000"),
        ("longlong", Data::LongLong(&[-6_000]), "-6000"),
        ("float", Data::Float(&[0.1]), "0.1"),
        ("double", Data::Double(&[0.2]), "0.2"),
        ("longdouble", Data::LongDouble(HALF), "0.5"),
        ("pointer", Data::Pointer(&[0xABCD]), "0xabcd"),
        ("string", Data::String("héllo"), "héllo"),
        ("complex", Data::Complex(&[[1.5, -2.5]]), "(1.5, -2.5)"),
        ("uchar", Data::UChar(&[250]), "250"),
        ("ushort", Data::UShort(&[65_000]), "65000"),
        ("uint", Data::UInt(&[4_000_000_000]), "4000000000"),
        ("ulong", Data::ULong(&[4_000_000_000]), "4000000000"),
        ("ulonglong", Data::ULongLong(&[4_000_000_000]), "4000000000"),
    ]
}

/// The texts of a table's column.
fn column(bytes: &[u8], table: &str, name: &str) -> Vec<String> {
    use arrow_array::cast::AsArray;
    let source = Source::from_bytes("test.bp", bytes.to_vec());
    let dataset = Bp.open(&source, &Context::default()).unwrap();
    let table = dataset.table(table).unwrap();
    let index = table.schema().index_of(name).unwrap();
    let batches = table.scan(&kymo_model::table::Scan::default()).unwrap();
    batches
        .flat_map(|batch| {
            let batch = batch.unwrap();
            let column = batch.column(index).as_string::<i32>().iter();
            column.map(|text| text.unwrap_or_default().to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn every_type_comes_back_in_every_dialect_and_byte_order() {
    for options in every_option() {
        let mut writer = Writer::new(Vec::new(), options);
        for (name, value, _) in scalars() {
            writer.scalar("/s", name, value).unwrap();
            writer.dataset_attribute("/s/int", name, value).unwrap();
            writer.group_attribute("/s", name, value).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let reader = read(bytes.clone());
        assert_eq!(reader.endian(), options.endian);
        assert_eq!(reader.dialect(), Some(options.dialect), "{options:?}");
        assert_eq!(reader.findings(), []);
        let texts = column(&bytes, "elements", "text");
        let expected: Vec<_> = scalars().iter().flat_map(|(_, _, text)| [*text; 3]).collect();
        assert_eq!(texts, expected, "{options:?}");
    }
}

#[test]
fn double_complex_is_only_in_the_dialect_that_has_it() {
    for options in every_option() {
        let mut writer = Writer::new(Vec::new(), options);
        let written = writer.scalar("/", "z", Data::DoubleComplex(&[[1.0, 2.0]]));
        assert_eq!(written.is_ok(), options.dialect == Dialect::V2008_07_15);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_no_trace() {
    let dialect = Dialect::V2008_06_04;
    let mut writer = Writer::new(Vec::new(), Options { dialect, ..Options::default() });
    let error = writer.scalar("/", "n", Data::LongLong(&[1 << 40])).unwrap_err();
    assert!(error.to_string().contains("1099511627776 does not fit"), "{error}");
    let shape = [Dimension::local(2)];
    assert!(writer.dataset("/", "d", &shape, Data::LongLong(&[1, 1 << 40])).is_err());
    assert!(writer.dataset("/", "d", &shape, Data::Int(&[1])).is_err());
    assert!(writer.dataset("/", "d", &shape, Data::Int(&[1, 2, 3])).is_err());
    assert!(writer.dataset("/", "d", &[Dimension::local(-1)], Data::Int(&[])).is_err());
    assert!(writer.dataset("/", "d", &[Dimension::local(1 << 30)], Data::Double(&[])).is_err());
    assert!(writer.scalar("/", "n", Data::Int(&[1, 2])).is_err());
    let raw =
        |element_bytes, bytes| Data::Raw { datatype: kymo_bp::Datatype(77), element_bytes, bytes };
    assert!(writer.scalar("/", "r", raw(4, &[1, 2, 3, 4, 5])).is_err());
    assert!(writer.dataset("/", "r", &shape, raw(2, &[1, 2, 3, 4, 5])).is_err());
    assert!(writer.begin_dataset("/", "s", &shape, &Data::String("ab")).is_err());
    assert_eq!(writer.finish().unwrap(), [0; 0]);
}

#[test]
fn a_dataset_can_come_in_pieces() {
    let shape = [Dimension::global(2, 4, 2), Dimension::global(3, 3, 0)];
    let mut whole = Writer::new(Vec::new(), Options::default());
    whole.dataset("/g", "x", &shape, Data::Double(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])).unwrap();
    let mut pieces = Writer::new(Vec::new(), Options::default());
    let mut dataset = pieces.begin_dataset("/g", "x", &shape, &Data::Double(&[])).unwrap();
    dataset.write(Data::Double(&[0.0, 1.0])).unwrap();
    dataset.write(Data::Double(&[2.0, 3.0, 4.0, 5.0])).unwrap();
    dataset.finish().unwrap();
    assert_eq!(pieces.finish().unwrap(), whole.finish().unwrap());
}

/// The bytes of a scalar, worked out by hand from the specification.
#[test]
fn a_scalar_is_laid_out_as_specified() {
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.scalar("/", "a", Data::Int(&[7])).unwrap();
    #[rustfmt::skip]
    let expected = [
        38, 0, 0, 0,
        3, 0, 0, 0,  1, 0, 0, 0,  b'a',
        4, 0, 0, 0,  1, 0, 0, 0,  b'/',
        5, 0, 0, 0,  4, 0, 0, 0,  2, 0, 0, 0,  7, 0, 0, 0,
    ];
    assert_eq!(writer.finish().unwrap(), expected);
}

#[test]
fn appending_keeps_the_byte_order_the_sizes_and_the_way_the_file_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.bp");
    for options in every_option() {
        for zero_word in [false, true] {
            let mut writer = Writer::new(Vec::new(), options);
            if zero_word {
                writer = writer.with_zero_word();
            }
            for (name, value, _) in scalars() {
                writer.scalar("/", name, value).unwrap();
            }
            fs::write(&path, writer.finish().unwrap()).unwrap();
            let before = fs::read(&path).unwrap();

            let source = Source::open(&path, &Limits::default()).unwrap();
            let mut appended = Writer::append(&source, &Context::default()).unwrap();
            appended.scalar("/", "added", Data::Long(&[1])).unwrap();
            appended.scalar("/", "more", Data::Complex(&[[1.0, 2.0]])).unwrap();
            // What is not committed does not count.
            assert_eq!(read(fs::read(&path).unwrap()).len(), scalars().len());
            appended.commit().unwrap();

            let after = fs::read(&path).unwrap();
            let reader = read(after.clone());
            assert_eq!(reader.len(), scalars().len() + 2);
            assert_eq!(reader.dialect(), Some(options.dialect));
            assert_eq!(reader.findings(), []);
            assert_eq!(after.ends_with(&[0; 4]) && zero_word, zero_word);
            let kept = before.len() - if zero_word { 4 } else { 0 };
            assert_eq!(after[..kept], before[..kept]);
        }
    }
}

#[test]
fn complex_numbers_are_not_narrowed_in_silence() {
    let dialect = Dialect::V2008_07_15;
    let mut writer = Writer::new(Vec::new(), Options { dialect, ..Options::default() });
    for value in [[1e300, 0.0], [0.0, 0.1]] {
        let error = writer.scalar("/", "z", Data::Complex(&[value])).unwrap_err();
        assert!(error.to_string().contains("DoubleComplex holds it"), "{error}");
        writer.scalar("/", "z", Data::DoubleComplex(&[value])).unwrap();
    }
    writer.scalar("/", "z", Data::Complex(&[[1.5, f64::INFINITY]])).unwrap();
}

#[test]
fn what_is_appended_and_not_committed_goes_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.bp");
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.scalar("/", "a", Data::Int(&[7])).unwrap();
    let before = writer.finish().unwrap();
    fs::write(&path, &before).unwrap();
    let source = Source::open(&path, &Limits::default()).unwrap();
    let mut appended = Writer::append(&source, &Context::default()).unwrap();
    appended.scalar("/", "b", Data::Int(&[8])).unwrap();
    drop(appended);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn nothing_is_appended_over_data_that_stands_after_the_end() {
    let path = kymo_conformance::testdata("bp/v1-2008-07-11/08c_data_after_zero_word.bp");
    let source = Source::open(&path, &Limits::default()).unwrap();
    let error = Writer::append(&source, &Context::default()).unwrap_err();
    assert!(error.to_string().contains("repair the file first"), "{error}");
}

/// An element as a test makes it up.
#[derive(Debug, Clone)]
enum Made {
    Scalar(String, String, f64),
    Text(String, String, String),
    Attribute(String, String, i32),
    Group(String, String),
    Array(String, String, Vec<u8>, bool),
}

fn made() -> impl Strategy<Value = Made> {
    let name = || "[a-zA-Z0-9_µ ]{0,12}";
    let path = || "(/?[a-z]{0,4}){0,3}";
    prop_oneof![
        (path(), name(), any::<f64>()).prop_map(|(p, n, v)| Made::Scalar(p, n, v)),
        (path(), name(), ".{0,20}").prop_map(|(p, n, v)| Made::Text(p, n, v)),
        (path(), name(), any::<i32>()).prop_map(|(p, n, v)| Made::Attribute(p, n, v)),
        (path(), name()).prop_map(|(p, n)| Made::Group(p, n)),
        (path(), name(), prop::collection::vec(0_u8..4, 0..4), any::<bool>())
            .prop_map(|(p, n, shape, global)| Made::Array(p, n, shape, global)),
    ]
}

fn write(writer: &mut Writer<Vec<u8>>, made: &Made) {
    match made {
        Made::Scalar(path, name, value) => writer.scalar(path, name, Data::Double(&[*value])),
        Made::Text(path, name, value) => writer.scalar(path, name, Data::String(value)),
        Made::Attribute(path, name, value) => {
            writer.dataset_attribute(path, name, Data::Int(&[*value]))
        }
        Made::Group(path, name) => writer.group(path, name),
        Made::Array(path, name, shape, global) => {
            let dimension = |&bound: &u8| match global {
                true => Dimension::global(bound.into(), 4, (4 - bound).into()),
                false => Dimension::local(bound.into()),
            };
            let dimensions: Vec<_> = shape.iter().map(dimension).collect();
            let volume: u16 = shape.iter().map(|&bound| u16::from(bound)).product();
            let values: Vec<f32> = (0..volume).map(f32::from).collect();
            writer.dataset(path, name, &dimensions, Data::Float(&values))
        }
    }
    .unwrap();
}

proptest! {
    #[test]
    fn whatever_is_written_reads_back_and_is_written_the_same_again(
        elements in prop::collection::vec(made(), 1..12),
        big: bool,
        zero_word: bool,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let options = Options { endian, ..Options::default() };
        let mut writer = Writer::new(Vec::new(), options);
        if zero_word {
            writer = writer.with_zero_word();
        }
        for element in &elements {
            write(&mut writer, element);
        }
        let bytes = writer.finish().unwrap();
        let reader = read(bytes.clone());
        prop_assert_eq!(reader.endian(), endian);
        prop_assert_eq!(reader.len(), elements.len());
        prop_assert!(reader.elements().all(|element| element.fault.is_none()));
        let mut again = Writer::new(Vec::new(), options);
        let mut turned = Writer::new(Vec::new(), Options {
            endian: if big { Endian::Little } else { Endian::Big },
            ..options
        });
        for element in reader.elements() {
            again.copy(&element, endian).unwrap();
            turned.copy(&element, endian).unwrap();
        }
        let again = again.finish().unwrap();
        prop_assert_eq!(&again[..], &bytes[..again.len()]);
        // The other byte order holds the same values.
        let turned = turned.finish().unwrap();
        prop_assert_eq!(column(&turned, "elements", "text"), column(&again, "elements", "text"));
    }
}
