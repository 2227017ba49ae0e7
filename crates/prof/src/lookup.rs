//! From addresses to the scopes around them: what is put below a context for an instruction.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::ahead;
use kymo_model::profile::Relation;
use kymo_model::structure::{Module, Resolved, Resolver, ScopeId, Step, Structure, Symbols};

use crate::chains::{Chain, Chains};
use crate::names::{Interner, Loop, Names, Record, index};
use crate::routes::{Callers, Route};
use crate::tree::{Key, Scope};

/// Information about the program and its libraries.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    /// Information from structure files. A module that is in it is looked up nowhere else.
    pub structure: &'a Structure,
    /// Source of information about the other modules.
    pub symbols: Option<&'a dyn Symbols>,
    /// Opens source files by their paths, where their texts are to be kept.
    pub sources: Option<&'a OpenSource<'a>>,
}

/// Opens a source file by its path; nothing where it is not there.
pub type OpenSource<'a> = dyn Fn(&str) -> Option<Box<dyn Read>> + 'a;

/// A module of which less is known than could be: some addresses have no names, or no lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnnamedModule {
    /// Its path as it was recorded.
    pub module: String,
    /// Number of addresses that have no names.
    pub addresses: u64,
    /// Of how many that were looked up.
    pub asked: u64,
    /// Reason why, in words that follow its name.
    pub why: String,
    /// True if that is because the file that describes it is damaged, or more than is read.
    pub is_damaged: bool,
}

/// Looks addresses up, each once.
pub(crate) struct Lookup<'a> {
    structure: &'a Structure,
    symbols: Option<&'a dyn Symbols>,
    pub(crate) names: Names,
    /// By the number of the module.
    modules: Vec<KnownModule<'a>>,
    points: Interner<(u32, u64)>,
    /// Scopes around each point.
    around: Vec<Chain>,
    chains: Chains,
    /// Room for scopes around an address.
    resolved: Vec<Resolved>,
    /// Scopes around addresses that were looked up and not asked for yet.
    ahead: HashMap<(u32, u64), Vec<Resolved>, RandomState>,
    /// Number of steps that further ways may have.
    steps_left: usize,
    jobs: usize,
    compat: bool,
}

/// Greatest number of steps of all ways together that are held.
const STEPS_MAX: usize = 1 << 21;

/// All ways that may lead to a function of a GPU.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) module: u32,
    pub(crate) function: ScopeId,
    /// Ordered by their last calls.
    pub(crate) ways: Vec<Route>,
    /// Number of contexts that they make below the one that the kernel was started in.
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

