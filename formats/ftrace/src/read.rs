//! A line to an event: `comm-pid (tgid) [cpu] flags time: event: what it says`, and with latency
//! columns `comm-pid cpu-and-flags time: event: what it says`.

use kymo_core::Severity;
use kymo_lines::kernel::KernelLines;
use kymo_lines::{Line, LineContent, Lines, decimal_ns, scaled};
use kymo_model::timeline::TimeNs;

/// Meaning of lines of `ftrace`.
pub const TRACE: KernelLines = KernelLines { read, dialect: "text of ftrace", doubt: None };

/// Meaning of lines of several recordings at once: each begins with the name of its file.
const SEVERAL: KernelLines =
    KernelLines { read: read_several, dialect: "text of trace-cmd report", doubt: None };

/// So many lines are looked at for what `trace-cmd report` begins with.
const HEAD_LINES: usize = 256;

/// Reason why lines cannot be read where one knows what to do about it.
const OF_SEVERAL: &str = "it begins with the name of its file, as `trace-cmd report` prints several \
                          recordings at once; print each by itself";
const IS_GRAPH: &str = "it is of the function graph without times or tasks; set funcgraph-abstime \
                        and funcgraph-proc, or print it with `trace-cmd report`";
const IS_COUNTED: &str = "its time is a count without a unit, as the trace clocks counter, uptime \
                          and x86-tsc and `trace-cmd report --raw-ts` have it; record with local, \
                          mono or boot, and print without --raw-ts";

/// Returns the meaning of the lines of a file of `ftrace`.
#[must_use]
pub fn trace(bytes: &[u8]) -> KernelLines {
    let mut lines = Lines::new(bytes).take(HEAD_LINES).map(|line| line.text());
    if lines.any(|line| is_file_line(&line)) { SEVERAL } else { TRACE }
}

/// Returns true if a line is the first that `trace-cmd report` prints of one of several: `a.dat:
/// cpus=2`.
fn is_file_line(line: &str) -> bool {
    line.rsplit_once(": cpus=").is_some_and(|(_, count)| is_digits(count))
}

fn read_several(line: &str) -> LineContent<'_> {
    if line.trim_start().is_empty() {
        return LineContent::Aside;
    }
    LineContent::Broken(Severity::Error, OF_SEVERAL)
}

/// Returns true if the first lines of a file are of ftrace. With the subsystem before its name an
/// event is one of perf.
pub(crate) fn is_trace(head: &[u8]) -> bool {
    let KernelLines { read, .. } = trace(head);
    let Some(line) = kymo_lines::first_line(head, read) else { return false };
    match read(&line) {
        LineContent::Event(event) => !event.name.contains(':'),
        LineContent::Broken(_, why) => why == OF_SEVERAL || why == IS_COUNTED,
        _ => false,
    }
}

/// Name of events of the function tracer, which have no name of their own.
const FUNCTION: &str = "function";

/// Reads a line.
pub(crate) fn read(line: &str) -> LineContent<'_> {
    if let Some(count) = overwritten(line) {
        let message = format!("{count} events before these were overwritten");
        return LineContent::Remark(Severity::Note, "overwritten", message.into());
    }
    if line.starts_with('#') || line.trim_start().is_empty() || is_around(line) {
        return LineContent::Aside;
    }
    if let Some((cpu, lost)) = lost(line) {
        let message = format!("ftrace had no room for events: {lost}");
        return LineContent::Lost(cpu, message.into());
    }
    match event(line).or_else(|| graph(line)) {
        Some(event) => LineContent::Event(event),
        None if is_frame(line) => LineContent::Frame,
        None if line.starts_with('\t') => LineContent::Aside,
        None => LineContent::Broken(Severity::Error, rejection_reason(line)),
    }
}

/// Returns the number of overwritten events: those written that are not in the buffer any more.
fn overwritten(line: &str) -> Option<u64> {
    let (_, counts) = line.strip_prefix('#')?.split_once("entries-in-buffer/entries-written:")?;
    let (kept, written) = counts.split_whitespace().next()?.split_once('/')?;
    let count = written.parse::<u64>().ok()?.checked_sub(kept.parse().ok()?)?;
    (count > 0).then_some(count)
}

