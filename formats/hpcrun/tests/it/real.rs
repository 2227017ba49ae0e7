//! Every real file is read in full, passes every rule, and is written again as the same bytes.

use std::fs;
use std::path::Path;

use kymo_conformance::shared;
use kymo_core::bytes::{Endian, Limits};
use kymo_core::{Context, Finding, Severity, Source};
use kymo_hpcrun::{Dialect, Hpcrun, Profile, Trace, TraceVersion, Values, write_profile};
use kymo_model::Format;

fn profile(path: &Path) -> Profile {
    let bytes = fs::read(path).unwrap().into();
    Profile::open(&bytes, &Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn assert_same(path: &Path, written: &[u8]) {
    assert!(fs::read(path).unwrap() == written, "{} is written otherwise", path.display());
}

/// Nothing above a note is found in a sound file.
fn assert_sound(path: &Path) {
    let source = Source::open(path, &Limits::default()).unwrap();
    let found = Hpcrun.check(&source, &Context::default()).unwrap();
    // Some structure files were links, of which only the text came along; images of what the kernel
    // maps did not.
    let is_text = |f: &Finding| {
        // What lies beside a single profile is named by its directory.
        let folder = if path.is_dir() { path } else { path.parent().unwrap() };
        let file = folder.join(f.file.as_deref().unwrap_or_default());
        fs::read(file).is_ok_and(|text| text.starts_with(b"/") || text.starts_with(b"."))
    };
    let is_missing = |f: &Finding| f.message.starts_with("it is not there");
    let is_known = |f: &Finding| {
        (f.rule == "structure" && is_text(f)) || (f.rule == "symbols" && is_missing(f))
    };
    let counts = |f: &&Finding| f.severity > Severity::Note && !is_known(f);
    let bad: Vec<_> = found.iter().filter(counts).collect();
    assert!(bad.is_empty(), "{}: {bad:?}", path.display());
}

#[test]
fn every_profile_is_sound_and_is_written_as_it_was() {
    for folder in ["hpctoolkit/pairs/meas", "hpctoolkit/made-here"] {
        shared::each(folder, "hpcrun", |path| {
            let profile = profile(path);
            assert_eq!(profile.header.dialect, Dialect::Shipped0400);
            let epoch = &profile.epochs[0];
            assert!(matches!(&epoch.values, Values::Sparse(_)));
            assert_eq!(profile.id_kinds.len(), 8);
            assert!(profile.id_tuple.len() >= 2);
            let mut written = Vec::new();
            write_profile(&profile, &mut written).unwrap();
            assert_same(path, &written);
            assert_sound(path);
        });
    }
}

#[test]
fn every_trace_is_sound_and_is_written_as_it_was() {
    let folders = ["hpctoolkit/pairs/meas", "hpctoolkit/made-here", "hpctoolkit/hpctrace-01.00b"];
    for folder in folders {
        shared::each(folder, "hpctrace", |path| {
            let bytes = fs::read(path).unwrap().into();
            let trace = Trace::open(&bytes, &Limits::default()).unwrap();
            let is_old = folder.ends_with("01.00b");
            let version = if is_old { TraceVersion::V0100 } else { TraceVersion::V0101 };
            assert_eq!(trace.version, version);
            assert_eq!(trace.is_in_nanoseconds(), !is_old || trace.is_empty());
            let mut written = Vec::new();
            trace.write(&mut written).unwrap();
            assert_same(path, &written);
            assert_sound(path);
        });
    }
}

#[test]
fn every_measurement_directory_is_sound() {
    for folder in ["hpctoolkit/pairs/meas", "hpctoolkit/made-here"] {
        let mut directories = std::collections::BTreeSet::new();
        shared::each(folder, "hpcrun", |path| {
            directories.insert(path.parent().unwrap().to_path_buf());
        });
        for directory in directories {
            assert_sound(&directory);
        }
    }
}

/// The figures were read off the bytes with a hex dump.
#[test]
fn the_only_known_02_00b_file_is_read_as_its_bytes_are() {
    let name = "hpctoolkit/hpcrun-02.00b/vdso/precious/hpctoolkit-testvdso-measurements/\
                testvdso-000000-000-007f0101-19750-0.hpcrun";
    let Some(path) = shared::file(name) else { return };
    let profile = profile(&path);
    assert_eq!(
        (profile.header.dialect, profile.header.endian),
        (Dialect::Shipped0200, Endian::Big)
    );
    assert_eq!(profile.header.nv.len(), 10);
    assert_eq!(profile.header.value("program-name").unwrap(), "testvdso");
    let [epoch] = &profile.epochs[..] else { panic!("{} epochs", profile.epochs.len()) };
    let header = epoch.header.as_ref().unwrap();
    assert_eq!((header.flags, header.granularity, header.ra_distance), (0, 1, 1));
    assert_eq!(header.nv[0].name.text(), "TODO:epoch-name");
    let [metric] = &epoch.metrics[..] else { panic!("{:?}", epoch.metrics) };
    assert_eq!((metric.name.text().as_ref(), metric.period), ("CPUTIME (usec)", 1));
    let fields = metric.flags.fields().unwrap();
    assert_eq!((fields.kind, fields.value_format, fields.show), (1, 1, 1));
    assert_eq!(epoch.load_modules.len(), 11);
    assert_eq!(epoch.load_modules[0].path.text(), "/home/johnmc/pkgs-src/vdso/testvdso");
    let first = epoch.nodes.get(0).unwrap();
    assert_eq!((first.id, first.parent, first.lm_id, first.ip), (12, 0, 0, 0));
    let mut written = Vec::new();
    write_profile(&profile, &mut written).unwrap();
    assert_same(&path, &written);
    assert_sound(&path);
}