/// Information about a module.
struct KnownModule<'a> {
    structure: Option<&'a Module>,
    /// Callers of each function, once that was asked for.
    callers: OnceCell<Option<Callers>>,
    /// The ways to each function that was asked for.
    routes: HashMap<ScopeId, Option<Arc<Routes>>, RandomState>,
    symbols: Option<Box<dyn Resolver + 'a>>,
    /// Scopes around addresses of each scope that was asked for, itself included.
    chains: HashMap<ScopeId, Chain, RandomState>,
    /// By the scope or the record that tells of them.
    functions: HashMap<u64, u32, RandomState>,
    /// Number of its addresses that were asked for, and number of those of which nothing was known.
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
            points: Interner::default(),
            around: Vec::new(),
            chains: Chains::default(),
            resolved: Vec::new(),
            ahead: HashMap::default(),
            steps_left: usize::try_from(items_max).map_or(STEPS_MAX, |most| most.min(STEPS_MAX)),
            jobs,
            compat,
        }
    }

    /// The number of a module, by its path as it was recorded and by where that leads.
    pub(crate) fn module(&mut self, path: &str, resolved: Option<&str>) -> u32 {
        let key = (path.to_owned(), resolved.map(str::to_owned));
        let (number, is_new) = self.names.modules.intern(key);
        if is_new {
            let structure = self.structure.module(path);
            let structure = structure.or_else(|| self.structure.module(resolved?));
            let symbols = self.symbols.filter(|_| structure.is_none());
            let symbols = symbols.and_then(|symbols| symbols.module(path, resolved));
            self.modules.push(KnownModule::new(structure, symbols));
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
            if has_symbols && !self.points.contains(&point) && seen.insert(point) {
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
        let (point, is_new) = self.points.intern((module, offset));
        if is_new {
            let around = self.look_up(module, offset);
            self.around.push(around);
        }
        point
    }

    /// The scopes around an instruction.
    pub(crate) fn chain_at(&self, point: u32) -> Chain {
        self.around.get(index(point)).copied().unwrap_or(Chain::EMPTY)
    }

    /// Returns the keys that are put below a call for the scopes around an instruction, from the
    /// innermost out.
    pub(crate) fn inside_out(&self, around: Chain) -> impl Iterator<Item = Key> {
        self.chains.inside_out(around)
    }

    /// Returns the number of contexts that an instruction makes below a call: one for each scope
    /// around it, and its own.
    pub(crate) fn depth(&self, point: u32) -> u64 {
        self.inside_out(self.chain_at(point)).count() as u64 + 1
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
        let ways = known.routes_to(function, self.compat, &mut self.steps_left);
        let routes = ways.map(|ways| {
            let contexts = ways.iter().map(|way| self.contexts_of(module, way)).sum();
            Arc::new(Routes { module, function, ways, contexts })
        });
        self.modules.get_mut(index(module))?.routes.insert(function, routes.clone());
        routes
    }

    /// Returns the number of contexts that a way makes, up to the call of the function.
    fn contexts_of(&mut self, module: u32, way: &Route) -> u64 {
        let mut contexts = 1;
        for call in &way.calls {
            let point = self.point(module, *call);
            contexts += self.depth(point);
        }
        contexts
    }

    /// Returns true if it is told who calls whom in the module of an instruction.
    pub(crate) fn has_complete_calls(&self, point: u32) -> bool {
        let module = self.points.items().get(index(point)).map(|(module, _)| index(*module));
        let known = module.and_then(|module| self.modules.get(module));
        known.and_then(|known| known.structure?.calls()).is_some()
    }

    /// The function that a way starts with.
    pub(crate) fn kernel(&mut self, module: u32, scope: ScopeId) -> Option<u32> {
        let Self { names, modules, .. } = self;
        let known = modules.get_mut(index(module))?;
        let step = known.structure?.steps(scope).next()?;
        match known.key(names, module, step).scope {
            Scope::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The module and the offset of each instruction.
    pub(crate) fn points(&self) -> &[(u32, u64)] {
        self.points.items()
    }

    /// Modules of which less is known than could be, as far as something was measured in them.
    pub(crate) fn unnamed(&self) -> impl Iterator<Item = UnnamedModule> {
        let modules = self.names.modules.items().iter().zip(&self.modules);
        let is_less = |known: &KnownModule<'_>| known.asked > 0 && known.limitation().is_some();
        let modules = modules.filter(move |(_, known)| known.unknown > 0 || is_less(known));
        modules.map(|((path, _), known)| UnnamedModule {
            module: path.clone(),
            addresses: known.unknown,
            asked: known.asked,
            why: known.unnamed_reason(),
            is_damaged: known.symbols.as_ref().is_some_and(|symbols| symbols.is_damaged()),
        })
    }

    /// The scopes around an address that was not asked for before.
    fn look_up(&mut self, module: u32, offset: u64) -> Chain {
        let Self { names, modules, chains, .. } = self;
        let Some(known) = modules.get_mut(index(module)) else {
            debug_assert!(false, "module {module} was not told");
            return Chain::EMPTY;
        };
        let around = match (known.structure, &mut known.symbols) {
            (Some(found), _) => match found.innermost(offset) {
                Some(innermost) => known.scope_chain(names, chains, module, found, innermost),
                None => Chain::EMPTY,
            },
            (None, Some(symbols)) => {
                match self.ahead.remove(&(module, offset)) {
                    Some(found) => self.resolved.extend(found),
                    None => symbols.resolve(offset, &mut self.resolved),
                }
                let mut around = Chain::EMPTY;
                for step in self.resolved.iter().flat_map(Resolved::steps) {
                    around = chains.add_scope(around, known.key(names, module, step));
                }
                self.resolved.clear();
                around
            }
            (None, None) => Chain::EMPTY,
        };
        known.asked += 1;
        known.unknown += u64::from(around == Chain::EMPTY);
        around
    }
}

impl<'a> KnownModule<'a> {
    fn new(structure: Option<&'a Module>, symbols: Option<Box<dyn Resolver + 'a>>) -> Self {
        Self {
            structure,
            callers: OnceCell::new(),
            routes: HashMap::default(),
            symbols,
            chains: HashMap::default(),
            functions: HashMap::default(),
            asked: 0,
            unknown: 0,
        }
    }

    /// Returns the reason why less is known of it than could be.
    fn limitation(&self) -> Option<String> {
        self.symbols.as_ref().and_then(|symbols| symbols.limitation())
    }

    /// Returns the reason why addresses of it have no names.
    fn unnamed_reason(&self) -> String {
        match self.limitation() {
            Some(lack) => lack,
            None if self.structure.is_some() => "its structure file does not tell of them".into(),
            None if self.symbols.is_some() => "no function or symbol covers them".into(),
            None => "nothing tells of it".into(),
        }
    }

    /// The ways to a function, as long as some steps are left for them.
    fn routes_to(
        &self,
        function: ScopeId,
        compat: bool,
        steps_left: &mut usize,
    ) -> Option<Vec<Route>> {
        let structure = self.structure?;
        let callers = self.callers.get_or_init(|| Callers::new(structure, compat)).as_ref()?;
        *steps_left = steps_left.checked_sub(callers.steps(function)?)?;
        callers.routes(function)
    }

    /// Returns the scopes around addresses of a scope, itself included. Those around it that are
    /// known are not gone through again.
    fn scope_chain(
        &mut self,
        names: &mut Names,
        chains: &mut Chains,
        module: u32,
        found: &Module,
        innermost: ScopeId,
    ) -> Chain {
        let (mut new, mut next, mut around) = (Vec::new(), Some(innermost), Chain::EMPTY);
        while let Some(scope) = next {
            if let Some(known) = self.chains.get(&scope) {
                around = *known;
                break;
            }
            new.push(scope);
            next = found.parent(scope);
        }
        for scope in new.into_iter().rev() {
            for step in found.steps(scope) {
                around = chains.add_scope(around, self.key(names, module, step));
            }
            self.chains.insert(scope, around);
        }
        around
    }

    /// Returns the key that a step becomes in the tree.
    fn key(&mut self, names: &mut Names, module: u32, step: Step<'_>) -> Key {
        let lexical = |scope| Key { scope, relation: Relation::Lexical };
        match step {
            Step::Function { record, name, at, entry, is_inlined } => {
                let function = self.functions.entry(record).or_insert_with(|| {
                    let (name, module) = (name.to_owned(), Some(module));
                    let (file, line) = (at.map(|at| names.file(at.0)), at.map_or(0, |at| at.1));
                    let (entry, is_placeholder) = (entry.unwrap_or(0), false);
                    names.function(Record { name, module, entry, file, line, is_placeholder })
                });
                let relation = if is_inlined { Relation::Inlined } else { Relation::Call };
                Key { scope: Scope::Function(*function), relation }
            }
            Step::Loop { at, entry } => {
                let (file, line) = (at.map(|at| names.file(at.0)), at.map_or(0, |at| at.1));
                let entry = entry.map(|entry| (module, entry));
                lexical(Scope::Loop(names.loops.intern(Loop { file, line, entry }).0))
            }
            Step::Line { at: (path, line) } => {
                lexical(Scope::Line { file: names.file(path), line })
            }
        }
    }
}