/// Returns the reason why a line is no event.
fn rejection_reason(line: &str) -> &'static str {
    if is_graph(line) {
        IS_GRAPH
    } else if is_counted(line) {
        IS_COUNTED
    } else {
        "it is no line of ftrace"
    }
}

/// Returns true if a line is of the function graph: ` 0)   1.2 us    |  f();`. A time may stand
/// before it where that was asked for. Lines between graphs, where a processor goes to another
/// task, count too.
fn is_graph(line: &str) -> bool {
    let line = line.trim();
    let is_rule = line.len() > 8 && line.bytes().all(|byte| byte == b'-');
    let rest = line.split_once(" |").filter(|(time, _)| decimal_ns(time.trim()).is_some());
    let rest = rest.map_or(line, |(_, rest)| rest.trim_start());
    is_rule || rest.split_once(')').is_some_and(|(cpu, _)| is_digits(cpu))
}

/// An event of the function graph that tells its time and its task:
/// `  100.000002 |   1)  bash-77       |   1.234 us    |    getname();`. It is what `trace-cmd report`
/// calls `funcgraph_entry` and `funcgraph_exit`.
fn graph(line: &str) -> Option<Line<'_>> {
    let (time, rest) = line.split_once(" |")?;
    let time = decimal_ns(time.trim())?;
    let (cpu, rest) = rest.split_once(')')?;
    let (task, rest) = rest.split_once('|')?;
    let (task, tid) = task.trim().rsplit_once('-')?;
    let (_, call) = rest.split_once('|')?;
    let is_exit = call.trim_start().starts_with('}');
    Some(Line {
        time: Some(TimeNs(time)),
        cpu: Some(cpu.trim().parse().ok()?),
        task: Some(task).filter(|task| !task.is_empty()),
        tid: Some(tid.parse().ok()?),
        name: if is_exit { "funcgraph_exit" } else { "funcgraph_entry" },
        rest: rest.trim(),
        rule: 0,
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a line would be an event if its time were a valid one: `a-1 [000] .... 12345:
/// event: …`, or `a-1 [000]12345: event: …`. Names of tasks may have colons.
fn is_counted(line: &str) -> bool {
    let is_cpu = |word: &str| {
        word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).is_some_and(is_digits)
    };
    let is_task = |word: &str| word.rsplit_once('-').is_some_and(|(_, tid)| is_digits(tid));
    let (mut has_task, mut before, mut last) = (false, "", "");
    line.split(' ').filter(|word| !word.is_empty()).any(|word| {
        let (cpu, time) = match word.split_once(']') {
            Some((cpu, time)) => (cpu.strip_prefix('[').is_some_and(is_digits), time),
            None => (
                is_cpu(last) || is_cpu(before) || last.starts_with(|c: char| c.is_ascii_digit()),
                word,
            ),
        };
        let is_it = has_task && cpu && time.strip_suffix(':').is_some_and(is_digits);
        has_task |= is_task(word);
        before = std::mem::replace(&mut last, word);
        is_it
    })
}

/// First words of lines that `trace-cmd report` prints before and, with `-w` and `-V`, behind all
/// events.
const AROUND: [&str; 9] = [
    "cpus=",
    "version = ",
    "registering plugin: ",
    "overriding event (",
    "removing override handler for event (",
    "Average wakeup latency: ",
    "Maximum Latency: ",
    "Minimum Latency: ",
    "RT task timings:",
];

/// Returns true if a line is one that `trace-cmd report` prints around events.
fn is_around(line: &str) -> bool {
    let is_empty = |rest: &str| rest.ends_with(" is empty");
    AROUND.iter().any(|start| line.starts_with(start))
        || line.strip_prefix("CPU ").is_some_and(is_empty)
}

/// Returns true if a line is of a calling context, which stands below its event: ` => name`.
fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("=> ")
}

/// Reads the processor and the lost events from a line: `CPU:1 [LOST 12 EVENTS]`, or `CPU:1 [12
/// EVENTS DROPPED]`.
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

