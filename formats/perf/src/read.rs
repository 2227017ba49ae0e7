//! A line to an event: `comm tid [cpu] time: [period] event: what it says`.

use kymo_core::Severity;
use kymo_lines::kernel::KernelLines;
use kymo_lines::{Line, LineContent, Lines, decimal_ns};
use kymo_model::timeline::TimeNs;

/// So many bytes are looked at to find out which fields lines have.
const SAMPLE_BYTES: usize = 256 << 10;

/// So many events are.
const SAMPLE_EVENTS: usize = 1024;

/// Reason why a line cannot be read where one knows what to do about it.
const LACKS_EVENT: &str = "it tells no time, or no event; `perf script -F \
                           comm,tid,cpu,time,event,trace` prints both";

const LACKS_TIME: &str = "it tells no time; `perf script -F comm,tid,cpu,time,event,trace` prints it, \
                          where `perf record` kept it";

const OF_TRACE: &str = "it is of `perf trace`; `perf script -F comm,tid,cpu,time,event,trace` prints \
                        what can be read";

/// Doubt about whether `[003]` is a processor: perf prints it of all events or of none, and a task
/// may have such a name.
const DOUBT: &str = "some lines have a number in brackets before the time, and some do not: it is \
                     taken for the processor where most have it, and else for the name of a task";

/// Fields that give the task of an event. The lines of a file have the same fields, and a single
/// line does not show which: `worker 1` is a name, or a name and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    CommTid,
    Comm,
    Tid,
    Neither,
}

/// Returns the meaning of the lines of a file of `perf script`, as found from the first of them.
/// The first lines also show whether lines give processors, as most do or do not.
#[must_use]
pub fn script(bytes: &[u8]) -> KernelLines {
    let sample = sample(bytes);
    let with = sample.iter().filter(|before| in_brackets(before).is_some()).count();
    let has_cpu = 2 * with > sample.len();
    let read = match (Layout::from_sample(&sample, has_cpu), has_cpu) {
        (Layout::CommTid, true) => read::<true, true, true>,
        (Layout::CommTid, false) => read::<true, true, false>,
        (Layout::Comm, true) => read::<true, false, true>,
        (Layout::Comm, false) => read::<true, false, false>,
        (Layout::Tid, true) => read::<false, true, true>,
        (Layout::Tid, false) => read::<false, true, false>,
        (Layout::Neither, true) => read::<false, false, true>,
        (Layout::Neither, false) => read::<false, false, false>,
    };
    let is_doubtful = 4 * with > sample.len() && 4 * with < 3 * sample.len();
    KernelLines { read, dialect: "text of perf script", doubt: is_doubtful.then_some(DOUBT) }
}

/// Returns the text of the first events before their times, as far as it is of the task and the
/// processor.
fn sample(bytes: &[u8]) -> Vec<String> {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let lines = Lines::new(sample).map(|line| line.text()).filter(|line| !is_aside(line));
    let events =
        lines.filter_map(|line| at_time(&line).map(|(before, ..)| task_fields(before).into()));
    events.take(SAMPLE_EVENTS).collect()
}

/// Returns true if the first lines of a file are such as `perf script` prints.
pub(crate) fn is_script(head: &[u8]) -> bool {
    let KernelLines { read, .. } = script(head);
    let Some(line) = kymo_lines::first_line(head, read) else { return false };
    match read(&line) {
        // Any log has times. Where it says less of tasks, it must say what perf alone does.
        LineContent::Event(event) => {
            event.tid.is_some() && event.task.is_some() || is_point(event.name)
        }
        LineContent::Broken(_, why) if why == LACKS_TIME => {
            names_switch(&line) || stack_follows(head, &line)
        }
        LineContent::Broken(_, why) => why == LACKS_EVENT || why == OF_TRACE,
        _ => false,
    }
}

/// Returns true if the line after one is of a calling context: any log may have lines that end with
/// a colon.
fn stack_follows(head: &[u8], line: &str) -> bool {
    let mut lines = Lines::new(head).map(|line| line.text()).skip_while(|name| **name != *line);
    lines.nth(1).is_some_and(|next| is_frame(&next))
}

/// Returns true if an event has a name with its subsystem: `sched:sched_switch`.
fn is_point(name: &str) -> bool {
    let is_word = |word: &str| {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !word.is_empty() && word.bytes().all(|byte| is_letter(byte) || byte == b'_')
    };
    name.split_once(':').is_some_and(|(system, event)| is_word(system) && is_word(event))
}

