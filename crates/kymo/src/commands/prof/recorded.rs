//! Addresses that were recorded in modules, by which one knows a program that was built anew since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use kymo_model::measurement::{Frame, MeasuredThread, MeasurementView};
use kymo_symbols::RecordedAddresses;

/// So many threads of a measurement are looked at, all over it.
const THREADS_MAX: usize = 16;

/// So many addresses of a module are enough.
const ADDRESSES_MAX: usize = 512;

/// Addresses of each module, by the path that it is looked up by.
pub(super) fn recorded(views: &[Arc<dyn MeasurementView>]) -> BTreeMap<String, RecordedAddresses> {
    let mut found = BTreeMap::new();
    for view in views {
        let directory = view.directory().unwrap_or_default();
        let step = view.thread_count().div_ceil(THREADS_MAX).max(1);
        for thread in (0..view.thread_count()).step_by(step) {
            // What cannot be read is said when the database is made.
            if let Ok(thread) = view.thread(thread) {
                take(&mut found, &thread, &directory);
            }
        }
    }
    found.into_iter().map(|(path, addresses)| (path, addresses.into_recorded())).collect()
}

#[derive(Default)]
struct Addresses {
    calls: BTreeSet<u64>,
    others: BTreeSet<u64>,
}

impl Addresses {
    fn into_recorded(self) -> RecordedAddresses {
        let others = self.others.difference(&self.calls).copied().collect();
        RecordedAddresses { calls: self.calls.into_iter().collect(), others }
    }
}

fn take(found: &mut BTreeMap<String, Addresses>, thread: &MeasuredThread, directory: &Path) {
    let is_code = |frame| matches!(frame, Frame::Code { is_called: true, .. });
    // Below what was interrupted there may be what handles a signal, which nothing called.
    let mut callers = vec![false; thread.nodes.len()];
    for (node, place) in thread.nodes.iter().zip(0_u32..).filter(|(node, _)| is_code(node.frame)) {
        let above = usize::try_from(node.above).ok().filter(|_| node.above != place);
        if let Some(is_caller) = above.and_then(|above| callers.get_mut(above)) {
            *is_caller = true;
        }
    }
    for (node, is_caller) in thread.nodes.iter().zip(callers) {
        let Frame::Code { module, offset, is_called: true } = node.frame else { continue };
        let path = usize::try_from(module).ok().and_then(|module| thread.modules.get(module));
        let Some(path) = path else { continue };
        let path = if Path::new(path).is_relative() {
            directory.join(path).to_string_lossy().into_owned()
        } else {
            path.clone()
        };
        let addresses = found.entry(path).or_default();
        let values = if is_caller { &mut addresses.calls } else { &mut addresses.others };
        if values.len() < ADDRESSES_MAX {
            values.insert(offset);
        }
    }
}
