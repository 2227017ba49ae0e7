//! Small trees for tests.

use super::{
    CallTree, CallTreeBuilder, ContextId, Function, Metric, Node, PathNode, PathTree, Relation,
    Scope, Thread,
};
use kymo_core::bytes::Limits;

fn builder() -> CallTreeBuilder {
    CallTreeBuilder::new(&Limits::default())
}

fn function(builder: &mut CallTreeBuilder, name: &str) -> Node {
    let function = Function { name: name.to_owned(), ..Function::default() };
    let function = Some(builder.function(function));
    Node { function, ..Node::new(Scope::Function, Relation::Call) }
}

fn place(builder: &mut CallTreeBuilder, scope: Scope, line: u32) -> Node {
    let source = Some((builder.file("/src/a.c"), line));
    Node { source, ..Node::new(scope, Relation::Lexical) }
}

/// `main` calls `work` at line 3; `work` has a loop, and calls itself.
pub(super) fn tree() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let threads = [(); 2].map(|()| b.thread(Thread::default()).unwrap());
    let entry = Node { scope: Scope::Entry, ..function(&mut b, "main thread") };
    let entry = b.child(None, entry).unwrap();
    let node = function(&mut b, "main");
    let main = b.child(Some(entry), node).unwrap();
    let node = place(&mut b, Scope::Line, 3);
    let call = b.child(Some(main), node).unwrap();
    let work = function(&mut b, "work");
    let outer = b.child(Some(call), work).unwrap();
    let node = place(&mut b, Scope::Loop, 9);
    let repeat = b.child(Some(outer), node).unwrap();
    let node = place(&mut b, Scope::Line, 10);
    let line = b.child(Some(repeat), node).unwrap();
    let inner = b.child(Some(outer), work).unwrap();
    b.add(threads[0], line, cycles, 3.0);
    b.add(threads[0], line, cycles, 1.0);
    b.add(threads[1], line, cycles, 1.0);
    b.add(threads[0], inner, cycles, 2.0);
    b.add(threads[0], main, cycles, 8.0);
    b.finish()
}

/// `main` has `work` inlined, which calls itself.
pub(super) fn inlined_head() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    let node = function(&mut b, "main");
    let main = b.child(None, node).unwrap();
    let work = function(&mut b, "work");
    let head = b.child(Some(main), Node { relation: Relation::Inlined, ..work }).unwrap();
    let body = b.child(Some(head), work).unwrap();
    b.add(thread, head, cycles, 3.0);
    b.add(thread, body, cycles, 2.0);
    b.finish()
}

/// A function with a loop in a loop, and a line in each.
pub(super) fn nested_loops() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    let node = function(&mut b, "main");
    let main = b.child(None, node).unwrap();
    let mut loops = main;
    for (line, value) in [(1, 1.0), (2, 2.0)] {
        let node = place(&mut b, Scope::Loop, line);
        loops = b.child(Some(loops), node).unwrap();
        let node = place(&mut b, Scope::Line, line + 10);
        let at = b.child(Some(loops), node).unwrap();
        b.add(thread, at, cycles, value);
    }
    b.finish()
}

/// `main` has a line with two instructions, the second of which calls `work`, and an instruction
/// without a line.
pub(super) fn instructions() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    let module = b.module("/opt/a.out");
    let node = function(&mut b, "main");
    let main = b.child(None, node).unwrap();
    let node = place(&mut b, Scope::Line, 3);
    let line = b.child(Some(main), node).unwrap();
    let instruction = |offset| {
        let point = Some((module, offset));
        Node { point, ..Node::new(Scope::Instruction, Relation::Lexical) }
    };
    let first = b.child(Some(line), instruction(0x10)).unwrap();
    let second = b.child(Some(line), instruction(0x20)).unwrap();
    let work = function(&mut b, "work");
    let work = b.child(Some(second), work).unwrap();
    let alone = b.child(Some(main), instruction(0x30)).unwrap();
    for (context, value) in [(first, 1.0), (second, 2.0), (work, 4.0), (alone, 8.0)] {
        b.add(thread, context, cycles, value);
    }
    b.finish()
}

/// A function that calls itself very often.
pub(super) fn chain(length: u32) -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    let node = function(&mut b, "again");
    let mut at: Option<ContextId> = None;
    for _ in 0..length {
        let next = b.child(at, node).unwrap();
        b.add(thread, next, cycles, 1.0);
        at = Some(next);
    }
    b.finish()
}

/// Lines of one number in two files of one name, and addresses of one number in two modules of one
/// name, which spent 1, 2, 4 and 8.
pub(super) fn same_names() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    let node = function(&mut b, "main");
    let main = b.child(None, node).unwrap();
    for (path, value) in [("/src/a/u.c", 1.0), ("/src/b/u.c", 2.0)] {
        let source = Some((b.file(path), 1));
        let line = Node { source, ..Node::new(Scope::Line, Relation::Lexical) };
        let line = b.child(Some(main), line).unwrap();
        b.add(thread, line, cycles, value);
    }
    for (path, value) in [("/opt/p/prog", 4.0), ("/opt/q/prog", 8.0)] {
        let point = Some((b.module(path), 0x10));
        let code = Node { point, ..Node::new(Scope::Instruction, Relation::Call) };
        let code = b.child(Some(main), code).unwrap();
        b.add(thread, code, cycles, value);
    }
    b.finish()
}

/// Two entry points, in which one thread spent 1 and 2.
pub(super) fn entries() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    for (name, value) in [("one", 1.0), ("other", 2.0)] {
        let entry = Node { scope: Scope::Entry, ..function(&mut b, name) };
        let entry = b.child(None, entry).unwrap();
        b.add(thread, entry, cycles, value);
    }
    b.finish()
}

/// Four functions that spent the same.
pub(super) fn same() -> CallTree {
    let mut b = builder();
    let cycles = b.metric(Metric::named("cycles")).unwrap();
    let thread = b.thread(Thread::default()).unwrap();
    for name in ["d", "b", "a", "c"] {
        let node = function(&mut b, name);
        let at = b.child(None, node).unwrap();
        b.add(thread, at, cycles, 1.0);
    }
    b.finish()
}

/// Shows the values of the nodes of a tree, a line each.
pub(super) fn shown(tree: &PathTree) -> Vec<String> {
    let line = |node: &PathNode| {
        let (depth, label) = (node.depth, tree.label(node));
        format!("{depth} {label} {} {}", node.inclusive, node.exclusive)
    };
    tree.nodes.iter().map(line).collect()
}
