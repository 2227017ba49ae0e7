//! HPCToolkit measurements: a profile of ten million nodes, a trace of a hundred million records.

mod file;

use anyhow::Result;

use crate::bench::{Case, Setup, command_line};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## HPCToolkit measurements\n\n\
The profile is 04.00b with 10 million nodes and four values in each, 710 MB. `info` adds up \
all values; `check` applies every rule to all nodes and values. The trace has 100 million records, \
1.2 GB; `check` reads each of them. Both files are in the page cache.\n";

/// The cases, on files that are made when they are not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let profile = setup.folder.join("nodes.hpcrun");
    let trace = setup.folder.join("records.hpctrace");
    file::make_profile(&profile)?;
    file::make_trace(&trace)?;
    let case = |name, command: &str, path: &std::path::Path| Case {
        name,
        ours: setup.kymo([command.as_ref(), path.as_os_str()]),
        peers: vec![("cat > /dev/null", command_line("cat", [path]))],
    };
    Ok(vec![
        case("hpcrun: info of 10 M nodes with 4 metrics", "info", &profile),
        case("hpcrun: check of 10 M nodes with 4 metrics", "check", &profile),
        case("hpcrun: check of 100 M trace records", "check", &trace),
    ])
}
