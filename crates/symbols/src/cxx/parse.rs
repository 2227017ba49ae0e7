//! Names of functions and variables.
//!
//! <https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling>; functions here have the names of
//! its grammar. Parameters of templates are replaced as they are met, by the arguments that were
//! read last. What nests goes as deep as [`DEPTH_MAX`] and no deeper.

use super::node::{List, Node, NodeId, Qualifiers};
use super::table::{operator, standard};

/// How deep what nests may go. Each level takes some hundred bytes of the stack.
const DEPTH_MAX: u32 = 160;

/// How many nodes a name may have.
const NODES_MAX: usize = 1 << 16;

/// A name on the way, and what was read of it.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: u32,
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) lists: Vec<NodeId>,
    /// What `S_`, `S0_` and so on stand for.
    substitutions: Vec<Met>,
    /// What `T_`, `T0_` and so on stand for.
    pub(super) arguments: Vec<NodeId>,
    /// Parameters whose arguments come later, and their numbers.
    pub(super) forward: Vec<(NodeId, u32)>,
    pub(super) allows_forward: bool,
    /// True if the type of a conversion is read, and arguments may be those of its name.
    pub(super) is_in_conversion: bool,
    /// True if parameters of a lambda are read, which are `auto`.
    pub(super) is_in_lambda: bool,
}

/// How far a name was read at some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    at: usize,
    nodes: usize,
    lists: usize,
    substitutions: usize,
    forward: usize,
}

/// Something that may be met again.
#[derive(Debug, Clone, Copy)]
struct Met {
    node: NodeId,
    /// The number of the parameter that it is. What that means may have changed since.
    parameter: Option<u32>,
}

