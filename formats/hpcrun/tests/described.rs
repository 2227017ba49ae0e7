//! Each layout against bytes that were put together from its description.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod assembled;

use assembled::Bytes;
use kymo_core::bytes::{Endian, Limits};
use kymo_hpcrun::{
    Dialect, Lush, MetricFlags, MetricValue, Place, Profile, ProfileBuilder, Trace, TraceRecord,
    Values, write_profile,
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
