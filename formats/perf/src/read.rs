//! A line to an event: `comm tid [cpu] time: [period] event: what it says`.

use kymo_core::Severity;
use kymo_core::model::timeline::TimeNs;
use kymo_lines::kernel::KernelLines;
use kymo_lines::{Line, Lines, Read, decimal_ns};

/// So many bytes are looked at to find out which fields lines have.
const SAMPLE_BYTES: usize = 256 << 10;

/// So many events are.
const SAMPLE_EVENTS: usize = 1024;

/// Why a line is none that can be read where one knows what to do about it.
const LACKS_TIME: &str = "it tells no time, or no event; `perf script -F \
                          comm,tid,cpu,time,event,trace` prints both";

/// What tells the task of an event. The lines of a file have the same fields, and a single one does
/// not say which: `worker 1` is a name, or a name and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    CommTid,
    Comm,
    Tid,
    Neither,
}

/// What the lines of a file of `perf script` mean, told by the first of them.
#[must_use]
pub fn script(bytes: &[u8]) -> KernelLines {
    let read = match Layout::of(bytes) {
        Layout::CommTid => read::<true, true>,
        Layout::Comm => read::<true, false>,
        Layout::Tid => read::<false, true>,
        Layout::Neither => read::<false, false>,
    };
    KernelLines { read, dialect: "text of perf script" }
}

/// Whether the first lines of a file are such as `perf script` prints.
pub(crate) fn is_script(head: &[u8]) -> bool {
    let KernelLines { read, .. } = script(head);
    let Some(line) = kymo_lines::first_line(head, read) else { return false };
    match read(&line) {
        // Any log has times. Where it says less of tasks, it must say what perf alone does.
        Read::Event(event) => event.tid.is_some() && event.task.is_some() || is_point(event.name),
        Read::Broken(_, why) => why == LACKS_TIME,
        _ => false,
    }
}

/// Whether an event has a name with its subsystem: `sched:sched_switch`.
fn is_point(name: &str) -> bool {
    let is_word = |word: &str| {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !word.is_empty() && word.bytes().all(|byte| is_letter(byte) || byte == b'_')
    };
    name.split_once(':').is_some_and(|(system, event)| is_word(system) && is_word(event))
}

impl Layout {
    /// The one that most of the first events have.
    fn of(bytes: &[u8]) -> Self {
        let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
        let lines = Lines::new(sample).map(|line| line.text());
        let layouts = lines.filter_map(|line| Self::of_line(&line)).take(SAMPLE_EVENTS);
        let (mut both, mut comm, mut tid, mut neither) = (0, 0, 0, 0);
        for layout in layouts {
            match layout {
                Self::CommTid => both += 1,
                Self::Comm => comm += 1,
                Self::Tid => tid += 1,
                Self::Neither => neither += 1,
            }
        }
        match (both + comm, tid, neither) {
            (named, tid, neither) if neither > named && neither > tid => Self::Neither,
            (named, tid, _) if tid > named => Self::Tid,
            // Many names end in a number, and no number is a name.
            (named @ 1.., ..) if comm * 4 >= named => Self::Comm,
            _ => Self::CommTid,
        }
    }

    fn of_line(line: &str) -> Option<Self> {
        if is_aside(line) {
            return None;
        }
        let (before, ..) = at_time(line)?;
        let (before, _) = processor(before)?;
        let before = before.trim_start();
        let (name, number) = before.rsplit_once(' ').unwrap_or(("", before));
        Some(match (tid(number), name.is_empty()) {
            _ if before.is_empty() => Self::Neither,
            (Some(_), true) => Self::Tid,
            (Some(_), false) => Self::CommTid,
            (None, _) => Self::Comm,
        })
    }
}

/// Whether a line is no event: calling contexts stand below theirs, and an empty line ends them.
fn is_aside(line: &str) -> bool {
    line.starts_with(['#', '\t']) || line.trim_start().is_empty()
}

