//! A line to an event: `comm-pid (tgid) [cpu] flags time: event: what it says`, and with latency
//! columns `comm-pid cpu-and-flags time: event: what it says`.

use kymo_core::Severity;
use kymo_core::model::timeline::TimeNs;
use kymo_lines::kernel::KernelLines;
use kymo_lines::{Line, Read, decimal_ns, scaled};

/// What lines of `ftrace` mean.
pub const TRACE: KernelLines = KernelLines { read, dialect: "text of ftrace" };

/// What events of the function tracer are called, which have no name of their own.
const FUNCTION: &str = "function";

/// Reads a line.
pub(crate) fn read(line: &str) -> Read<'_> {
    if let Some(count) = overwritten(line) {
        let message = format!("{count} events before these were overwritten");
        return Read::Remark(Severity::Note, "overwritten", message.into());
    }
    if line.starts_with('#') || line.trim_start().is_empty() || is_head(line) {
        return Read::Aside;
    }
    if let Some((cpu, lost)) = lost(line) {
        let message = format!("ftrace had no room for events: {lost}");
        return Read::Lost(cpu, message.into());
    }
    match event(line) {
        Some(event) => Read::Event(event),
        None if is_below(line) => Read::Aside,
        None => Read::Broken(Severity::Error, why_not(line)),
    }
}

/// How many events were overwritten: those written that are not in the buffer any more.
fn overwritten(line: &str) -> Option<u64> {
    let (_, counts) = line.strip_prefix('#')?.split_once("entries-in-buffer/entries-written:")?;
    let (kept, written) = counts.split_whitespace().next()?.split_once('/')?;
    let count = written.parse::<u64>().ok()?.checked_sub(kept.parse().ok()?)?;
    (count > 0).then_some(count)
}

/// Why a line is no event.
fn why_not(line: &str) -> &'static str {
    if is_graph(line) {
        "it is of the function graph, which tells how long and not when; `trace-cmd report` prints \
         such a recording as events with their times"
    } else if is_counted(line) {
        "its time is a count without a unit, as the trace clocks counter and x86-tsc have it; \
         record with local, mono or boot"
    } else {
        "it is no line of ftrace"
    }
}

/// Whether a line is of the function graph: ` 0)   1.2 us    |  f();`, with a time before it where
/// that was asked for, or what is between them when a processor goes to another task.
fn is_graph(line: &str) -> bool {
    let line = line.trim();
    let is_rule = line.len() > 8 && line.bytes().all(|byte| byte == b'-');
    let rest = line.split_once(" |").filter(|(time, _)| decimal_ns(time.trim()).is_some());
    let rest = rest.map_or(line, |(_, rest)| rest.trim_start());
    let cpu = rest.split_once(')').map(|(cpu, _)| cpu);
    is_rule || cpu.is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a line would be an event if its time were one: `a-1 [000] .... 12345: event: …`.
fn is_counted(line: &str) -> bool {
    let mut words = line.match_indices(": ").map(|(at, _)| line.get(..at).unwrap_or_default());
    words.next().and_then(|head| head.rsplit_once(' ')).is_some_and(|(before, time)| {
        let is_count = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
        is_count && processor(before.trim_end()).is_some()
    })
}

/// Whether a line is what `trace-cmd report` begins with.
fn is_head(line: &str) -> bool {
    let is_empty = |rest: &str| rest.ends_with(" is empty");
    line.starts_with("cpus=")
        || line.starts_with("version = ")
        || line.strip_prefix("CPU ").is_some_and(is_empty)
}

/// Whether a line is of a calling context, which stands below its event: ` => name`.
fn is_below(line: &str) -> bool {
    line.trim_start().starts_with("=> ") || line.starts_with('\t')
}

/// What was lost: `CPU:1 [LOST 12 EVENTS]`, or `CPU:1 [12 EVENTS DROPPED]`.
fn lost(line: &str) -> Option<(Option<u32>, &str)> {
    let rest = line.strip_prefix("CPU:")?;
    let (cpu, inner) = rest.strip_suffix(']')?.split_once(" [")?;
    inner.contains("EVENTS").then(|| (cpu.trim().parse().ok(), inner))
}

fn event(line: &str) -> Option<Line<'_>> {
    let (before, time, rest) = at_time(line)?;
    let (before, cpu) = processor(before)?;
    let before = match before.strip_suffix(')') {
        Some(inner) => inner.rsplit_once('(')?.0.trim_end(),
        None => before,
    };
    let (task, tid) = before.trim_start().rsplit_once('-')?;
    let tid = tid.parse().ok()?;
    let task = Some(task).filter(|task| !task.is_empty());
    let (name, rest) = named(rest.trim());
    Some(Line {
        time: Some(TimeNs(time)),
        cpu: Some(cpu),
        task,
        tid: Some(tid),
        name,
        rest,
        rule: 0,
    })
}

