//! BP: listing, reading and writing a file of many small elements.

mod file;
mod walk;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::bench::bp::walk::Walk;
use crate::bench::{Case, CommandLine, Setup, command_line};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## BP\n\n\
The file is 1.06 GB of 1.15 million elements: 143,750 steps of three scalars and five small \
arrays. \"pread of the headers\" walks it with one `pread` of 128 bytes an element, keeps \
nothing and prints nothing. \"pread of the values\" does the same and also reads each value of \
the one variable. The file is in the page cache. Both sides of \"rewrite\" end with the \
file on the disk (`fsync`). These peers are no readers that someone uses: a call of the system for \
each element is slow by itself, ours maps the file and looks ahead on a second processor, and `cat` \
is what reading costs at the least. So ratios of CPU say more than those of wall time.\n\n\
The old `bpdump` took about 4 s of CPU for a file of 987 MB on a machine like this. It is not \
available to run beside ours.\n";

/// A peer that is no program.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Peer {
    /// Walk the headers of all elements.
    BpHeaders { file: PathBuf },
    /// Walk the headers of all elements, and read the payloads of one variable.
    BpValues { file: PathBuf, name: String },
}

impl Peer {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::BpHeaders { file } => {
                let elements =
                    Walk::open(file)?.try_fold(0, |count, element| element.map(|_| count + 1))?;
                ensure!(elements == file::ELEMENTS, "{elements} elements");
            }
            Self::BpValues { file, name } => {
                let bytes = walk::read_values(file, name)?;
                ensure!(bytes > 0, "no element named {name}");
            }
        }
        Ok(())
    }
}

/// Our command lines; the one place to change when the command line changes.
mod ours {
    use super::{CommandLine, Path, Setup};

    pub(super) fn list(setup: &Setup, file: &Path) -> CommandLine {
        setup.kymo(["ls".as_ref(), "--records".as_ref(), file.as_os_str()])
    }

    pub(super) fn list_like_bpdump(setup: &Setup, file: &Path) -> CommandLine {
        setup.kymo(["dump".as_ref(), "--style=bpdump".as_ref(), file.as_os_str()])
    }

    pub(super) fn list_variables(setup: &Setup, file: &Path) -> CommandLine {
        setup.kymo(["ls".as_ref(), "-l".as_ref(), file.as_os_str()])
    }

    pub(super) fn info(setup: &Setup, file: &Path) -> CommandLine {
        setup.kymo(["info".as_ref(), file.as_os_str()])
    }

    pub(super) fn values(setup: &Setup, file: &Path, name: &str) -> CommandLine {
        setup.kymo(["dump".as_ref(), "-d".as_ref(), name.as_ref(), file.as_os_str()])
    }

    pub(super) fn one_step(setup: &Setup, file: &Path, name: &str) -> CommandLine {
        let mut command = values(setup, file, name);
        command.push("--step=70000".into());
        command
    }

    pub(super) fn rewrite(setup: &Setup, file: &Path, to: &Path) -> CommandLine {
        setup.kymo(["repair".as_ref(), "--force".as_ref(), file.as_os_str(), to.as_os_str()])
    }
}

/// The cases, on a file that is made when it is not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let file = setup.folder.join("steps.bp");
    file::make(&file)?;
    let headers =
        || ("pread of the headers", setup.peer(["bp-headers".as_ref(), file.as_os_str()]));
    let cat = || ("cat > /dev/null", command_line("cat", [&file]));
    let values = |name: &'static str| {
        let peer = setup.peer(["bp-values".as_ref(), file.as_os_str(), name.as_ref()]);
        ("pread of the values", peer)
    };
    let copy = || {
        let script = "cp \"$0\" \"$1\" && sync \"$1\"";
        let to = setup.folder.join("copy.bp");
        (
            "cp, sync",
            command_line("sh", ["-c".as_ref(), script.as_ref(), file.as_os_str(), to.as_os_str()]),
        )
    };
    let case = |name, ours, peers| Case { name, items: None, ours, peers };
    let rewritten = setup.folder.join("rewritten.bp");
    Ok(vec![
        case("bp: list all elements", ours::list(setup, &file), vec![headers(), cat()]),
        case(
            "bp: list all elements as bpdump did",
            ours::list_like_bpdump(setup, &file),
            vec![headers(), cat()],
        ),
        case("bp: list variables", ours::list_variables(setup, &file), vec![headers(), cat()]),
        case("bp: info", ours::info(setup, &file), vec![headers(), cat()]),
        case(
            "bp: read one scalar, all steps",
            ours::values(setup, &file, "time"),
            vec![values("time")],
        ),
        case(
            "bp: read one array, one step",
            ours::one_step(setup, &file, "potential"),
            vec![headers()],
        ),
        case("bp: rewrite", ours::rewrite(setup, &file, &rewritten), vec![copy()]),
    ])
}
