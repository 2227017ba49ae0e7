//! Fields of events, as the kernel prints them and as `trace-cmd` does.

use std::borrow::Cow;

use kymo_model::kernel::KernelEvent;
use memchr::memchr_iter;

use super::short;
use crate::Line;

/// A task, as an event tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task<'a> {
    pub(super) comm: &'a str,
    pub(super) pid: i64,
    pub(super) priority: Option<i64>,
}

/// One task stops and another runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Switch<'a> {
    pub(super) prev: Task<'a>,
    pub(super) state: &'a str,
    pub(super) next: Task<'a>,
}

/// A task is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wakeup<'a> {
    pub(super) task: Task<'a>,
    pub(super) cpu: Option<u32>,
}

impl<'a> Task<'a> {
    fn new(comm: &'a str, pid: &str, priority: &str) -> Option<Self> {
        Some(Self { comm, pid: pid.trim().parse().ok()?, priority: priority.trim().parse().ok() })
    }

    /// Reads `bash:788 [120]`.
    fn brief(text: &'a str) -> Option<Self> {
        let (task, priority) = text.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
        let (comm, pid) = task.rsplit_once(':')?;
        Self::new(comm, pid, priority)
    }
}

impl<'a> Switch<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        Self::long(text).or_else(|| Self::brief(text))
    }

    /// Reads `prev_comm=a prev_pid=1 … ==> next_comm=b …`.
    fn long(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix("prev_comm=")?;
        let (comm, pid, rest) = numbered(text, " prev_pid=", " prev_prio=")?;
        let (priority, rest) = rest.split_once(" prev_state=")?;
        let prev = Task::new(comm, pid, priority)?;
        let (state, rest) = rest.split_once(" next_comm=")?;
        let state = state.trim_end_matches(" ==>");
        let (comm, pid, rest) = numbered(rest, " next_pid=", " next_prio=")?;
        let priority = rest.split(' ').next().unwrap_or(rest);
        Some(Self { prev, state, next: Task::new(comm, pid, priority)? })
    }

    /// Reads `a:1 [120] S ==> b:2 [120]`.
    fn brief(text: &'a str) -> Option<Self> {
        let (prev, next) = text.split_once(" ==> ")?;
        let (prev, state) = prev.rsplit_once(' ')?;
        Some(Self { prev: Task::brief(prev)?, state, next: Task::brief(next)? })
    }
}

impl<'a> Wakeup<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        Self::long(text).or_else(|| Self::brief(text))
    }

    /// Reads `comm=a pid=1 prio=120 target_cpu=003`.
    fn long(text: &'a str) -> Option<Self> {
        let (comm, pid, rest) = numbered(text.strip_prefix("comm=")?, " pid=", " prio=")?;
        let priority = rest.split(' ').next().unwrap_or(rest);
        let cpu = rest.split_once("target_cpu=").and_then(|(_, cpu)| number(cpu));
        Some(Self { task: Task::new(comm, pid, priority)?, cpu })
    }

    /// Reads `a:1 [120] CPU:003`, with something before the processor in older versions.
    fn brief(text: &'a str) -> Option<Self> {
        let (rest, cpu) = text.rsplit_once("CPU:")?;
        let end = rest.rfind(']')? + 1;
        Some(Self { task: Task::brief(rest.get(..end)?)?, cpu: number(cpu) })
    }
}

/// Returns the text before a field that is a number, the number, and the text after the field that
/// follows it. Names of tasks may have either field in them, but are too short for both.
fn numbered<'a>(text: &'a str, field: &str, then: &str) -> Option<(&'a str, &'a str, &'a str)> {
    text.match_indices(field).find_map(|(at, _)| {
        let rest = text.get(at + field.len()..)?;
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '-'))?;
        let after = rest.get(end..)?.strip_prefix(then)?;
        Some((text.get(..at)?, rest.get(..end)?, after))
    })
}

/// The number that a text begins with.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// The fields of an event, under the names that the kernel gives them. Where there are words before the
/// first, the whole is a field, too.
pub(super) fn fields<'a>(line: &Line<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    renamed(line).or_else(|| system_call(line)).unwrap_or_else(|| {
        let (words, pairs) = pairs(line.rest);
        let has_text = pairs.iter().any(|(name, _)| *name == "text");
        let text = if has_text { "words" } else { "text" };
        let text = (!words.is_empty()).then_some((text, line.rest));
        let fields = text.into_iter().chain(pairs);
        fields.map(|(name, value)| (name.into(), value.into())).collect()
    })
}

/// The text of an event: its name, and its fields as the kernel prints them.
pub(super) fn text<'a>(line: &Line<'a>) -> Cow<'a, str> {
    let name = line.name;
    Cow::Owned(match renamed(line) {
        Some(fields) => {
            let words = fields.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{name}:{}", words.collect::<String>())
        }
        None if line.rest.is_empty() => name.to_owned(),
        None => format!("{name}: {}", line.rest),
    })
}