/// What comes before the time, the time, and what comes after. Names of tasks may have colons, and
/// a line may be of nothing else, so that each word is looked at once.
fn at_time(line: &str) -> Option<(&str, i64, &str)> {
    let (mut next, mut last) = (0, (0, ""));
    line.split(' ').find_map(|word| {
        let start = next;
        next += word.len() + 1;
        let before = std::mem::replace(&mut last, (start, word));
        let (time, _) = word.split_once(':')?;
        let rest = line.get(start + time.len() + 1..)?;
        // After microseconds there is a mark for a long time until the next: `12us+:`, `12us :`.
        let (start, marked) = match unmarked(time) {
            "" => (before.0, unmarked(before.1)),
            marked => (start, marked),
        };
        let before = line.get(..start)?.strip_suffix(' ')?.trim_end();
        if let Some(microseconds) = marked.strip_suffix("us") {
            return Some((before, scaled(microseconds, 3)?, rest));
        }
        let time = time.contains('.').then(|| decimal_ns(time)).flatten()?;
        Some((before, time, rest))
    })
}

fn unmarked(word: &str) -> &str {
    word.trim_end_matches(['+', '!', '#', '*', '@', '$'])
}

/// What comes before the processor, and the processor: `[001] d..2.`, `[001]`, or `1d..2.`.
fn processor(text: &str) -> Option<(&str, u32)> {
    let (before, last) = text.rsplit_once(' ')?;
    let bracketed = |text: &'_ str| text.strip_suffix(']')?.rsplit_once('[').map(|(_, n)| n.len());
    let in_brackets = if bracketed(last).is_some() {
        Some(text)
    } else {
        Some(before.trim_end()).filter(|before| before.ends_with(']'))
    };
    if let Some(inner) = in_brackets.and_then(|text| text.strip_suffix(']')) {
        let (before, cpu) = inner.rsplit_once('[')?;
        return Some((before.trim_end(), cpu.parse().ok()?));
    }
    let digits = last.find(|c: char| !c.is_ascii_digit()).unwrap_or(last.len());
    Some((before.trim_end(), last.get(..digits)?.parse().ok()?))
}

