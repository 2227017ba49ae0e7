//! Messages, their latencies, and charts of them.

use std::fs;

use kymo_conformance::shared;
use serde_json::Value;

use super::{json, log};
use crate::support::{folder, kymo, run};

/// A message leaves every 10 ms and arrives 15 ms later; neither end says when the other was.
fn in_flight(first: u32) -> String {
    let mut lines: Vec<_> = (0..10)
        .flat_map(|at| {
            let (left, arrived) = (at * 10, at * 10 + 15);
            [(left, "a sends P to b"), (arrived, "b gets P from a")]
        })
        .filter(|(time, _)| *time >= first)
        .collect();
    lines.sort_unstable();
    lines.iter().map(|(time, what)| format!("{time} {what}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn receivers_have_their_names_also_where_lines_tell_processors() {
    let folder = folder();
    let path = folder.path().join("run.log");
    let grammar = r"# kymo log
# time = 'ms'
# [[line]]
# match = '^(?<time>[\d.]+) cpu(?<cpu>\d) (?<task>\S+) sends (?<message>\S+) to (?<peer>\S+)$'
# class = 'send'
";
    let lines = "0 cpu0 a sends X to b\n1 cpu0 a sends X to c\n2 cpu1 d sends X to a\n\
                 5 cpu0 a sends X to c\n";
    fs::write(&path, format!("{grammar}{lines}")).unwrap();
    let (code, pairs, _) = run(kymo().args(["messages", "--json"]).arg(&path));
    let pairs = json(&pairs);
    let shown = |value: &Value| {
        let end = |name: &str| value[name].as_str().unwrap().to_owned();
        (end("from"), end("to"), value["sent"].as_u64().unwrap())
    };
    let mut shown: Vec<_> = pairs.iter().map(shown).collect();
    shown.sort();
    let expected = [("a", "b", 1), ("a", "c", 2), ("d", "a", 1)];
    let expected = expected.map(|(from, to, sent)| (from.to_owned(), to.to_owned(), sent));
    assert_eq!((code, shown), (Some(0), expected.to_vec()));
}

#[test]
fn latencies_in_a_range_are_those_of_the_whole() {
    let folder = folder();
    let path = log(folder.path(), &in_flight(0));
    for range in [&[][..], &["--since", "12ms", "--until", "80ms"], &["--since", "18ms"]] {
        let (code, pairs, said) = run(kymo().args(["messages", "--json"]).args(range).arg(&path));
        let pair = &json(&pairs)[0];
        assert_eq!((code, &pair["unsent"]), (Some(0), &0.into()), "{said}");
        assert_eq!(pair["latency_min_ns"], 15_000_000, "{range:?}");
        assert_eq!(pair["latency_max_ns"], 15_000_000, "{range:?}");
    }
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage='P'\nlatency_max='14ms'\n").unwrap();
    let since = ["assert", "--since", "18ms", "--until", "30ms"];
    let (code, found, said) = run(kymo().args(since).arg(&rules).arg(&path));
    assert_eq!((code, said.as_str()), (Some(3), ""));
    assert!(found.lines().count() == 1 && found.contains("0.025000000 b"), "{found}");
    assert!(found.contains("P took 15.00 ms, more than 14.00 ms"), "{found}");
}

#[test]
fn latencies_that_may_be_wrong_are_said_wherever_they_are_shown() {
    let folder = folder();
    // Those of 0 and 10 left before the recording.
    let path = log(folder.path(), &in_flight(12));
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage='P'\nlatency_max='20ms'\n").unwrap();
    let page = folder.path().join("page.html");
    let doubt = "messages of 1 pair may have left before what is read, and those that arrived do \
                 not all say when they left: they are taken in their order, so that latencies may \
                 be too short";
    for args in [
        vec!["messages".as_ref(), path.as_os_str()],
        vec!["assert".as_ref(), rules.as_os_str(), path.as_os_str()],
        vec!["report".as_ref(), path.as_os_str(), "-o".as_ref(), page.as_os_str()],
    ] {
        let (code, _, said) = run(kymo().args(&args));
        assert_eq!(code, Some(3), "{args:?}");
        assert!(said.contains(doubt), "{args:?}: {said}");
    }
    assert!(fs::read_to_string(page).unwrap().contains(doubt));
}

#[test]
fn a_message_that_arrives_before_it_left_has_no_latency() {
    let folder = folder();
    // The clocks of a and b do not agree: the first takes -5 ms, and the second 10 ms.
    let lines = "20 a sends M to b\n15 b gets M from a\n100 a sends M to b\n110 b gets M from a\n";
    let path = log(folder.path(), lines);
    let said_so = "1 message arrived before it left: latencies are without it";
    let (code, pairs, said) = run(kymo().args(["messages", "--json"]).arg(&path));
    let pair = &json(&pairs)[0];
    assert!(code == Some(3) && said.contains(said_so), "{said}");
    assert_eq!((&pair["received"], &pair["lost"]), (&2.into(), &0.into()));
    let ten = Value::from(10_000_000);
    assert_eq!((&pair["latency_min_ns"], &pair["latency_max_ns"]), (&ten, &ten));
    let (code, chart, said) = run(kymo().args(["messages", "--chart"]).arg(&path));
    assert!(code == Some(3) && said.contains(said_so), "{said}");
    assert!(chart.contains("-5.000 ms") && chart.contains("  10.00 ms"), "{chart}");
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage='M'\nlatency_max='10ms'\n").unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert!(code == Some(3) && found.is_empty() && said.contains(said_so), "{said}");
}

#[test]
fn what_arrives_after_a_range_is_not_lost() {
    let folder = folder();
    let path = log(folder.path(), &in_flight(0));
    let range = ["messages", "--json", "--until", "12ms"];
    let (code, pairs, said) = run(kymo().args(range).arg(&path));
    let pair = &json(&pairs)[0];
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(
        (&pair["sent"], &pair["received"], &pair["lost"]),
        (&2.into(), &0.into(), &0.into())
    );
    let chart = ["messages", "--chart", "--until", "12ms"];
    let (_, chart, _) = run(kymo().args(chart).arg(&path));
    assert!(chart.matches("15.00 ms").count() == 2 && !chart.contains("lost"), "{chart}");
}

#[test]
fn a_wakeup_arrives_with_the_stretch_it_is_for() {
    // perf-6045 is woken at .306671579, stops at .311277575 without a word of its begin, and runs
    // again at .312605710. All other wakeups take 66 µs at the most.
    let trace = kymo_conformance::testdata("perf/control.perf");
    let (_, pairs, _) = run(kymo().args(["messages", "--json", "-n0"]).arg(&trace));
    let pairs = json(&pairs);
    let pair =
        pairs.iter().find(|item| item["to"] == "perf-6045" && item["from"] == "migration/0-18");
    assert_eq!(pair.unwrap()["latency_max_ns"], Value::Null);
    assert_eq!((&pair.unwrap()["received"], &pair.unwrap()["lost"]), (&1.into(), &0.into()));
    let (_, tasks, _) = run(kymo().args(["sched", "--json", "-n0"]).arg(&trace));
    let longest = json(&tasks).iter().filter_map(|value| value["wait_max_ns"].as_u64()).max();
    assert!(longest < Some(5_000_000), "{longest:?}");
}

/// a sends to b and to c, and c sends to b. Of a alone, what c sends to b is nothing.
#[test]
fn a_chart_of_some_streams_has_no_message_between_others() {
    let folder = folder();
    let lines = "1 c sends X to b\n2 a sends M to b\n3 b gets X from c\n4 a sends M to c\n";
    let path = log(folder.path(), lines);
    let (code, chart, said) = run(kymo().args(["messages", "--chart", "--stream", "a"]).arg(&path));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((chart.matches('M').count(), chart.matches('X').count()), (2, 0), "{chart}");
    let (_, chart, _) = run(kymo().args(["messages", "--chart"]).arg(&path));
    assert_eq!((chart.matches('M').count(), chart.matches('X').count()), (2, 1), "{chart}");
}

/// Wakeups of a trace: `cpu 0` wakes `java-7013`, and neither is chosen.
#[test]
fn a_chart_of_some_tasks_has_only_wakeups_of_theirs() {
    let Some(trace) = shared::file("traces/ctf/lttng-tracefile-rotation") else { return };
    let chosen = ["--stream", "Xorg*", "--stream", "xfwm4*"];
    let out = folder();
    let path = out.path().join("chart.svg");
    let chart = ["messages", "--chart", "-n0"];
    let (code, _, said) = run(kymo().args(chart).args(chosen).arg(&trace).arg("-o").arg(&path));
    assert_eq!(code, Some(0), "{said}");
    let drawn = fs::read_to_string(path).unwrap().matches(">wakeup ").count() as u64;
    // Each is drawn, or left out and counted, and the table has the same.
    let others = said.split(" other streams and ").nth(1).unwrap().split(' ').next().unwrap();
    let others: u64 = others.replace(',', "").parse().unwrap();
    let (_, pairs, _) = run(kymo().args(["messages", "--json"]).args(chosen).arg(&trace));
    let sent =
        |value: &Value| value["sent"].as_u64().unwrap().max(value["received"].as_u64().unwrap());
    assert_eq!(drawn + others, json(&pairs).iter().map(sent).sum::<u64>());
}
