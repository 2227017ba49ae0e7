//! Through the tree of contexts as `meta.db` has it.

use std::ops::Range;
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};

use crate::read::{Budget, Database, Meta, Roots};
use crate::types::Context;

/// A walk through the tree that goes on where something cannot be read: each context before its
/// children, with the number of the one above and how deep it is.
///
/// It holds where siblings are that are still to come, nothing else.
pub(crate) struct TreeWalk {
    database: Arc<Database>,
    /// The innermost last.
    open: Vec<Siblings>,
    /// Budget from which arrays of children are paid: a tree with more of them than the file has
    /// room for has cycles.
    budget: Budget,
}

/// Contexts that are still to come.
struct Siblings {
    range: Range<u64>,
    /// Length of each, where all have the same length.
    stride: Option<u64>,
    parent: Option<u32>,
    depth: u64,
}

impl TreeWalk {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        let budget = Budget::new(database.meta.as_ref().map_or(0, |meta| meta.part.len()));
        let roots = database.meta.as_ref().map(|meta| match &meta.roots {
            Roots::Entries(table) => {
                let end = table.pointer.saturating_add(table.count.saturating_mul(table.stride));
                (table.pointer..end, Some(table.stride))
            }
            Roots::Contexts(range) => (range.clone(), None),
        });
        let roots = roots.map(|(range, stride)| Siblings { range, stride, parent: None, depth: 0 });
        Self { database, open: roots.into_iter().collect(), budget }
    }

    /// Returns the offset of the next context, the context that it is a child of, and its depth.
    fn step(&mut self, meta: &Meta) -> ReadResult<Option<(u64, Option<u32>, u64)>> {
        while self.open.pop_if(|siblings| siblings.range.is_empty()).is_some() {}
        let Some(siblings) = self.open.last_mut() else { return Ok(None) };
        let (at, parent, depth) = (siblings.range.start, siblings.parent, siblings.depth);
        let size = match siblings.stride {
            Some(stride) => Ok(stride),
            None => meta.sibling_bytes(&siblings.range),
        };
        match size {
            Ok(size) => siblings.range.start += size,
            Err(error) => {
                // Where one ends the next would begin.
                self.open.pop();
                return Err(error);
            }
        }
        Ok(Some((at, parent, depth)))
    }

    /// Goes on with the children of a context.
    fn enter(&mut self, context: &Context, depth: u64) -> ReadResult<()> {
        let range = context.children.clone();
        if range.is_empty() {
            return Ok(());
        }
        let paid = self.budget.spend("children", context.offset, range.end - range.start);
        paid.map_err(|error| {
            let why = "the tree has more contexts than the file has room for: it leads round";
            ReadError::invalid(error.what, error.offset, why)
        })?;
        // What is done need not be held, however deep the tree is.
        self.open.pop_if(|siblings| siblings.range.is_empty());
        let parent = Some(context.ctx_id);
        self.open.push(Siblings { range, stride: None, parent, depth: depth + 1 });
        Ok(())
    }
}

impl Iterator for TreeWalk {
    type Item = (Context, Option<u32>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let database = Arc::clone(&self.database);
        let meta = database.meta.as_ref()?;
        loop {
            let step = self.step(meta);
            let Some(step) = database.ok_or_note(&meta.part, step) else { continue };
            let (offset, parent, depth) = step?;
            let Some(context) = database.ok_or_note(&meta.part, meta.node(offset)) else {
                continue;
            };
            let entered = self.enter(&context, depth);
            database.ok_or_note(&meta.part, entered);
            return Some((context, parent, depth));
        }
    }
}