/// The name of an event and what else there is.
fn named(text: &str) -> (&str, &str) {
    match text.split_once(": ") {
        Some((name, rest)) if !name.contains(' ') => (name, rest.trim_start()),
        _ => match text.strip_suffix(':') {
            Some(name) if !name.contains(' ') => (name, ""),
            _ => (FUNCTION, text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(task: &'static str, tid: i64, cpu: u32, time: i64) -> Read<'static> {
        Read::Event(Line {
            time: Some(TimeNs(time)),
            cpu: Some(cpu),
            task: Some(task),
            tid: Some(tid),
            name: "sched_waking",
            rest: "comm=a pid=18 prio=0 target_cpu=000",
            rule: 0,
        })
    }

    #[test]
    fn lines_of_all_layouts_are_read() {
        let rest = "sched_waking: comm=a pid=18 prio=0 target_cpu=000";
        for (head, expected) in [
            (
                "     migration/1-21      [001] d..4.  1094.649511:",
                ("migration/1", 21, 1, 1_094_649_511_000),
            ),
            (
                "     migration/1-21      [001]   1094.649511:",
                ("migration/1", 21, 1, 1_094_649_511_000),
            ),
            (
                "    kworker/0:3-eve-22883   (-------) [000] d..2.  1.5:",
                ("kworker/0:3-eve", 22883, 0, 1_500_000_000),
            ),
            ("    bash-31786   ( 1977) [012] d..2.  1.5:", ("bash", 31786, 12, 1_500_000_000)),
            ("    bash-31786     1d..2. 14033us+:", ("bash", 31786, 1, 14_033_000)),
            ("  opt a-b-9     12dN.2.  15us :", ("opt a-b", 9, 12, 15_000)),
            ("opt 9o05-779     0d..2.  1153.543140042:", ("opt 9o05", 779, 0, 1_153_543_140_042)),
            ("          <idle>-0     [003] d.h2.  2.0:", ("<idle>", 0, 3, 2_000_000_000)),
        ] {
            let (task, tid, cpu, time) = expected;
            let line = format!("{head} {rest}");
            assert_eq!(read(&line), self::expected(task, tid, cpu, time), "{line}");
        }
    }

    #[test]
    fn a_line_of_colons_takes_no_longer_than_another() {
        for line in [":".repeat(2 << 20), "+:".repeat(1 << 20), "a: ".repeat(1 << 20)] {
            assert!(matches!(read(&line), Read::Broken(..)));
        }
    }

    #[test]
    fn functions_have_no_name() {
        let Read::Event(line) = read("  bash-1  [000] .... 1.5: sys_close <-do_syscall_64") else {
            panic!("no event");
        };
        assert_eq!((line.name, line.rest), ("function", "sys_close <-do_syscall_64"));
    }

    #[test]
    fn what_is_no_event_is_told_apart_from_what_is_broken() {
        let asides =
            ["# tracer: nop", "", "cpus=2", "version = 6", "CPU 1 is empty", " => do_nanosleep"];
        for aside in asides {
            assert_eq!(read(aside), Read::Aside, "{aside}");
        }
        for lost in ["CPU:1 [LOST 12 EVENTS]", "CPU:1 [12 EVENTS DROPPED]"] {
            assert!(matches!(read(lost), Read::Lost(Some(1), _)), "{lost}");
        }
        let head = |counts: &str| format!("# entries-in-buffer/entries-written: {counts}   #P:2");
        for (counts, is_said) in [("47/51234", true), ("47/47", false), ("x/9", false)] {
            let head = head(counts);
            let is_note = matches!(read(&head), Read::Remark(Severity::Note, "overwritten", _));
            assert_eq!(is_note, is_said, "{head}");
        }
        let graph = [
            " 0)   1.2 us    |  f();",
            " 10)               |  }",
            " ----------------------",
            "  1282.911234 |   0)   0.189 us    |  do_sys_open();",
        ];
        for graph in graph {
            let Read::Broken(_, why) = read(graph) else { panic!("{graph}") };
            assert!(why.starts_with("it is of the function graph"), "{graph}: {why}");
        }
        let counted = "  bash-1  [000] d..2.  8412: sched_waking: comm=a pid=18 prio=0";
        let Read::Broken(_, why) = read(counted) else { panic!("{counted}") };
        assert!(why.starts_with("its time is a count"), "{why}");
        let broken = ["hello", " 0)   1.2 us    |  f();", "a-1 [x] 1.5: e: f", "a [000] 1.5: e: f"];
        for broken in broken {
            assert!(matches!(read(broken), Read::Broken(..)), "{broken}");
        }
    }
}
