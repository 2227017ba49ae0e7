//! Addresses to contexts, by what structure files know of them.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::model::profile::{CallTreeBuilder, Function, ModuleId, Node, Relation, Scope};
use kymo_core::model::structure::{self, Module, ScopeId, Structure};

/// Contexts that are kept to be used again; when there are more, all are forgotten.
const KEPT_MAX: usize = 1 << 20;

/// The structure of modules, by their paths, and the contexts that were made of it.
pub(super) struct Code {
    structure: Structure,
    by_path: HashMap<String, usize>,
    /// The contexts from a function down to a scope.
    chains: HashMap<(usize, ScopeId), Arc<[Node]>>,
    kept: usize,
}

/// A module as the tree has it, and its structure where that is known.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) id: ModuleId,
    structure: Option<usize>,
}

impl Code {
    pub(super) fn new(structure: Structure) -> Self {
        let paths = structure.modules().iter().map(|module| module.path().to_owned());
        let by_path = paths.zip(0..).collect();
        Self { structure, by_path, chains: HashMap::new(), kept: 0 }
    }

    /// The module of a path.
    pub(super) fn module(&self, builder: &mut CallTreeBuilder, path: &str) -> Known {
        Known { id: builder.module(path), structure: self.by_path.get(path).copied() }
    }

    /// The contexts around an address, from the function in.
    pub(super) fn around(
        &mut self,
        builder: &mut CallTreeBuilder,
        module: Known,
        address: u64,
    ) -> Arc<[Node]> {
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
