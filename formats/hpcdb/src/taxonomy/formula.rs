//! Formulas of metrics: read once, each part of them once, and evaluated without recursion.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::infix::{Token, excerpt};
use super::yaml::{Document, Node, NodeId};

/// Fault of operands and operators that do not make a formula.
const NO_TEXT: &str = "its operands and operators do not follow each other as in a formula";

/// The index of a part of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ExprId(usize);

impl ExprId {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// The parts that a formula needs, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needed(Vec<usize>);

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    Number(f64),
    /// An input, by its index.
    Input(usize),
    Call(Function, Vec<ExprId>),
}

/// Function of the values of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Sum,
    Difference,
    Product,
    Quotient,
    Power,
    Sqrt,
    Log,
    Ln,
    Min,
    Max,
    Floor,
    Ceil,
    StrictFloor,
    StrictCeil,
    /// Total of children: those that have no value add nothing.
    Total,
}

impl Function {
    /// By its operator, or the name it is called by.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "+" | "sum" => Self::Sum,
            "-" => Self::Difference,
            "*" | "prod" => Self::Product,
            "/" => Self::Quotient,
            "^" | "pow" => Self::Power,
            "sqrt" => Self::Sqrt,
            "log" => Self::Log,
            "ln" => Self::Ln,
            "min" => Self::Min,
            "max" => Self::Max,
            "floor" => Self::Floor,
            "ceil" => Self::Ceil,
            "strict floor" => Self::StrictFloor,
            "strict ceil" => Self::StrictCeil,
            _ => return None,
        })
    }

    /// Returns true if it is one of so many arguments.
    fn takes(self, count: usize) -> bool {
        match self {
            Self::Sqrt
            | Self::Ln
            | Self::Floor
            | Self::Ceil
            | Self::StrictFloor
            | Self::StrictCeil => count == 1,
            Self::Log => count == 1 || count == 2,
            _ => count > 0,
        }
    }

    fn apply(self, arguments: &[f64]) -> Option<f64> {
        let fold = |with: fn(f64, f64) -> f64| arguments.iter().copied().reduce(with);
        let one = |with: fn(f64) -> f64| match arguments {
            [argument] => Some(with(*argument)),
            _ => None,
        };
        match self {
            Self::Sum | Self::Total => fold(|a, b| a + b),
            Self::Difference => match arguments {
                [only] => Some(-only),
                _ => fold(|a, b| a - b),
            },
            Self::Product => fold(|a, b| a * b),
            Self::Quotient => fold(|a, b| a / b),
            Self::Power => fold(f64::powf),
            Self::Sqrt => one(f64::sqrt),
            Self::Log => match arguments {
                [argument] => Some(argument.ln()),
                [argument, base] => Some(argument.log(*base)),
                _ => None,
            },
            Self::Ln => one(f64::ln),
            Self::Min => fold(f64::min),
            Self::Max => fold(f64::max),
            Self::Floor => one(f64::floor),
            Self::Ceil => one(f64::ceil),
            // The next whole number below or above, also of a whole number.
            Self::StrictFloor => one(|argument| argument.ceil() - 1.0),
            Self::StrictCeil => one(|argument| argument.floor() + 1.0),
        }
    }
}

/// Parts of formulas, those that a part is made of before it.
#[derive(Debug, Default)]
pub(super) struct Formulas {
    parts: Vec<Expr>,
    /// Number of parts, and number of those that they are made of.
    size: usize,
    /// Formulas that were read of nodes, or the reasons why these are no formulas.
    read: HashMap<NodeId, Result<ExprId, FormulaError>>,
}

/// Reason why a node is no formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormulaError {
    /// The part of it that cannot be used.
    pub(super) at: NodeId,
    pub(super) why: Arc<str>,
}

impl FormulaError {
    pub(super) fn new(at: NodeId, why: impl Into<Arc<str>>) -> Self {
        Self { at, why: why.into() }
    }
}

impl Formulas {
    /// Says that a node is an input.
    pub(super) fn input(&mut self, node: NodeId, index: usize) {
        let id = self.add(Expr::Input(index));
        self.read.insert(node, Ok(id));
    }

