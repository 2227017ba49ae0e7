//! Each layout against bytes that were put together from its description.

use crate::assembled;

use crate::assembled::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, Sink};
use kymo_hpcrun::{
    Dialect, EpochHeader, Header, Id, IdKind, LoadModule, Lush, Metric, MetricFlags, MetricValue,
    Node, NodeLayout, NvPair, Place, Profile, ProfileBuilder, Str, Trace, TraceRecord, Values,
    write_profile,
};

fn open(bytes: &[u8]) -> Profile {
    Profile::open(&bytes.to_vec().into(), &Limits::default()).unwrap()
}

fn values(profile: &Profile, epoch: usize) -> Vec<(u32, u16, u64)> {
    let epoch = &profile.epochs[epoch];
    let values = epoch.values.read(&epoch.nodes, 0..usize::MAX);
    values.into_iter().map(|MetricValue { node, metric, bits, .. }| (node, metric, bits)).collect()
}

fn rewritten(profile: &Profile) -> Vec<u8> {
    let mut written = Vec::new();
    write_profile(profile, &mut written).unwrap();
    written
}

#[test]
fn the_described_layout_reads_as_it_was_put_together_in_both_byte_orders() {
    for (out, endian) in [(Bytes::little(), Endian::Little), (Bytes::big(), Endian::Big)] {
        let bytes = assembled::described(out);
        let profile = open(&bytes);
        assert_eq!(profile.header.dialect, Dialect::Described);
        assert_eq!(profile.header.endian, endian);
        assert_eq!(profile.header.value("mpi-rank").unwrap(), "3");
        assert_eq!(profile.epochs.len(), 2);
        for (epoch, is_lush) in profile.epochs.iter().zip([false, true]) {
            let header = epoch.header.as_ref().unwrap();
            assert_eq!((header.is_lush(), header.ra_distance, header.granularity), (is_lush, 1, 1));
            let metrics: Vec<_> =
                epoch.metrics.iter().map(|m| (m.name.text(), m.flags, m.period)).collect();
            let flags = MetricFlags::Described;
            let expected =
                [("PAPI_TOT_CYC".into(), flags(2), 1000), ("TIME (sec)".into(), flags(6), 1)];
            assert_eq!(metrics, expected);
            let libm = &epoch.load_modules[1];
            assert_eq!((libm.id, libm.path.text().as_ref(), libm.flags), (2, "/lib/libm.so", 7));
            let place = Place { load_addr: 0x7f00_0000_0000, load_offset: 0 };
            assert_eq!(libm.place, Some(place));
            let leaf = epoch.nodes.get(2).unwrap();
            assert_eq!((leaf.id, leaf.parent, leaf.is_leaf), (3, 2, true));
            assert_eq!(leaf.ip, 0x7f00_0000_1234);
            let lip = if endian == Endian::Big {
                0xabcd_u64.to_be_bytes().to_vec()
            } else {
                0xabcd_u64.to_le_bytes().to_vec()
            };
            assert_eq!(leaf.lush, is_lush.then_some(Lush { assoc: 0x236, lip }));
        }
        let quarter = 0.25_f64.to_bits();
        let expected = [(1, 0, 0), (1, 1, 0), (2, 0, 0), (2, 1, 0), (3, 0, 5), (3, 1, quarter)];
        assert_eq!(values(&profile, 0), expected);
        assert_eq!(values(&profile, 1), expected);
        assert_eq!(rewritten(&profile), bytes);
    }
}

#[test]
fn what_the_writer_of_2009_made_is_read_and_written_as_described() {
    let profile = open(&assembled::of_2009());
    let epoch = &profile.epochs[0];
    assert_eq!(epoch.load_modules[0].path.text(), "/opt/solver");
    assert_eq!(epoch.load_modules[0].place.unwrap().load_addr, 0x40_0000);
    assert_eq!(values(&profile, 0), [(1, 0, 0), (2, 0, 9)]);
    let again = open(&rewritten(&profile));
    assert_eq!(values(&again, 0), values(&profile, 0));
    assert_eq!(again.epochs[0].load_modules[0].path, epoch.load_modules[0].path);
}

