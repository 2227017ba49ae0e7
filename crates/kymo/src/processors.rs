//! Processors that are meant, by their numbers.

use kymo_model::timeline::Track;

use crate::failure::Failure;
use crate::profiles::Numbers;

/// The processors chosen by options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CpuArgs {
    /// Only what is of these processors: `0`, `2-5`, `0,7`. May be given again. A task that ran on
    /// several is of each of them.
    #[arg(long = "cpu", value_name = "N")]
    cpus: Vec<Numbers>,
}

impl CpuArgs {
    /// Returns true if all processors are meant.
    pub(crate) fn is_all(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Finds the tracks of a processor that is meant, by themselves or by those above them; `None`
    /// means all. Refuses a number that no track has.
    pub(crate) fn selected_tracks(&self, tracks: &[Track]) -> Result<Option<Vec<bool>>, Failure> {
        for range in self.cpus.iter().flat_map(Numbers::ranges) {
            if !tracks.iter().filter_map(cpu_of).any(|cpu| range.contains(&cpu)) {
                let (first, last) = (range.start(), range.end());
                let which = if first == last {
                    format!("processor {first}")
                } else {
                    format!("any of the processors {first} to {last}")
                };
                return Err(Failure::new(format!("no stream of it is of {which}")));
            }
        }
        Ok((!self.is_all()).then(|| self.tracks_on_chosen(tracks)))
    }

    fn tracks_on_chosen(&self, tracks: &[Track]) -> Vec<bool> {
        let mut found: Vec<bool> = Vec::with_capacity(tracks.len());
        for track in tracks {
            let own = cpu_of(track);
            let above = || track.parent.and_then(|parent| found.get(parent.0).copied());
            let is_on =
                own.map(|cpu| self.cpus.iter().any(|numbers| numbers.holds(cpu))).or_else(above);
            found.push(is_on.unwrap_or(false));
        }
        found
    }
}

/// The processor that a track says it is of.
fn cpu_of(track: &Track) -> Option<u64> {
    track.attributes.get(Track::CPU_ID)?.as_u64()
}
