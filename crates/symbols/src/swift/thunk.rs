//! Functions that compilers make: thunks, specialisations, witnesses, and those of metadata.

use super::node::{Node, NodeId};
use super::parse::Parser;
use super::table;

/// What is said of a function that was made for some of its arguments; once, however often that was
/// done.
pub(super) const SPECIALIZED: &str = "specialized ";

impl Parser<'_> {
    /// `T`: what is made of a function.
    pub(super) fn thunk(&mut self) -> Option<()> {
        let letter = self.next()?;
        match letter {
            b'R' | b'r' | b'y' => self.reabstraction(letter == b'y'),
            b'W' => self.protocol_witness(),
            b'V' => self.vtable_thunk(),
            b't' | b'g' | b'G' | b'B' | b's' | b'i' => self.generic_specialization(letter),
            b'p' | b'P' => {
                self.specialization_pass()?;
                self.pop_type()?;
                self.attribute(SPECIALIZED)
            }
            b'f' => self.signature_specialization(),
            b'K' | b'k' => self.key_path(letter == b'K'),
            b'Q' | b'Y' => {
                self.index()?;
                self.attribute("")
            }
            b'v' => {
                let number = self.index()?;
                self.take("r");
                self.attribute(format!("outlined variable #{number} of "))
            }
            b'e' => self.bridged(),
            b'w' => {
                let letter = self.next()?;
                self.attribute(table::rare_thunk(letter)?)
            }
            _ => self.attribute(table::thunk(letter)?),
        }
    }

    fn reabstraction(&mut self, has_self: bool) -> Option<()> {
        self.pop_signature();
        if has_self {
            self.pop_type()?;
        }
        self.pop_type()?;
        self.made("thunk for ", Node::is_type)
    }

    fn protocol_witness(&mut self) -> Option<()> {
        let entity = self.pop_if(Node::is_entity)?;
        let of = self.pop_conforming()?;
        self.push(Node::Witness { of, entity })
    }

    /// The type of a conformance to a protocol.
    pub(super) fn pop_conforming(&mut self) -> Option<NodeId> {
        let signature = self.pop_signature();
        self.pop_module()?;
        self.pop_protocol()?;
        let of = self.pop_type()?;
        match signature {
            Some(signature) => self.keep(Node::Generic(signature, of)),
            None => Some(of),
        }
    }

    fn vtable_thunk(&mut self) -> Option<()> {
        let base = self.pop_if(Node::is_entity)?;
        let derived = self.pop_if(Node::is_entity)?;
        self.push(Node::Pair("vtable thunk for ", base, " dispatching to ", derived))
    }

    /// Types in the place of parameters of generics.
    fn generic_specialization(&mut self, first: u8) -> Option<()> {
        let mut letter = first;
        while letter == b't' {
            if self.peek()?.is_ascii_digit() {
                self.natural()?;
            }
            letter = self.next()?;
        }
        matches!(letter, b'g' | b'G' | b'B' | b's' | b'i').then_some(())?;
        self.specialization_pass()?;
        self.pop_list(Self::pop_type)?;
        self.attribute(SPECIALIZED)
    }

    /// Which pass of the compiler made it, and what else changed.
    fn specialization_pass(&mut self) -> Option<()> {
        while ["q", "m", "a", "r"].iter().any(|letter| self.take(letter)) {}
        self.next()?.is_ascii_digit().then_some(())
    }

    /// Other ways to take arguments. What takes their places stands before.
    fn signature_specialization(&mut self) -> Option<()> {
        self.specialization_pass()?;
        let mut places = Vec::new();
        while !self.take("_") {
            places.push(self.specialized_argument()?);
        }
        places.push(self.specialized_argument()?);
        for place in places.into_iter().rev() {
            match place {
                Place::None => {}
                Place::Name => drop(self.pop_identifier()?),
                Place::NameAndTypes => {
                    while self.pop_type().is_some() {}
                    self.pop_identifier()?;
                }
            }
        }
        self.attribute(SPECIALIZED)
    }

    fn specialized_argument(&mut self) -> Option<Place> {
        match self.next()? {
            b'n' | b'x' | b'i' | b's' | b'r' => {}
            b'c' | b'E' => return Some(Place::NameAndTypes),
            b'C' => drop(self.natural()?),
            b'e' | b'd' | b'g' | b'o' => {
                while ["D", "G", "O", "X"].iter().any(|it| self.take(it)) {}
            }
            b'p' => match self.next()? {
                b'f' | b'g' => return Some(Place::Name),
                b's' => {
                    self.next()?;
                    return Some(Place::Name);
                }
                b'i' | b'd' => drop(self.natural()?),
                b'k' => return Some(Place::NameAndTypes),
                _ => return None,
            },
            _ => return None,
        }
        Some(Place::None)
    }

    fn key_path(&mut self, is_getter: bool) -> Option<()> {
        self.take("q");
        let mut of = self.pop_type()?;
        while let Some(before) = self.pop_type() {
            of = before;
        }
        self.pop_signature();
        let entity = self.pop_if(Node::is_entity)?;
        let words = if is_getter { "key path getter for " } else { "key path setter for " };
        self.push(Node::Pair(words, entity, " : ", of))
    }

    /// A call of Objective-C that several functions share.
    fn bridged(&mut self) -> Option<()> {
        let mut letters = String::new();
        while !self.take("_") {
            letters.push(char::from(self.next().filter(u8::is_ascii_lowercase)?));
        }
        self.attribute(format!("outlined bridged method ({letters}) of "))
    }

    /// `W`: witness tables and functions that are shared.
    pub(super) fn witness(&mut self) -> Option<()> {
        match self.next()? {
            b'O' => {
                let words = table::outlined(self.next()?)?;
                self.pop_signature();
                let of = self.pop_type()?;
                self.pop_signature();
                self.push(Node::Made(words, of))
            }
            b'V' => self.made("value witness table for ", Node::is_type),
            b'v' => {
                let is_direct = self.next()? == b'd';
                let words =
                    if is_direct { "direct field offset for " } else { "field offset for " };
                self.made(words, Node::is_entity)
            }
            b'C' => self.made("enum case for ", Node::is_entity),
            b'S' => {
                let of = self.pop_protocol()?;
                self.push(Node::Made("protocol self-conformance witness table for ", of))
            }
            letter @ (b'l' | b'L') => {
                let conforming = self.pop_conforming()?;
                let of = self.pop_type()?;
                let words = if letter == b'l' {
                    "lazy protocol witness table accessor for type "
                } else {
                    "lazy protocol witness table cache variable for type "
                };
                self.push(Node::Pair(words, of, " and conformance ", conforming))
            }
            letter @ (b'Z' | b'z') => {
                let names = self.pop_list(Self::pop_name)?;
                let [name] = names.as_slice() else { return None };
                let entity = self.entity(super::node::Name::Declared(*name), "")?;
                let entity = self.keep(Node::Entity(entity))?;
                let words = if letter == b'Z' {
                    "one-time initialization function for "
                } else {
                    "one-time initialization token for "
                };
                self.push(Node::Made(words, entity))
            }
            letter => {
                let words = table::witness(letter)?;
                let of = self.pop_conforming()?;
                self.push(Node::Made(words, of))
            }
        }
    }

    /// `M`: what is known of a type when the program runs.
    pub(super) fn metadata(&mut self) -> Option<()> {
        let letter = self.next()?;
        match letter {
            b'c' | b'A' => {
                let of = self.pop_conforming()?;
                let words = if letter == b'c' {
                    "protocol conformance descriptor for "
                } else {
                    "reflection metadata associated type descriptor "
                };
                self.push(Node::Made(words, of))
            }
            b'p' => {
                let of = self.pop_protocol()?;
                self.push(Node::Made("protocol descriptor for ", of))
            }
            _ => self.made(table::metadata(letter)?, Node::is_type),
        }
    }

    /// `w`: how values of a type are copied and destroyed.
    pub(super) fn value_witness(&mut self) -> Option<()> {
        let letters = self.bytes(2)?;
        self.made(table::value_witness(letters)?, Node::is_type)
    }
}

/// What stands before a specialisation for one of its arguments.
enum Place {
    None,
    Name,
    NameAndTypes,
}