/// Reads a line that tells the name of the task, its number, both or neither.
fn read<const COMM: bool, const TID: bool>(line: &str) -> Read<'_> {
    if is_aside(line) {
        return Read::Aside;
    }
    match event::<COMM, TID>(line) {
        Some(event) if event.name == "PERF_RECORD_LOST" => lost(&event),
        Some(event) if !lacks_event(event.name) => Read::Event(event),
        None if is_frame(line) => Read::Aside,
        None if !lacks_time(line) => Read::Broken(Severity::Error, "it is no line of perf script"),
        _ => Read::Broken(Severity::Error, LACKS_TIME),
    }
}

/// Whether what should be the name of an event is its first field.
fn lacks_event(name: &str) -> bool {
    name.starts_with("prev_comm=") || name.starts_with("comm=")
}

/// Whether a line would be an event if it had a time.
fn lacks_time(line: &str) -> bool {
    let is_event = |word: &str| word.starts_with("sched:sched_") && word.ends_with(':');
    line.split(' ').any(is_event) && at_time(line).is_none()
}

fn lost<'a>(event: &Line<'a>) -> Read<'a> {
    let message = format!("perf had no room for events: {}", event.rest);
    Read::Lost(event.cpu, message.into())
}

/// Whether a line is of a calling context: an address and a name, further in than any event.
fn is_frame(line: &str) -> bool {
    let is_address = |word: &str| word.len() >= 6 && word.bytes().all(|b| b.is_ascii_hexdigit());
    line.starts_with(' ') && line.split_whitespace().next().is_some_and(is_address)
}

fn event<const COMM: bool, const TID: bool>(line: &str) -> Option<Line<'_>> {
    let (before, time, rest) = at_time(line)?;
    let (before, cpu) = processor(before)?;
    let (task, tid) = match (COMM, TID) {
        (true, true) => {
            let (task, number) = before.rsplit_once(' ')?;
            (task, Some(tid(number)?))
        }
        (true, false) => (before, None),
        (false, true) => ("", Some(tid(before.trim_start())?)),
        (false, false) if before.trim_start().is_empty() => ("", None),
        (false, false) => return None,
    };
    let task = Some(task.trim()).filter(|task| !task.is_empty());
    let (name, rest) = named(rest);
    Some(Line { time: Some(TimeNs(time)), cpu, task, tid, name, rest, rule: 0 })
}

/// What comes before the processor, and the processor where a line tells it.
fn processor(before: &str) -> Option<(&str, Option<u32>)> {
    let Some(inner) = before.strip_suffix(']') else { return Some((before, None)) };
    let (before, cpu) = inner.rsplit_once('[')?;
    Some((before.trim_end(), Some(cpu.parse().ok()?)))
}

/// The number of a task. With both, the process comes first: `22803/26364`.
fn tid(text: &str) -> Option<i64> {
    text.rsplit('/').next().unwrap_or(text).parse().ok()
}

/// What comes before the time, the time, and what comes after. Names of tasks may have colons, and
/// a line may be of nothing else, so that each word is looked at once.
fn at_time(line: &str) -> Option<(&str, i64, &str)> {
    let mut next = 0;
    line.split(' ').find_map(|word| {
        let start = next;
        next += word.len() + 1;
        let (time, _) = word.split_once(':')?;
        let before = line.get(..start)?;
        let rest = line.get(start + time.len() + 1..)?;
        let time = time.contains('.').then(|| decimal_ns(time)).flatten()?;
        Some((before.trim_end(), time, rest))
    })
}