/// The fields of what `trace-cmd` prints without their names.
fn renamed<'a>(line: &Line<'a>) -> Option<Vec<(Cow<'a, str>, Cow<'a, str>)>> {
    let fields: Vec<(&str, Cow<'a, str>)> = match KernelEvent::from_name(short(line.name))? {
        KernelEvent::Switch => {
            let Switch { prev, state, next } = Switch::brief(line.rest)?;
            let names = ["prev_comm", "prev_pid", "prev_prio"];
            let mut fields = task(names, &prev);
            fields.push(("prev_state", state.into()));
            fields.extend(task(["next_comm", "next_pid", "next_prio"], &next));
            fields
        }
        KernelEvent::Wakeup | KernelEvent::WakeupNew | KernelEvent::Waking => {
            let Wakeup { task: this_task, cpu } = Wakeup::brief(line.rest)?;
            let mut fields = task(["comm", "pid", "prio"], &this_task);
            fields.extend(cpu.map(|cpu| ("target_cpu", Cow::Owned(cpu.to_string()))));
            fields
        }
        _ => return None,
    };
    Some(fields.into_iter().map(|(name, value)| (Cow::Owned(name.to_owned()), value)).collect())
}

/// The fields of a system call, which have a colon behind their names: `(fd: 1, count: 2)`, and without
/// brackets from `trace-cmd` and `perf`. What one returns is `ret`: `-> 0x2`, or `0x2` by itself.
fn system_call<'a>(line: &Line<'a>) -> Option<Vec<(Cow<'a, str>, Cow<'a, str>)>> {
    let is_value = |rest: &str| !rest.is_empty() && !rest.contains([' ', '=']);
    let call = short(line.name).strip_prefix("sys_")?;
    let is_alone = call.starts_with("exit_") && is_value(line.rest);
    if let Some(value) = line.rest.strip_prefix("-> ").or(is_alone.then_some(line.rest)) {
        return Some(vec![("ret".into(), value.into())]);
    }
    let inner = line.rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let fields = with_colons(inner.unwrap_or(line.rest));
    (inner == Some("") || !fields.is_empty()).then_some(fields)
}