impl Layout {
    /// The one that most of the first events have.
    fn from_sample(sample: &[String], has_cpu: bool) -> Self {
        let (mut both, mut comm, mut tid, mut neither) = (0, 0, 0, 0);
        for (before, _) in sample.iter().filter_map(|before| processor(before, has_cpu)) {
            match Self::from_line(before) {
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

    /// Returns the fields that give the task, by what a line has before its processor.
    fn from_line(before: &str) -> Self {
        let before = before.trim_start();
        let (name, number) = before.rsplit_once(' ').unwrap_or(("", before));
        match (tid(number), name.is_empty()) {
            _ if before.is_empty() => Self::Neither,
            (Some(_), true) => Self::Tid,
            (Some(_), false) => Self::CommTid,
            (None, _) => Self::Comm,
        }
    }
}

/// Returns true if a line is no event: calling contexts stand below theirs, and an empty line ends
/// them.
fn is_aside(line: &str) -> bool {
    line.starts_with(['#', '\t']) || line.trim_start().is_empty()
}

/// Reads a line that tells the name of the task, its number, both or neither.
fn read<const COMM: bool, const TID: bool, const CPU: bool>(line: &str) -> LineContent<'_> {
    if line.starts_with('\t') && is_frame(line) {
        return LineContent::Frame;
    }
    if is_aside(line) {
        return LineContent::Aside;
    }
    match event::<COMM, TID, CPU>(line) {
        Some(event) if event.name == "PERF_RECORD_LOST" => lost(&event),
        Some(event) if !is_missing_event(event.name) => LineContent::Event(event),
        Some(_) => LineContent::Broken(Severity::Error, LACKS_EVENT),
        None if is_frame(line) => LineContent::Frame,
        None if is_record(line) => LineContent::Aside,
        None if is_missing_time(line) => LineContent::Broken(Severity::Error, LACKS_TIME),
        None if is_source(line) => LineContent::Aside,
        None if is_perf_trace_line(line) => LineContent::Broken(Severity::Error, OF_TRACE),
        None => LineContent::Broken(Severity::Error, "it is no line of perf script"),
    }
}

/// Returns true if what should be the name of an event is its first field: `vec=9`. Some events
/// have such words in their names: `cpu/event=0xc0/`.
fn is_missing_event(name: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    name.split_once('=').is_some_and(|(field, _)| is_word(field))
}

/// Returns true if a line would be an event if it had a time.
fn is_missing_time(line: &str) -> bool {
    (names_switch(line) || is_sample(line)) && at_time(line).is_none()
}

/// Returns true if a line ends with the name of what was sampled. Before that, it has a task, its
/// number or a processor: `java 19983 cycles:`, `a 1 [000]   10101010 cpu-clock:u:`.
fn is_sample(line: &str) -> bool {
    let Some(text) = line.trim_end().strip_suffix(':') else { return false };
    let Some((before, name)) = text.rsplit_once(' ') else { return false };
    let before = before.trim_end();
    let is_task = |before: &str| {
        let (task, number) = before.rsplit_once(' ').unwrap_or(("", before));
        !task.trim().is_empty() && (tid(number).is_some() || in_brackets(number).is_some())
    };
    !name.is_empty() && is_task(before)
}

/// Returns true if a line names an event of the scheduler, as no other log does.
fn names_switch(line: &str) -> bool {
    let is_event = |word: &str| {
        let name = word.strip_prefix("sched:sched_").and_then(|word| word.strip_suffix(':'));
        name.is_some_and(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
    };
    line.split(' ').any(is_event)
}

/// Returns true if a line is a mark that perf leaves between others: `PERF_RECORD_FINISHED_ROUND`.
fn is_record(line: &str) -> bool {
    line.starts_with("PERF_RECORD_") && !line.contains([' ', ':'])
}

/// Returns true if a line gives the place of an event in a source, which stands below the event: `
/// main.c:12`, `  [kernel.kallsyms][ffffffff813ad48a]`. Also returns true for such a line of a
/// source: `|12      x++;`.
fn is_source(line: &str) -> bool {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let is_place = |text: &str| {
        let address = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let number = text.rsplit_once(':').filter(|(file, _)| !file.is_empty());
        address.is_some_and(|(file, address)| !file.is_empty() && is_hex(address))
            || number.is_some_and(|(_, line)| !line.is_empty() && is_number(line))
    };
    let text = line.strip_prefix("  ").map(|text| text.trim_end().trim_end_matches(" (inlined)"));
    line.starts_with('|') || text.is_some_and(is_place)
}

/// Returns true if a line is of `perf trace`: `0.266 ( 0.017 ms): a/7 read(…) = 1`, or `0.011 a/18
/// sched:sched_switch(…)`.
fn is_perf_trace_line(line: &str) -> bool {
    let Some((time, rest)) = line.trim_start().split_once(' ') else { return false };
    let is_time = time.contains('.') && decimal_ns(time).is_some();
    let is_call = |rest: &str| {
        let took = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once("):"));
        took.is_some_and(|(took, _)| took.trim().is_empty() || took.ends_with(" ms"))
    };
    let is_event = |word: &str| {
        word.split_once('(').is_some_and(|(name, field)| is_point(name) && !field.is_empty())
    };
    (is_time || time == "?") && is_call(rest) || is_time && rest.split(' ').any(is_event)
}

fn lost<'a>(event: &Line<'a>) -> LineContent<'a> {
    let message = format!("perf had no room for events: {}", event.rest);
    LineContent::Lost(event.cpu, message.into())
}

