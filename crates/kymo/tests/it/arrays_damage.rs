//! Damaged files are converted to everything, or refused: no bytes bring a target down.

use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Source};
use kymo_export::arrays::Job;
use kymo_model::arrays::Order;

/// How many bytes of a file are damaged, one at a time.
const FLIPS: usize = 16;

/// Every small BP file of the repository.
fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bp");
    let folders = ["bigendian", "malformed", "v0-2008-06-04", "v1-2008-07-11"];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "bp")).collect()
}

/// Writes bytes as every target. Strictness keeps outputs from appearing, and from the disk.
fn convert(bytes: Vec<u8>, folder: &Path, order: Order, link: bool) {
    let context = Context::with_limits(Limits::tight());
    let bp = kymo_registry::by_name("bp").unwrap();
    let source = Source::from_bytes("", bytes);
    let opened = bp.open(&source, &context).or_else(|_| bp.salvage(&source, &context));
    let Some(view) = opened.ok().and_then(|dataset| dataset.arrays()) else { return };
    for target in kymo_export::arrays::targets() {
        let job = Job {
            view: &view,
            order,
            only: &[],
            link: (link && target.can_link()).then_some(folder),
            strict: true,
            is_faulty: true,
            progress: context.progress.as_ref(),
        };
        let to = Destination::new(folder.join("out"), false);
        // Refusing is an answer too.
        let _ = kymo_export::arrays::convert(&job, *target, &to);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }
}

#[test]
fn a_file_with_any_byte_damaged_is_converted_or_refused() {
    // Thousands of files come and go: in memory, where the system has files there.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let samples = samples();
    assert!(samples.len() > 30);
    for path in samples {
        let bytes = fs::read(&path).unwrap();
        // The words at the start of an element decide most; the others are spread evenly.
        let early = 0..bytes.len().min(FLIPS);
        let spread = (0..FLIPS).map(|n| n * bytes.len() / FLIPS).filter(|at| *at < bytes.len());
        for (count, at) in early.chain(spread).enumerate() {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0xFF, 0x80, 0x01][count % 3];
            let order = if count % 2 == 0 { Order::C } else { Order::Fortran };
            convert(damaged, folder.path(), order, count % 4 == 1);
        }
    }
}
