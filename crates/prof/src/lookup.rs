//! From addresses to the scopes around them: what is put below a context for an instruction.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::ahead;
use kymo_core::model::profile::Relation;
use kymo_core::model::structure::{
    self, Module, Resolved, Resolver, ScopeId, SourcePlace, Structure, Symbols,
};

use crate::names::{Interned, Loop, Names, Record, index};
use crate::routes::{Callers, Route};
use crate::tree::{Key, Scope};

/// What is known of the program and its libraries.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    /// What structure files tell. A module that is in it is looked up nowhere else.
    pub structure: &'a Structure,
    /// What tells of the other modules.
    pub symbols: Option<&'a dyn Symbols>,
    /// Opens source files by their paths, where their texts are to be kept.
    pub sources: Option<&'a OpenSource<'a>>,
}

/// Opens a source file by its path; nothing where it is not there.
pub type OpenSource<'a> = dyn Fn(&str) -> Option<Box<dyn Read>> + 'a;

/// A module of which less is known than could be: some addresses have no names, or no lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unnamed {
    /// Its path as it was recorded.
    pub module: String,
    /// How many addresses have no names.
    pub addresses: u64,
    /// Of how many that were looked up.
    pub asked: u64,
    /// Why, in words that follow its name.
    pub why: String,
    /// Whether that is because what tells of it is damaged, or more than is read.
    pub is_damaged: bool,
}

/// Looks addresses up, each once.
pub(crate) struct Lookup<'a> {
    structure: &'a Structure,
    symbols: Option<&'a dyn Symbols>,
    pub(crate) names: Names,
    /// By the number of the module.
    modules: Vec<Known<'a>>,
    points: Interned<(u32, u64)>,
    /// Where the chain of each point is.
    ends: Vec<usize>,
    chains: Vec<Key>,
    /// Room for scopes around an address.
    resolved: Vec<Resolved>,
    /// Scopes around addresses that were looked up and not asked for yet.
    ahead: HashMap<(u32, u64), Vec<Resolved>, RandomState>,
    /// How many steps further ways may have.
    steps_left: usize,
    jobs: usize,
    compat: bool,
}

/// How many steps all ways may have together that are held.
const STEPS_MAX: usize = 1 << 21;

/// All ways that may lead to a function of a GPU.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) module: u32,
    pub(crate) function: ScopeId,
    /// Ordered by their last calls.
    pub(crate) ways: Vec<Route>,
    /// How many contexts they make below the one that the kernel was started in.
    pub(crate) contexts: u64,
}

/// Fewer addresses than this are not worth a thread.
const AHEAD_MIN: usize = 64;

/// Addresses of a module that are looked up ahead.
struct Ahead<'a> {
    module: u32,
    resolver: Box<dyn Resolver + 'a>,
    offsets: Vec<u64>,
}

impl Ahead<'_> {
    fn look_up(mut self) -> (Self, Vec<Vec<Resolved>>) {
        let resolver = &mut self.resolver;
        let find = |offset: &u64| {
            let mut found = Vec::new();
            resolver.resolve(*offset, &mut found);
            found
        };
        let found = self.offsets.iter().map(find).collect();
        (self, found)
    }
}

/// What is known of a module.
struct Known<'a> {
    structure: Option<&'a Module>,
    /// Who calls whom, once that was asked for.
    callers: OnceCell<Option<Callers>>,
    /// The ways to each function that was asked for.
    routes: HashMap<ScopeId, Option<Arc<Routes>>, RandomState>,
    symbols: Option<Box<dyn Resolver + 'a>>,
    files: HashMap<structure::FileId, u32, RandomState>,
    /// By the scope or the record that tells of them.
    functions: HashMap<u64, u32, RandomState>,
    /// How many addresses of it were asked for, and of how many nothing was known.
    asked: u64,
    unknown: u64,
}

impl<'a> Lookup<'a> {
    /// Nothing is held of more than `items_max` steps of ways.
    pub(crate) fn new(known: &Program<'a>, compat: bool, jobs: usize, items_max: u64) -> Self {
        Self {
            structure: known.structure,
            symbols: known.symbols,
            names: Names::default(),
            modules: Vec::new(),
            points: Interned::default(),
            ends: Vec::new(),
            chains: Vec::new(),
            resolved: Vec::new(),
            ahead: HashMap::default(),
            steps_left: usize::try_from(items_max).map_or(STEPS_MAX, |most| most.min(STEPS_MAX)),
            jobs,
            compat,
        }
    }

