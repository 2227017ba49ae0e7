//! Rules that recordings keep or break.

use std::fs;

use kymo_conformance::shared;

use super::{json, log};
use crate::support::{folder, kymo, run};

#[test]
fn what_never_happens_breaks_its_rule() {
    let out = folder();
    let lines = "0 cpu0 idle -> idle\n1 release ctl 5\n1.5 cpu0 idle -> ctl\n2 ctl sends X to log\n\
                 3 motor is on\n900 cpu0 ctl -> idle\n";
    let path = log(out.path(), lines);
    let rules = out.path().join("rules.toml");
    let text = "[[rule]]\ntask='ctl'\nresponse_max='5ms'\n[[rule]]\ntask='ctl'\non_time=true\n\
                [[rule]]\nmessage='X'\nlatency_max='1ms'\n[[rule]]\nmachine='motor'\nstate='on'\n\
                stay_max='100ms'\n";
    fs::write(&rules, text).unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert_eq!((code, said.as_str()), (Some(3), ""));
    let found: Vec<_> = found.lines().map(|line| line.split_once(".log: ").unwrap().1).collect();
    let expected = [
        "rule 1 (ctl): 0.001000000 ctl: was not complete after 899.0 ms, more than 5.000 ms",
        "rule 2 (ctl): 0.001000000 ctl: was not complete when its budget was over",
        "rule 3 (X): 0.002000000 ctl: X did not arrive within 1.000 ms",
        "rule 4 (motor): 0.003000000 motor: on lasted 897.0 ms, more than 100.0 ms",
    ];
    assert_eq!(found, expected);
    // Within a range that nothing happens in: the motor is on, and the job is of before.
    let range = ["assert", "--since", "0.1", "--until", "0.3"];
    let (code, found, said) = run(kymo().args(range).arg(&rules).arg(&path));
    assert!(code == Some(3) && found.contains("motor: on lasted 200.0 ms"), "{found}");
    assert!(
        said.contains("the rule \"rule 3 (X)\" proves nothing: there is no such message"),
        "{said}"
    );
}

#[test]
fn rules_keep_to_the_streams_that_are_chosen() {
    let folder = folder();
    // Both have jobs that are never complete, ctl runs 90 ms and other 100 ms; other sends B.
    let lines = "0 release ctl 500\n0 release other 500\n10 cpu0 idle -> ctl\n\
                 100 cpu0 ctl -> other\n110 other sends B to ctl\n200 cpu0 other -> idle\n";
    let path = log(folder.path(), lines);
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='run'\ntask='*'\nrun_max='20ms'\n[[rule]]\nname='msg'\n\
                message='*'\nlatency_max='1ms'\n[[rule]]\nname='load'\ntask='*'\nload_max='10%'\n";
    fs::write(&rules, text).unwrap();
    let item = |more: &[&str]| {
        let (code, found, said) = run(kymo().arg("assert").args(more).arg(&rules).arg(&path));
        assert_eq!(code, Some(3));
        let what = |line: &str| line.split_once(".log: ").unwrap().1.to_owned();
        (found.lines().map(what).collect::<Vec<_>>(), said)
    };
    let of_ctl = [
        "run: 0.000000000 ctl: was not complete and ran 90.00 ms, more than 20.00 ms",
        "load: ctl used 47.4% of a processor's time on cpu 0, more than 10.0%",
    ];
    let (found, said) = item(&["--stream", "ctl"]);
    assert_eq!(found, of_ctl);
    assert!(said.contains("the rule \"msg\" proves nothing: there is no such message"), "{said}");
    let (found, said) = item(&[]);
    assert_eq!((found.len(), said.as_str()), (5, ""), "{found:?}");
}

#[test]
fn rules_about_all_tasks_are_not_about_idle_ones() {
    let folder = folder();
    // idle runs 90 of 100 ms, and so does wait, which is idle if one says so.
    let lines = "0 cpu0 idle -> a\n0 cpu1 wait -> b\n10 cpu0 a -> idle\n10 cpu1 b -> wait\n\
                 100 cpu0 idle -> a\n100 cpu1 wait -> b\n";
    let path = log(folder.path(), lines);
    let rules = folder.path().join("rules.toml");
    let broken = |task: &str, more: &[&str]| {
        fs::write(&rules, format!("[[rule]]\ntask='{task}'\nload_max='50%'\n")).unwrap();
        let (_, found, _) = run(kymo().arg("assert").args(more).arg(&rules).arg(&path));
        found.lines().map(|line| line.rsplit_once("): ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let used = |task, cpu| {
        format!("{task} used 90.0% of a processor's time on cpu {cpu}, more than 50.0%")
    };
    assert_eq!(broken("*", &[]), [used("wait", 1)]);
    assert_eq!(broken("*", &["--idle", "wait"]), [""; 0]);
    assert_eq!(broken("idle", &[]), [used("idle", 0)]);
}

#[test]
fn rules_compare_integers_as_they_are() {
    // Two events have 2^64 - 1; as floating point the limit would be 2^53.
    let types = kymo_conformance::testdata("bbbin/types.bin");
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nstream='One.uint64'\nmax=9007199254740993\n").unwrap();
    let (code, found, _) = run(kymo().arg("assert").arg(&rules).arg(&types));
    let what = "18446744073709551615 is more than 9007199254740993";
    assert_eq!((code, found.matches(what).count()), (Some(3), 2), "{found}");
}

#[test]
fn times_of_clocks_with_other_beginnings_are_not_compared() {
    let Some(recording) = shared::file("rtc/clocks.rtc") else { return };
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    for (after, expect) in [("sample", "event"), ("event", "sample")] {
        let rule = format!("[[rule]]\nafter='{after}'\nexpect='{expect}'\nwithin='1ms'\n");
        fs::write(&rules, rule).unwrap();
        let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&recording));
        assert_eq!((code, found.as_str()), (Some(3), ""));
        let why =
            format!("streams of {expect} are on other clocks, whose times cannot be compared");
        assert!(said.contains(&why), "{said}");
    }
}

