//! Meaning of events of Linux, as `perf`, `ftrace` and `trace-cmd` print them.
//!
//! A switch ends the stretch of one task and begins that of another; a task that goes to sleep has
//! completed what it was woken for. What asks for a wakeup is a release, or the wakeup where nothing
//! asks. Interrupts are stretches on their processor. Marks that programs write (`B|812|draw`, `E`,
//! `C|812|frames|3`) are functions and numbers of their threads, and so is the function graph.

mod balance;
mod fields;

use std::borrow::Cow;

use kymo_core::{Finding, Severity, Value};
use kymo_model::kernel::{KernelEvent, softirq_name};
use kymo_model::timeline::{Activity, Content, TimeNs};

use crate::{Grammar, GrammarState, Key, Line, LineContent, Reader, TaskKey, TrackEvent, scaled};
use fields::{Switch, Task, Wakeup, fields, text};

pub use balance::unbalanced;

/// Lines of a tool that prints events of Linux.
#[derive(Debug, Clone, Copy)]
pub struct KernelLines {
    /// Function that reads a line of it.
    pub read: fn(&str) -> LineContent<'_>,
    /// Program whose lines they are.
    pub dialect: &'static str,
    /// Doubt about how lines are read, which cannot be resolved.
    pub doubt: Option<&'static str>,
}

impl Grammar for KernelLines {
    fn read<'a>(&'a self, line: &'a str) -> LineContent<'a> {
        (self.read)(line)
    }

    fn fields<'a>(&'a self, line: &Line<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
        fields(line)
    }

    fn findings(reader: &Reader<Self>) -> Vec<Finding> {
        let doubt = reader.grammar().doubt;
        let doubt =
            doubt.map(|why| Finding::for_whole_file(Severity::Warning, "doubtful-processor", why));
        doubt.into_iter().chain(balance::report_concurrent_tasks(reader)).collect()
    }

    fn text<'a>(&'a self, line: &Line<'a>) -> Cow<'a, str> {
        text(line)
    }

    fn interpret<'a>(
        &'a self,
        line: &Line<'a>,
        telling: &mut GrammarState,
        to: &mut dyn FnMut(TrackEvent<'a>),
    ) {
        interpret_event(line, telling, to);
    }

    fn dialect(&self) -> String {
        self.dialect.to_owned()
    }
}

/// Role of an event for tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Kernel(KernelEvent),
    /// A program says something.
    Mark,
    /// A function of the kernel is called, or returns.
    Graph,
}

impl Role {
    fn from_name(name: &str) -> Option<Self> {
        match short(name) {
            "tracing_mark_write" | "print" => Some(Self::Mark),
            "funcgraph_entry" | "funcgraph_exit" => Some(Self::Graph),
            name => KernelEvent::from_name(name).map(Self::Kernel),
        }
    }
}