/// Returns true if a line is of a calling context: an address and a name, further in than any
/// event. It may also be at the begin of the line, where others took the spaces away, and then with
/// its module in parentheses.
fn is_frame(line: &str) -> bool {
    let is_tab = line.starts_with('\t');
    if !is_tab && !line.starts_with(' ') && !line.trim_end().ends_with(')') {
        return false;
    }
    // Tasks stand further in, too, and may be called by a few letters.
    let digits = if is_tab { 1 } else { 6 };
    let is_address =
        |word: &str| word.len() >= digits && word.bytes().all(|b| b.is_ascii_hexdigit());
    line.split_whitespace().next().is_some_and(is_address)
}

fn event<const COMM: bool, const TID: bool, const CPU: bool>(line: &str) -> Option<Line<'_>> {
    let (before, time, rest) = at_time(line)?;
    let (before, cpu) = processor(task_fields(before), CPU)?;
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
    // What perf found out before it began has no time of its own.
    let is_before = time == 0 && name.starts_with("PERF_RECORD_");
    let time = Some(TimeNs(time)).filter(|_| !is_before);
    Some(Line { time, cpu, task, tid, name, rest, rule: 0 })
}

/// Returns the text before the processor, and the processor where a line gives it. In files without
/// processors a number in brackets is of the name.
fn processor(before: &str, has_cpu: bool) -> Option<(&str, Option<u32>)> {
    if !has_cpu || !before.ends_with(']') {
        return Some((before, None));
    }
    let (before, cpu) = in_brackets(before)?;
    Some((before, Some(cpu)))
}

/// A number in brackets at the end of a text, and what comes before it.
fn in_brackets(text: &str) -> Option<(&str, u32)> {
    let (before, number) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((before.trim_end(), number.parse().ok()?))
}

/// Returns the text of a line about the task and the processor before its time.
fn task_fields(before: &str) -> &str {
    without_mode(without_date(before))
}

/// Returns the text before the date that `-F tod` prints: `2026-11-18 12:54:46.143917411`.
fn without_date(before: &str) -> &str {
    let is_of = |text: &str, sign: char, parts: usize| {
        let is_part = |part: &str| part.contains('.') || !part.is_empty() && is_number(part);
        text.split(sign).count() == parts && text.split(sign).all(is_part)
    };
    let words = before.rsplit_once(' ').filter(|(_, time)| is_of(time, ':', 3));
    let date = words.and_then(|(rest, _)| match rest.trim_end().rsplit_once(' ') {
        Some((rest, date)) => is_of(date, '-', 3).then_some(rest),
        None => is_of(rest, '-', 3).then_some(""),
    });
    date.map_or(before, str::trim_end)
}