/// Returns the text before the time, the time, and the text after it. Names of tasks may have
/// colons, and a line may be of nothing else, so that each word is looked at once.
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

/// Returns the text before the processor, and the processor: `[001] d..2.`, `[001]`, or `1d..2.`.
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
    let text = without_difference(text);
    if let Some(call) = system_call(text) {
        return call;
    }
    match text.split_once(": ") {
        Some((name, rest)) if !name.contains(' ') => (name, without_latency(rest.trim_start())),
        _ => match text.strip_suffix(':') {
            Some(name) if !name.contains(' ') => (name, ""),
            _ => (FUNCTION, text),
        },
    }
}

/// Returns the text after the time since the event before, which `--ts-diff` prints: `(+41)
/// name: …`.
fn without_difference(text: &str) -> &str {
    let rest = text.strip_prefix("(+").and_then(|text| text.split_once(')'));
    match rest {
        Some((time, rest)) if is_digits(time.trim_start_matches('-')) => rest.trim_start(),
        _ => text,
    }
}

/// Fields without the time since the wakeup, which `-w` prints: `… Latency: 907.484 usecs`.
fn without_latency(fields: &str) -> &str {
    let before = fields.strip_suffix(" usecs").and_then(|text| text.rsplit_once(" Latency: "));
    match before {
        Some((fields, time)) if decimal_ns(time).is_some() => fields,
        _ => fields,
    }
}

