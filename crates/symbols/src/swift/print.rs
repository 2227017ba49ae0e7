//! Nodes as text, in the way of `swift demangle -simplified`: without modules, types of parameters,
//! and what is required of them.

use super::node::{
    Called, Compiled, Effect, Element, Entity, Function, Kind, Name, Node, NodeId, Nominal,
};
use super::parse::Read;
use super::thunk::SPECIALIZED;

/// How deep nodes may nest.
const DEPTH_MAX: u32 = 128;

/// How long a text may become, and how much may be done for it: a short name can stand for one
/// without end.
const TEXT_BYTES_MAX: usize = 1 << 14;
const STEPS_MAX: u32 = 1 << 16;

/// How many parameters of generics are shown at one depth.
const PARAMETERS_MAX: u64 = 128;

/// Why there is no text: it is too long or nests too deep, or something is not where it belongs.
struct Failed;

type Done<T = ()> = Result<T, Failed>;

struct Printer<'a> {
    nodes: &'a [Node],
    text: String,
    depth: u32,
    steps: u32,
}

/// The text of a name.
pub(super) fn print(read: &Read) -> Option<String> {
    let mut printer = Printer { nodes: &read.nodes, text: String::new(), depth: 0, steps: 0 };
    printer.whole(read).ok()?;
    Some(printer.text)
}

impl<'a> Printer<'a> {
    fn whole(&mut self, read: &Read) -> Done {
        let mut is_specialized = false;
        for attribute in &read.attributes {
            let Node::Attribute(words) = self.node(*attribute)? else { return Err(Failed) };
            if words == SPECIALIZED && std::mem::replace(&mut is_specialized, true) {
                continue;
            }
            self.write(words)?;
        }
        self.any(read.name)
    }

