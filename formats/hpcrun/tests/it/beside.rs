//! What lies beside profiles: symbols and structure that cannot be used are said, and a profile by
//! itself has what belongs to it.

use crate::assembled;

use std::fs;
use std::path::Path;

use crate::opened::open;
use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Source};
use kymo_hpcrun::{Hpcrun, ProfileBuilder};
use kymo_model::profile::{FlatGrouping, MetricId, MetricQuery, flat};
use kymo_model::{Dataset, Format};

/// Files, rules and messages of what is found.
fn said(findings: &[Finding]) -> Vec<(&str, &str, &str)> {
    let said = findings.iter();
    said.map(|f| (f.file.as_deref().unwrap_or_default(), f.rule, f.message.as_str())).collect()
}

fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), bytes).unwrap();
}

/// A directory of a thread with one sample of half a second, at an address of a module.
fn sampled(module: &str, address: u64) -> tempfile::TempDir {
    let mut profile = ProfileBuilder::new("a");
    let module = profile.load_module(module, None).unwrap();
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let node = profile.child(ProfileBuilder::ROOT, module, address);
    profile.add(node, time, 0.5);
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.hpcrun", bytes);
    folder
}

/// The functions that time was spent in.
fn functions(dataset: &dyn Dataset) -> Vec<String> {
    let profile = dataset.profile().unwrap();
    let question = MetricQuery { view: &*profile, metric: MetricId(0), threads: None };
    let rows = flat(&question, FlatGrouping::Function).unwrap().rows;
    let mut names: Vec<_> = rows.into_iter().map(|row| row.label).collect();
    names.sort();
    names
}

#[test]
fn symbols_that_name_nothing_are_said_wherever_they_are_needed() {
    let kernel = "kernel_symbols/vmlinux.5a";
    let image = "vdso/ab.vdso";
    let cases = [
        (kernel, Some("no list"), "it is no list of symbols"),
        (kernel, None, "it is not there"),
        (image, None, "it is not there"),
    ];
    for (file, text, why) in cases {
        let folder = sampled(file, 0x40);
        if let Some(text) = text {
            put(folder.path(), file, text);
        }
        let why = format!("{why}: addresses in it have no names");
        let expected = [(file, "symbols", why.as_str())];
        let source = Source::open(folder.path(), &Limits::default()).unwrap();
        let found = Hpcrun.check(&source, &Context::default()).unwrap();
        assert_eq!(said(&found), expected);
        // What info asks for, and what top does.
        let dataset = open(folder.path());
        dataset.summary();
        assert_eq!(said(&dataset.findings()), expected);
        let dataset = open(folder.path());
        dataset.profile().unwrap();
        assert_eq!(said(&dataset.findings()), expected);
    }
    // Nothing was measured in it: nobody misses its names.
    let folder = sampled("/bin/a", 0x40);
    put(folder.path(), kernel, "no list");
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    assert_eq!(Hpcrun.check(&source, &Context::default()).unwrap(), []);
}

#[test]
fn an_image_is_found_where_its_path_tells_of_another_place() {
    let image = "vdso/8c1478fcd4f0b7d3e3396d9eac417ef0.vdso";
    let recorded = format!("hpctoolkit/made-here/matmul-omp/measurements/{image}");
    let Some(recorded) = shared::file(&recorded) else { return };
    // By readelf, 0xaf0 and 902 bytes from there are clock_gettime, and __vdso_clock_gettime too.
    let folder = sampled(&format!("/builds/run/small.m/{image}"), 0xaf5);
    put(folder.path(), image, fs::read(recorded).unwrap());
    let dataset = open(folder.path());
    let names = functions(&*dataset);
    assert!(names.iter().any(|name| name.ends_with("clock_gettime")), "{names:?}");
    assert_eq!(said(&dataset.findings()), []);
}

/// A structure file that tells of one module with functions, each with an entry and a range.
fn structure(module: &str, functions: &[(&str, &str)]) -> String {
    let function = |(name, range): &(&str, &str)| {
        let lines = format!("<S i=\"4\" l=\"2\" v=\"{{{range}}}\"/>");
        format!("<P i=\"3\" n=\"{name}\" l=\"1\" v=\"{{{range}}}\">{lines}</P>")
    };
    let functions: String = functions.iter().map(function).collect();
    format!(
        "<?xml version=\"1.0\"?>\n<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\
         <LM i=\"1\" n=\"{module}\" v=\"{{}}\"><F i=\"2\" n=\"a.c\">{functions}</F></LM>\
         </HPCToolkitStructure>"
    )
}

#[test]
fn ranges_that_overlap_and_files_of_one_module_are_said() {
    let folder = sampled("/bin/a", 0x30);
    let one = structure("/bin/a", &[("f", "[0x10-0x40)"), ("g", "[0x30-0x50)")]);
    put(folder.path(), "structs/1.hpcstruct", one);
    put(folder.path(), "structs/2.hpcstruct", structure("/bin/a", &[("h", "[0x10-0x40)")]));
    put(folder.path(), "structs/3.hpcstruct", structure("/bin/b", &[("h", "[0x10-0x40)")]));
    let dataset = open(folder.path());
    assert_eq!(functions(&*dataset), ["<unknown entry>", "f"]);
    let overlap = "it has 1 range of addresses that earlier ones have in part, which is left out";
    let twice = "structs/1.hpcstruct tells of /bin/a already, and counts";
    let expected = [
        ("structs/1.hpcstruct", "structure", overlap),
        ("structs/2.hpcstruct", "structure", twice),
        ("structs/3.hpcstruct", "structure", "it tells of no module that was loaded"),
    ];
    assert_eq!(said(&dataset.findings()), expected);
}

#[test]
fn a_profile_by_itself_has_the_names_and_the_trace_that_lie_beside() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.hpcrun", assembled::shipped_0400(true));
    put(folder.path(), "a.hpctrace", assembled::trace(false, false));
    let work = structure("/opt/solver", &[("work", "[0x1100-0x1300)")]);
    put(folder.path(), "structs/solver.hpcstruct", work);
    let dataset = open(&folder.path().join("a.hpcrun"));
    assert_eq!(functions(&*dataset), ["<main thread>", "work"]);
    assert_eq!(dataset.timeline().unwrap().tracks().len(), 1);
    // A file in memory has nothing beside it.
    let bytes = fs::read(folder.path().join("a.hpcrun")).unwrap();
    let dataset = Hpcrun.open(&Source::from_bytes("a.hpcrun", bytes), &Context::default()).unwrap();
    assert!(dataset.timeline().is_none());
    assert!(functions(&*dataset).contains(&"solver+0x1187".to_owned()));
}
