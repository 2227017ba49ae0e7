//! Arrays: a large file for other tools.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::bench::{Case, Setup, command_line};
use crate::readers;

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## Arrays\n\n\
The file is 1 GiB of 64 arrays of 2,097,152 doubles, 16 MiB each. All sides of \"to HDF5\" end \
with the file on the disk (`fsync`). The script in Python maps the file, takes it apart with \
`struct` and NumPy and writes each array with h5py; \"by reference\" it makes datasets with \
external storage. The file is in the page cache; what is written is not there before.\n";

/// How many arrays there are, and how many doubles each has.
const ARRAYS: u32 = 64;
const VALUES: u32 = 2 << 20;

/// The script that does the same with what others have written.
const SCRIPT: &str = "xtask/src/bench/arrays.py";

/// The cases, on a file that is made when it is not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let file = setup.folder.join("arrays.bp");
    make(&file).with_context(|| file.display().to_string())?;
    let python = readers::prepare(&setup.repo)?;
    let ours = |option: &str, to: &str| {
        let to = setup.outputs().join(to);
        let args = ["convert", "--to=hdf5", option].map(AsRef::as_ref);
        setup.kymo(args.into_iter().chain([file.as_os_str(), to.as_os_str()]))
    };
    let script = |how: &str| {
        let (script, to) = (setup.repo.path(SCRIPT), setup.outputs().join("python.h5"));
        command_line(&python, [script.as_os_str(), how.as_ref(), file.as_os_str(), to.as_os_str()])
    };
    let copy = setup.outputs().join("copy.bp");
    let copy = command_line(
        "sh",
        [
            "-c".as_ref(),
            "cp \"$0\" \"$1\" && sync \"$1\"".as_ref(),
            file.as_os_str(),
            copy.as_os_str(),
        ],
    );
    Ok(vec![
        Case {
            name: "arrays: 1 GiB to HDF5",
            items: None,
            ours: ours("--order=c", "arrays.h5"),
            peers: vec![("cp, sync", copy), ("Python with h5py", script("copy"))],
        },
        Case {
            name: "arrays: 1 GiB to HDF5, by reference",
            items: None,
            ours: ours("--link", "linked.h5"),
            peers: vec![("Python with h5py", script("link"))],
        },
    ])
}

/// Makes the file byte by byte, unless one of the right size is there.
fn make(path: &Path) -> Result<()> {
    let size_bytes = u64::from(ARRAYS) * (header(0)?.len() as u64 + u64::from(VALUES) * 8);
    if fs::metadata(path).is_ok_and(|found| found.len() == size_bytes) {
        return Ok(());
    }
    eprintln!("making {}: {ARRAYS} arrays, {size_bytes} bytes", path.display());
    let temporary = path.with_extension("tmp");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&temporary)?);
    for array in 0..ARRAYS {
        out.write_all(&header(array)?)?;
        for index in 0..VALUES {
            out.write_all(&(f64::from(index) + f64::from(array) * 0.5).to_le_bytes())?;
        }
    }
    out.into_inner()?.sync_all()?;
    Ok(fs::rename(temporary, path)?)
}

/// All of an element but its values: a dataset of one dimension, as the specification has it.
fn header(array: u32) -> Result<Vec<u8>> {
    let (name, path) = (format!("field{array:02}"), "/run");
    let mut element = vec![0; 4];
    for (tag, text) in [(2_u32, name.as_str()), (4, path)] {
        for word in [tag, u32::try_from(text.len())?] {
            element.extend_from_slice(&word.to_le_bytes());
        }
        element.extend_from_slice(text.as_bytes());
    }
    // The tag of values, their bytes, the rank, the bounds of the one dimension, the datatype.
    for word in [6, VALUES * 8, 1, VALUES, 0, 0, 6] {
        element.extend_from_slice(&word.to_le_bytes());
    }
    let length = u32::try_from(element.len())? + VALUES * 8;
    element.splice(..4, length.to_le_bytes());
    Ok(element)
}
