//! Recordings in other formats have the same figures.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{GRAMMAR, converted, figures, json};
use crate::support::{folder, kymo, run};

#[test]
fn a_trace_that_was_converted_has_the_same_loads_and_response_times() {
    let (trace, out) = (kymo_conformance::testdata("ctf/control"), folder());
    let commands = ["load", "sched"];
    let expected = figures(&trace, &commands);
    for extension in ["rtc", "mcap"] {
        let to = out.path().join("control").with_extension(extension);
        converted(&trace, &to);
        assert_eq!(figures(&to, &commands), expected, "{extension}");
        // And once more, from there.
        let again = out.path().join("again").with_extension(extension);
        converted(&to, &again);
        assert_eq!(figures(&again, &commands), expected, "{extension}");
    }
}

#[test]
fn messages_and_states_come_back_from_rtc() {
    let (robot, out) = (kymo_conformance::testdata("textlog/robot.txt"), folder());
    let commands = ["load", "sched", "messages", "states"];
    let to = |name: &str| out.path().join(name);
    run(kymo().arg("convert").args([&robot, &to("robot.bbbin")]));
    let expected = figures(&to("robot.bbbin"), &commands);
    converted(&to("robot.bbbin"), &to("robot.rtc"));
    assert_eq!(figures(&to("robot.rtc"), &commands), expected);
    run(kymo().arg("convert").args([to("robot.rtc"), to("again.bbbin")]));
    assert_eq!(figures(&to("again.bbbin"), &commands), expected);
}

/// Two recordings of the same tasks, of which one is merged after the other: who runs where, and who
/// is who, stays apart.
#[test]
fn tasks_of_rtc_files_that_are_merged_stay_apart() {
    let (trace, out) = (kymo_conformance::testdata("ctf/control"), folder());
    let (one, both) = (out.path().join("one.rtc"), out.path().join("both.rtc"));
    converted(&trace, &one);
    let (code, _, said) = run(kymo().arg("merge").args([&one, &one]).arg("-o").arg(&both));
    assert_eq!(code, Some(0), "{said}");
    let loads = |file: &Path| {
        let (_, out, _) = run(kymo().arg("load").arg(file).args(["--json", "-n0"]));
        let run_ns = |value: &Value| value["run_ns"].as_u64();
        json(&out).iter().filter_map(run_ns).sum::<u64>()
    };
    assert_eq!(loads(&both), 2 * loads(&one));
}

#[test]
fn fields_of_events_are_custom_types_of_bbbin() {
    let (trace, out) = (kymo_conformance::testdata("ctf/control"), folder());
    let log = out.path().join("control.bbbin");
    converted(&trace, &log);
    let args = ["--stream", "sched_waking", "--json"];
    let (code, events, said) = run(kymo().arg("dump").arg(&log).args(args));
    assert_eq!(code, Some(0), "{said}");
    let first = json(&events)[0]["value"].as_str().unwrap().to_owned();
    let expected = r#"{"comm":"control","tid":101,"prio":-51,"target_cpu":0}"#;
    assert_eq!(first, expected);
    // Types stay what they are when a log is converted once more.
    let again = out.path().join("again.bbbin");
    converted(&log, &again);
    let types = |log: &Path| {
        run(kymo().args(["convert", "--table", "types", "--to", "csv"]).arg(log).arg("-")).1
    };
    assert!(types(&log).contains("INT32"), "{}", types(&log));
    assert_eq!(types(&again), types(&log));
}

/// Two boards have a task `control` each, which answers after 100 and after 300 µs.
#[test]
fn tasks_of_several_recordings_stay_apart_where_these_become_one() {
    let out = folder();
    let path = |name: &str| out.path().join(name);
    for (name, done) in [("a", "1"), ("b", "3")] {
        let lines = format!(
            "0 release control 5\n0 cpu0 idle -> control\n0.{done} done control\n\
             0.{done} cpu0 control -> idle\n1 release control 5\n1 cpu0 idle -> control\n\
             1.{done} done control\n1.{done} cpu0 control -> idle\n"
        );
        let file = path(name).with_extension("log");
        fs::write(&file, format!("{GRAMMAR}{lines}")).unwrap();
        let to = path(name).with_extension("bbbin");
        assert_eq!(run(kymo().arg("convert").args([&file, &to])).0, Some(0));
    }
    let both = path("both.bbbin");
    let (code, _, said) =
        run(kymo().arg("merge").args([path("a.bbbin"), path("b.bbbin")]).arg("-o").arg(&both));
    assert_eq!(code, Some(0), "{said}");
    let (rtc, mcap, again) = (path("both.rtc"), path("both.mcap"), path("again.bbbin"));
    for (from, to) in [(&both, &rtc), (&both, &mcap), (&rtc, &again)] {
        run(kymo().arg("convert").args([from, to]));
    }
    for file in [&both, &rtc, &mcap, &again] {
        let (_, figures, said) =
            run(kymo().args(["sched", "--json", "--stream", "control"]).arg(file));
        let mut found: Vec<_> = json(&figures)
            .iter()
            .map(|value| (value["response_max_ns"].as_u64(), value["period_mean_ns"].as_u64()))
            .collect();
        found.sort_unstable();
        let period = Some(1_000_000);
        let expected = [(Some(100_000), period), (Some(300_000), period)];
        assert_eq!(found, expected, "{} {said}", file.display());
    }
}

/// What tasks say is of their streams, with all groups of the line, here and in other formats.
#[test]
fn lines_of_text_logs_keep_their_groups() {
    let out = folder();
    let log = kymo_conformance::testdata("textlog/levels.log");
    let rtc = out.path().join("levels.rtc");
    assert_eq!(run(kymo().arg("convert").args([&log, &rtc])).0, Some(0));
    for file in [&log, &rtc] {
        let shown = |more: &[&str]| {
            let (code, text, said) = run(kymo().args(["dump", "--json"]).args(more).arg(file));
            assert_eq!(code, Some(0), "{said}");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let warned = shown(&["--where", "level=WARN"]);
        assert!(warned.len() == 1 && warned[0].contains("slow query"), "{warned:?}");
        assert_eq!(shown(&["--where", "task=web"]).len(), 2);
        assert_eq!(shown(&["--stream", "web"]).len(), 2);
    }
}
