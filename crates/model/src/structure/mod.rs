//! Program structure: which function, inlined call, loop and line an address belongs to.
//!
//! Structure files and debug information both give it. A *module* is a program or a library. It
//! has *scopes*: functions, and within them loops, inlined calls and lines. Lines have ranges of
//! addresses; looking an address up gives the scopes around it, from the function in.

mod builder;
mod lookup;
mod resolve;
mod steps;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

pub use builder::ModuleBuilder;
pub use lookup::Chain;
pub use resolve::{Resolved, Resolver, SourcePlace, Symbols};
pub use steps::{SourceLine, Step};

/// A scope's index in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(pub u32);

/// A source file's index in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// The line; 0 where it is not known.
    pub line: u32,
}

/// A part of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A function.
    Function {
        /// The name that a person reads.
        name: String,
        /// The name in the symbol table, where it is another.
        link_name: Option<String>,
        /// Place where it is defined.
        place: Option<Place>,
        /// The address of its first instruction, where it is known.
        entry: Option<u64>,
    },
    /// A call whose code the compiler put in place.
    Inlined {
        /// The name of the function that was inlined.
        name: String,
        /// Place where that is defined.
        at: Option<Place>,
        /// Place of the call.
        call: Option<Place>,
    },
    /// A loop.
    Loop {
        /// Place where it begins.
        at: Place,
        /// The address of its first instruction, where it is known.
        entry: Option<u64>,
    },
    /// A line of source.
    Line {
        /// Place of the line.
        at: Place,
    },
}

/// A call of one function by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The address of the instruction that calls.
    pub at: u64,
    /// The function that it is in.
    pub within: ScopeId,
    /// The address of the first instruction of what is called.
    pub target: u64,
}

/// The structure of one module.
///
/// ```
/// use kymo_core::bytes::Limits;
/// use kymo_model::structure::*;
///
/// let mut module = ModuleBuilder::new("/opt/demo/deep", &Limits::default());
/// let at = |file, line| Place { file, line };
/// let file = module.file("deep.c")?;
/// let function = Scope::Function {
///     name: "main".into(),
///     link_name: None,
///     place: Some(at(file, 3)),
///     entry: Some(0x1000),
/// };
/// let main = module.scope(None, function)?;
/// let line = module.scope(Some(main), Scope::Line { at: at(file, 4) })?;
/// module.range(line, 0x1000..0x1010)?;
/// let module = module.finish();
/// let chain: Vec<_> = module.lookup(0x1004).into_iter().flatten().collect();
/// assert_eq!(chain, [main, line]);
/// assert!(module.lookup(0x1010).is_none());
/// # Ok::<(), kymo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    path: String,
    files: Vec<String>,
    /// Parents before their children.
    scopes: Vec<Nested>,
    /// By address, without overlap.
    ranges: Vec<(Range<u64>, ScopeId)>,
    calls: Option<Vec<Call>>,
    dropped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Nested {
    parent: Option<ScopeId>,
    scope: Scope,
}

impl Module {
    /// The path of the program or library.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path of a source file.
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&str> {
        let index = usize::try_from(id.0).ok()?;
        self.files.get(index).map(String::as_str)
    }

    /// Returns the description of a scope.
    #[must_use]
    pub fn scope(&self, id: ScopeId) -> Option<&Scope> {
        self.nested(id).map(|nested| &nested.scope)
    }

    /// The scope around another; nothing around a function.
    #[must_use]
    pub fn parent(&self, id: ScopeId) -> Option<ScopeId> {
        self.nested(id)?.parent
    }

    /// The same module at another path: where it was when addresses in it were recorded.
    #[must_use]
    pub fn with_path(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Every scope in the order it was told, those around others first.
    pub fn scopes(&self) -> impl ExactSizeIterator<Item = (ScopeId, &Scope)> {
        let ids = (0..u32::MAX).map(ScopeId);
        self.scopes.iter().zip(ids).map(|(nested, id)| (id, &nested.scope))
    }

    /// The ranges of addresses and the scope each belongs to, by address.
    #[must_use]
    pub fn ranges(&self) -> &[(Range<u64>, ScopeId)] {
        &self.ranges
    }

    /// The calls of functions by others, in the order they were told; nothing where nobody tells
    /// which calls there are.
    #[must_use]
    pub fn calls(&self) -> Option<&[Call]> {
        self.calls.as_deref()
    }

    /// Returns the number of ranges that were left out because an earlier one had some of their
    /// addresses.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn nested(&self, id: ScopeId) -> Option<&Nested> {
        self.scopes.get(usize::try_from(id.0).ok()?)
    }
}

/// The structure of a program and its libraries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Structure {
    modules: Vec<Module>,
    by_path: HashMap<String, usize>,
}

impl Structure {
    /// Adds a module. Of several with the same path the first counts.
    pub fn add(&mut self, module: Module) {
        if let Entry::Vacant(free) = self.by_path.entry(module.path.clone()) {
            free.insert(self.modules.len());
            self.modules.push(module);
        }
    }

    /// The module of a path.
    #[must_use]
    pub fn module(&self, path: &str) -> Option<&Module> {
        self.modules.get(self.position(path)?)
    }

    /// The index of the module of a path.
    #[must_use]
    pub fn position(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Gives every module away, in the order they were added.
    pub fn into_modules(self) -> impl Iterator<Item = Module> {
        self.modules.into_iter()
    }

    /// Every module, in the order they were added.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }
}