#[test]
fn both_variants_of_02_00b_are_told_apart_by_trial() {
    for has_sampling in [false, true] {
        let bytes = assembled::shipped_0200(has_sampling);
        let profile = open(&bytes);
        let epoch = &profile.epochs[0];
        let sampling = epoch.metrics[0].sampling;
        assert_eq!(
            sampling.map(|s| (s.is_frequency, s.mean_threshold, s.samples)),
            has_sampling.then_some((1, 2.5, 77))
        );
        assert_eq!(epoch.load_modules[0].path.text(), "/opt/solver");
        assert_eq!(values(&profile, 0), [(12, 0, 0), (14, 0, 0), (16, 0, 4000)]);
        assert!(epoch.nodes.get(2).unwrap().is_leaf);
        assert_eq!(rewritten(&profile), bytes);
    }
}

#[test]
fn nodes_of_04_00b_have_18_or_19_bytes() {
    for has_flags in [false, true] {
        let bytes = assembled::shipped_0400(has_flags);
        let profile = open(&bytes);
        let epoch = &profile.epochs[0];
        let node = epoch.nodes.get(3).unwrap();
        assert_eq!((node.id, node.parent, node.lm_id, node.ip), (19, 16, 1, 0x1240));
        assert_eq!(node.flags, has_flags.then_some(1));
        assert_eq!(epoch.nodes.get(1).unwrap().placeholder_name(), Some("<program root>"));
        let (half, quarter) = (0.5_f64.to_bits(), 0.25_f64.to_bits());
        assert_eq!(values(&profile, 0), [(19, 0, half), (19, 1, 7), (16, 0, quarter)]);
        assert_eq!(profile.id_tuple[1].kind(), 3);
        assert_eq!((profile.id_tuple[1].interpretation(), profile.id_tuple[1].logical), (3, 5));
        assert_eq!(rewritten(&profile), bytes);
        // Any part of the values is the same part of all of them.
        let all = values(&profile, 0);
        for start in 0..=3 {
            for end in start..=4 {
                let part = epoch.values.read(&epoch.nodes, start..end);
                let part: Vec<_> = part.iter().map(|v| (v.node, v.metric, v.bits)).collect();
                assert_eq!(part, all[start..end.min(3)]);
            }
        }
    }
}

#[test]
fn without_its_footer_every_section_of_04_00b_is_found_again() {
    for has_flags in [false, true] {
        let bytes = assembled::shipped_0400(has_flags);
        let whole = open(&bytes);
        let cut: bytes::Bytes = bytes[..bytes.len() - 1].to_vec().into();
        let error = Profile::open(&cut, &Limits::default()).unwrap_err();
        assert_eq!(error.what, "magic of the footer");
        let found = Profile::salvage(&cut, &Limits::default()).unwrap();
        assert_eq!(rewritten(&found), bytes);
        assert_eq!(values(&found, 0), values(&whole, 0));
    }
}

#[test]
fn traces_have_their_metrics_and_their_unit() {
    let open = |bytes: Vec<u8>| Trace::open(&bytes.into(), &Limits::default()).unwrap();
    for (is_old, is_data_centric) in [(true, false), (false, false), (false, true)] {
        let trace = open(assembled::trace(is_old, is_data_centric));
        assert_eq!(trace.is_in_nanoseconds(), !is_old);
        let found: Vec<_> = trace.iter(0..9).collect();
        let time = |at: u64| (1_700_000_000_000_000_000 + at) / if is_old { 1000 } else { 1 };
        let metric = is_data_centric.then_some(2);
        let expected = [
            TraceRecord { time: time(0), node: 19, metric: None },
            TraceRecord { time: time(4_000_000), node: 21, metric },
            TraceRecord { time: time(8_000_000), node: 19, metric: None },
        ];
        assert_eq!(found, expected);
        assert_eq!(trace.nanoseconds(found[1].time), Some(1_700_000_000_004_000_000));
        let mut written = Vec::new();
        trace.write(&mut written).unwrap();
        assert_eq!(written, assembled::trace(is_old, is_data_centric));
    }
}

/// A tree of four nodes with values in two metrics.
fn built() -> ProfileBuilder {
    let mut builder = ProfileBuilder::new("solver");
    let place = |load_addr| Some(Place { load_addr, load_offset: 0x1000 });
    let solver = builder.load_module("/opt/solver", place(0x40_1000)).unwrap();
    let libm = builder.load_module("/lib/libm.so", place(0x7f00_0000_0000)).unwrap();
    let time = builder.metric("TIME (sec)", "time", true).unwrap();
    let cycles = builder.metric("cycles", "", false).unwrap();
    let main = builder.child(ProfileBuilder::ROOT, solver, 0x1187);
    let sin = builder.child(main, libm, 0x2222);
    assert_eq!(builder.child(main, libm, 0x2222), sin);
    builder.add(sin, time, 0.5);
    builder.add(sin, time, 0.25);
    builder.add(sin, cycles, 12.0);
    builder.add(main, cycles, 3.0);
    assert_eq!((builder.retain(sin), builder.retain(sin)), (17, 17));
    builder.id(3 | 3 << 14, 0, 0);
    builder
}