    fn node(&mut self, id: NodeId) -> Done<&'a Node> {
        self.steps += 1;
        let at = usize::try_from(id.0).map_err(|_| Failed)?;
        let is_left = self.steps <= STEPS_MAX;
        self.nodes.get(at).filter(|_| is_left).ok_or(Failed)
    }

    fn write(&mut self, text: &str) -> Done {
        self.text.push_str(text);
        if self.text.len() <= TEXT_BYTES_MAX { Ok(()) } else { Err(Failed) }
    }

    /// Writes something that may nest.
    fn nested<T>(&mut self, write: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        self.depth += 1;
        let done = if self.depth <= DEPTH_MAX { write(self) } else { Err(Failed) };
        self.depth -= 1;
        done
    }

    fn list<T>(
        &mut self,
        list: impl IntoIterator<Item = T>,
        between: &str,
        mut write: impl FnMut(&mut Self, T) -> Done,
    ) -> Done {
        for (at, item) in list.into_iter().enumerate() {
            self.write(if at > 0 { between } else { "" })?;
            write(self, item)?;
        }
        Ok(())
    }

    /// Anything that a name may be of.
    fn any(&mut self, id: NodeId) -> Done {
        match self.node(id)? {
            Node::Made(words, of) => {
                self.write(words)?;
                self.nested(|printer| printer.any(*of))
            }
            Node::Witness { of, entity } => {
                self.write("protocol witness for ")?;
                self.declared(*entity)?;
                self.write(" in conformance ")?;
                self.of_type(*of)
            }
            Node::Pair(words, first, between, second) => {
                self.write(words)?;
                self.nested(|printer| printer.any(*first))?;
                self.write(between)?;
                self.nested(|printer| printer.any(*second))
            }
            Node::Entity(_) => self.declared(id),
            _ => self.of_type(id),
        }
    }

    /// Something that is declared, with all that it is in.
    fn declared(&mut self, id: NodeId) -> Done {
        self.nested(|printer| {
            let parts = printer.parts(id)?;
            let rest = printer.write_parts(&parts)?;
            match rest {
                Some(rest) => {
                    printer.write(parts.before_context)?;
                    printer.declared(rest)
                }
                None => Ok(()),
            }
        })
    }

    /// What to write of something that is declared.
    fn parts(&mut self, id: NodeId) -> Done<Parts<'a>> {
        match self.node(id)? {
            Node::Nominal(Nominal { context, name, .. }) => Ok(Parts {
                context: *context,
                name: Name::Declared(*name),
                is_around: !matches!(self.node(*name)?, Node::Local(..)),
                is_apart: matches!(self.node(*name)?, Node::Local(..)),
                before_context: " in ",
                entity: None,
            }),
            Node::Entity(entity) => {
                let is_local = match entity.name {
                    Name::Declared(name) => matches!(self.node(name)?, Node::Local(..)),
                    _ => false,
                };
                let is_apart = is_local || entity.part.contains(' ');
                // An argument or a variable has it; what is written in code is in it.
                let is_of = is_apart && !entity.part.is_empty() && !entity.part.ends_with('#');
                Ok(Parts {
                    context: entity.context,
                    name: entity.name,
                    is_around: entity.is_around && !is_apart,
                    is_apart,
                    before_context: if is_of { " of " } else { " in " },
                    entity: Some(entity),
                })
            }
            _ => Err(Failed),
        }
    }

    /// Writes something with what stands before it, and gives what stands behind it.
    fn write_parts(&mut self, parts: &Parts<'a>) -> Done<Option<NodeId>> {
        if parts.entity.is_some_and(|entity| entity.is_static) {
            self.write("static ")?;
        }
        let behind = if parts.is_apart {
            self.shown_context(parts.context)?
        } else {
            self.nested(|printer| printer.context(parts.context))?
        };
        match parts.name {
            Name::None => {}
            Name::Fixed(name) => self.write(name)?,
            Name::Declared(name) => self.name(name)?,
        }
        if let Some(entity) = parts.entity {
            let has_name = !matches!(parts.name, Name::None);
            self.entity(entity, has_name, parts.is_apart)?;
        }
        Ok(behind)
    }

    fn entity(&mut self, entity: &'a Entity, has_name: bool, is_apart: bool) -> Done {
        self.write(if has_name && !entity.part.is_empty() { "." } else { "" })?;
        self.write(entity.part)?;
        if let Some(number) = entity.number {
            self.write(&number.to_string())?;
        }
        match &entity.called {
            Some(called) => {
                self.write(if is_apart { " " } else { "" })?;
                self.called(called)
            }
            None => Ok(()),
        }
    }

    fn called(&mut self, called: &Called) -> Done {
        if let Some(signature) = called.signature {
            self.signature(signature)?;
        }
        self.write("(")?;
        for label in &called.labels {
            match label {
                Some(label) => self.name(*label)?,
                None => self.write("_")?,
            }
            self.write(":")?;
        }
        self.write(")")
    }

    /// What something is in, if it is more than a module.
    fn shown_context(&mut self, id: NodeId) -> Done<Option<NodeId>> {
        Ok(match self.node(id)? {
            Node::Module => None,
            Node::Extension(of, _) => Some(*of),
            _ => Some(id),
        })
    }

    /// Writes what something is in with a dot; gives what can only stand behind it.
    fn context(&mut self, id: NodeId) -> Done<Option<NodeId>> {
        let (id, signature) = match self.node(id)? {
            Node::Module => return Ok(None),
            Node::Extension(of, signature) => (*of, *signature),
            _ => (id, None),
        };
        let parts = self.parts(id)?;
        if !parts.is_around {
            return Ok(Some(id));
        }
        let behind = self.nested(|printer| printer.write_parts(&parts))?;
        if let Some(signature) = signature {
            self.signature(signature)?;
        }
        self.write(".")?;
        Ok(behind)
    }

    fn name(&mut self, id: NodeId) -> Done {
        match self.node(id)? {
            Node::Identifier(name) => self.write(name),
            Node::Operator(signs, place) => {
                self.write(signs)?;
                self.write(place)
            }
            Node::Local(name, number) => {
                self.nested(|printer| printer.name(*name))?;
                self.write(&format!(" #{}", number.saturating_add(1)))
            }
            Node::Private(Some(name)) => self.nested(|printer| printer.name(*name)),
            _ => Err(Failed),
        }
    }

    /// `<A, B><A1>`.
    fn signature(&mut self, id: NodeId) -> Done {
        let Node::Signature(counts) = self.node(id)? else { return Err(Failed) };
        for (depth, count) in counts.iter().enumerate() {
            self.write("<")?;
            let shown = 0..(*count).min(PARAMETERS_MAX);
            self.list(shown, ", ", |printer, index| printer.parameter(depth as u64, index))?;
            self.write(if *count > PARAMETERS_MAX { ", ...>" } else { ">" })?;
        }
        Ok(())
    }

    /// A parameter of generics: letters for its place, and a number for its depth.
    fn parameter(&mut self, depth: u64, index: u64) -> Done {
        let mut left = index;
        loop {
            let letter = u8::try_from(left % 26).map_err(|_| Failed)? + b'A';
            self.write(char::from(letter).encode_utf8(&mut [0; 4]))?;
            left /= 26;
            if left == 0 {
                break;
            }
        }
        if depth > 0 { self.write(&depth.to_string()) } else { Ok(()) }
    }

    fn of_type(&mut self, id: NodeId) -> Done {
        self.nested(|printer| printer.some_type(id))
    }

    fn some_type(&mut self, id: NodeId) -> Done {
        match self.node(id)? {
            Node::Nominal(_) => self.declared(id),
            Node::Plain(name) => self.write(name),
            Node::Parameter(depth, index) => self.parameter(*depth, *index),
            Node::Bound(of, arguments) => self.bound(*of, arguments),
            Node::Tuple(elements) => self.tuple(elements),
            Node::Function(function) => self.function(function),
            Node::Compiled(compiled) => self.compiled(compiled),
            Node::Before(words, of) => {
                self.write(words)?;
                self.of_type(*of)
            }
            Node::After(of, words) => {
                self.in_parentheses(*of)?;
                self.write(words)
            }
            Node::Existential(all) if all.is_empty() => self.write("Any"),
            Node::Existential(all) => self.list(all, " & ", |printer, of| printer.of_type(*of)),
            Node::Member { of, protocol, name } => {
                self.in_parentheses(*of)?;
                if let Some(protocol) = protocol {
                    self.write(".")?;
                    self.of_type(*protocol)?;
                }
                self.write(".")?;
                self.name(*name)
            }
            Node::Generic(signature, of) => {
                let before = self.text.len();
                self.signature(*signature)?;
                self.write(if self.text.len() > before { " " } else { "" })?;
                self.of_type(*of)
            }
            _ => Err(Failed),
        }
    }

    /// A type that something follows, which parentheses keep apart where it is of several words.
    fn in_parentheses(&mut self, id: NodeId) -> Done {
        let is_several = match self.node(id)? {
            Node::Existential(all) => all.len() > 1,
            Node::Function(_) | Node::Compiled(_) | Node::Before(..) | Node::Generic(..) => true,
            _ => false,
        };
        self.write(if is_several { "(" } else { "" })?;
        self.of_type(id)?;
        self.write(if is_several { ")" } else { "" })
    }

    /// A type with arguments; some of the standard library have a short form.
    fn bound(&mut self, of: NodeId, arguments: &[Vec<NodeId>]) -> Done {
        match (self.standard_name(of)?, arguments) {
            (Some("Optional"), [list]) if list.len() == 1 => {
                self.list(list, "", |printer, of| printer.in_parentheses(*of))?;
                self.write("?")
            }
            (Some("Array"), [list]) if list.len() == 1 => {
                self.write("[")?;
                self.list(list, "", |printer, of| printer.of_type(*of))?;
                self.write("]")
            }
            (Some("Dictionary"), [list]) if list.len() == 2 => {
                self.write("[")?;
                self.list(list, " : ", |printer, of| printer.of_type(*of))?;
                self.write("]")
            }
            _ => self.with_arguments(of, arguments),
        }
    }

    /// The name of a type that is in a module, and no class or protocol.
    fn standard_name(&mut self, id: NodeId) -> Done<Option<&'a str>> {
        let Node::Nominal(Nominal { kind: Kind::Other, context, name }) = self.node(id)? else {
            return Ok(None);
        };
        Ok(match (self.node(*context)?, self.node(*name)?) {
            (Node::Module, Node::Identifier(name)) => Some(name),
            _ => None,
        })
    }

    /// A type and those around it, each with its arguments.
    fn with_arguments(&mut self, id: NodeId, arguments: &[Vec<NodeId>]) -> Done {
        let id = match self.node(id)? {
            Node::Extension(of, _) => *of,
            _ => id,
        };
        let Node::Nominal(Nominal { context, name, .. }) = self.node(id)? else {
            return Err(Failed);
        };
        let (own, outer) = arguments.split_first().ok_or(Failed)?;
        match self.node(*context)? {
            Node::Module if !outer.is_empty() => return Err(Failed),
            Node::Nominal(_) | Node::Extension(..) if !outer.is_empty() => {
                self.nested(|printer| printer.with_arguments(*context, outer))?;
                self.write(".")?;
                self.name(*name)?;
            }
            _ => self.declared(id)?,
        }
        if own.is_empty() {
            return Ok(());
        }
        self.write("<")?;
        self.list(own, ", ", |printer, of| printer.of_type(*of))?;
        self.write(">")
    }

    fn tuple(&mut self, elements: &[Element]) -> Done {
        self.write("(")?;
        self.list(elements, ", ", |printer, element| {
            if let Some(label) = element.label {
                printer.name(label)?;
                printer.write(": ")?;
            }
            printer.of_type(element.of)?;
            printer.write(if element.is_variadic { "..." } else { "" })
        })?;
        self.write(")")
    }

    fn function(&mut self, function: &Function) -> Done {
        self.write(function.convention)?;
        self.effects(function, |effect| match effect {
            Effect::Before(words) => Some((words, "", " ")),
            _ => None,
        })?;
        let is_tuple = matches!(self.node(function.parameters)?, Node::Tuple(_));
        self.write(if is_tuple { "" } else { "(" })?;
        self.of_type(function.parameters)?;
        self.write(if is_tuple { "" } else { ")" })?;
        self.effects(function, |effect| match effect {
            Effect::After(words) => Some((words, "(", ")")),
            _ => None,
        })?;
        self.write(" -> ")?;
        self.effects(function, |effect| match effect {
            Effect::Result(words) => Some((words, "", "")),
            _ => None,
        })?;
        self.of_type(function.result)
    }

    /// Words of a function at one place, some of which have a type between two others.
    fn effects(
        &mut self,
        function: &Function,
        of_place: impl Fn(Effect) -> Option<(&'static str, &'static str, &'static str)>,
    ) -> Done {
        for id in &function.effects {
            let Node::Effect(effect, of) = self.node(*id)? else { return Err(Failed) };
            let Some((words, before, after)) = of_place(*effect) else { continue };
            self.write(words)?;
            if let Some(of) = of {
                self.write(before)?;
                self.of_type(*of)?;
                self.write(after)?;
            }
        }
        Ok(())
    }

    fn compiled(&mut self, compiled: &Compiled) -> Done {
        for attribute in &compiled.attributes {
            self.write(attribute)?;
        }
        if let Some(signature) = compiled.signature {
            self.write(if compiled.arguments.is_some() { "@substituted " } else { "" })?;
            self.signature(signature)?;
            self.write(" ")?;
        }
        self.taken(&compiled.parameters)?;
        self.write(if compiled.is_sending { " -> sending " } else { " -> " })?;
        self.taken(&compiled.results)?;
        if let Some(arguments) = &compiled.arguments {
            self.write(" for <")?;
            self.list(arguments, ", ", |printer, of| printer.of_type(*of))?;
            self.write(">")?;
        }
        Ok(())
    }

    fn taken(&mut self, types: &[(String, NodeId)]) -> Done {
        self.write("(")?;
        self.list(types, ", ", |printer, (words, of)| {
            printer.write(words)?;
            printer.of_type(*of)
        })?;
        self.write(")")
    }
}

/// What to write of something that is declared.
struct Parts<'a> {
    context: NodeId,
    name: Name,
    /// True if what is in it stands behind it, after a dot.
    is_around: bool,
    /// True if it is of several words, so that what it is in stands behind it.
    is_apart: bool,
    before_context: &'static str,
    entity: Option<&'a Entity>,
}
