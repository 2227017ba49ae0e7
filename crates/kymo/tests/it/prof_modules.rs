//! Where `kymo prof` finds the modules of a measurement, and which programs it does not take for them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_hpcrun::{Metric, MetricFlags, ProfileBuilder};
use serde_json::Value;

/// A measurement with a call at one address of a module, below which another was measured.
fn measurement(folder: &Path, frames: &[(&str, u64, u64)]) -> PathBuf {
    let flags = [1, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut builder = ProfileBuilder::new("app");
    builder.id(3 | 3 << 14, 0, 0);
    let time = builder.add_metric(Metric::new("TIME", MetricFlags::Shipped(flags))).unwrap();
    for (module, call, leaf) in frames {
        let module = builder.load_module(module, None).unwrap();
        let main = builder.child(ProfileBuilder::ROOT, module, *call);
        let leaf = builder.child(main, module, *leaf);
        builder.add(leaf, time, 1.0);
    }
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    let path = folder.join("measurements");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("app-000000-000-1-2-0.hpcrun"), bytes).unwrap();
    path
}

/// Makes a database: what `top` shows of it, and why modules have no names.
fn prof(measurement: &Path, arguments: &[&str]) -> (String, Vec<String>) {
    let database = measurement.with_file_name("database");
    let mut command = kymo();
    command.args(["prof", "--json", "-f", "-o"]).arg(&database).args(arguments).arg(measurement);
    let (code, out, said) = run(&mut command);
    assert_eq!(code, Some(0), "{said}");
    let made: Value = serde_json::from_str(&out).unwrap();
    let whys = made["without_names"].as_array().unwrap().iter();
    let whys = whys.map(|module| module["why"].as_str().unwrap().to_owned()).collect();
    let (_, top, _) = run(kymo().args(["top", "-n", "100"]).arg(&database));
    (top, whys)
}

fn put(path: PathBuf, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// HPCToolkit 2023.08 and 2024.01 name the kernel by itself; its symbols are in the directory.
#[test]
fn a_kernel_without_a_path_has_the_symbols_of_the_directory() {
    let folder = folder();
    let input = measurement(folder.path(), &[("<vmlinux.11ac0300>", 0x1104, 0x1204)]);
    let (top, whys) = prof(&input, &[]);
    assert!(!top.contains("do_signal") && whys.len() == 1, "{whys:?}");
    let list = "1100 T do_syscall_64\n1200 T do_signal\n1300 T after\n";
    put(folder.path().join("elsewhere"), list);
    let replace = format!("<vmlinux.11ac0300>={}", folder.path().join("elsewhere").display());
    let (top, whys) = prof(&input, &["-R", &replace]);
    assert!(top.contains("do_signal [vmlinux]") && whys.is_empty(), "{top} {whys:?}");
    put(input.join("kernel_symbols/vmlinux.11ac0300"), list);
    for local in [&[][..], &["--no-local"]] {
        let (top, whys) = prof(&input, local);
        assert!(top.contains("do_signal [vmlinux]") && whys.is_empty(), "{top} {whys:?}");
    }
}

/// A program for a GPU: each function is in a section of its own that begins at 0, and recorders
/// count from the beginning of the file.
fn gpu_program(functions: [(&str, u64); 2]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\x33".to_vec();
    let number = |file: &mut Vec<u8>, bytes: usize, number: u64| {
        file.extend_from_slice(&number.to_le_bytes()[..bytes]);
    };
    file.resize(16, 0);
    let sections = 0x40;
    for (bytes, field) in [(2, 2), (2, 190), (4, 1), (8, 0), (8, 0), (8, sections), (4, 0)] {
        number(&mut file, bytes, field);
    }
    for field in [64, 56, 0, 64, 5, 3] {
        number(&mut file, 2, field);
    }
    let names = "\0.a\0.symtab\0.strtab\0first\0next\0";
    let at = |name: &str| u64::try_from(names.find(&format!("\0{name}\0")).unwrap() + 1).unwrap();
    let (strings, symbols) = (0x400, 0x500);
    let [(_, first), (_, next)] = functions;
    // Name, type, flags, place in the file, bytes, link, bytes of each.
    for (name, kind, flags, place, bytes, link, each) in [
        (0, 0, 0, 0, 0, 0, 0),
        (at(".a"), 1, 6, first, 0x80, 0, 0),
        (at(".a"), 1, 6, next, 0x80, 0, 0),
        (at(".strtab"), 3, 0, strings, names.len() as u64, 0, 0),
        (at(".symtab"), 2, 0, symbols, 72, 3, 24),
    ] {
        for (bytes, field) in [(4, name), (4, kind), (8, flags), (8, 0), (8, place), (8, bytes)] {
            number(&mut file, bytes, field);
        }
        for (bytes, field) in [(4, link), (4, 1), (8, 1), (8, each)] {
            number(&mut file, bytes, field);
        }
    }
    file.resize(0x400, 0);
    file.extend_from_slice(names.as_bytes());
    file.resize(0x500 + 24, 0);
    for (section, (name, _)) in (1..).zip(functions) {
        for (bytes, field) in [(4, at(name)), (1, 0x12), (1, 0), (2, section), (8, 0), (8, 0x80)] {
            number(&mut file, bytes, field);
        }
    }
    file
}

#[test]
fn a_program_of_a_gpu_is_found_beside_and_its_symbols_name_kernels() {
    let folder = folder();
    let module = "/builds/run.m/gpubins/8257.gpubin";
    let input = measurement(folder.path(), &[(module, 0x210, 0x290)]);
    put(input.join("gpubins/8257.gpubin"), gpu_program([("first", 0x200), ("next", 0x280)]));
    let (top, whys) = prof(&input, &["--no-local"]);
    assert!(top.contains("next") && whys.is_empty(), "{top} {whys:?}");
}

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols/plain.elf")
}