#[test]
fn what_is_built_is_read_back_as_04_00b() {
    let mut bytes = Vec::new();
    built().write(&mut bytes).unwrap();
    let profile = open(&bytes);
    let epoch = &profile.epochs[0];
    let nodes: Vec<_> = epoch.nodes.iter().map(|n| (n.id, n.parent, n.lm_id, n.ip)).collect();
    let primary = u64::from_be_bytes(*b"^Primary");
    assert_eq!(nodes, [(12, 0, 0, primary), (14, 12, 1, 0x1187), (17, 14, 2, 0x2222)]);
    assert_eq!(values(&profile, 0), [(14, 1, 3), (17, 0, 0.75_f64.to_bits()), (17, 1, 12)]);
    assert!(epoch.load_modules.iter().all(|module| module.flags == 1));
    assert_eq!(rewritten(&profile), bytes);
}

#[test]
fn what_is_built_is_read_back_as_described_with_addresses_of_the_process() {
    let mut bytes = Vec::new();
    built().write_described(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"HPCRUN____02.00l"));
    let profile = open(&bytes);
    let epoch = &profile.epochs[0];
    let nodes: Vec<_> = epoch.nodes.iter().map(|n| (n.id, n.parent, n.is_leaf, n.ip)).collect();
    let sin = 0x7f00_0000_0000 + 0x2222 - 0x1000;
    assert_eq!(nodes, [(12, 0, false, 0), (14, 12, false, 0x40_1187), (17, 14, true, sin)]);
    let expected =
        [(12, 0, 0), (12, 1, 0), (14, 0, 0), (14, 1, 3), (17, 0, 0.75_f64.to_bits()), (17, 1, 12)];
    assert_eq!(values(&profile, 0), expected);
    assert!(matches!(epoch.values, Values::Dense));
    assert_eq!(rewritten(&profile), bytes);
}