    /// Returns the number of parts, and of those that they are made of.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn add(&mut self, part: Expr) -> ExprId {
        self.size += match &part {
            Expr::Call(_, arguments) => 1 + arguments.len(),
            Expr::Number(_) | Expr::Input(_) => 1,
        };
        self.parts.push(part);
        ExprId(self.parts.len() - 1)
    }

    /// Makes the total of other formulas.
    pub(super) fn total(&mut self, expr_ids: Vec<ExprId>) -> Option<ExprId> {
        (!expr_ids.is_empty()).then(|| self.add(Expr::Call(Function::Total, expr_ids)))
    }

    /// The input that a formula is, where it is nothing else.
    pub(super) fn as_input(&self, id: ExprId) -> Option<usize> {
        match self.parts.get(id.0) {
            Some(Expr::Input(index)) => Some(*index),
            _ => None,
        }
    }

    /// Reads the formula of a node. Nodes are no deeper than documents may be, and each is read once.
    pub(super) fn read(
        &mut self,
        document: &Document,
        node: NodeId,
    ) -> Result<ExprId, FormulaError> {
        if let Some(read) = self.read.get(&node) {
            return read.clone();
        }
        let read = self.read_node(document, node);
        self.read.insert(node, read.clone());
        read
    }

    fn read_node(&mut self, document: &Document, node: NodeId) -> Result<ExprId, FormulaError> {
        let wrong = |why: &str| FormulaError::new(node, why);
        match document.node(node) {
            Some(Node::Scalar(text)) => {
                let tokens = self.tokens(text).map_err(|why| wrong(&why))?;
                self.infix(&tokens).ok_or_else(|| wrong(NO_TEXT))
            }
            Some(Node::List(items)) => {
                let mut tokens = Vec::new();
                for item in items {
                    let is_formula = matches!(self.read.get(item), Some(Ok(_)));
                    match document.text(*item) {
                        Some(text) if !is_formula => {
                            let found =
                                self.tokens(text).map_err(|why| FormulaError::new(*item, why))?;
                            tokens.extend(found);
                        }
                        _ => tokens.push(Token::Operand(self.read(document, *item)?)),
                    }
                }
                self.infix(&tokens).ok_or_else(|| wrong(NO_TEXT))
            }
            Some(Node::Map(pairs)) => self.read_call(document, node, pairs),
            None => Err(wrong("there is nothing")),
        }
    }

    /// A function of others.
    fn read_call(
        &mut self,
        document: &Document,
        node: NodeId,
        pairs: &[(NodeId, NodeId)],
    ) -> Result<ExprId, FormulaError> {
        let [(name, arguments)] = pairs else {
            return Err(FormulaError::new(node, "a call has one function, and no more"));
        };
        let name = document.text(*name).unwrap_or_default();
        let unknown = || FormulaError::new(node, format!("there is no function {}", excerpt(name)));
        let function = Function::named(name).ok_or_else(unknown)?;
        let items = match document.node(*arguments) {
            Some(Node::List(items)) => items.as_slice(),
            _ => std::slice::from_ref(arguments),
        };
        let arguments = items.iter().map(|item| self.read(document, *item));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        if !function.takes(arguments.len()) {
            let why = format!("{name} does not take {} arguments", arguments.len());
            return Err(FormulaError::new(node, why));
        }
        Ok(self.add(Expr::Call(function, arguments)))
    }

    /// Of which parts all inputs are known, by their indices.
    pub(super) fn computable(&self, is_known: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut known: Vec<bool> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            // What a part is made of comes before it.
            known.push(match part {
                Expr::Number(_) => true,
                Expr::Input(index) => is_known(*index),
                Expr::Call(_, expr_ids) => expr_ids.iter().all(|id| known.get(id.0) == Some(&true)),
            });
        }
        known
    }

    /// The parts that a formula needs, each before those that it is part of.
    pub(super) fn needed(&self, expr_id: ExprId) -> Needed {
        let (mut parts, mut pending) = (BTreeSet::new(), vec![expr_id.0]);
        while let Some(index) = pending.pop() {
            if !parts.insert(index) {
                continue;
            }
            if let Some(Expr::Call(_, arguments)) = self.parts.get(index) {
                pending.extend(arguments.iter().map(|argument| argument.0));
            }
        }
        Needed(parts.into_iter().collect())
    }

    /// Returns the number of parts of a formula, and of those that they are made of.
    pub(super) fn size_of(&self, needed: &Needed) -> usize {
        let size = |index: &usize| match self.parts.get(*index) {
            Some(Expr::Call(_, arguments)) => 1 + arguments.len(),
            _ => 1,
        };
        needed.0.iter().map(size).sum()
    }

    /// The inputs among the parts of a formula.
    pub(super) fn inputs(&self, needed: &Needed) -> impl Iterator<Item = usize> {
        needed.0.iter().filter_map(|index| match self.parts.get(*index) {
            Some(Expr::Input(input)) => Some(*input),
            _ => None,
        })
    }

    /// Computes the value of a formula. A formula that lacks a value, or is no number, has none.
    pub(super) fn evaluate(
        &self,
        needed: &Needed,
        input: impl Fn(usize) -> Option<f64>,
    ) -> Option<f64> {
        let mut values: Vec<Option<f64>> = Vec::with_capacity(needed.0.len());
        for part in needed.0.iter().map(|index| self.parts.get(*index)) {
            let value = match part? {
                Expr::Number(number) => Some(*number),
                Expr::Input(index) => input(*index),
                Expr::Call(function, arguments) => {
                    let value = |id: &ExprId| *values.get(needed.0.binary_search(&id.0).ok()?)?;
                    let arguments = arguments.iter().map(value);
                    let arguments: Option<Vec<_>> = match function {
                        Function::Total => Some(arguments.flatten().collect()),
                        _ => arguments.collect(),
                    };
                    arguments.and_then(|arguments| function.apply(&arguments))
                }
            };
            values.push(value.filter(|value| value.is_finite()));
        }
        // Parts come before what they are part of: the formula is the last.
        values.pop().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates the formula under `f`, with the nodes under `a` and `b` as inputs.
    fn value(yaml: &str, inputs: [Option<f64>; 2]) -> Option<f64> {
        let text = format!("a: &a in\nb: &b in\nf: {yaml}\n");
        let document = Document::read(&text, 1000).unwrap();
        let root = document.root().unwrap();
        let mut formulas = Formulas::default();
        for (name, index) in [("a", 0), ("b", 1)] {
            formulas.input(document.get(root, name).unwrap(), index);
        }
        let formula = formulas.read(&document, document.get(root, "f").unwrap()).ok()?;
        formulas.evaluate(&formulas.needed(formula), |index| inputs[index])
    }

    #[test]
    fn formulas_are_evaluated_as_they_are_written() {
        let both = [Some(8.0), Some(2.0)];
        assert_eq!(value("*a", both), Some(8.0));
        assert_eq!(value("{/: [*a, *b]}", both), Some(4.0));
        assert_eq!(value("{+: [{/: [*b, *b]}, {/: [*a, *b]}]}", both), Some(5.0));
        assert_eq!(value("{min: [100, {max: [0, {'*': [100, *a]}]}]}", both), Some(100.0));
        assert_eq!(value("{sqrt: [{-: [*a, 4, *b]}]}", both), Some(2.0_f64.sqrt()));
        assert_eq!(value("{sqrt: 9}", both), Some(3.0));
        assert_eq!(value("[*a, ' - ', *b, ' * ', 3]", both), Some(2.0));
        assert_eq!(value("[[*a, '-', *b], '*', 3]", both), Some(18.0));
        assert_eq!(value("[2, '^', 3, '*', *b]", both), Some(16.0));
        assert_eq!(value("1 + 2 * 3", both), Some(7.0));
        assert_eq!(value("{log: [8, 2]}", both), Some(3.0));
        // Operators need no blanks, parentheses and signs are as one knows them, and powers of
        // powers are worked out from the right.
        assert_eq!(value("[*a, '^2']", both), Some(64.0));
        assert_eq!(value("[*a, '*2-1e+1/5']", both), Some(14.0));
        assert_eq!(value("'(2+3)*4'", both), Some(20.0));
        assert_eq!(value("['-', *a, '*(-', *b, '+.5)']", both), Some(12.0));
        assert_eq!(value("'2^-1'", both), Some(0.5));
        assert_eq!(value("'-2^2'", both), Some(-4.0));
        assert_eq!(value("2 ^ 3 ^ 2", both), Some(512.0));
        assert_eq!(value("8 - 4 - 2", both), Some(2.0));
        assert_eq!(value("{log: [*a]}", both), Some(8.0_f64.ln()));
        assert_eq!(value("{ln: *a}", both), Some(8.0_f64.ln()));
        assert_eq!(value("{prod: [*a, *b, 3]}", both), Some(48.0));
        assert_eq!(value("{pow: [*a, *b]}", both), Some(64.0));
        assert_eq!(value("{floor: 2.5}", both), Some(2.0));
        assert_eq!(value("{strict floor: *a}", both), Some(7.0));
        assert_eq!(value("{strict ceil: [2.5]}", both), Some(3.0));
    }

    #[test]
    fn what_lacks_a_value_has_none() {
        assert_eq!(value("{+: [*a, *b]}", [Some(1.0), None]), None);
        assert_eq!(value("{/: [*a, 0]}", [Some(1.0), None]), None);
        for wrong in [
            "what",
            "{what: [1]}",
            "[1, 2]",
            "[1, '+']",
            "{sqrt: [1, 2]}",
            "[]",
            "{}",
            "'(1'",
            "'1)'",
            "'()'",
            "1e",
            "'2(3)'",
        ] {
            assert_eq!(value(wrong, [Some(1.0); 2]), None, "{wrong}");
        }
    }
}
