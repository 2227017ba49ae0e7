//! Tracks that are shared.

use std::ops::Deref;
use std::sync::Arc;

use super::Track;

/// The tracks of a timeline, in the order of their ids. There may be millions: whoever looks at them
/// has the same ones as the timeline itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tracks(Arc<Vec<Track>>);

impl Deref for Tracks {
    type Target = [Track];

    fn deref(&self) -> &[Track] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Tracks {
    type Item = &'a Track;
    type IntoIter = std::slice::Iter<'a, Track>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Vec<Track>> for Tracks {
    fn from(mut all: Vec<Track>) -> Self {
        // Room that is left is not worth a copy of all, unless there is much of it.
        if all.capacity() - all.len() > all.len() / 4 {
            all.shrink_to_fit();
        }
        Self(Arc::new(all))
    }
}

impl FromIterator<Track> for Tracks {
    fn from_iter<I: IntoIterator<Item = Track>>(all: I) -> Self {
        Vec::from_iter(all).into()
    }
}
