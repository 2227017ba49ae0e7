//! Addresses to contexts, by what structure files and symbols know of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use kymo_core::model::profile::{CallTreeBuilder, Function, ModuleId, Node, Relation, Scope};
use kymo_core::model::structure::{
    self, Module, Resolved, Resolver, ScopeId, SourcePlace, Structure, Symbols,
};
use kymo_symbols::Programs;

use super::beside::resolved;

/// Contexts that are kept to be used again; when there are more, all are forgotten.
const KEPT_MAX: usize = 1 << 20;

/// The structure of modules, by their paths, and the contexts that were made of it.
pub(super) struct Code<'a> {
    structure: Structure,
    symbols: &'a Programs,
    /// The directory that relative paths are below.
    directory: &'a Path,
    /// What looks up addresses of modules that have symbols and no structure, and by path which.
    resolvers: Vec<Box<dyn Resolver + 'a>>,
    with_symbols: HashMap<String, usize>,
    /// The contexts from a function down to a scope.
    chains: HashMap<(usize, ScopeId), Arc<[Node]>>,
    kept: usize,
}

/// A module as the tree has it, and its structure or its symbols where they are known.
#[derive(Clone, Copy)]
pub(super) struct Known {
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
    pub(super) fn module(&mut self, builder: &mut CallTreeBuilder, path: &str) -> Known {
        let structure = self.structure.position(path);
        let resolver = if structure.is_none() { self.resolver(path) } else { None };
        Known { id: builder.module(path), structure, resolver }
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
    pub(super) fn around(
        &mut self,
        builder: &mut CallTreeBuilder,
        module: Known,
        address: u64,
    ) -> Arc<[Node]> {
        if let Some(resolver) = module.resolver.and_then(|index| self.resolvers.get_mut(index)) {
            let mut resolved = Vec::new();
            resolver.resolve(address, &mut resolved);
            return symbols(builder, module.id, resolved).into();
        }
        let found = module.structure.and_then(|index| {
            let found = self.structure.modules().get(index)?;
            Some((index, found, found.innermost(address)?))
        });
        let Some((index, found, innermost)) = found else { return Arc::default() };
        if let Some(known) = self.chains.get(&(index, innermost)) {
            return Arc::clone(known);
        }
        let chain: Arc<[Node]> = scopes(builder, found, module.id, innermost).into();
        self.kept += chain.len();
        if self.kept > KEPT_MAX {
            self.chains.clear();
            self.kept = chain.len();
        }
        self.chains.insert((index, innermost), Arc::clone(&chain));
        chain
    }
}

/// What symbols tell of an address as contexts, from the function in.
fn symbols(builder: &mut CallTreeBuilder, module: ModuleId, resolved: Vec<Resolved>) -> Vec<Node> {
    let mut nodes = Vec::new();
    let lexical = |scope| Node::new(scope, Relation::Lexical);
    for scope in resolved {
        let mut source = |(path, line): SourcePlace| (builder.file(path), line);
        match scope {
            Resolved::Function { name, at, entry, .. } => {
                let function = Function { offset: entry.unwrap_or(0), name, ..Function::default() };
                nodes.push(called(builder, module, function, at, Relation::Call));
            }
            Resolved::Inlined { name, at, call, .. } => {
                let line = |call| Node { source: Some(source(call)), ..lexical(Scope::Line) };
                nodes.extend(call.map(line));
                let function = Function { name, ..Function::default() };
                nodes.push(called(builder, module, function, at, Relation::Inlined));
            }
            Resolved::Loop { at, entry } => {
                let (source, point) = (at.map(source), Some((module, entry)));
                nodes.push(Node { source, point, ..lexical(Scope::Loop) });
            }
            Resolved::Line { at } => {
                nodes.push(Node { source: Some(source(at)), ..lexical(Scope::Line) });
            }
        }
    }
    nodes
}

/// A function that symbols tell of, with where it is defined.
fn called(
    builder: &mut CallTreeBuilder,
    module: ModuleId,
    function: Function,
    at: Option<SourcePlace>,
    relation: Relation,
) -> Node {
    let line = at.as_ref().map_or(0, |(_, line)| *line);
    let file = at.map(|(path, _)| builder.file(path));
    let function = builder.function(Function { module: Some(module), file, line, ..function });
    Node { function: Some(function), ..Node::new(Scope::Function, relation) }
}

/// A scope and those around it as contexts, from the function in.
fn scopes(
    builder: &mut CallTreeBuilder,
    module: &Module,
    module_id: ModuleId,
    innermost: ScopeId,
) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for id in module.chain(innermost) {
        let mut source = |at: structure::Place| {
            let path = module.file(at.file).unwrap_or_default();
            (builder.file(path), at.line)
        };
        match module.scope(id) {
            Some(structure::Scope::Function { name, at, entry, .. }) => {
                let at = at.map(&mut source);
                let (file, line) = (at.map(|(file, _)| file), at.map_or(0, |(_, line)| line));
                let (name, offset) = (name.clone(), entry.unwrap_or(0));
                let function = Function { name, module: Some(module_id), offset, file, line };
                let function = Some(builder.function(function));
                nodes.push(Node { function, ..Node::new(Scope::Function, Relation::Call) });
            }
            Some(structure::Scope::Inlined { name, at, call }) => {
                if let Some(call) = call {
                    let source = Some(source(*call));
                    nodes.push(Node { source, ..Node::new(Scope::Line, Relation::Lexical) });
                }
                let at = at.map(&mut source);
                let (file, line) = (at.map(|(file, _)| file), at.map_or(0, |(_, line)| line));
                let (name, module) = (name.clone(), Some(module_id));
                let function = Function { name, module, offset: 0, file, line };
                let function = Some(builder.function(function));
                nodes.push(Node { function, ..Node::new(Scope::Function, Relation::Inlined) });
            }
            Some(structure::Scope::Loop { at, entry }) => {
                let source = Some(source(*at));
                let point = entry.map(|entry| (module_id, entry));
                nodes.push(Node { source, point, ..Node::new(Scope::Loop, Relation::Lexical) });
            }
            Some(structure::Scope::Line { at }) => {
                let source = Some(source(*at));
                nodes.push(Node { source, ..Node::new(Scope::Line, Relation::Lexical) });
            }
            None => {}
        }
    }
    nodes
}