/// The name of an event and what else there is. A number before the name is a period, and an address
/// of the kernel after all fields is where the event was.
fn named(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let text = match text.split_once(' ') {
        Some((period, rest)) if !period.is_empty() && is_number(period) => rest.trim_start(),
        _ => text,
    };
    if let Some((name, rest)) = text.split_once(": ") {
        return (name, if is_point(name) { without_place(rest.trim()) } else { rest.trim() });
    }
    if let Some(name) = text.trim_end().strip_suffix(':') {
        return (name, "");
    }
    // Records of perf itself: `PERF_RECORD_FORK(1:1):(0:0)`, `PERF_RECORD_LOST lost 12`.
    let end = text.find([' ', '(', ':']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (name, rest.trim())
}

/// Fields without the address, the symbol and the file that `-F ip,sym,dso` print after them.
fn without_place(fields: &str) -> &str {
    let is_address = |word: &str| {
        word.len() == 16 && word.starts_with("ffff") && word.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let mut before = fields;
    for _ in 0..3 {
        let Some((rest, word)) = before.rsplit_once(' ') else { break };
        if is_address(word) {
            return rest.trim_end();
        }
        before = rest;
    }
    fields
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Read<'_> {
        super::read::<true, true>(line)
    }

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

    /// Reads a file of one line, which tells by itself which fields lines have.
    fn alone(line: &str) -> (Option<String>, Option<i64>, Option<u32>) {
        match (script(format!("{line}\n").as_bytes()).read)(line) {
            Read::Event(line) => (line.task.map(str::to_owned), line.tid, line.cpu),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_need_tell_no_task() {
        let with = |head: &str| alone(&format!("{head} 2.000001:  sched:sched_waking: comm=a"));
        assert_eq!(alone("2.000001: sched:sched_waking: comm=a"), (None, None, None));
        assert_eq!(with(" "), (None, None, None));
        assert_eq!(with("[001] "), (None, None, Some(1)));
        assert_eq!(with("   18 [001]"), (None, Some(18), Some(1)));
        assert_eq!(with("   17/18    [001]"), (None, Some(18), Some(1)));
        assert_eq!(with(" control loop [001]"), (Some("control loop".into()), None, Some(1)));
        assert_eq!(with("a:b "), (Some("a:b".into()), None, None));
    }

    #[test]
    fn the_lines_of_a_file_tell_together_which_fields_they_have() {
        let with = |head: &str| format!("{head} [000] 2.000001: sched:sched_waking: comm=a\n");
        let named = with("worker 1");
        let task = |text: &str| match (script(text.as_bytes()).read)(named.trim_end()) {
            Read::Event(line) => (line.task.map(str::to_owned), line.tid),
            other => panic!("{other:?}"),
        };
        let (name, number) = (with("rustc"), with("rustc 7"));
        assert_eq!(task(&format!("{named}{named}{named}{name}")), (Some("worker 1".into()), None));
        // One line that is damaged does not make names of all numbers.
        let numbers = number.repeat(4);
        assert_eq!(task(&format!("{named}{numbers}{name}")), (Some("worker".into()), Some(1)));
        assert_eq!(task(&format!("# x\n\n\tframe 1.5: x\n{named}")).1, Some(1));
    }

    #[test]
    fn what_lacks_the_time_or_the_event_says_how_to_print_it() {
        for line in ["a 1 [000] sched:sched_switch: prev_comm=a", "[000]  1.500000: comm=a pid=1"] {
            let text = format!("{line}\n");
            let read = (script(text.as_bytes()).read)(line);
            assert_eq!(read, Read::Broken(Severity::Error, LACKS_TIME), "{line}");
            assert!(is_script(text.as_bytes()), "{line}");
        }
        for line in
            ["1.5: hello: world", "[000] 1.5: Some:thing: else", "a: 1.500000: b: c", "1.5: x"]
        {
            assert!(!is_script(format!("{line}\n").as_bytes()), "{line}");
        }
    }

    #[test]
    fn where_an_event_was_is_none_of_its_fields() {
        let rest = |after: &str| {
            let line = format!("a 1 [000] 1.5: sched:sched_waking: comm=a target_cpu=000{after}");
            match read(&line) {
                Read::Event(line) => line.rest.to_owned(),
                other => panic!("{other:?}"),
            }
        };
        let fields = "comm=a target_cpu=000";
        assert_eq!(rest(""), fields);
        assert_eq!(rest(" ffffffff813a8834 try_to_wake_up"), fields);
        assert_eq!(rest(" ffffffff813a8834 try_to_wake_up+0x5 ([kernel.kallsyms])"), fields);
        assert_eq!(rest(" f3a8834 x"), format!("{fields} f3a8834 x"));
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
        assert!(matches!(read(text), Read::Lost(Some(0), _)));
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
