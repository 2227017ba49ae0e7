//! Feeds bytes to the format that `KYMO_FORMAT` names; `cargo xtask fuzz` builds and runs it.
//! Three are no formats. `symbols`: bytes are a program or a kernel's list of symbols, which addresses
//! are looked up in. `arrays`: bytes are a BP file, whose arrays are converted to everything. `prof`:
//! bytes are a profile with a structure file behind it, which a database is made of.
#![no_main]
#![allow(clippy::print_stderr, reason = "there is nobody else to say which format is missing")]

mod nothing;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, LazyLock};

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Source};
use kymo_export::arrays::Job;
use kymo_hpcrun::StructureFile;
use kymo_model::Format;
use kymo_model::arrays::Order;
use kymo_model::structure::{Structure, Symbols};
use kymo_prof::{Options, Program, StatisticRequest};
use kymo_symbols::{Programs, Search};
use libfuzzer_sys::fuzz_target;
use nothing::Nothing;

/// What is fed.
enum Fed {
    Format(&'static dyn Format),
    /// The directory of a measurement, which programs are put below.
    Symbols(PathBuf),
    /// A directory for outputs, of which none appears.
    Arrays(PathBuf),
    Prof,
}

static FED: LazyLock<Fed> = LazyLock::new(|| {
    let name = env::var("KYMO_FORMAT").unwrap_or_default();
    match name.as_str() {
        "symbols" => Fed::Symbols(folder(&env::temp_dir(), lay_out)),
        "prof" => Fed::Prof,
        "arrays" => Fed::Arrays(folder(&memory(), |folder| fs::create_dir_all(folder))),
        _ => Fed::Format(kymo_registry::by_name(&name).unwrap_or_else(|| {
            eprintln!("KYMO_FORMAT must name a format of the registry, not `{name}`");
            process::exit(2)
        })),
    }
});

/// A folder of this process, laid out.
fn folder(place: &Path, lay_out: impl Fn(&Path) -> std::io::Result<()>) -> PathBuf {
    let folder = place.join(format!("kymo-fuzz-{}", process::id()));
    if let Err(error) = lay_out(&folder) {
        eprintln!("{}: {error}", folder.display());
        process::exit(2)
    }
    folder
}

/// Where files are in memory, if the system has such a place.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { env::temp_dir() }
}

/// Where lists of kernel symbols are in a measurement.
const KERNEL: &str = "kernel_symbols/vmlinux";

/// Programs that tell a part of what they are in other files, and the names of those.
const PARTS: [(&str, &[u8], &str); 6] = [
    ("split4.elf", include_bytes!("../../testdata/symbols/split4.elf"), "split4.dwo"),
    ("split5.elf", include_bytes!("../../testdata/symbols/split5.elf"), "split5.dwo"),
    ("packed4.elf", include_bytes!("../../testdata/symbols/split4.elf"), "packed4.elf.dwp"),
    ("packed5.elf", include_bytes!("../../testdata/symbols/split5.elf"), "packed5.elf.dwp"),
    ("shared4.elf", include_bytes!("../../testdata/symbols/shared4.elf"), "shared4.debug"),
    ("shared5.elf", include_bytes!("../../testdata/symbols/shared5.elf"), "shared5.debug"),
];

/// Puts those programs into a folder, where all the other files are one.
fn lay_out(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join(KERNEL).parent().unwrap_or(folder))?;
    fs::write(folder.join(KERNEL), [])?;
    for (program, bytes, part) in PARTS {
        fs::write(folder.join(program), bytes)?;
        fs::hard_link(folder.join(KERNEL), folder.join(part))?;
    }
    Ok(())
}

/// Looks up addresses where the code of the seeds is, in each way.
fn look_up(folder: &Path, bytes: &[u8]) {
    let path = folder.join(KERNEL);
    if fs::write(&path, bytes).is_err() {
        return;
    }
    look_up_in(folder, &path, KERNEL, false);
    for compat in [false, true] {
        let name = path.to_string_lossy();
        look_up_in(folder, &path, &name, compat);
    }
    for (program, ..) in PARTS {
        let program = folder.join(program);
        look_up_in(folder, &program, &program.to_string_lossy(), false);
    }
}

fn look_up_in(folder: &Path, path: &Path, name: &str, compat: bool) {
    let search = Search { compat, loops: !compat, ..Search::default() };
    let modules = std::iter::once((name, folder));
    let programs = Programs::new(modules, &search, &Limits::default());
    let Some(mut resolver) = programs.module(name, path.to_str()) else { return };
    for address in (0x40_0100..0x40_0200).step_by(11) {
        resolver.resolve(address, &mut Vec::new());
    }
}

/// Converts the arrays of a BP file to every target. Strictness keeps outputs from appearing when
/// all is written, and with that from being written to a disk.
fn convert(folder: &Path, bytes: &[u8]) {
    let context = Context::with_limits(Limits::tight());
    let source = Source::from_bytes("", bytes.to_vec());
    let Some(bp) = kymo_registry::by_name("bp") else { return };
    // What does not open is salvaged, as `--salvage` has it.
    let opened = bp.open(&source, &context).or_else(|_| bp.salvage(&source, &context));
    let Some(view) = opened.ok().and_then(|dataset| dataset.arrays()) else { return };
    // The options vary with the input, so that the same one is always converted the same way.
    let is_odd = bytes.iter().fold(0_u8, |sum, byte| sum ^ byte).count_ones() % 2 == 1;
    for target in kymo_export::arrays::targets() {
        let job = Job {
            view: &view,
            order: if is_odd { Order::Fortran } else { Order::C },
            only: &[],
            link: (is_odd && target.can_link()).then_some(folder),
            strict: true,
            is_faulty: true,
            progress: context.progress.as_ref(),
        };
        let to = Destination::new(folder.join("out"), false);
        // Refusing is an answer too.
        let _ = kymo_export::arrays::convert(&job, *target, &to);
    }
}

/// What the structure file behind a profile begins with.
const STRUCTURE: &[u8] = b"<HPCToolkitStructure";

/// Makes a database of a profile, right and as hpcprof has it, and keeps nothing of it.
fn make_database(bytes: &[u8]) {
    let context = Context::with_limits(Limits::tight());
    let end = bytes.windows(STRUCTURE.len()).position(|part| part == STRUCTURE);
    let (profile, text) = bytes.split_at(end.unwrap_or(bytes.len()));
    let source = Source::from_bytes("a.hpcrun", profile.to_vec());
    let opened = kymo_hpcrun::Hpcrun.open(&source, &context);
    let Some(view) = opened.ok().and_then(|dataset| dataset.measurement()) else { return };
    let mut structure = Structure::default();
    let file = StructureFile::read(text, &context.limits, &|_| true).unwrap_or_default();
    file.modules.into_iter().for_each(|module| structure.add(module));
    let program = Program { structure: &structure, symbols: None, sources: None };
    for compat in [false, true] {
        let statistics = StatisticRequest::Extrema;
        let options = Options { compat, statistics, jobs: 1, traces: true };
        // Refusing is an answer too.
        let views = [Arc::clone(&view)];
        let _ = kymo_prof::merge(&views, &program, options, &mut Nothing::default(), &context);
    }
}

fuzz_target!(|bytes: &[u8]| match &*FED {
    Fed::Format(format) => kymo_conformance::survive(*format, bytes),
    Fed::Symbols(folder) => look_up(folder, bytes),
    Fed::Arrays(folder) => convert(folder, bytes),
    Fed::Prof => make_database(bytes),
});
