//! Recordings for `kymo demo`, made with the writer.

use kymo_core::Result;
use kymo_model::Demo;

use crate::spec::placeholder;
use crate::types::TraceRecord;
use crate::write::{ProfileBuilder, TraceWriter};

/// Start of the recording: 2024-01-01, in nanoseconds since the Epoch.
const START: u64 = 1_704_067_200_000_000_000;

/// A sample every five milliseconds.
const PERIOD_NS: u64 = 5_000_000;
const SAMPLES: u64 = 200;

/// Return addresses minus one of `main` and `solve`, and instructions of `solve`, `read`.
const PATHS: [&[u64]; 4] =
    [&[0x1187, 0x1240], &[0x1187, 0x1252], &[0x1187, 0x1261, 0x1310], &[0x119c, 0x1405]];

/// Path of each of ten samples: a path occurs as often as it was met.
const WEIGHTS: [u64; 10] = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3];

/// A program that reads a little and computes much.
pub(crate) fn demo() -> Result<Vec<Demo>> {
    let mut profile = ProfileBuilder::new("simulation");
    profile.pair("mpi-rank", "0").pair("thread-id", "0").pair("host-id", "7f0100");
    profile.pair("process-id", "4242").id(1 | 1 << 14, 0x7f_0100, 0).id(3 | 3 << 14, 0, 0);
    profile.pair("trace-min-time", START.to_string());
    let last = START + (SAMPLES - 1) * PERIOD_NS;
    profile.pair("trace-max-time", last.to_string()).pair("trace-disorder", "0");
    let program = profile.load_module("/opt/simulation/bin/simulation", None)?;
    let time = profile.metric("CPUTIME (sec)", "CPUTIME (sec)", true)?;
    let main = profile.child(ProfileBuilder::ROOT, 0, placeholder::MAIN);
    let mut trace = TraceWriter::new(Vec::new());
    for (sample, weight) in (0..SAMPLES).zip(WEIGHTS.iter().cycle()) {
        let path = PATHS.get(usize::try_from(*weight).unwrap_or(0)).copied().unwrap_or_default();
        let node = path.iter().fold(main, |node, ip| profile.child(node, program, *ip));
        profile.add(node, time, 0.005);
        let (time, node) = (START + sample * PERIOD_NS, profile.retain(node));
        trace.record(&TraceRecord { time, node, metric: None })?;
    }
    let mut bytes = Vec::new();
    profile.write(&mut bytes)?;
    let about = "samples of a simulation, by calling context";
    let profile = Demo { file: "simulation.hpcrun", about, bytes };
    let about = "where that simulation was, and when";
    let trace = Demo { file: "simulation.hpctrace", about, bytes: trace.finish()? };
    Ok(vec![profile, trace])
}
