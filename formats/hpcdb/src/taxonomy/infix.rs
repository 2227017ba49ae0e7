//! Formulas that are written as one writes them: numbers, operators and parentheses.

use super::formula::{Expr, ExprId, Formulas, Function};

/// A piece of a formula that is written as a text, or as a list of pieces.
#[derive(Clone, Copy)]
pub(super) enum Token {
    Operand(ExprId),
    Operator(Function),
    Open,
    Close,
}

/// Operator, sign or parenthesis that waits for its second operand.
#[derive(Clone, Copy)]
enum PendingOperator {
    /// A parenthesis, which is not closed.
    Parenthesis,
    /// A sign.
    Minus,
    Operator(Function),
}

impl PendingOperator {
    /// Returns the strength with which it binds.
    fn strength(self) -> u8 {
        match self {
            Self::Parenthesis => 0,
            Self::Operator(Function::Sum | Function::Difference) => 1,
            Self::Operator(Function::Product | Function::Quotient) => 2,
            Self::Minus => 3,
            Self::Operator(_) => 4,
        }
    }
}

impl Formulas {
    /// The numbers, operators and parentheses of a text; blanks between them mean nothing.
    pub(super) fn tokens(&mut self, text: &str) -> Result<Vec<Token>, String> {
        let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
        while let Some(first) = rest.chars().next() {
            let (token, length) = match first {
                '(' => (Token::Open, 1),
                ')' => (Token::Close, 1),
                '+' | '-' | '*' | '/' | '^' => {
                    let function = Function::named(first.encode_utf8(&mut [0; 4]));
                    (Token::Operator(function.ok_or("no operator")?), 1)
                }
                _ => {
                    let length = number_length(rest);
                    let number = rest.get(..length).and_then(|number| number.parse().ok());
                    let wrong = || format!("{} is no number and no operator", excerpt(rest));
                    (Token::Operand(self.add(Expr::Number(number.ok_or_else(wrong)?))), length)
                }
            };
            tokens.push(token);
            rest = rest.get(length..).unwrap_or_default().trim_start();
        }
        Ok(tokens)
    }

    /// Puts operands and operators together, what binds tighter first. Nothing where they do not
    /// follow each other so.
    pub(super) fn infix(&mut self, tokens: &[Token]) -> Option<ExprId> {
        let mut operands: Vec<ExprId> = Vec::new();
        let mut waiting: Vec<PendingOperator> = Vec::new();
        let mut wants_operand = true;
        for token in tokens {
            match (*token, wants_operand) {
                (Token::Operand(id), true) => {
                    operands.push(id);
                    wants_operand = false;
                }
                (Token::Open, true) => waiting.push(PendingOperator::Parenthesis),
                (Token::Operator(Function::Difference), true) => {
                    waiting.push(PendingOperator::Minus);
                }
                (Token::Operator(Function::Sum), true) => {}
                (Token::Operator(function), false) => {
                    let next = PendingOperator::Operator(function);
                    // Powers of powers are worked out from the right.
                    let least = next.strength() + u8::from(function == Function::Power);
                    self.join(&mut operands, &mut waiting, least)?;
                    waiting.push(next);
                    wants_operand = true;
                }
                (Token::Close, false) => {
                    self.join(&mut operands, &mut waiting, 1)?;
                    waiting.pop()?;
                }
                _ => return None,
            }
        }
        self.join(&mut operands, &mut waiting, 1)?;
        operands.pop().filter(|_| operands.is_empty() && waiting.is_empty() && !wants_operand)
    }

    /// Works out what waits and binds at least so tightly.
    fn join(
        &mut self,
        operands: &mut Vec<ExprId>,
        waiting: &mut Vec<PendingOperator>,
        least: u8,
    ) -> Option<()> {
        while let Some(last) = waiting.pop_if(|last| last.strength() >= least) {
            let second = operands.pop()?;
            let part = match last {
                PendingOperator::Operator(function) => {
                    Expr::Call(function, vec![operands.pop()?, second])
                }
                PendingOperator::Minus => Expr::Call(Function::Difference, vec![second]),
                PendingOperator::Parenthesis => return None,
            };
            operands.push(self.add(part));
        }
        Some(())
    }
}

/// Returns the number of bytes of a number at the start of a text.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default().bytes();
        from + rest.take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count()
    };
    let end = digits(0);
    let mut behind = text.get(end..).unwrap_or_default().bytes();
    if !matches!(behind.next(), Some(b'e' | b'E')) {
        return end;
    }
    let sign = usize::from(matches!(behind.next(), Some(b'+' | b'-')));
    digits(end + 1 + sign)
}

/// As much of a text as a person has to see.
pub(super) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 24;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
