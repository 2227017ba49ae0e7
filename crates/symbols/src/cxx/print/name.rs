//! Names of functions, classes and what has a name of its own.

use std::fmt::Write;

use super::{DEPTH_MAX, Done, Printer, TooMuch};
use crate::cxx::node::{List, Node, NodeId, Qualifiers};

impl<'a> Printer<'a, '_> {
    /// What has nothing behind the name that it declares.
    pub(super) fn name(&mut self, node: Node<'a>) -> Done {
        match node {
            Node::Text(text) | Node::Standard { text, .. } => self.push(text),
            Node::Nested(outer, inner) | Node::Local { function: outer, entity: inner } => {
                self.whole(outer)?;
                self.push("::");
                self.whole(inner)?;
            }
            Node::Between(one, between, other) => {
                self.whole(one)?;
                self.push(between);
                self.whole(other)?;
            }
            Node::Template { name, arguments } => {
                self.whole(name)?;
                self.arguments(arguments)?;
            }
            Node::Tagged(name, tag) => {
                self.whole(name)?;
                let _ = write!(self.text, "[abi:{tag}]");
            }
            Node::Structor { of, is_destructor } => {
                self.push(if is_destructor { "~" } else { "" });
                self.base(of)?;
            }
            Node::Operator(operator) => {
                let is_word = operator.text.starts_with(|c: char| c.is_ascii_lowercase());
                self.push(if is_word { "operator " } else { "operator" });
                self.push(operator.text.trim_end());
            }
            Node::Conversion(to) => {
                self.push("operator ");
                self.whole(to)?;
            }
            Node::LiteralOperator(name) => {
                self.push("operator\"\" ");
                self.whole(name)?;
            }
            Node::Special(before, of) => {
                self.push(before);
                self.whole(of)?;
            }
            Node::Temporary(number, of) => {
                let _ = write!(self.text, "reference temporary #{number} for ");
                self.whole(of)?;
            }
            Node::Encoding { name, returns, parameters } => {
                self.encoding(name, returns, parameters)?;
            }
            Node::Member(name, _) => self.whole(name)?,
            Node::Vendor(of, qualifier) => {
                self.whole(of)?;
                self.push(" ");
                self.whole(qualifier)?;
            }
            Node::Postfix(of, text) => {
                self.whole(of)?;
                self.push(text);
            }
            Node::Vector { dimension, element } => {
                self.whole(element)?;
                self.push(" __vector(");
                self.whole(dimension)?;
                self.push(")");
            }
            Node::Pack(list) => self.commas(list)?,
            Node::Expansion(of) => self.expansion(of)?,
            Node::Forward => return Err(TooMuch),
            Node::Auto(number) => {
                let _ = write!(self.text, "auto:{number}");
            }
            Node::Lambda { parameters, number } => {
                self.push("{lambda(");
                self.commas(parameters)?;
                let _ = write!(self.text, ")#{number}}}");
            }
            Node::Unnamed(number) => {
                let _ = write!(self.text, "{{unnamed type#{number}}}");
            }
            Node::DefaultArgument(number) => {
                let _ = write!(self.text, "{{default arg#{number}}}");
            }
            Node::Binding(names) => {
                self.push("[");
                self.commas(names)?;
                self.push("]");
            }
            Node::Numbered(text, number) => {
                let _ = write!(self.text, "{text}({number})");
            }
            other => self.expression(other)?,
        }
        Ok(())
    }

    pub(super) fn encoding(
        &mut self,
        name: NodeId,
        returns: Option<NodeId>,
        parameters: Option<List>,
    ) -> Done {
        if let Some(returns) = returns {
            self.left(returns)?;
            if !self.has_right(returns)? {
                self.push(" ");
            }
        }
        let qualifiers = match self.node(name)? {
            Node::Member(_, qualifiers) => qualifiers,
            _ => Qualifiers::default(),
        };
        self.whole(name)?;
        if let Some(parameters) = parameters {
            self.push("(");
            self.commas(parameters)?;
            self.push(")");
        }
        returns.map_or(Ok(()), |returns| self.right(returns))?;
        if parameters.is_some() {
            self.qualifiers(qualifiers);
        }
        Ok(())
    }

    fn arguments(&mut self, arguments: List) -> Done {
        self.push(if self.last() == Some('<') { " <" } else { "<" });
        self.commas(arguments)?;
        let is_apart = self.last() == Some('>') && !(self.is_after_nothing && self.is_gnu);
        self.push(if is_apart { " >" } else { ">" });
        Ok(())
    }

    /// The name of a class as its constructors have it.
    fn base(&mut self, mut of: NodeId) -> Done {
        for _ in 0..DEPTH_MAX {
            of = match self.meant(of)?.1 {
                Node::Nested(_, inner) | Node::Local { entity: inner, .. } => inner,
                Node::Template { name, .. } | Node::Tagged(name, _) => name,
                Node::Standard { own, .. } => {
                    self.push(own);
                    return Ok(());
                }
                _ => return self.whole(of),
            };
        }
        Err(TooMuch)
    }
}