#[test]
fn parts_of_rules_that_nothing_is_about_are_said() {
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='late'\ntask='ctl'\nresponse_max='50ms'\non_time=true\n";
    fs::write(&rules, text).unwrap();
    let said = |lines: &str| {
        let path = log(folder.path(), lines);
        run(kymo().arg("assert").arg(&rules).arg(&path))
    };
    let switches = "1 cpu0 idle -> ctl\n3 cpu0 ctl -> idle\n";
    let (code, found, why) = said(&format!("0 release ctl\n{switches}3 done ctl\n"));
    assert_eq!((code, found.as_str()), (Some(3), ""));
    let budget = "the rule \"late\" proves nothing about on_time: no job of its tasks is known \
                  to have a budget";
    assert!(why.contains(budget) && !why.contains("response_max"), "{why}");
    let (code, found, why) = said(&format!("0 release ctl 5\n{switches}3 done ctl\n"));
    assert_eq!((code, found.as_str(), why.as_str()), (Some(0), "", ""));
    // Nothing is complete, and its time is not over, or is.
    let end = |at| said(&format!("0 release ctl\n{switches}{at} cpu0 idle -> other\n"));
    let (code, found, why) = end(50);
    assert_eq!((code, found.as_str()), (Some(3), ""));
    let response = "proves nothing about response_max: no job of its tasks was seen from its \
                    release to its completion";
    assert!(why.contains(response), "{why}");
    let (code, found, why) = end(51);
    assert!(code == Some(3) && found.contains("was not complete after 51.00 ms"), "{found}");
    assert!(!why.contains("response_max"), "{why}");
}

#[test]
fn rules_take_a_task_that_moves_for_one() {
    let folder = folder();
    // Task m runs 30 ms on one processor, and then 30 ms on the other, of 100 ms.
    let lines = "0 cpu0 idle -> m\n0 cpu1 idle -> a\n30 cpu0 m -> b\n30 cpu1 a -> m\n\
                 60 cpu1 m -> a\n100 cpu0 b -> idle\n100 cpu1 a -> idle\n";
    let path = log(folder.path(), lines);
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='load'\ntask='m'\nload_max='50%'\n\
                [[rule]]\nname='gap'\nstream='m'\ngap_max='40ms'\n";
    fs::write(&rules, text).unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert_eq!((code, said.as_str(), found.lines().count()), (Some(3), "", 1), "{found}");
    let used = "load: m used 60.0% of a processor's time on 2 processors together, more than 50.0%";
    assert!(found.contains(used), "{found}");
    let (_, loads, _) = run(kymo().args(["load", "--total", "--json"]).arg(&path));
    let load = json(&loads).into_iter().find(|value| value["task"] == "m").unwrap();
    // Of the time of both processors that is half as much.
    assert_eq!(load["share"], 0.3);
}

/// A message says the limit, however long it is and wherever it goes.
#[test]
fn what_breaks_a_rule_is_said_whole() {
    let folder = folder();
    let name = "t".repeat(300);
    let path = log(folder.path(), &format!("0 cpu0 idle -> {name}\n20 cpu0 {name} -> idle\n"));
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\ntask='t*'\nload_max='99.96%'\n").unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert_eq!(code, Some(3), "{said}");
    assert!(found.ends_with(" on cpu 0, more than 99.96%\n"), "{found}");
    assert!(found.contains(" used 100.00% of a processor's time"), "{found}");
}

#[test]
fn rules_may_come_from_a_pipe() {
    use std::io::Write;
    use std::process::Stdio;
    let folder = folder();
    let path =
        log(folder.path(), "0 cpu0 idle -> ctl\n90 cpu0 ctl -> idle\n100 cpu0 idle -> ctl\n");
    let piped = |args: &[&str]| {
        let mut command = kymo();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // What is refused is not read.
        let text = b"[[rule]]\nname='load'\ntask='ctl'\nload_max='50%'\n";
        let _ = child.stdin.take().unwrap().write_all(text);
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let path = path.to_str().unwrap();
    let broken = "load: ctl used 90.0% of a processor's time on cpu 0, more than 50.0%\n";
    let (code, found, said) = piped(&["assert", "-", path, path]);
    assert_eq!((code, said.as_str()), (Some(3), ""));
    let each: Vec<_> = found.split_inclusive('\n').map(|line| line.ends_with(broken)).collect();
    assert_eq!(each, [true, true], "{found}");
    let (code, page, said) = piped(&["report", path, "-o", "-", "--rules", "-"]);
    assert!(code == Some(3) && page.contains("1 rule, 1 violation"), "{said}");
    if cfg!(unix) {
        let (code, found, said) = piped(&["assert", "/dev/stdin", path]);
        assert!(code == Some(3) && found.ends_with(broken), "{said}");
    }
    let (code, _, said) = piped(&["assert", "-", "-"]);
    let why = "standard input is the rules or the recording, and cannot be both";
    assert!(code == Some(2) && said.contains(why), "{said}");
}