/// Returns the text before the letters that `-F misc` prints of a sample: `[000] K`, `18 US`.
fn without_mode(before: &str) -> &str {
    let Some((rest, mode)) = before.rsplit_once(' ') else { return before };
    let is_mode = !mode.is_empty() && mode.bytes().all(|byte| b"KUHGgMEDSp".contains(&byte));
    let rest = rest.trim_end();
    let is_behind =
        || rest.ends_with(']') || rest.rsplit(' ').next().is_some_and(|name| tid(name).is_some());
    if is_mode && is_behind() { rest } else { before }
}

/// The number of a task. With both, the process comes first: `22803/26364`.
fn tid(text: &str) -> Option<i64> {
    text.rsplit('/').next().unwrap_or(text).parse().ok()
}

/// Returns the text before the time, the time, and the text after it. Names of tasks may have
/// colons, and a line may be of nothing else, so that each word is looked at once.
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
        let fields = |rest| without_place(without_sample(rest)).trim();
        return (name, if is_point(name) { fields(rest.trim()) } else { rest.trim() });
    }
    if let Some(name) = text.trim_end().strip_suffix(':') {
        return (name, "");
    }
    // Records of perf itself: `PERF_RECORD_FORK(1:1):(0:0)`, `PERF_RECORD_LOST lost 12`.
    let end = text.find([' ', '(', ':']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (name, rest.trim())
}

/// Fields without what else `-F` prints of a sample after them: numbers as wide as an address (`addr`,
/// `phys_addr`, `weight`, `data_src`), registers (`iregs`, `uregs`), `insnlen`, and sizes of pages.
fn without_sample(fields: &str) -> &str {
    let Some((_, value)) = fields.rsplit_once('=').or_else(|| fields.rsplit_once(": ")) else {
        return fields;
    };
    let start = fields.len() - value.len();
    let ends = [wide_number(value), value.find(" ABI:"), value.find(" ilen: ")];
    let end = ends.into_iter().flatten().min().unwrap_or(value.len());
    let fields = fields.get(..start + end).unwrap_or(fields).trim_end();
    let is_size = |word: &str| {
        let number = word.trim_end_matches(['K', 'M', 'G', 'B']);
        word == "N/A" || number.len() < word.len() && !number.is_empty() && is_number(number)
    };
    let sizes = fields.rsplit(' ').take_while(|word| is_size(word)).take(2);
    let bytes: Vec<usize> = sizes.map(|word| word.len() + 1).collect();
    // One by itself may be a value.
    let cut = if bytes.len() == 2 { bytes.iter().sum() } else { 0 };
    fields.len().checked_sub(cut).and_then(|end| fields.get(..end)).unwrap_or(fields)
}

