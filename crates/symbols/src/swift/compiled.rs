//! Types of functions as they are compiled, which thunks lead between.

use super::node::{Compiled, Node};
use super::parse::Parser;
use super::table;

impl Parser<'_> {
    /// `I`: attributes, and how each of the types before is taken or returned.
    pub(super) fn compiled(&mut self) -> Option<()> {
        let mut compiled = Compiled::default();
        if self.take("s") {
            compiled.arguments = Some(self.pop_substituted()?);
        }
        compiled.signature = self.pop_signature();
        self.take("P");
        self.attributes(&mut compiled);
        compiled.is_sending = self.take("T");
        let (mut parameters, mut results) = (Vec::new(), Vec::new());
        while let Some(word) = self.peek().and_then(table::parameter) {
            self.next();
            parameters.push(self.convention(word));
        }
        while let Some(word) = self.peek().and_then(table::result) {
            self.next();
            results.push(self.convention(word));
        }
        while self.take("Y") {
            let word = table::parameter(self.next()?)?;
            results.push(format!("@yields {}", self.convention(word)));
        }
        if self.take("z") {
            let word = table::result(self.next()?)?;
            results.push(format!("@error {}", self.convention(word)));
        }
        self.take("_").then_some(())?;
        // Types stand in the order of the letters, so the last comes first from the stack.
        for (words, list) in
            [(results, &mut compiled.results), (parameters, &mut compiled.parameters)]
        {
            for word in words.into_iter().rev() {
                list.push((word, self.pop_type()?));
            }
            list.reverse();
        }
        self.push(Node::Compiled(compiled))
    }

    /// How one is taken or returned, with what else is said of it.
    fn convention(&mut self, word: &'static str) -> String {
        let mut words = word.to_owned();
        for (letter, more) in [
            ("w", "@noDerivative "),
            ("T", "sending "),
            ("I", "isolated "),
            ("L", "@sil_implicit_leading_param "),
        ] {
            words.push_str(if self.take(letter) { more } else { "" });
        }
        words
    }

    /// What is said of the whole function, each in its place.
    fn attributes(&mut self, compiled: &mut Compiled) {
        let places: [&[(&str, &str)]; 8] = [
            &[("e", "@escaping ")],
            &[("A", "@isolated(any) "), ("N", "nonisolated(nonsending) ")],
            &[
                ("d", "@differentiable "),
                ("l", "@differentiable(_linear) "),
                ("f", "@differentiable(_forward) "),
                ("r", "@differentiable(reverse) "),
            ],
            &[
                ("y", "@callee_unowned "),
                ("g", "@callee_guaranteed "),
                ("x", "@callee_owned "),
                ("t", "@convention(thin) "),
            ],
            &[
                ("B", "@convention(block) "),
                ("C", "@convention(c) "),
                ("M", "@convention(method) "),
                ("J", "@convention(objc_method) "),
                ("K", "@convention(closure) "),
                ("W", "@convention(witness_method) "),
            ],
            &[("A", "@yield_once "), ("I", "@yield_once_2 "), ("G", "@yield_many ")],
            &[("h", "@Sendable ")],
            &[("H", "@async ")],
        ];
        for place in places {
            let found = place.iter().find(|(letter, _)| self.take(letter));
            compiled.attributes.extend(found.map(|(_, words)| *words));
        }
    }
}