/// `plain.elf` has one call, at 0x4001ea, which ends at 0x4001ef; recorders keep the byte before.
#[test]
fn a_program_whose_code_is_another_is_said_and_not_used() {
    let folder = folder();
    let path = program().to_str().unwrap().to_owned();
    let input = measurement(folder.path(), &[(&path, 0x40_01ee, 0x40_0114)]);
    let (top, whys) = prof(&input, &[]);
    assert!(top.contains("yearly") && whys.is_empty(), "{top} {whys:?}");
    let (top, whys) = prof(&input, &["--no-local"]);
    assert!(!top.contains("yearly"), "{top}");
    assert_eq!(whys, ["it is not looked for outside of what was named"]);
    // One call that is none may be a slip, and three are not.
    let wrong = [0x40_01de, 0x40_01d6, 0x40_01ce].map(|at| (path.as_str(), at, 0x40_0114));
    let input = measurement(folder.path(), &wrong[..1]);
    let (top, whys) = prof(&input, &[]);
    assert!(top.contains("yearly") && whys.is_empty(), "{top} {whys:?}");
    let input = measurement(folder.path(), &wrong);
    let (top, whys) = prof(&input, &[]);
    assert!(!top.contains("yearly"), "{top}");
    let [why] = &whys[..] else { panic!("{whys:?}") };
    assert!(why.starts_with("it is another build: 0 of 3 "), "{why}");
}

/// What the kernel maps into processes is in the directory, whatever it is called.
#[test]
fn the_image_of_a_moved_directory_is_found() {
    let folder = folder();
    let image = fs::read(program()).unwrap();
    for module in ["[vdso]", "/moved/run.m/vdso/ab.vdso", "vdso/ab.vdso"] {
        let input = measurement(folder.path(), &[(module, 0x40_01ee, 0x40_0114)]);
        put(input.join("vdso/ab.vdso"), &image);
        let (top, whys) = prof(&input, &[]);
        assert!(top.contains("yearly") && whys.is_empty(), "{module}: {top} {whys:?}");
    }
}

/// Names are whole where nobody looks at them, and shorter where that is asked for.
#[test]
fn arguments_of_templates_are_folded_where_that_is_asked_for() {
    let folder = folder();
    let input = measurement(folder.path(), &[("<vmlinux.1>", 0x1104, 0x1204)]);
    let list = "1100 T main\n1200 T forall<seq_exec,Range<long>>\n1300 T after\n";
    put(input.join("kernel_symbols/vmlinux.1"), list);
    let (top, _) = prof(&input, &[]);
    assert!(top.contains("forall<seq_exec,Range<long>> [vmlinux]"), "{top}");
    let database = folder.path().join("database");
    for command in ["top", "tree", "callers"] {
        let show = |options: &[&str]| run(kymo().arg(command).args(options).arg(&database)).1;
        let short = show(&["--fold-templates"]);
        assert!(short.contains("forall<…> [vmlinux]"), "{command}: {short}");
        assert_eq!(show(&["--fold-templates=never"]), show(&[]));
        let json = show(&["--fold-templates", "--json"]);
        assert!(json.contains("forall<seq_exec,Range<long>> [vmlinux]"), "{command}: {json}");
    }
}
