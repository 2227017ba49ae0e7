//! BBBin: a log of a hundred million task switches; CTF: the largest trace there is.

mod file;

use anyhow::Result;

use crate::bench::{Case, Setup, command_line};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## BBBin and CTF\n\n\
The log has 100 million TASK_SWITCH events of 36 bytes in 100,000 blocks, 3.6 GB. `check` reads \
every event and works out index, task executions and statistics again; `load` goes through the \
timeline. A range of time is found through the index: ten events in the middle. The file is in the \
page cache as far as it fits. The CTF trace is `many-threads`, 240,644 events; babeltrace2 counts \
the same events with its own sink, and the ratio that matters is that of CPU time.\n";

/// The cases, on files that are made when they are not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let log = setup.folder.join("switches.bbbin");
    file::make(&log)?;
    let cat = || ("cat > /dev/null", command_line("cat", [&log]));
    let mut cases = vec![
        Case {
            name: "BBBin: check of 100 M switches",
            items: None,
            ours: setup.kymo(["check".as_ref(), log.as_os_str()]),
            peers: vec![cat()],
        },
        Case {
            name: "BBBin: load over 100 M switches",
            items: None,
            ours: setup.kymo(["load".as_ref(), log.as_os_str()]),
            peers: vec![cat()],
        },
        Case {
            name: "BBBin: ten events of 100 M by time",
            items: None,
            ours: setup.kymo(
                ["dump", "--since", "5000s", "--until", "5000.001s"]
                    .map(AsRef::as_ref)
                    .into_iter()
                    .chain([log.as_os_str()]),
            ),
            peers: vec![("kymo --version", setup.kymo(["--version"]))],
        },
    ];
    let trace = crate::data::folder(&setup.repo)?.map(|data| data.join("traces/ctf/many-threads"));
    if let Some(trace) = trace.filter(|trace| trace.exists()) {
        let count = ["-c", "sink.utils.counter"];
        let theirs = command_line(
            "babeltrace2",
            [trace.as_os_str()].into_iter().chain(count.map(AsRef::as_ref)),
        );
        cases.push(Case {
            name: "CTF: check of 240,644 events",
            items: None,
            ours: setup.kymo(["check".as_ref(), trace.as_os_str()]),
            peers: vec![("babeltrace2, counting", theirs)],
        });
    }
    Ok(cases)
}
