//! From addresses to the scopes around them: what is put below a context for an instruction.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::profile::Relation;
use kymo_core::model::structure::{self, Module, ScopeId, Structure};

use crate::names::{Interned, Loop, Names, Record, index};
use crate::tree::{Key, Scope};

/// Looks addresses up, each once.
pub(crate) struct Lookup<'a> {
    structure: &'a Structure,
    pub(crate) names: Names,
    /// By the number of the module.
    modules: Vec<Known<'a>>,
    points: Interned<(u32, u64)>,
    /// Where the chain of each point is.
    ends: Vec<usize>,
    chains: Vec<Key>,
}

/// What is known of a module.
struct Known<'a> {
    structure: Option<&'a Module>,
    files: HashMap<structure::FileId, u32, RandomState>,
    functions: HashMap<ScopeId, u32, RandomState>,
    /// How many addresses of it nothing was known of.
    unknown: u64,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(structure: &'a Structure) -> Self {
        Self {
            structure,
            names: Names::default(),
            modules: Vec::new(),
            points: Interned::default(),
            ends: Vec::new(),
            chains: Vec::new(),
        }
    }

    /// The number of a module, by its path as it was recorded and by where that leads.
    pub(crate) fn module(&mut self, path: &str, measurement: u32, resolved: Option<&str>) -> u32 {
        let within = resolved.map(|_| measurement);
        let (number, is_new) = self.names.modules.of((path.to_owned(), within));
        if is_new {
            let known = self.structure.module(path);
            let known = known.or_else(|| self.structure.module(resolved?));
            let (files, functions) = (HashMap::default(), HashMap::default());
            self.modules.push(Known { structure: known, files, functions, unknown: 0 });
        }
        number
    }

    /// An instruction.
    pub(crate) fn point(&mut self, module: u32, offset: u64) -> u32 {
        let (point, is_new) = self.points.of((module, offset));
        if is_new {
            self.chain_of(module, offset, point);
            self.ends.push(self.chains.len());
        }
        point
    }

    /// What is put below a call for an instruction, from the function in, the instruction last.
    pub(crate) fn chain(&self, point: u32) -> &[Key] {
        let point = index(point);
        let start = point.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(point).copied().unwrap_or(0);
        self.chains.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// The module and the offset of each instruction.
    pub(crate) fn points(&self) -> &[(u32, u64)] {
        self.points.items()
    }

    /// Paths of modules that nothing was known of, with how many addresses of each were asked for.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (&str, u64)> {
        let paths = self.names.modules.items().iter().map(|(path, _)| path.as_str());
        let unknown = self.modules.iter().map(|known| known.unknown);
        paths.zip(unknown).filter(|(_, unknown)| *unknown > 0)
    }

    fn chain_of(&mut self, module: u32, offset: u64, point: u32) {
        let start = self.chains.len();
        let Self { names, modules, chains, .. } = self;
        if let Some(known) = modules.get_mut(index(module)) {
            match known.structure {
                Some(found) => scopes(names, known, found, module, offset, chains),
                None => known.unknown += 1,
            }
        }
        let is_bare = self.chains.len() == start;
        let relation = if is_bare { Relation::Call } else { Relation::Lexical };
        self.chains.push(Key { scope: Scope::Point(point), relation });
    }
}

/// The scopes around an address, from the function in.
fn scopes(
    names: &mut Names,
    known: &mut Known<'_>,
    found: &Module,
    module: u32,
    offset: u64,
    chain: &mut Vec<Key>,
) {
    let mut push = |scope, relation| chain.push(Key { scope, relation });
    for id in found.lookup(offset).into_iter().flatten() {
        match found.scope(id) {
            Some(structure::Scope::Function { name, at, entry, .. }) => {
                let entry = entry.unwrap_or(0);
                let function = known.function(names, found, id, (name, module, entry, *at));
                push(Scope::Function(function), Relation::Call);
            }
            Some(structure::Scope::Inlined { name, at, call }) => {
                if let Some(call) = call {
                    let file = known.file(names, found, call.file);
                    push(Scope::Line { file, line: call.line }, Relation::Lexical);
                }
                let function = known.function(names, found, id, (name, module, 0, *at));
                push(Scope::Function(function), Relation::Inlined);
            }
            Some(structure::Scope::Loop { at, entry }) => {
                let file = known.file(names, found, at.file);
                let entry = entry.map(|entry| (module, entry));
                let (number, _) = names.loops.of(Loop { file, line: at.line, entry });
                push(Scope::Loop(number), Relation::Lexical);
            }
            Some(structure::Scope::Line { at }) => {
                let file = known.file(names, found, at.file);
                push(Scope::Line { file, line: at.line }, Relation::Lexical);
            }
            None => {}
        }
    }
}

impl Known<'_> {
    fn file(&mut self, names: &mut Names, found: &Module, file: structure::FileId) -> u32 {
        let path = || names.file(found.file(file).unwrap_or_default());
        *self.files.entry(file).or_insert_with(path)
    }

    /// A function by the element that tells of it.
    fn function(
        &mut self,
        names: &mut Names,
        found: &Module,
        id: ScopeId,
        (name, module, entry, at): (&str, u32, u64, Option<structure::Place>),
    ) -> u32 {
        if let Some(known) = self.functions.get(&id) {
            return *known;
        }
        let file = at.map(|at| self.file(names, found, at.file));
        let line = at.map_or(0, |at| at.line);
        let (name, module) = (name.to_owned(), Some(module));
        let record = Record { name, module, entry, file, line, is_placeholder: false };
        let function = names.function(record);
        self.functions.insert(id, function);
        function
    }
}