/// Returns the start of a number that is as wide as an address, with spaces before it.
fn wide_number(value: &str) -> Option<usize> {
    const WIDTH: usize = 16;
    let mut end = 0;
    let mut before = 0;
    value.split(' ').find_map(|word| {
        let start = end;
        end += word.len() + 1;
        if word.is_empty() {
            return None;
        }
        let spaces = start - before;
        before = start + word.len();
        let is_wide = spaces > 0 && spaces + word.len() == WIDTH;
        (is_wide && word.bytes().all(|b| b.is_ascii_hexdigit())).then_some(start - spaces)
    })
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

    fn read(line: &str) -> LineContent<'_> {
        super::read::<true, true, true>(line)
    }

    fn line(task: &str, tid: i64, cpu: Option<u32>, time: i64) -> Line<'_> {
        let (task, tid, time) = (Some(task), Some(tid), Some(TimeNs(time)));
        Line { task, tid, cpu, time, ..Line::default() }
    }

    #[test]
    fn lines_are_read_whatever_fields_perf_was_asked_for() {
        let rest = "sched:sched_waking: comm=a pid=18 prio=0 target_cpu=000";
        let expected = |this_line: Line<'static>| {
            LineContent::Event(Line {
                name: "sched:sched_waking",
                rest: "comm=a pid=18 prio=0 target_cpu=000",
                ..this_line
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
            LineContent::Event(line) => (line.task.map(str::to_owned), line.tid, line.cpu),
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
            LineContent::Event(line) => (line.task.map(str::to_owned), line.tid),
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
    fn a_task_may_be_called_as_processors_are_printed() {
        let with = |head: &str| format!("{head}  2.000001: sched:sched_waking: comm=a\n");
        let read_in = |file: &str, line: &str| {
            let grammar = script(file.as_bytes());
            match (grammar.read)(line.trim_end()) {
                LineContent::Event(this_line) => {
                    (this_line.task.map(str::to_owned), this_line.cpu, grammar.doubt.is_some())
                }
                other => panic!("{other:?}"),
            }
        };
        let (named, other) = (with("           [003]"), with("            perf"));
        let most = other.repeat(4);
        assert_eq!(read_in(&format!("{named}{most}"), &named), (Some("[003]".into()), None, false));
        let (named, other) = (with("    [003] [001]"), with("     perf [000]"));
        let most = other.repeat(4);
        let expected = (Some("[003]".into()), Some(1), false);
        assert_eq!(read_in(&format!("{named}{most}"), &named), expected);
        // One half and the other: nothing tells.
        let (one, other) = (with(" perf"), with(" perf [003]"));
        let expected = (Some("perf [003]".into()), None, true);
        assert_eq!(read_in(&format!("{one}{other}"), &other), expected);
    }

    #[test]
    fn what_lacks_the_time_or_the_event_says_how_to_print_it() {
        for (line, why) in [
            ("a 1 [000] sched:sched_switch: prev_comm=a", LACKS_TIME),
            ("[000]  1.500000: comm=a pid=1", LACKS_EVENT),
            ("a 1 [000]  1.500000: vec=9 [action=RCU]", LACKS_EVENT),
            ("a 1 [000] 2026-11-18 12:54:46.143917411  sched:sched_waking: comm=a", LACKS_TIME),
        ] {
            let text = format!("{line}\n");
            let read = (script(text.as_bytes()).read)(line);
            assert_eq!(read, LineContent::Broken(Severity::Error, why), "{line}");
            assert!(is_script(text.as_bytes()), "{line}");
        }
        // Samples without times are known by what stands below them.
        for line in ["func_ab 15294 cpu-clock: ", "java 19983 cycles:", "a b 1/2 [3]  99 cycles:u:"]
        {
            let read = (script(format!("{line}\n").as_bytes()).read)(line);
            assert_eq!(read, LineContent::Broken(Severity::Error, LACKS_TIME), "{line}");
            assert!(is_script(format!("{line}\n\t  400570 func_b (/a)\n\n").as_bytes()), "{line}");
            for below in ["\n\n", "\nfunc_ab 15294 cpu-clock:\n", "\n\tand so on\n"] {
                assert!(!is_script(format!("{line}{below}").as_bytes()), "{line}{below}");
            }
        }
        for line in
            ["1.5: hello: world", "[000] 1.5: Some:thing: else", "a: 1.500000: b: c", "1.5: x"]
        {
            assert!(!is_script(format!("{line}\n").as_bytes()), "{line}");
        }
    }

    #[test]
    fn what_stands_between_the_processor_and_the_time_is_passed_over() {
        let with = |head: &str| alone(&format!("{head} 2.000001:  sched:sched_waking: comm=a"));
        let day = "2026-11-18 12:54:46.143917411 ";
        assert_eq!(with("a 18 [001] K     "), (Some("a".into()), Some(18), Some(1)));
        assert_eq!(with(&format!("a 18 [001] {day}")), (Some("a".into()), Some(18), Some(1)));
        assert_eq!(with(&format!("a 18 [001] US    {day}")), (Some("a".into()), Some(18), Some(1)));
        assert_eq!(with("18 [001] K     "), (None, Some(18), Some(1)));
        assert_eq!(with("a 18 K     "), (Some("a".into()), Some(18), None));
        assert_eq!(with(&format!("a {day}")), (Some("a".into()), None, None));
        assert_eq!(with(day), (None, None, None));
        assert_eq!(with("opt K "), (Some("opt K".into()), None, None));
    }

    #[test]
    fn what_is_printed_of_a_sample_is_none_of_its_fields() {
        let fields = "comm=a pid=18 prio=0 target_cpu=000";
        for after in [
            "               0",
            "      1e05080021 |OP N/A|LVL N/A or N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A               0",
            " ABI:2    SP:0xffffc9000523b8f8    IP:0xffffffff813a8834 ",
            " ilen: 0",
            " N/A 2M",
        ] {
            let line = format!("a 1 [000] 1.5: sched:sched_waking: {fields}{after}");
            assert!(
                matches!(read(&line), LineContent::Event(Line { rest, .. }) if rest == fields),
                "{line}"
            );
        }
        for fields in ["runtime=229883 [ns]", "pid=1 comm=a  b", "size=4K", "vec=9 [action=RCU]"] {
            let line = format!("a 1 [000] 1.5: sched:x: {fields}");
            assert!(
                matches!(read(&line), LineContent::Event(Line { rest, .. }) if rest == fields),
                "{line}"
            );
        }
    }

    #[test]
    fn what_perf_knew_before_has_no_time() {
        let time = |line: &str| match read(line) {
            LineContent::Event(line) => line.time,
            other => panic!("{other:?}"),
        };
        let record = "PERF_RECORD_FORK(1:1):(0:0)";
        assert_eq!(time(&format!("a 0 [000]     0.000000000: {record}")), None);
        assert_eq!(time(&format!("a 0 [000]     0.000000001: {record}")), Some(TimeNs(1)));
        assert_eq!(time("a 0 [000] 0.000000: sched:sched_waking: comm=a"), Some(TimeNs(0)));
    }

    #[test]
    fn lines_of_perf_trace_say_what_they_are() {
        for line in [
            "         ? (         ): :10247/10247  ... [continued]: read())      = 1",
            "     0.266 ( 0.017 ms): :10247/10247 execve(filename: 0x807c9da0) = -1 ENOENT",
            "     0.011 migration/0/18 sched:sched_switch(prev_comm: \"migration/0\", prev_pid: 18)",
        ] {
            assert_eq!(read(line), LineContent::Broken(Severity::Error, OF_TRACE), "{line}");
            assert!(is_script(format!("{line}\n").as_bytes()), "{line}");
        }
    }

    #[test]
    fn where_an_event_was_is_none_of_its_fields() {
        let rest = |after: &str| {
            let line = format!("a 1 [000] 1.5: sched:sched_waking: comm=a target_cpu=000{after}");
            match read(&line) {
                LineContent::Event(line) => line.rest.to_owned(),
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
        for aside in [
            "",
            "   ",
            "# cmdline : perf",
            "\tor so",
            "PERF_RECORD_FINISHED_ROUND",
            "  [kernel.kallsyms][ffffffff813ad48a]",
            "  /usr/src/main loop.c:12",
            "  main.c:12 (inlined)",
            "|12        x += 1;",
        ] {
            assert_eq!(read(aside), LineContent::Aside, "{aside}");
        }
        for frame in ["\tffffffff81 x ([k])", "\t             993 main", "        ffffffff81 y"] {
            assert_eq!(read(frame), LineContent::Frame, "{frame}");
        }
        for broken in ["hello", "a b: c", "1.5: x", "a [0] 1.5: x", "perf x [000] 1.5: x"] {
            assert!(matches!(read(broken), LineContent::Broken(..)), "{broken}");
        }
        let text = "swapper 0 [000] 1.000000: PERF_RECORD_LOST lost 12";
        assert!(matches!(read(text), LineContent::Lost(Some(0), _)));
    }

    #[test]
    fn a_line_of_colons_takes_no_longer_than_another() {
        for line in [":".repeat(2 << 20), "a: ".repeat(1 << 20), " 1.5".repeat(1 << 20)] {
            assert!(matches!(read(&line), LineContent::Broken(..)));
        }
    }

    #[test]
    fn events_may_have_settings_in_their_names() {
        let text = "a 1 [000] 1.5:     250000 cpu/event=0xc0/:  ffffffff81 main";
        assert!(matches!(read(text), LineContent::Event(Line { name: "cpu/event=0xc0/", .. })));
    }

    #[test]
    fn samples_and_records_of_perf_itself_have_names() {
        let name = |text: &'static str| match read(text) {
            LineContent::Event(line) => (line.name, line.rest),
            other => panic!("{other:?}"),
        };
        let text = "a 1 [000] 1.5:     250000 cycles:u:  ffffffff81 main+0x3 (/bin/a)";
        assert_eq!(name(text), ("cycles:u", "ffffffff81 main+0x3 (/bin/a)"));
        assert_eq!(name("a 1 [000] 1.5: sched:sched_switch: "), ("sched:sched_switch", ""));
        let text = "a 0 [000] 0.0: PERF_RECORD_FORK(1:1):(0:0)";
        assert_eq!(name(text), ("PERF_RECORD_FORK", "(1:1):(0:0)"));
    }
}
