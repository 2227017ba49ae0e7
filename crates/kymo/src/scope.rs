//! What part of a timeline is analysed.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use kymo_analyse::{Analysis, Buckets, Pass};
use kymo_core::model::timeline::{TimelineView, TrackKind, Window};

use crate::failure::{Failure, quoted};
use crate::moment::{self, Moment};
use crate::session::{Opened, Session};
use crate::tracks::StreamArgs;

/// What part of a timeline is analysed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ScopeArgs {
    #[command(flatten)]
    streams: StreamArgs,

    /// Not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    /// Tasks that run when there is nothing to do: a name or a glob. May be given again.
    #[arg(long, value_name = "NAME")]
    idle: Vec<String>,
}

/// What is analysed of a file.
pub(crate) struct Scope {
    pub(crate) timeline: Arc<dyn TimelineView>,
    window: Window,
    idle: GlobSet,
}

impl ScopeArgs {
    /// What is meant of a file.
    pub(crate) fn of(&self, opened: &Opened) -> anyhow::Result<Scope> {
        let timeline = opened.dataset.timeline().ok_or_else(|| {
            let failure = Failure::new("it has no events in time");
            failure.hint(format!("`kymo ls {}` shows what is in it", quoted(&opened.name)))
        })?;
        let tracks = self.streams.among(&timeline.tracks())?;
        let resolve = |moment: Option<_>| {
            moment.map(|moment| moment::resolve(moment, &timeline, tracks.as_deref())).transpose()
        };
        let (from, until) = (resolve(self.since)?, resolve(self.until)?);
        let mut idle = GlobSetBuilder::new();
        for text in &self.idle {
            let glob = Glob::new(text).map_err(|error| {
                Failure::usage(format!("{text} is no pattern: {}", error.kind()))
            })?;
            idle.add(glob);
        }
        let window = Window { tracks, from, until, last: None };
        Ok(Scope { timeline, window, idle: idle.build()? })
    }
}

impl Scope {
    /// Goes through the events for some passes, and says what could not be used.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        opened: &Opened,
        passes: &mut [&mut dyn Pass],
    ) -> anyhow::Result<Analysis> {
        let mut analysis = self.analysis();
        let timeless = analysis.run(passes)?;
        say_timeless(session, opened, timeless);
        Ok(analysis)
    }

    /// What goes through the events.
    pub(crate) fn analysis(&self) -> Analysis {
        let is_idle = |name: &str| self.idle.is_match(name);
        Analysis::new(Arc::clone(&self.timeline), self.window.clone(), &is_idle)
    }

    /// Refuses a timeline that has no tracks of a kind.
    pub(crate) fn wants(&self, kind: TrackKind, why: &str) -> anyhow::Result<()> {
        if self.timeline.tracks().iter().any(|track| track.kind == kind) {
            return Ok(());
        }
        Err(Failure::new(why).hint("`kymo ls -l` shows what streams there are").into())
    }

    /// So many stretches of time, one after another, from the begin to the end of what is meant.
    pub(crate) fn buckets(&self, count: usize) -> anyhow::Result<Buckets> {
        let range = moment::range_of(&self.timeline, self.window.tracks.as_deref())?;
        let start = self.window.from.map_or(*range.start(), |from| from.max(*range.start()));
        let end = self.window.until.map_or(*range.end(), |until| until.min(*range.end()));
        Ok(Buckets::over(start, end, count))
    }

    /// The moment that the window ends at, where it does.
    pub(crate) fn until(&self) -> Option<kymo_core::model::timeline::TimeNs> {
        self.window.until
    }
}

/// Says how many events could not be used.
pub(crate) fn say_timeless(session: &mut Session, opened: &Opened, timeless: u64) {
    if timeless > 0 {
        let text = format!("{timeless} events have no time and are left out");
        session.report.remark(&opened.name, text);
    }
}