/// Reads something by itself from bytes that were put together, writes it again, and prints it.
fn each_way<T: std::fmt::Display>(
    bytes: &Bytes,
    read: impl Fn(&mut Cursor<'_>) -> kymo_core::bytes::ReadResult<T>,
    write: impl Fn(&T, &mut Sink) -> std::io::Result<()>,
) -> String {
    let mut cursor = Cursor::new(&bytes.bytes, Endian::Big);
    let value = read(&mut cursor).unwrap();
    assert_eq!(cursor.remaining(), 0);
    let mut sink = Sink::new(Endian::Big);
    write(&value, &mut sink).unwrap();
    assert_eq!(sink.as_slice(), bytes.bytes);
    for end in 0..bytes.bytes.len() {
        let mut cursor = Cursor::new(&bytes.bytes[..end], Endian::Big);
        assert!(read(&mut cursor).is_err(), "{end} bytes of {value}");
    }
    value.to_string()
}

#[test]
fn every_part_is_read_written_and_printed_by_itself() {
    let (dialect, limits) = (Dialect::Shipped0200, Limits::default());
    let mut out = Bytes::big();
    out.str("solver");
    assert_eq!(each_way(&out, |c| Str::read(c, "text"), Str::write), "solver");
    let mut out = Bytes::big();
    out.str("mpi-rank").str("3");
    assert_eq!(each_way(&out, NvPair::read, NvPair::write), "[nv-pair: 'mpi-rank', '3']");
    let mut out = Bytes::big();
    out.raw(b"EPOCH___").u64(0).u64(1).u32(2).u32(1).str("a").str("b");
    let printed =
        each_way(&out, |c| EpochHeader::read(c, dialect, &limits), |h, s| h.write(s, dialect));
    assert!(printed.contains("(measurement-granularity: 1)\n  (ra-to-callsite-distance: 2)"));
    let mut out = Bytes::big();
    out.str("n").str("d").raw(&[1, 0, 2, 0, 0, 0, 1, 1]).u64(0).u64(5).str("").str("%f");
    let printed = each_way(&out, |c| Metric::read(c, dialect, false), Metric::write);
    assert!(printed.starts_with("(nm: n) (desc: d) ((ty: 1) (val-ty: 0) (val-fmt: 2) "));
    let mut out = Bytes::big();
    out.u16(7).str("/bin/a").u64(1);
    let printed = each_way(&out, |c| LoadModule::read(c, dialect), |m, s| m.write(s, dialect));
    assert_eq!(printed, "[(id: 7) (nm: /bin/a) (flg: 0x1)]");
    let layout = NodeLayout { is_signed: true, has_module: true, ..NodeLayout::default() };
    let mut out = Bytes::big();
    out.i32(-4).i32(2).u16(7).u64(0x40);
    let printed = each_way(&out, |c| Node::read(c, &layout), |n, s| n.write(s, &layout));
    assert_eq!(printed, "[node: (id: -4) (id-parent: 2) (lm-id: 7) (lm-ip: 0x40) ]");
}

#[test]
fn headers_tables_and_ids_are_read_and_written_by_themselves() {
    let (dialect, limits) = (Dialect::Shipped0200, Limits::default());
    let mut out = Bytes::big();
    out.raw(b"HPCRUN-profile____02.00b").u32(1).str("program-name").str("solver").raw(b"EPOCH");
    let (header, length) = Header::read(&out.bytes, &limits).unwrap();
    assert_eq!((header.dialect, header.endian, length), (dialect, Endian::Big, 24 + 4 + 16 + 10));
    let mut sink = Sink::new(Endian::Big);
    header.write(&mut sink).unwrap();
    assert_eq!(sink.as_slice(), &out.bytes[..54]);
    let mut out = Bytes::big();
    out.u32(1).str("n").str("").raw(&[1, 0, 2, 0, 0, 0, 1, 1]).u64(0).u64(5).str("").str("");
    out.u32(1).u16(7).str("/bin/a").u64(1);
    out.u16(3).str("THREAD").u16(3 | 3 << 14).u64(5).u64(6);
    let mut cursor = Cursor::new(&out.bytes, Endian::Big);
    let metrics = Metric::read_table(&mut cursor, dialect, false, &limits).unwrap();
    let modules = LoadModule::read_map(&mut cursor, dialect, &limits).unwrap();
    let (kind, id) = (IdKind::read(&mut cursor).unwrap(), Id::read(&mut cursor).unwrap());
    assert_eq!((id.kind(), id.interpretation(), id.physical, id.logical), (3, 3, 5, 6));
    let mut sink = Sink::new(Endian::Big);
    Metric::write_table(&metrics, &mut sink).unwrap();
    LoadModule::write_map(&modules, &mut sink, dialect).unwrap();
    kind.write(&mut sink).unwrap();
    id.write(&mut sink);
    assert_eq!(sink.as_slice(), out.bytes);
}

#[test]
fn a_builder_refuses_to_write_what_refers_to_nothing() {
    let refused = |wrong: &dyn Fn(&mut ProfileBuilder)| {
        let mut builder = ProfileBuilder::new("a");
        builder.metric("n", "", false).unwrap();
        wrong(&mut builder);
        builder.write(&mut Vec::new()).unwrap_err().to_string()
    };
    let item = |what: &str| format!("a value is of a {what} that is not there");
    assert_eq!(refused(&|b| b.add(7, 0, 1.0)), item("node"));
    assert_eq!(refused(&|b| b.add(0, 9, 1.0)), item("metric"));
    let message = refused(&|b| _ = b.child(5, 0, 1));
    assert_eq!(message, "a node hangs below one that is not there");
    let message = refused(&|b| _ = b.child(0, 4, 1));
    assert_eq!(message, "a node is in a load module that is not there");
    let mut builder = ProfileBuilder::new("a");
    builder.load_module("/bin/a", None).unwrap();
    let error = builder.write_described(&mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "where a load module was in the process is not known");
}

#[test]
fn a_builder_writes_all_of_a_metric_and_no_zeros() {
    let mut builder = ProfileBuilder::new("a");
    let flags = MetricFlags::Shipped([1, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let metric = Metric { period: 1000, formula: "#0*2".into(), ..Metric::new("cycles", flags) };
    let cycles = builder.add_metric(metric).unwrap();
    builder.add(ProfileBuilder::ROOT, cycles, 0.0);
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    let profile = open(&bytes);
    let metric = &profile.epochs[0].metrics[0];
    assert_eq!((metric.period, metric.formula.text().as_ref()), (1000, "#0*2"));
    assert_eq!(metric.flags.fields().unwrap().show, 4);
    assert_eq!(values(&profile, 0), []);
    // Without ids it is thread 0.
    let [id] = profile.id_tuple[..] else { panic!("{:?}", profile.id_tuple) };
    assert_eq!((id.kind(), id.interpretation(), id.logical), (3, 3, 0));
}