/// What the name of a function says of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Named {
    qualifiers: Qualifiers,
    /// Whether it is a constructor, a destructor or a conversion, which have no type of their own.
    is_untyped: bool,
    ends_with_arguments: bool,
    forward_from: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            nodes: Vec::with_capacity(text.len() / 2),
            lists: Vec::new(),
            substitutions: Vec::new(),
            arguments: Vec::new(),
            forward: Vec::new(),
            allows_forward: false,
            is_in_conversion: false,
            is_in_lambda: false,
        }
    }

    /// `_Z` and what follows, with what compilers put behind the name of a copy.
    pub(super) fn mangled_name(&mut self) -> Option<(NodeId, &'a str)> {
        self.take("_Z").then_some(())?;
        let node = self.encoding()?;
        let rest = self.text.get(self.at..)?;
        (rest.is_empty() || rest.starts_with('.')).then_some((node, rest))
    }

    pub(super) fn push(&mut self, node: Node<'a>) -> Option<NodeId> {
        let id = u32::try_from(self.nodes.len()).ok().filter(|_| self.nodes.len() < NODES_MAX)?;
        self.nodes.push(node);
        Some(NodeId(id))
    }

    pub(super) fn node(&self, id: NodeId) -> Option<Node<'a>> {
        self.nodes.get(usize::try_from(id.0).ok()?).copied()
    }

    /// Remembers what may be met again.
    pub(super) fn met(&mut self, node: NodeId) {
        self.substitutions.push(Met { node, parameter: None });
    }

    /// The same of a parameter of a template.
    pub(super) fn met_parameter(&mut self, node: NodeId, number: u32) {
        self.substitutions.push(Met { node, parameter: Some(number) });
    }

    /// The argument of a parameter.
    pub(super) fn argument(&self, number: u32) -> Option<NodeId> {
        self.arguments.get(usize::try_from(number).ok()?).copied()
    }

    /// Forgets what was read since a moment.
    pub(super) fn back_to(&mut self, then: Moment) {
        self.at = then.at;
        self.nodes.truncate(then.nodes);
        self.lists.truncate(then.lists);
        self.substitutions.truncate(then.substitutions);
        self.forward.truncate(then.forward);
    }

    pub(super) fn now(&self) -> Moment {
        Moment {
            at: self.at,
            nodes: self.nodes.len(),
            lists: self.lists.len(),
            substitutions: self.substitutions.len(),
            forward: self.forward.len(),
        }
    }

    /// Forgets what was met last.
    pub(super) fn forget(&mut self) {
        self.substitutions.pop();
    }

    /// Keeps several nodes as a list.
    pub(super) fn list(&mut self, nodes: &[NodeId]) -> Option<List> {
        let start = u32::try_from(self.lists.len()).ok()?;
        let length = u32::try_from(nodes.len()).ok()?;
        self.lists.extend_from_slice(nodes);
        (self.lists.len() <= NODES_MAX).then_some(List { start, length })
    }

    /// Reads something that may nest.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let found = if self.depth <= DEPTH_MAX { read(self) } else { None };
        self.depth -= 1;
        found
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let found = self.peek()?;
        self.at += 1;
        Some(found)
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(text))
    }

    /// Passes over a text, if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Nodes up to the letter that ends them.
    pub(super) fn until(
        &mut self,
        end: &str,
        mut read: impl FnMut(&mut Self) -> Option<NodeId>,
    ) -> Option<List> {
        let mut nodes = Vec::new();
        while !self.take(end) {
            nodes.push(read(self)?);
        }
        self.list(&nodes)
    }

    /// The digits of a number, with `n` before those of a negative one.
    pub(super) fn digits(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.take("n");
        let first = self.at;
        while self.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > first).then(|| self.text.get(start..self.at)).flatten()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.digits()?.parse().ok()
    }

    /// `_` is 0, `0_` is 1, and so on.
    pub(super) fn compact_number(&mut self) -> Option<u64> {
        if self.take("_") {
            return Some(0);
        }
        let number = self.number()?;
        self.take("_").then_some(number.checked_add(1)?)
    }

    /// The same in digits and capital letters.
    fn sequence_id(&mut self) -> Option<usize> {
        if self.take("_") {
            return Some(0);
        }
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c.is_ascii_uppercase()) {
            self.at += 1;
        }
        let number = usize::from_str_radix(self.text.get(start..self.at)?, 36).ok()?;
        self.take("_").then_some(number.checked_add(1)?)
    }

    /// A function with its parameters, a variable, or what the compiler made. Within another name,
    /// it may end with that.
    pub(super) fn encoding(&mut self) -> Option<NodeId> {
        let arguments = self.arguments.clone();
        let found = self.nested(|parser| match parser.peek()? {
            b'G' | b'T' => parser.special_name(),
            _ => parser.function_or_variable(),
        });
        self.arguments = arguments;
        found
    }

    fn function_or_variable(&mut self) -> Option<NodeId> {
        let mut named = Named { forward_from: self.forward.len(), ..Named::default() };
        let name = self.name(Some(&mut named))?;
        self.resolve_forward(named.forward_from)?;
        if matches!(self.peek(), None | Some(b'E' | b'.')) {
            let name = self.push(Node::Member(name, named.qualifiers))?;
            return self.push(Node::Encoding { name, returns: None, parameters: None });
        }
        let has_return = named.ends_with_arguments && !named.is_untyped;
        let returns = if has_return { Some(self.type_name()?) } else { None };
        let parameters = Some(self.bare_parameters()?);
        let name = self.push(Node::Member(name, named.qualifiers))?;
        self.push(Node::Encoding { name, returns, parameters })
    }

    /// Types of parameters up to the end of the function; `v` is none.
    fn bare_parameters(&mut self) -> Option<List> {
        let is_end = |next: Option<u8>| matches!(next, None | Some(b'E' | b'.'));
        if self.peek() == Some(b'v') && is_end(self.peek_at(1)) {
            self.at += 1;
            return self.list(&[]);
        }
        let mut parameters = Vec::new();
        while !is_end(self.peek()) {
            parameters.push(self.type_name()?);
        }
        self.list(&parameters)
    }

    /// Arguments of conversions to types that parameters of their templates name.
    fn resolve_forward(&mut self, from: usize) -> Option<()> {
        for (node, number) in self.forward.split_off(from) {
            let argument = self.argument(number)?;
            // One that stands for itself would never end.
            (argument.0 != node.0).then_some(())?;
            *self.nodes.get_mut(usize::try_from(node.0).ok()?)? = Node::Special("", argument);
        }
        Some(())
    }

    pub(super) fn name(&mut self, named: Option<&mut Named>) -> Option<NodeId> {
        self.nested(|parser| parser.name_within(named))
    }

    fn name_within(&mut self, mut named: Option<&mut Named>) -> Option<NodeId> {
        match self.peek()? {
            b'N' => return self.nested_name(named),
            b'Z' => return self.local_name(named),
            _ => {}
        }
        let is_substitution = self.peek() == Some(b'S') && self.peek_at(1) != Some(b't');
        let name = if is_substitution {
            let found = self.substitution()?;
            // Only a template that was met before has arguments here.
            (self.peek() == Some(b'I')).then_some(found)?
        } else {
            self.unscoped_name(named.as_deref_mut())?
        };
        if self.peek() != Some(b'I') {
            return Some(name);
        }
        if !is_substitution {
            self.met(name);
        }
        let arguments = self.template_arguments(named.is_some())?;
        if let Some(named) = named {
            named.ends_with_arguments = true;
        }
        self.push(Node::Template { name, arguments })
    }

    /// A name in `std` or in no namespace.
    fn unscoped_name(&mut self, named: Option<&mut Named>) -> Option<NodeId> {
        let outer = self.take("St").then(|| self.push(Node::Text("std")));
        let name = self.unqualified_name(named, None)?;
        match outer {
            Some(outer) => self.push(Node::Nested(outer?, name)),
            None => Some(name),
        }
    }

    fn nested_name(&mut self, mut named: Option<&mut Named>) -> Option<NodeId> {
        self.at += 1;
        let mut qualifiers = self.qualifiers();
        qualifiers.reference = self.reference();
        if let Some(named) = named.as_deref_mut() {
            named.qualifiers = qualifiers;
        }
        let mut so_far: Option<NodeId> = None;
        while !self.take("E") {
            let mut is_known = false;
            // The last part decides.
            let arguments_end = matches!(self.peek(), Some(b'I'));
            so_far = Some(match (self.peek()?, so_far) {
                (b'T', None) => self.template_parameter()?.0,
                (b'D', None) if matches!(self.peek_at(1), Some(b't' | b'T')) => self.decltype()?,
                (b'I', Some(name)) => {
                    let arguments = self.template_arguments(named.is_some())?;
                    self.push(Node::Template { name, arguments })?
                }
                (b'S', None) if self.peek_at(1) == Some(b't') => {
                    self.at += 2;
                    is_known = true;
                    self.push(Node::Text("std"))?
                }
                (b'S', None) => {
                    is_known = true;
                    self.substitution_before(true)?
                }
                (b'M', Some(name)) => {
                    // What an initialiser of a member is in.
                    self.at += 1;
                    name
                }
                (_, outer) => {
                    if let Some(named) = named.as_deref_mut() {
                        named.is_untyped = false;
                    }
                    let name = self.unqualified_name(named.as_deref_mut(), outer)?;
                    match outer {
                        Some(outer) => self.push(Node::Nested(outer, name))?,
                        None => name,
                    }
                }
            });
            if let Some(named) = named.as_deref_mut() {
                named.ends_with_arguments = arguments_end;
            }
            if !is_known && self.peek() != Some(b'E') {
                self.met(so_far?);
            }
        }
        so_far
    }

    /// Something within a function.
    fn local_name(&mut self, named: Option<&mut Named>) -> Option<NodeId> {
        self.at += 1;
        let mut function = self.encoding()?;
        self.take("E").then_some(())?;
        if let Node::Encoding { name, parameters, .. } = self.node(function)? {
            // What it returns would be taken for the type of what is within it.
            function = self.push(Node::Encoding { name, returns: None, parameters })?;
        }
        if self.take("s") {
            self.discriminator();
            let entity = self.push(Node::Text("string literal"))?;
            return self.push(Node::Local { function, entity });
        }
        if self.take("d") {
            let number = self.compact_number()?;
            let name = self.name(named)?;
            let argument = self.push(Node::DefaultArgument(number.checked_add(1)?))?;
            let entity = self.push(Node::Nested(argument, name))?;
            return self.push(Node::Local { function, entity });
        }
        let entity = self.name(named)?;
        self.discriminator();
        self.push(Node::Local { function, entity })
    }

    /// Which of several of one name it is; nobody is told.
    fn discriminator(&mut self) {
        let start = self.at;
        let is_one = if self.take("__") {
            self.digits().is_some() && self.take("_")
        } else {
            self.take("_") && self.next().is_some_and(|digit| digit.is_ascii_digit())
        };
        if !is_one {
            self.at = start;
        }
    }

    /// A name without what it is in, with its tags. `outer` is what it is in.
    pub(super) fn unqualified_name(
        &mut self,
        named: Option<&mut Named>,
        outer: Option<NodeId>,
    ) -> Option<NodeId> {
        // Within no other file. That is not shown.
        self.take("L");
        let mut name = match (self.peek()?, self.peek_at(1)) {
            (b'0'..=b'9', _) => self.source_name()?,
            (b'U', Some(b't')) => {
                self.at += 2;
                let number = self.compact_number()?;
                self.push(Node::Unnamed(number.checked_add(1)?))?
            }
            (b'U', Some(b'l')) => self.lambda()?,
            (b'D', Some(b'C')) => {
                self.at += 2;
                let bound = self.until("E", Self::source_name)?;
                self.push(Node::Binding(bound))?
            }
            (b'C' | b'D', Some(b'I' | b'0'..=b'9')) => {
                if let Some(named) = named {
                    named.is_untyped = true;
                }
                self.structor(outer?)?
            }
            _ => self.operator_name(named)?,
        };
        while self.take("B") {
            let tag = self.identifier()?;
            name = self.push(Node::Tagged(name, tag))?;
        }
        Some(name)
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let text = self.text.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn source_name(&mut self) -> Option<NodeId> {
        let text = self.identifier()?;
        let is_anonymous = text.strip_prefix("_GLOBAL_").is_some_and(|rest| {
            rest.starts_with(['.', '_', '$']) && rest.get(1..).is_some_and(|n| n.starts_with('N'))
        });
        self.push(Node::Text(if is_anonymous { "(anonymous namespace)" } else { text }))
    }

    fn lambda(&mut self) -> Option<NodeId> {
        self.at += 2;
        let was_in_lambda = std::mem::replace(&mut self.is_in_lambda, true);
        let parameters =
            if self.take("vE") { self.list(&[]) } else { self.until("E", Self::type_name) };
        self.is_in_lambda = was_in_lambda;
        let number = self.compact_number()?;
        self.push(Node::Lambda { parameters: parameters?, number: number.checked_add(1)? })
    }

    fn structor(&mut self, of: NodeId) -> Option<NodeId> {
        let is_destructor = self.next()? == b'D';
        let is_inherited = self.take("I");
        self.next()?.is_ascii_digit().then_some(())?;
        let of = if is_inherited { self.type_name()? } else { of };
        self.push(Node::Structor { of, is_destructor })
    }

    fn operator_name(&mut self, named: Option<&mut Named>) -> Option<NodeId> {
        if self.take("cv") {
            if let Some(named) = named {
                named.is_untyped = true;
            }
            let forward = std::mem::replace(&mut self.allows_forward, true);
            let conversion = std::mem::replace(&mut self.is_in_conversion, true);
            let to = self.type_name();
            self.allows_forward = forward;
            self.is_in_conversion = conversion;
            return self.push(Node::Conversion(to?));
        }
        if self.take("li") {
            let name = self.source_name()?;
            return self.push(Node::LiteralOperator(name));
        }
        if self.peek() == Some(b'v') && self.peek_at(1).is_some_and(|digit| digit.is_ascii_digit())
        {
            // An operator of a vendor.
            self.at += 2;
            let name = self.source_name()?;
            return self.push(Node::Conversion(name));
        }
        let operator = self.operator()?;
        self.push(Node::Operator(operator))
    }

    /// The operator that comes next.
    pub(super) fn operator(&mut self) -> Option<&'static super::table::Operator> {
        let code = self.text.as_bytes().get(self.at..self.at + 2)?;
        let operator = operator(code)?;
        self.at += 2;
        Some(operator)
    }

    pub(super) fn substitution(&mut self) -> Option<NodeId> {
        self.substitution_before(false)
    }

    /// What was met before, or a name of the standard library. Before the name of a constructor it
    /// is shown in full.
    fn substitution_before(&mut self, is_prefix: bool) -> Option<NodeId> {
        self.take("S").then_some(())?;
        let Some([shown, full, own]) = standard(self.peek()?) else {
            let number = self.sequence_id()?;
            let Met { node, parameter } = *self.substitutions.get(number)?;
            let parameter = parameter.and_then(|number| self.argument(number));
            return Some(parameter.unwrap_or(node));
        };
        self.at += 1;
        let is_full = is_prefix && matches!(self.peek(), Some(b'C' | b'D'));
        let text = if is_full { full } else { shown };
        let mut found = self.push(Node::Standard { text, own })?;
        if self.peek() == Some(b'B') {
            while self.take("B") {
                let tag = self.identifier()?;
                found = self.push(Node::Tagged(found, tag))?;
            }
            self.met(found);
        }
        Some(found)
    }

    /// What compilers make: tables, thunks and so on.
    fn special_name(&mut self) -> Option<NodeId> {
        let code = self.text.as_bytes().get(self.at..self.at + 2)?;
        self.at += 2;
        let of_type = match code {
            b"TV" => "vtable for ",
            b"TT" => "VTT for ",
            b"TI" => "typeinfo for ",
            b"TS" => "typeinfo name for ",
            b"TF" => "typeinfo fn for ",
            _ => "",
        };
        if !of_type.is_empty() {
            let of = self.type_name()?;
            return self.push(Node::Special(of_type, of));
        }
        let of_name = match code {
            b"TH" => "TLS init function for ",
            b"TW" => "TLS wrapper function for ",
            b"GV" => "guard variable for ",
            _ => "",
        };
        if !of_name.is_empty() {
            let of = self.name(None)?;
            return self.push(Node::Special(of_name, of));
        }
        match code {
            b"Th" => {
                self.offset()?;
                self.special("non-virtual thunk to ")
            }
            b"Tv" => {
                self.offset()?;
                self.offset()?;
                self.special("virtual thunk to ")
            }
            b"Tc" => {
                self.call_offset()?;
                self.call_offset()?;
                self.special("covariant return thunk to ")
            }
            b"TA" => {
                let of = self.template_argument()?;
                self.push(Node::Special("template parameter object for ", of))
            }
            b"TC" => {
                let derived = self.type_name()?;
                self.number()?;
                self.take("_").then_some(())?;
                let base = self.type_name()?;
                let both = self.push(Node::Between(base, "-in-", derived))?;
                self.push(Node::Special("construction vtable for ", both))
            }
            b"GR" => {
                let of = self.name(None)?;
                let number = if self.peek().is_none() { 0 } else { self.compact_number()? };
                self.push(Node::Temporary(number, of))
            }
            b"GA" => self.special("hidden alias for "),
            b"GT" => {
                let is_transaction = self.next()? != b'n';
                let clone = "transaction clone for ";
                self.special(if is_transaction { clone } else { "non-transaction clone for " })
            }
            _ => None,
        }
    }

    fn special(&mut self, before: &'static str) -> Option<NodeId> {
        let of = self.encoding()?;
        self.push(Node::Special(before, of))
    }

    fn offset(&mut self) -> Option<()> {
        self.digits()?;
        self.take("_").then_some(())
    }

    fn call_offset(&mut self) -> Option<()> {
        match self.next()? {
            b'h' => self.offset(),
            b'v' => self.offset().and_then(|()| self.offset()),
            _ => None,
        }
    }
}
