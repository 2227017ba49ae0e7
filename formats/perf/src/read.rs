//! A line to an event: `comm tid [cpu] time: [period] event: what it says`.

use kymo_core::Severity;
use kymo_core::model::timeline::TimeNs;
use kymo_lines::kernel::KernelLines;
use kymo_lines::{Line, Read, decimal_ns};

/// What lines of `perf script` mean.
pub const SCRIPT: KernelLines = KernelLines { read, dialect: "text of perf script" };

/// Reads a line.
pub(crate) fn read(line: &str) -> Read<'_> {
    // Calling contexts stand below their event, and an empty line ends them.
    if line.starts_with(['#', '\t']) || line.trim_start().is_empty() {
        return Read::Aside;
    }
    match event(line) {
        Some(event) if event.name == "PERF_RECORD_LOST" => lost(&event),
        Some(event) => Read::Event(event),
        None if is_frame(line) => Read::Aside,
        None => Read::Broken(Severity::Error, "it is no line of perf script"),
    }
}

fn lost<'a>(event: &Line<'a>) -> Read<'a> {
    let message = format!("perf had no room for events: {}", event.rest);
    Read::Remark(Severity::Warning, "lost-events", message.into())
}

/// Whether a line is of a calling context: an address and a name, further in than any event.
fn is_frame(line: &str) -> bool {
    let is_address = |word: &str| word.len() >= 6 && word.bytes().all(|b| b.is_ascii_hexdigit());
    line.starts_with(' ') && line.split_whitespace().next().is_some_and(is_address)
}

fn event(line: &str) -> Option<Line<'_>> {
    let (before, time, rest) = at_time(line)?;
    let (before, cpu) = match before.strip_suffix(']') {
        Some(inner) => {
            let (before, cpu) = inner.rsplit_once('[')?;
            (before.trim_end(), Some(cpu.parse().ok()?))
        }
        None => (before, None),
    };
    let (task, number) = before.rsplit_once(' ')?;
    // With both, the process comes first: `22803/26364`.
    let tid = number.rsplit('/').next().unwrap_or(number);
    let tid = tid.parse().ok()?;
    let task = Some(task.trim()).filter(|task| !task.is_empty());
    let (name, rest) = named(rest);
    Some(Line { time: Some(TimeNs(time)), cpu, task, tid: Some(tid), name, rest, rule: 0 })
}

/// What comes before the time, the time, and what comes after. Names of tasks may have colons, and
/// a line may be of nothing else, so that each word is looked at once.
fn at_time(line: &str) -> Option<(&str, i64, &str)> {
    let mut next = 0;
    line.split(' ').find_map(|word| {
        let start = next;
        next += word.len() + 1;
        let (time, _) = word.split_once(':')?;
        let before = line.get(..start)?.strip_suffix(' ')?;
        let rest = line.get(start + time.len() + 1..)?;
        let time = time.contains('.').then(|| decimal_ns(time)).flatten()?;
        Some((before.trim_end(), time, rest))
    })
}

/// The name of an event and what else there is. A number before the name is a period.
fn named(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let text = match text.split_once(' ') {
        Some((period, rest)) if !period.is_empty() && is_number(period) => rest.trim_start(),
        _ => text,
    };
    if let Some((name, rest)) = text.split_once(": ") {
        return (name, rest.trim());
    }
    if let Some(name) = text.trim_end().strip_suffix(':') {
        return (name, "");
    }
    // Records of perf itself: `PERF_RECORD_FORK(1:1):(0:0)`, `PERF_RECORD_LOST lost 12`.
    let end = text.find([' ', '(', ':']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (name, rest.trim())
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(task: &str, tid: i64, cpu: Option<u32>, time: i64) -> Line<'_> {
        let (task, tid, time) = (Some(task), Some(tid), Some(TimeNs(time)));
        Line { task, tid, cpu, time, ..Line::default() }
    }

    #[test]
    fn lines_are_read_whatever_fields_perf_was_asked_for() {
        let rest = "sched:sched_waking: comm=a pid=18 prio=0 target_cpu=000";
        let expected = |of: Line<'static>| {
            Read::Event(Line {
                name: "sched:sched_waking",
                rest: "comm=a pid=18 prio=0 target_cpu=000",
                ..of
            })
        };
        let with = |head: &str| format!("{head} {rest}");
        let plain = line("perf", 26382, Some(0), 852_823_978_000);
        let text = with("            perf 26382 [000]   852.823978:      ");
        assert_eq!(read(&text), expected(plain.clone()));
        let text = with("perf 26382/26382 [000]   852.823978:");
        assert_eq!(read(&text), expected(plain.clone()));
        let text = with("perf 26382 [000]   852.823978000:          1 ");
        assert_eq!(read(&text), expected(plain));
        let text = with(" kworker/0:3-eve  77  852.823978:");
        assert_eq!(read(&text), expected(line("kworker/0:3-eve", 77, None, 852_823_978_000)));
        let text = with(" lto cgu.0.rcgu. 26363 [011]     0.000001:");
        assert_eq!(read(&text), expected(line("lto cgu.0.rcgu.", 26363, Some(11), 1000)));
        let text = with("             :-1    -1 [000]     1.000000:");
        assert_eq!(read(&text), expected(line(":-1", -1, Some(0), 1_000_000_000)));
    }

    #[test]
    fn what_is_no_event_is_told_apart_from_what_is_broken() {
        for aside in ["", "   ", "# cmdline : perf", "\tffffffff81 x ([k])", "        ffffffff81 y"]
        {
            assert_eq!(read(aside), Read::Aside, "{aside}");
        }
        for broken in ["hello", "a b: c", "1.5: x", "a [0] 1.5: x", "perf x [000] 1.5: x"] {
            assert!(matches!(read(broken), Read::Broken(..)), "{broken}");
        }
        let text = "swapper 0 [000] 1.000000: PERF_RECORD_LOST lost 12";
        assert!(matches!(read(text), Read::Remark(Severity::Warning, "lost-events", _)));
    }

    #[test]
    fn a_line_of_colons_takes_no_longer_than_another() {
        for line in [":".repeat(2 << 20), "a: ".repeat(1 << 20), " 1.5".repeat(1 << 20)] {
            assert!(matches!(read(&line), Read::Broken(..)));
        }
    }

    #[test]
    fn samples_and_records_of_perf_itself_have_names() {
        let name = |text: &'static str| match read(text) {
            Read::Event(line) => (line.name, line.rest),
            other => panic!("{other:?}"),
        };
        let text = "a 1 [000] 1.5:     250000 cycles:u:  ffffffff81 main+0x3 (/bin/a)";
        assert_eq!(name(text), ("cycles:u", "ffffffff81 main+0x3 (/bin/a)"));
        assert_eq!(name("a 1 [000] 1.5: sched:sched_switch: "), ("sched:sched_switch", ""));
        let text = "a 0 [000] 0.0: PERF_RECORD_FORK(1:1):(0:0)";
        assert_eq!(name(text), ("PERF_RECORD_FORK", "(1:1):(0:0)"));
    }
}
