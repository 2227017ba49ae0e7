//! Addresses to contexts, by what structure files and symbols know of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use kymo_model::profile::{CallTreeBuilder, Function, ModuleId, Node, Relation, Scope};
use kymo_model::structure::{Resolved, Resolver, ScopeId, SourceLine, Step, Structure, Symbols};
use kymo_symbols::Programs;

use super::companions::resolved;

/// Contexts that are kept to be used again; when there are more, all are forgotten.
const KEPT_MAX: usize = 1 << 20;

/// The structure of modules, by their paths, and the contexts that were made of it.
pub(super) struct Code<'a> {
    structure: Structure,
    symbols: &'a Programs,
    /// The directory that relative paths are below.
    directory: &'a Path,
    /// Resolvers of addresses of modules that have symbols and no structure, and the resolver for
    /// each path.
    resolvers: Vec<Box<dyn Resolver + 'a>>,
    with_symbols: HashMap<String, usize>,
    /// The contexts from a function down to a scope.
    chains: HashMap<(usize, ScopeId), Arc<[Node]>>,
    kept: usize,
}

/// A module as the tree has it, and its structure or its symbols where they are known.
#[derive(Clone, Copy)]
pub(super) struct KnownModule {
    pub(super) id: ModuleId,
    structure: Option<usize>,
    resolver: Option<usize>,
}

impl<'a> Code<'a> {
    pub(super) fn new(structure: Structure, symbols: &'a Programs, directory: &'a Path) -> Self {
        Self {
            structure,
            symbols,
            directory,
            resolvers: Vec::new(),
            with_symbols: HashMap::new(),
            chains: HashMap::new(),
            kept: 0,
        }
    }

    /// The module of a path.
    pub(super) fn module(&mut self, builder: &mut CallTreeBuilder, path: &str) -> KnownModule {
        let structure = self.structure.position(path);
        let resolver = if structure.is_none() { self.resolver(path) } else { None };
        KnownModule { id: builder.module(path), structure, resolver }
    }

    fn resolver(&mut self, path: &str) -> Option<usize> {
        if let Some(known) = self.with_symbols.get(path) {
            return Some(*known);
        }
        let resolved = resolved(self.directory, path)?;
        self.resolvers.push(self.symbols.module(path, Some(&resolved))?);
        let index = self.resolvers.len() - 1;
        self.with_symbols.insert(path.to_owned(), index);
        Some(index)
    }

    /// The contexts around an address, from the function in.
    pub(super) fn contexts_at(
        &mut self,
        builder: &mut CallTreeBuilder,
        module: KnownModule,
        address: u64,
    ) -> Arc<[Node]> {
        if let Some(resolver) = module.resolver.and_then(|index| self.resolvers.get_mut(index)) {
            let mut resolved = Vec::new();
            resolver.resolve(address, &mut resolved);
            let steps = resolved.iter().flat_map(Resolved::steps);
            return steps.map(|step| node(builder, module.id, step)).collect();
        }
        let found = module.structure.and_then(|index| {
            let found = self.structure.modules().get(index)?;
            Some((index, found, found.innermost(address)?))
        });
        let Some((index, found, innermost)) = found else { return Arc::default() };
        if let Some(known) = self.chains.get(&(index, innermost)) {
            return Arc::clone(known);
        }
        let steps = found.chain(innermost).flat_map(|scope| found.steps(scope));
        let chain: Arc<[Node]> = steps.map(|step| node(builder, module.id, step)).collect();
        self.kept += chain.len();
        if self.kept > KEPT_MAX {
            self.chains.clear();
            self.kept = chain.len();
        }
        self.chains.insert((index, innermost), Arc::clone(&chain));
        chain
    }
}

/// A step towards an address as a context.
fn node(builder: &mut CallTreeBuilder, module: ModuleId, step: Step<'_>) -> Node {
    let mut source = |(path, line): SourceLine<'_>| (builder.file(path), line);
    let lexical = |scope| Node::new(scope, Relation::Lexical);
    match step {
        Step::Function { name, at, entry, is_inlined, .. } => {
            let at = at.map(source);
            let function = builder.function(Function {
                name: name.to_owned(),
                module: Some(module),
                offset: entry.unwrap_or(0),
                file: at.map(|(file, _)| file),
                line: at.map_or(0, |(_, line)| line),
            });
            let relation = if is_inlined { Relation::Inlined } else { Relation::Call };
            Node { function: Some(function), ..Node::new(Scope::Function, relation) }
        }
        Step::Loop { at, entry } => {
            let point = entry.map(|entry| (module, entry));
            Node { source: at.map(source), point, ..lexical(Scope::Loop) }
        }
        Step::Line { at } => Node { source: Some(source(at)), ..lexical(Scope::Line) },
    }
}