/// The name of an event without the subsystem that it is of.
fn short(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Tells what an event is to tasks, in the order in which it happens.
fn interpret_event<'a>(
    line: &Line<'a>,
    telling: &mut GrammarState,
    to: &mut dyn FnMut(TrackEvent<'a>),
) {
    match Role::from_name(line.name) {
        Some(Role::Kernel(event)) => kernel(event, line, telling, to),
        Some(Role::Mark) => mark(line, to),
        Some(Role::Graph) => graph(line, to),
        None => {}
    }
}

fn kernel<'a>(
    event: KernelEvent,
    line: &Line<'a>,
    telling: &mut GrammarState,
    to: &mut dyn FnMut(TrackEvent<'a>),
) {
    match event {
        KernelEvent::Switch => switch(line, telling, to),
        KernelEvent::Wakeup | KernelEvent::WakeupNew | KernelEvent::Waking => {
            telling.has_waking |= event == KernelEvent::Waking;
            if event.is_release(telling.has_waking) || telling.is_survey {
                release(line, telling, to);
            }
        }
        KernelEvent::Irq => irq(line, to),
        KernelEvent::SoftIrq => softirq(line, to),
        KernelEvent::IrqEnd => to_cpu(line, end(irq_number(line)), to),
        KernelEvent::SoftIrqEnd => to_cpu(line, end(softirq_number(line).map(softirq_name)), to),
    }
}

/// The track of a task, and the name it has.
fn task_event<'a>(cpu: Option<u32>, task: &Task<'a>, activity: Activity<'a>) -> TrackEvent<'a> {
    let key = match (task.pid, cpu) {
        (0, Some(cpu)) => Key::Idle(cpu),
        (pid, cpu) => Key::Task(cpu, TaskKey::Id(pid)),
    };
    TrackEvent::activity(key, Some(task.comm), activity)
}

fn switch<'a>(line: &Line<'a>, telling: &mut GrammarState, to: &mut dyn FnMut(TrackEvent<'a>)) {
    let Some(Switch { prev, state, next }) = Switch::read(line.rest) else {
        return telling
            .mark_unreadable("switch", "a switch whose tasks cannot be read, and is left out");
    };
    // Where lines do not tell processors, the idle tasks of all of them would be one.
    let is_told = |task: &Task<'_>| task.pid != 0 || line.cpu.is_some();
    if is_asleep(state) && prev.pid != 0 {
        to(task_event(line.cpu, &prev, Activity::Complete { remaining_ns: None }));
    }
    if is_told(&prev) {
        to(task_event(line.cpu, &prev, Activity::End));
    }
    if is_told(&next) {
        let priority = next.priority;
        to(task_event(line.cpu, &next, Activity::Begin { name: None, priority, ends: None }));
    }
}

/// Returns true if a task that stopped waits for something: `S`, `D|K`, or a number with a low bit
/// set. `R` and `R+` could run.
fn is_asleep(state: &str) -> bool {
    match state.parse() {
        Ok(bits) => KernelEvent::is_asleep(bits),
        Err(_) => !state.starts_with('R'),
    }
}

fn release<'a>(line: &Line<'a>, telling: &mut GrammarState, to: &mut dyn FnMut(TrackEvent<'a>)) {
    let Some(Wakeup { task, cpu }) = Wakeup::read(line.rest) else {
        return telling
            .mark_unreadable("wakeup", "a wakeup whose task cannot be read, and is left out");
    };
    // Where lines do not tell processors, tasks are of none.
    let cpu = line.cpu.and(cpu.or(line.cpu));
    if task.pid != 0 {
        let release = task_event(cpu, &task, Activity::Release { budget_ns: None, by: None });
        to(TrackEvent { peer: line.cpu.map(Key::Cpu), ..release });
    }
}

fn irq<'a>(line: &Line<'a>, to: &mut dyn FnMut(TrackEvent<'a>)) {
    let fields = fields(line);
    let find = |wanted: &str| fields.iter().find(|(name, _)| name == wanted);
    let words = [find("irq"), find("name")].into_iter().flatten();
    let words: Vec<_> = std::iter::once("irq").chain(words.map(|(_, value)| &**value)).collect();
    to_cpu(line, begin(words.join(" ").into()), to);
}

/// The interrupt that ends, by its number.
fn irq_number(line: &Line<'_>) -> Option<Cow<'static, str>> {
    let fields = fields(line);
    let (_, number) = fields.iter().find(|(name, _)| name == "irq")?;
    Some(format!("irq {number}").into())
}

fn softirq<'a>(line: &Line<'a>, to: &mut dyn FnMut(TrackEvent<'a>)) {
    let name = softirq_number(line).map_or_else(|| "softirq".into(), softirq_name);
    to_cpu(line, begin(name), to);
}

fn softirq_number(line: &Line<'_>) -> Option<i64> {
    let fields = fields(line);
    let (_, number) = fields.iter().find(|(name, _)| name == "vec")?;
    number.parse().ok()
}

/// The end of what is named, where events tell what they end.
fn end(name: Option<Cow<'static, str>>) -> Activity<'static> {
    name.map_or(Activity::End, |name| Activity::EndOf { name })
}

fn begin(name: Cow<'static, str>) -> Activity<'static> {
    Activity::Begin { name: Some(name), priority: None, ends: None }
}

fn to_cpu<'a>(line: &Line<'a>, activity: Activity<'a>, to: &mut dyn FnMut(TrackEvent<'a>)) {
    if let Some(cpu) = line.cpu {
        to(TrackEvent::activity(Key::Cpu(cpu), None, activity));
    }
}

/// Marks of programs: `B|812|draw`, `E|812`, `C|812|frames|3`.
fn mark<'a>(line: &Line<'a>, to: &mut dyn FnMut(TrackEvent<'a>)) {
    let Some(tid) = line.tid else { return };
    let text = line.rest.strip_prefix("tracing_mark_write: ").unwrap_or(line.rest);
    let mut parts = text.trim_end().splitn(4, '|');
    let (kind, _, name, value) = (parts.next(), parts.next(), parts.next(), parts.next());
    let on_calls = |activity: Activity<'a>| {
        TrackEvent::activity(Key::Calls(TaskKey::Id(tid)), line.task, activity)
    };
    match (kind, name) {
        (Some("B"), Some(name)) => {
            let name = Some(name.into());
            to(on_calls(Activity::Begin { name, priority: None, ends: None }));
        }
        (Some("E"), _) => to(on_calls(Activity::End)),
        (Some("C"), Some(name)) => {
            let Some(value) = value.and_then(|value| value.parse::<i64>().ok()) else { return };
            let key = Key::Counter(None, name.into());
            let content = Content::Value(Value::Int(value));
            to(TrackEvent { key, name: None, content, peer: None });
        }
        _ => {}
    }
}

/// The function graph: `|  f() {` and `|  }`, and how long it took where nothing is called within:
/// `1.234 us    |    g();`.
fn graph<'a>(line: &Line<'a>, to: &mut dyn FnMut(TrackEvent<'a>)) {
    let (Some(tid), Some((took, call))) = (line.tid, line.rest.split_once('|')) else { return };
    let call = call.trim();
    let activity = if call.starts_with('}') {
        Activity::End
    } else {
        let Some((name, rest)) = call.split_once('(') else { return };
        let ends = if rest.ends_with('{') { None } else { line.time.map(|time| ended(time, took)) };
        Activity::Begin { name: Some(name.into()), priority: None, ends }
    };
    to(TrackEvent::activity(Key::Calls(TaskKey::Id(tid)), line.task, activity));
}

/// Returns the time at which a call that took so long ended: `+ 12.345 us`, with a mark where it
/// was long.
fn ended(TimeNs(time): TimeNs, took: &str) -> TimeNs {
    let mut words = took.split_whitespace().rev();
    let length = match (words.next(), words.next()) {
        (Some("us"), Some(number)) => scaled(number, 3),
        _ => None,
    };
    TimeNs(time.saturating_add(length.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_of(name: &str, rest: &str, telling: &mut GrammarState) -> Vec<String> {
        let (cpu, tid) = (Some(1), Some(812));
        let line = Line { cpu, tid, task: Some("app"), name, rest, ..Line::default() };
        let mut found = Vec::new();
        interpret_event(&line, telling, &mut |told| {
            let what = match &told.content {
                Content::Activity(activity) => activity.to_string(),
                other => format!("{other:?}"),
            };
            found.push(format!("{:?} {}: {what}", told.key, told.name.unwrap_or("-")));
        });
        found
    }

    #[test]
    fn a_switch_ends_one_stretch_and_begins_another() {
        let rest = "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=S ==> \
                    next_comm=swapper/1 next_pid=0 next_prio=120";
        let found = told_of("sched:sched_switch", rest, &mut GrammarState::default());
        let expected = [
            "Task(Some(1), Id(7)) a b: complete",
            "Task(Some(1), Id(7)) a b: end",
            "Idle(1) swapper/1: begin, priority 120",
        ];
        assert_eq!(found, expected);
        // As trace-cmd prints it: a task that could go on is not complete.
        let found =
            told_of("sched_switch", "x:y:9 [49] R ==> z:3 [0]", &mut GrammarState::default());
        let expected =
            ["Task(Some(1), Id(9)) x:y: end", "Task(Some(1), Id(3)) z: begin, priority 0"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_asks_for_a_wakeup_is_the_release_where_there_is_any() {
        let rest = "comm=a pid=7 prio=120 target_cpu=003";
        let expected = ["Task(Some(3), Id(7)) a: release"];
        let mut telling = GrammarState::default();
        assert_eq!(told_of("sched_wakeup", rest, &mut telling), expected);
        assert_eq!(told_of("sched_waking", rest, &mut telling), expected);
        assert!(told_of("sched_wakeup", rest, &mut telling).is_empty());
        // A task that is new was never asked for.
        assert_eq!(told_of("sched_wakeup_new", "a:7 [120] CPU:003", &mut telling), expected);
    }

    #[test]
    fn states_say_whether_a_task_waits_for_something() {
        for state in ["S", "D", "D|K", "I", "Z", "X", "T", "1", "2", "130"] {
            assert!(is_asleep(state), "{state}");
        }
        for state in ["R", "R+", "0", "256"] {
            assert!(!is_asleep(state), "{state}");
        }
    }

    #[test]
    fn the_function_graph_is_functions_of_threads() {
        let mut telling = GrammarState::default();
        let mut told = |name, rest| told_of(name, rest, &mut telling);
        let found = told("funcgraph_entry", "|  do_sys_open() {");
        assert_eq!(found, ["Calls(Id(812)) app: begin do_sys_open"]);
        assert_eq!(told("funcgraph_exit", "+ 12.345 us   |  }"), ["Calls(Id(812)) app: end"]);
        let ends_of = |rest| {
            let line = Line { time: Some(TimeNs(5)), tid: Some(812), rest, ..Line::default() };
            let mut found = None;
            graph(&line, &mut |told| {
                if let Content::Activity(Activity::Begin { ends, .. }) = told.content {
                    found = ends;
                }
            });
            found
        };
        assert_eq!(ends_of("1.234 us    |    getname();"), Some(TimeNs(1239)));
        assert_eq!(ends_of("! 101.5 us    |    getname();"), Some(TimeNs(101_505)));
        assert_eq!(ends_of("|    getname() {"), None);
    }

    #[test]
    fn interrupts_and_marks_have_names() {
        let mut telling = GrammarState::default();
        let found = told_of("irq_handler_entry", "irq=9 name=acpi", &mut telling);
        assert_eq!(found, ["Cpu(1) -: begin irq 9 acpi"]);
        let found = told_of("irq:softirq_entry", "vec=1 [action=TIMER]", &mut telling);
        assert_eq!(found, ["Cpu(1) -: begin softirq 1 TIMER"]);
        let found = told_of("irq:softirq_exit", "vec=1 [action=TIMER]", &mut telling);
        assert_eq!(found, ["Cpu(1) -: end softirq 1 TIMER"]);
        let found = told_of("irq_handler_exit", "irq=9 ret=handled", &mut telling);
        assert_eq!(found, ["Cpu(1) -: end irq 9"]);
        assert_eq!(told_of("irq_handler_exit", "", &mut telling), ["Cpu(1) -: end"]);
        let found = told_of("tracing_mark_write", "B|812|draw frame", &mut telling);
        assert_eq!(found, ["Calls(Id(812)) app: begin draw frame"]);
        let found = told_of("print", "tracing_mark_write: C|812|frames|3", &mut telling);
        assert_eq!(found, ["Counter(None, \"frames\") -: Value(Int(3))"]);
    }
}