/// A system call as tracefs prints it: `sys_dup2(oldfd: 0xb, newfd: 1)`, `sys_dup2 -> 0x1`.
fn system_call(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with("sys_") {
        return None;
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let (name, rest) = text.split_at(end);
    let is_entry = rest.starts_with('(') && rest.ends_with(')');
    (is_entry || rest.starts_with(" -> ")).then_some((name, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(task: &'static str, tid: i64, cpu: u32, time: i64) -> LineContent<'static> {
        LineContent::Event(Line {
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
            assert!(matches!(read(&line), LineContent::Broken(..)));
        }
    }

    #[test]
    fn functions_have_no_name() {
        let LineContent::Event(line) = read("  bash-1  [000] .... 1.5: sys_close <-do_syscall_64")
        else {
            panic!("no event");
        };
        assert_eq!((line.name, line.rest), ("function", "sys_close <-do_syscall_64"));
    }

    /// The name and the rest of an event.
    fn said(rest: &str) -> (String, String) {
        let line = format!("  bash-1  [000] .... 1.5: {rest}");
        match read(&line) {
            LineContent::Event(line) => (line.name.to_owned(), line.rest.to_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn system_calls_are_named_as_they_are() {
        let item = |rest: &str| ("sys_dup2".to_owned(), rest.to_owned());
        assert_eq!(said("sys_dup2(oldfd: 0xb, newfd: 1)"), item("(oldfd: 0xb, newfd: 1)"));
        assert_eq!(said("sys_dup2 -> 0x1"), item("-> 0x1"));
        assert_eq!(said("sys_getpid()"), ("sys_getpid".to_owned(), "()".to_owned()));
    }

    #[test]
    fn what_options_of_trace_cmd_add_is_passed_over() {
        let fields = "bash:484 [120] R ==> rt:788 [49]";
        let expected = ("sched_switch".to_owned(), fields.to_owned());
        for text in [
            format!("sched_switch:         {fields}"),
            format!("(+41)    sched_switch:         {fields}"),
            format!("         sched_switch:         {fields}"),
            format!("sched_switch:         {fields} Latency: 907.484 usecs"),
        ] {
            assert_eq!(said(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_function_graph_with_times_and_tasks_is_events() {
        let line = "  100.000002 |   1)  a-b-77        |   1.234 us    |    getname();";
        let expected = Line {
            time: Some(TimeNs(100_000_002_000)),
            cpu: Some(1),
            task: Some("a-b"),
            tid: Some(77),
            name: "funcgraph_entry",
            rest: "1.234 us    |    getname();",
            rule: 0,
        };
        assert_eq!(read(line), LineContent::Event(expected));
        let line = "  100.000005 |   1)  bash-77       | + 12.345 us   |  }";
        assert!(matches!(read(line), LineContent::Event(Line { name: "funcgraph_exit", .. })));
    }

    #[test]
    fn times_that_are_counts_are_recognised() {
        for line in [
            "            bash-20824 [001]1838267213493: print:                tracing_mark_write: B",
            "            bash-17457   [001] .....            2: sched_process_fork: comm=bash",
            "            x: y-17457   [001] d..2.       175889: sched_stat_runtime: comm=x: y",
            "            bash-17457   (  17457) [001] d..2.       175889: sched_waking: comm=a",
            "    bash-17457   1d..2.       175889: sched_waking: comm=a",
        ] {
            assert_eq!(read(line), LineContent::Broken(Severity::Error, IS_COUNTED), "{line}");
            assert!(is_trace(format!("cpus=2\n{line}\n").as_bytes()), "{line}");
        }
        assert!(!is_trace(b"process 12 [001] 77: hello\n"));
    }

    #[test]
    fn several_recordings_at_once_say_what_they_are() {
        let text = "   a.dat: cpus=2\nmono.dat: cpus=2\n   a.dat:             bash-20824 [001]  \
                    1838.267213: print:                tracing_mark_write: B|10380|fun one\n";
        assert!(is_trace(text.as_bytes()));
        let KernelLines { read, .. } = trace(text.as_bytes());
        for line in text.lines() {
            assert_eq!(read(line), LineContent::Broken(Severity::Error, OF_SEVERAL), "{line}");
        }
    }

    #[test]
    fn what_is_no_event_is_told_apart_from_what_is_broken() {
        let asides = [
            "# tracer: nop",
            "",
            "cpus=2",
            "version = 6",
            "CPU 1 is empty",
            "registering plugin: /usr/lib/traceevent/plugins/plugin_kvm.so",
            "overriding event (188) tlb:tlb_flush with new print handler",
            "removing override handler for event (522) syscalls:sys_enter_futex. Going back to default handler.",
            "Average wakeup latency: 2.230 usecs",
            "Maximum Latency: 3.024 usecs at timestamp: 1838.313268",
            "Minimum Latency: 1.782 usecs at timestamp: 1838.340531",
            "RT task timings:",
        ];
        for aside in asides {
            assert_eq!(read(aside), LineContent::Aside, "{aside}");
        }
        assert_eq!(read(" => do_nanosleep"), LineContent::Frame);
        for lost in ["CPU:1 [LOST 12 EVENTS]", "CPU:1 [12 EVENTS DROPPED]"] {
            assert!(matches!(read(lost), LineContent::Lost(Some(1), _)), "{lost}");
        }
        let head = |counts: &str| format!("# entries-in-buffer/entries-written: {counts}   #P:2");
        for (counts, is_said) in [("47/51234", true), ("47/47", false), ("x/9", false)] {
            let head = head(counts);
            let is_note =
                matches!(read(&head), LineContent::Remark(Severity::Note, "overwritten", _));
            assert_eq!(is_note, is_said, "{head}");
        }
        let graph = [
            " 0)   1.2 us    |  f();",
            " 10)               |  }",
            " ----------------------",
            "  1282.911234 |   0)   0.189 us    |  do_sys_open();",
        ];
        for graph in graph {
            let LineContent::Broken(_, why) = read(graph) else { panic!("{graph}") };
            assert!(why.starts_with("it is of the function graph"), "{graph}: {why}");
        }
        let counted = "  bash-1  [000] d..2.  8412: sched_waking: comm=a pid=18 prio=0";
        let LineContent::Broken(_, why) = read(counted) else { panic!("{counted}") };
        assert!(why.starts_with("its time is a count"), "{why}");
        let broken = ["hello", " 0)   1.2 us    |  f();", "a-1 [x] 1.5: e: f", "a [000] 1.5: e: f"];
        for broken in broken {
            assert!(matches!(read(broken), LineContent::Broken(..)), "{broken}");
        }
    }
}