/// Fields like `name: value, name: value`. A value goes on to the next name.
fn with_colons(text: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut names: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for part in text.split(", ") {
        match part.split_once(':') {
            Some((name, _)) if is_word(name) => names.push((at, name)),
            _ if at == 0 => return Vec::new(),
            _ => {}
        }
        at += part.len() + 2;
    }
    let ends = names.iter().skip(1).map(|(start, _)| start - 2).chain([text.len()]);
    let field = |((start, name), end): (&(usize, &'_ str), usize)| {
        let value = text.get(start + name.len() + 1..end)?;
        Some((Cow::Owned((*name).to_owned()), Cow::Borrowed(value.trim())))
    };
    names.iter().zip(ends).filter_map(field).collect()
}

fn task<'a, 'n>(names: [&'n str; 3], this_task: &Task<'a>) -> Vec<(&'n str, Cow<'a, str>)> {
    let [comm, pid, priority] = names;
    let mut fields =
        vec![(comm, this_task.comm.into()), (pid, Cow::Owned(this_task.pid.to_string()))];
    fields.extend(this_task.priority.map(|number| (priority, Cow::Owned(number.to_string()))));
    fields
}

/// Returns the text before the first pair like `name=value`, and the pairs. A value goes on to the
/// next name, since names of tasks have spaces.
fn pairs(text: &str) -> (&str, Vec<(&str, &str)>) {
    let bytes = text.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut names: Vec<(usize, usize)> = Vec::new();
    for at in memchr_iter(b'=', bytes) {
        let before = bytes.get(..at).unwrap_or_default();
        let length = before.iter().rev().take_while(|byte| is_word(byte)).count();
        let start = at - length;
        let leads = start.checked_sub(1).and_then(|lead| bytes.get(lead));
        if length > 0 && leads.is_none_or(|lead| b" [(,\t".contains(lead)) {
            names.push((start, at));
        }
    }
    let ends = names.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let pair = |((start, at), end): (&(usize, usize), usize)| {
        let value = text.get(at + 1..end)?;
        Some((text.get(*start..*at)?, trimmed(value)))
    };
    let first = names.first().map_or(text.len(), |(start, _)| *start);
    let words = text.get(..first).unwrap_or_default();
    (trimmed(words).trim_start(), names.iter().zip(ends).filter_map(pair).collect())
}

/// A value without what stands between it and the next name.
fn trimmed(value: &str) -> &str {
    let value = value.trim_end_matches([' ', '[', '(', ',', '\t']);
    let value = value.strip_suffix("==>").map_or(value, str::trim_end);
    match value.strip_suffix(']') {
        Some(inner) if !inner.contains('[') => inner,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_spaces() {
        let text = "comm=control loop pid=9 prio=59 target_cpu=001";
        let expected =
            [("comm", "control loop"), ("pid", "9"), ("prio", "59"), ("target_cpu", "001")];
        assert_eq!(pairs(text), ("", expected.to_vec()));
        assert_eq!(pairs("vec=1 [action=TIMER]").1, [("vec", "1"), ("action", "TIMER")]);
        assert_eq!(pairs("runtime=31587 [ns]").1, [("runtime", "31587 [ns]")]);
        assert_eq!(pairs("a=1 ==> b=2").1, [("a", "1"), ("b", "2")]);
        for text in ["=", "x ==> y"] {
            assert_eq!(pairs(text), (text, Vec::new()));
        }
        assert_eq!(pairs(""), ("", Vec::new()));
    }

    #[test]
    fn words_before_the_first_field_are_not_lost() {
        let item = |rest: &str| {
            let found = fields(&Line { name: "print", rest, ..Line::default() });
            let words = found.iter().map(|(name, value)| format!("{name}: {value}"));
            words.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            item("stuck open pos=3 (retry)"),
            "text: stuck open pos=3 (retry); pos: 3 (retry)"
        );
        assert_eq!(item("only words"), "text: only words");
        assert_eq!(item("a text=b"), "words: a text=b; text: b");
        assert_eq!(item("(a=1, b=2"), "a: 1; b: 2");
        assert_eq!(item(""), "");
    }

    #[test]
    fn system_calls_of_all_tools_have_their_fields() {
        let item = |name: &str, rest: &str| {
            let found = fields(&Line { name, rest, ..Line::default() });
            let words = found.iter().map(|(name, value)| format!("{name}={value}"));
            words.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(item("sys_dup2", "(oldfd: 0xb, newfd: 1)"), "oldfd=0xb; newfd=1");
        assert_eq!(item("sys_dup2", "-> 0x1"), "ret=0x1");
        assert_eq!(item("sys_getpid", "()"), "");
        let text = "(dfd: 0xffffff9c, filename: 0x55e5 \"/a, b\", flags: 0x241)";
        let expected = "dfd=0xffffff9c; filename=0x55e5 \"/a, b\"; flags=0x241";
        assert_eq!(item("sys_openat", text), expected);
        assert_eq!(item("sys_enter_dup2", "oldfd: 0xb, newfd: 1"), "oldfd=0xb; newfd=1");
        assert_eq!(item("syscalls:sys_exit_dup2", "0x1"), "ret=0x1");
        assert_eq!(
            item("sys_enter_futex", "op=FUTEX_WAKE|X uaddr=0x7f"),
            "op=FUTEX_WAKE|X; uaddr=0x7f"
        );
        assert_eq!(item("raw_syscalls:sys_enter", "NR 16 (b, 2400)"), "text=NR 16 (b, 2400)");
    }

    #[test]
    fn wakeups_of_all_tools_are_read() {
        let task = Task { comm: "a:b c", pid: 7, priority: Some(120) };
        let expected = Some(Wakeup { task, cpu: Some(3) });
        assert_eq!(Wakeup::read("comm=a:b c pid=7 prio=120 target_cpu=003"), expected);
        assert_eq!(Wakeup::read("comm=a:b c pid=7 prio=120 success=1 target_cpu=003"), expected);
        assert_eq!(Wakeup::read("a:b c:7 [120] CPU:003"), expected);
        assert_eq!(Wakeup::read("a:b c:7 [120] success=1 CPU:003"), expected);
        assert_eq!(Wakeup::read("a:b c:7 [120]<CANT FIND FIELD success> CPU:003"), expected);
        for wrong in ["", "comm=", "comm=a pid=x prio=1", "CPU:", "]CPU:1", "a [1] CPU:2"] {
            assert_eq!(Wakeup::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_of_tasks_may_look_like_fields() {
        let item = |comm, pid| Task { comm, pid, priority: Some(120) };
        let text = "prev_comm=q prev_pid=3 prev_pid=50 prev_prio=120 prev_state=S ==> \
                    next_comm=q next_pid=3 next_pid=51 next_prio=120";
        let (prev, next) = (item("q prev_pid=3", 50), item("q next_pid=3", 51));
        assert_eq!(Switch::read(text), Some(Switch { prev, state: "S", next }));
        let text = "comm=q pid=3 pid=7 prio=120 target_cpu=001";
        assert_eq!(Wakeup::read(text), Some(Wakeup { task: item("q pid=3", 7), cpu: Some(1) }));
    }

    #[test]
    fn what_has_no_names_gets_those_of_the_kernel() {
        let rest = "bash:484 [120] R ==> rt:788 [49]";
        let line = Line { name: "sched_switch", rest, ..Line::default() };
        let expected = "sched_switch: prev_comm=bash prev_pid=484 prev_prio=120 prev_state=R \
                        next_comm=rt next_pid=788 next_prio=49";
        assert_eq!(text(&line), expected);
    }
}