    /// The number of a module, by its path as it was recorded and by where that leads.
    pub(crate) fn module(&mut self, path: &str, measurement: u32, resolved: Option<&str>) -> u32 {
        let within = resolved.map(|_| measurement);
        let (number, is_new) = self.names.modules.of((path.to_owned(), within));
        if is_new {
            let structure = self.structure.module(path);
            let structure = structure.or_else(|| self.structure.module(resolved?));
            let symbols = self.symbols.filter(|_| structure.is_none());
            let symbols = symbols.and_then(|symbols| symbols.module(path, resolved));
            self.modules.push(Known::new(structure, symbols));
        }
        number
    }

    /// Looks up addresses of several modules, the modules beside each other. Those of one module are
    /// looked up in the same order as without, so that nothing else comes of it.
    pub(crate) fn ahead(&mut self, addresses: impl Iterator<Item = (u32, u64)>) {
        if self.jobs < 2 {
            return;
        }
        let (mut new, mut seen) = (BTreeMap::<u32, Vec<u64>>::new(), HashSet::new());
        for (module, offset) in addresses {
            let known = self.modules.get(index(module));
            let has_symbols = known.is_some_and(|known| known.symbols.is_some());
            let point = (module, offset);
            if has_symbols && !self.points.has(&point) && seen.insert(point) {
                new.entry(module).or_default().push(offset);
            }
        }
        if new.len() < 2 || seen.len() < AHEAD_MIN {
            return;
        }
        let mut work: Vec<Ahead<'a>> = Vec::new();
        for (module, offsets) in new {
            let known = self.modules.get_mut(index(module));
            let resolver = known.and_then(|known| known.symbols.take());
            work.extend(resolver.map(|resolver| Ahead { module, resolver, offsets }));
        }
        // What takes longest is begun first.
        work.sort_by_key(|ahead| Reverse(ahead.offsets.len()));
        for (done, found) in ahead::each(work, Ahead::look_up) {
            let points = done.offsets.iter().map(|offset| (done.module, *offset));
            self.ahead.extend(points.zip(found));
            if let Some(known) = self.modules.get_mut(index(done.module)) {
                known.symbols = Some(done.resolver);
            }
        }
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

    /// The ways that may lead to an instruction; nothing where it is not told who calls whom, or
    /// where there are too many.
    pub(crate) fn routes(&mut self, point: u32) -> Option<Arc<Routes>> {
        let (module, offset) = *self.points.items().get(index(point))?;
        let known = self.modules.get_mut(index(module))?;
        let function = known.structure?.lookup(offset)?.next()?;
        if let Some(found) = known.routes.get(&function) {
            return found.clone();
        }
        let ways = known.ways(function, self.compat, &mut self.steps_left);
        let routes = ways.map(|ways| {
            let contexts = ways.iter().map(|way| self.contexts_of(module, way)).sum();
            Arc::new(Routes { module, function, ways, contexts })
        });
        self.modules.get_mut(index(module))?.routes.insert(function, routes.clone());
        routes
    }

    /// How many contexts a way makes, up to the call of the function.
    fn contexts_of(&mut self, module: u32, way: &Route) -> u64 {
        let mut contexts = 1;
        for call in &way.calls {
            let point = self.point(module, *call);
            contexts += self.chain(point).len() as u64;
        }
        contexts
    }

    /// Whether it is told who calls whom in the module of an instruction.
    pub(crate) fn tells_calls(&self, point: u32) -> bool {
        let module = self.points.items().get(index(point)).map(|(module, _)| index(*module));
        let known = module.and_then(|module| self.modules.get(module));
        known.and_then(|known| known.structure?.calls()).is_some()
    }

    /// The function that a way starts with.
    pub(crate) fn kernel(&mut self, module: u32, scope: ScopeId) -> Option<u32> {
        let Self { names, modules, .. } = self;
        let known = modules.get_mut(index(module))?;
        let found = known.structure?;
        let structure::Scope::Function { name, at, entry, .. } = found.scope(scope)? else {
            return None;
        };
        Some(known.function(names, found, scope, (name, module, entry.unwrap_or(0), *at)))
    }

    /// The module and the offset of each instruction.
    pub(crate) fn points(&self) -> &[(u32, u64)] {
        self.points.items()
    }

    /// Modules of which less is known than could be, as far as something was measured in them.
    pub(crate) fn unnamed(&self) -> impl Iterator<Item = Unnamed> {
        let modules = self.names.modules.items().iter().zip(&self.modules);
        let is_less = |known: &Known<'_>| known.asked > 0 && known.lack().is_some();
        let modules = modules.filter(move |(_, known)| known.unknown > 0 || is_less(known));
        modules.map(|((path, _), known)| Unnamed {
            module: path.clone(),
            addresses: known.unknown,
            asked: known.asked,
            why: known.why_unnamed(),
            is_damaged: known.symbols.as_ref().is_some_and(|symbols| symbols.is_damaged()),
        })
    }

    fn chain_of(&mut self, module: u32, offset: u64, point: u32) {
        let start = self.chains.len();
        let Self { names, modules, chains, .. } = self;
        if let Some(known) = modules.get_mut(index(module)) {
            match (known.structure, &mut known.symbols) {
                (Some(found), _) => scopes(names, known, found, module, offset, chains),
                (None, Some(symbols)) => {
                    match self.ahead.remove(&(module, offset)) {
                        Some(found) => self.resolved.extend(found),
                        None => symbols.resolve(offset, &mut self.resolved),
                    }
                    let resolved = self.resolved.drain(..);
                    resolved.for_each(|scope| known.resolved(names, module, scope, chains));
                }
                (None, None) => {}
            }
            known.asked += 1;
            known.unknown += u64::from(chains.len() == start);
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
                let file = Some(known.file(names, found, at.file));
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

impl<'a> Known<'a> {
    fn new(structure: Option<&'a Module>, symbols: Option<Box<dyn Resolver + 'a>>) -> Self {
        Self {
            structure,
            callers: OnceCell::new(),
            routes: HashMap::default(),
            symbols,
            files: HashMap::default(),
            functions: HashMap::default(),
            asked: 0,
            unknown: 0,
        }
    }

    /// Why less is known of it than could be.
    fn lack(&self) -> Option<String> {
        self.symbols.as_ref().and_then(|symbols| symbols.lack())
    }

    /// Why addresses of it have no names.
    fn why_unnamed(&self) -> String {
        match self.lack() {
            Some(lack) => lack,
            None if self.structure.is_some() => "its structure file does not tell of them".into(),
            None if self.symbols.is_some() => "no function or symbol covers them".into(),
            None => "nothing tells of it".into(),
        }
    }

    /// The ways to a function, as long as some steps are left for them.
    fn ways(&self, function: ScopeId, compat: bool, steps_left: &mut usize) -> Option<Vec<Route>> {
        let structure = self.structure?;
        let callers = self.callers.get_or_init(|| Callers::new(structure, compat)).as_ref()?;
        *steps_left = steps_left.checked_sub(callers.steps(function)?)?;
        callers.routes(function)
    }

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
        if let Some(known) = self.functions.get(&u64::from(id.0)) {
            return *known;
        }
        let file = at.map(|at| self.file(names, found, at.file));
        let line = at.map_or(0, |at| at.line);
        let (name, module) = (name.to_owned(), Some(module));
        let record = Record { name, module, entry, file, line, is_placeholder: false };
        let function = names.function(record);
        self.functions.insert(id.0.into(), function);
        function
    }

    /// Appends a scope that symbols tell of.
    fn resolved(&mut self, names: &mut Names, module: u32, scope: Resolved, to: &mut Vec<Key>) {
        let mut push = |scope, relation| to.push(Key { scope, relation });
        let mut line_of = |names: &mut Names, (path, line): SourcePlace| {
            push(Scope::Line { file: names.file(&path), line }, Relation::Lexical);
        };
        match scope {
            Resolved::Function { record, name, at, entry } => {
                let function = self.recorded(names, record, (name, module, entry, at));
                push(Scope::Function(function), Relation::Call);
            }
            Resolved::Inlined { record, name, at, call } => {
                if let Some(call) = call {
                    line_of(names, call);
                }
                let function = self.recorded(names, record, (name, module, None, at));
                push(Scope::Function(function), Relation::Inlined);
            }
            Resolved::Loop { at, entry } => {
                let line = at.as_ref().map_or(0, |(_, line)| *line);
                let file = at.map(|(path, _)| names.file(&path));
                let (number, _) = names.loops.of(Loop { file, line, entry: Some((module, entry)) });
                push(Scope::Loop(number), Relation::Lexical);
            }
            Resolved::Line { at } => line_of(names, at),
        }
    }

    /// A function by the record that tells of it.
    fn recorded(
        &mut self,
        names: &mut Names,
        record: u64,
        (name, module, entry, at): (String, u32, Option<u64>, Option<SourcePlace>),
    ) -> u32 {
        if let Some(known) = self.functions.get(&record) {
            return *known;
        }
        let line = at.as_ref().map_or(0, |(_, line)| *line);
        let file = at.map(|(path, _)| names.file(&path));
        let (module, entry) = (Some(module), entry.unwrap_or(0));
        let made = Record { name, module, entry, file, line, is_placeholder: false };
        let function = names.function(made);
        self.functions.insert(record, function);
        function
    }
}
