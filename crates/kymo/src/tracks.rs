//! Streams of a timeline that are meant: names and glob patterns.

use globset::{GlobBuilder, GlobMatcher};
use kymo_model::timeline::{Track, TrackId, TrackKind};
use kymo_query::Labels;

use crate::failure::{Failure, quoted};
use crate::render::escaped;
use crate::variables::distance;

/// Streams listed in a hint.
const LISTED: usize = 8;

/// The streams chosen by options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StreamArgs {
    /// Only this stream: a name or a glob. May be given again. Of several streams of one name,
    /// 'ctl (core0.log)' is the one that is of core0.log, as tables show it.
    #[arg(short, long = "stream", visible_alias = "track", value_name = "NAME")]
    streams: Vec<String>,

    /// Not this stream: a name or a glob. May be given again.
    #[arg(short = 'x', long, value_name = "NAME")]
    exclude: Vec<String>,
}

impl StreamArgs {
    /// Returns true if all streams are meant.
    pub(crate) fn is_all(&self) -> bool {
        self.streams.is_empty() && self.exclude.is_empty()
    }

    /// Returns the matcher that decides whether a stream is meant.
    pub(crate) fn matcher(&self) -> Result<StreamMatcher, Failure> {
        let patterns = |texts: &[String]| {
            texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>, _>>()
        };
        Ok(StreamMatcher { only: patterns(&self.streams)?, exclude: patterns(&self.exclude)? })
    }

    /// As [`select`](Self::select), but for clocks that nobody names: they tell the times of others.
    pub(crate) fn select_for_events(
        &self,
        tracks: &[Track],
    ) -> Result<Option<Vec<TrackId>>, Failure> {
        let chosen = self.select(tracks)?;
        if !self.streams.is_empty() || !tracks.iter().any(Track::is_clock) {
            return Ok(chosen);
        }
        let all = || (0..tracks.len()).map(TrackId).collect();
        let is_event = |id: &TrackId| tracks.get(id.0).is_some_and(|track| !track.is_clock());
        Ok(Some(chosen.unwrap_or_else(all).into_iter().filter(is_event).collect()))
    }

    /// Returns true if a stream that joins is meant, where clocks are so only by name.
    pub(crate) fn includes(&self, matcher: &StreamMatcher, track: &Track) -> bool {
        matcher.matches(&track.name) && !(self.streams.is_empty() && track.is_clock())
    }

    /// The tracks that are meant; nothing means all. Refuses a name that no track has.
    pub(crate) fn select(&self, tracks: &[Track]) -> Result<Option<Vec<TrackId>>, Failure> {
        if self.is_all() {
            return Ok(None);
        }
        self.chosen(tracks, |pattern, labels| matching(pattern, tracks, labels)).map(Some)
    }

    /// As [`select`](Self::select), and a processor or a log file also stands for all that is of it.
    pub(crate) fn select_with_parts(
        &self,
        tracks: &[Track],
    ) -> Result<Option<Vec<TrackId>>, Failure> {
        if self.is_all() {
            return Ok(None);
        }
        let with_parts = |pattern: &Pattern, labels: &Labels| {
            let mut matching = matching(pattern, tracks, labels);
            add_parts(&mut matching, tracks);
            matching
        };
        self.chosen(tracks, with_parts).map(Some)
    }

    /// The tracks that are meant, by what tells which ones a pattern means.
    fn chosen(
        &self,
        tracks: &[Track],
        item: impl Fn(&Pattern, &Labels) -> Vec<bool>,
    ) -> Result<Vec<TrackId>, Failure> {
        let (matcher, labels) = (self.matcher()?, Labels::new(tracks));
        let mut chosen = vec![self.streams.is_empty(); tracks.len()];
        for (pattern, text) in matcher.only.iter().zip(&self.streams) {
            let matching = item(pattern, &labels);
            if !matching.contains(&true) {
                return Err(missing(text, tracks.iter()));
            }
            chosen.iter_mut().zip(matching).for_each(|(is_chosen, is_such)| *is_chosen |= is_such);
        }
        for pattern in &matcher.exclude {
            let matching = item(pattern, &labels).into_iter();
            chosen.iter_mut().zip(matching).for_each(|(is_chosen, is_such)| *is_chosen &= !is_such);
        }
        let ids = (0..).map(TrackId).zip(chosen);
        Ok(ids.filter(|(_, is_chosen)| *is_chosen).map(|(id, _)| id).collect())
    }
}

/// Finds the tracks that have a name that matches, or are shown with one.
fn matching(pattern: &Pattern, tracks: &[Track], labels: &Labels) -> Vec<bool> {
    let matches = |(id, track): (usize, &Track)| {
        pattern.matches(&track.name) || pattern.matches(&labels.label(tracks, TrackId(id)))
    };
    tracks.iter().enumerate().map(matches).collect()
}

/// Adds what is under the tracks, unless some of them are tasks or state machines: `c*` means the
/// task `ctl`, and not all that is of `cpu 0`.
fn add_parts(meant: &mut [bool], tracks: &[Track]) {
    let is_actor = |track: &Track| matches!(track.kind, TrackKind::Task | TrackKind::States);
    if meant.iter().zip(tracks).any(|(is_meant, track)| *is_meant && is_actor(track)) {
        return;
    }
    // Parents come before their children.
    for (id, track) in tracks.iter().enumerate() {
        let is_above = track.parent.and_then(|parent| meant.get(parent.0)).copied();
        if let (Some(true), Some(is_meant)) = (is_above, meant.get_mut(id)) {
            *is_meant = true;
        }
    }
}

/// Returns the failure for a name that no stream has. It lists the streams that there are, or which
/// may be meant of many.
pub(crate) fn missing<'a>(text: &str, tracks: impl Iterator<Item = &'a Track>) -> Failure {
    let mut names: Vec<_> = tracks.map(|track| track.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let failure = Failure::new(format!("there is no stream {}", escaped(text)));
    if names.is_empty() {
        return failure.hint("it has none");
    }
    let meant = if names.len() > LISTED { similar_names(text, &names) } else { Vec::new() };
    failure.hint(if meant.is_empty() {
        format!("there are {}", listed(&names))
    } else {
        let all = glob_of(text, &meant).map_or(String::new(), |glob| {
            format!(" {} means all of them", escaped(&quoted(&glob)))
        });
        format!("did you mean {}?{all}", listed(&meant))
    })
}

/// The first few names, and how many more there are.
fn listed(names: &[&str]) -> String {
    let (few, more) = names.split_at(names.len().min(LISTED));
    let few: Vec<_> = few.iter().map(|name| escaped(name)).collect();
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", few.join(", "))
}

/// The names that begin as one that is typed, in capitals or not; else those that have it in them;
/// else those that are it but for a letter in three, the likest first, or whose first word is:
/// names of tasks end in numbers.
fn similar_names<'a>(typed: &str, names: &[&'a str]) -> Vec<&'a str> {
    let typed = typed.trim_matches('*').to_lowercase();
    if typed.is_empty() {
        return Vec::new();
    }
    let those = |is_alike: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        names.iter().copied().filter(|name| is_alike(&name.to_lowercase())).collect()
    };
    let found = those(&|name| name.starts_with(&typed));
    let found = if found.is_empty() { those(&|name| name.contains(&typed)) } else { found };
    if !found.is_empty() {
        return found;
    }
    let length = typed.chars().count();
    let wrong = |name: &&'a str| {
        let lower = name.to_lowercase();
        let first = lower.split([' ', '-', '/', ':']).next().unwrap_or("");
        // What is much longer is not looked at: names may be of any length.
        let is_near = |item: &&str| item.chars().count().abs_diff(length) <= length / 3;
        let near = [&*lower, first].into_iter().filter(is_near);
        let wrong = near.map(|this_name| distance(&typed, this_name)).min()?;
        (wrong <= length / 3).then_some((wrong, *name))
    };
    let mut found: Vec<_> = names.iter().filter_map(wrong).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

/// The glob that means some names which begin with a text or have it in them; nothing for one name.
fn glob_of(typed: &str, names: &[&str]) -> Option<String> {
    let typed = typed.trim_matches('*');
    let is_plain = !typed.contains(['*', '?', '[', ']', '{', '}', '\\']);
    // Globs tell capitals apart.
    let begin: String = names.first()?.chars().take(typed.chars().count()).collect();
    let is_begin = begin.to_lowercase() == typed.to_lowercase();
    let globs = [is_begin.then(|| format!("{begin}*")), Some(format!("*{typed}*"))];
    let means = |glob: &String| {
        Pattern::new(glob).is_ok_and(|glob| names.iter().all(|name| glob.matches(name)))
    };
    globs.into_iter().flatten().filter(|_| is_plain && names.len() > 1).find(means)
}

/// Decides whether a stream is meant.
#[derive(Debug)]
pub(crate) struct StreamMatcher {
    only: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl StreamMatcher {
    /// Returns true if a stream of this name is meant.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let has = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        (self.only.is_empty() || has(&self.only)) && !has(&self.exclude)
    }
}

/// A name as it is, or a glob.
#[derive(Debug)]
pub(crate) struct Pattern {
    name: String,
    glob: GlobMatcher,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        let glob = GlobBuilder::new(text).build().map_err(|error| {
            Failure::usage(format!("{text} is no pattern: {}", error.kind()))
                .hint("* and ? stand for characters, [ab] for one of some")
        })?;
        Ok(Self { name: text.to_owned(), glob: glob.compile_matcher() })
    }

    /// The name or the glob as it was typed.
    pub(crate) fn typed(&self) -> &str {
        &self.name
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.name == name || self.glob.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(only: &[&str], exclude: &[&str], name: &str) -> bool {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let args = StreamArgs { streams: own(only), exclude: own(exclude) };
        args.matcher().unwrap().matches(name)
    }

    #[test]
    fn of_many_streams_those_are_named_that_may_be_meant() {
        let mut names: Vec<_> = (0..20).map(|at| format!("a{at:02}")).collect();
        names.extend(["Xorg-1668", "Xorg-1700", "kworker/1", "my-kworker"].map(str::to_owned));
        names.sort();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let meant = |typed: &str| {
            let found = similar_names(typed, &names);
            let glob = glob_of(typed, &found);
            (found, glob)
        };
        let glob = |text: &str| Some(text.to_owned());
        assert_eq!(meant("Xorg"), (vec!["Xorg-1668", "Xorg-1700"], glob("Xorg*")));
        assert_eq!(meant("xorg"), (vec!["Xorg-1668", "Xorg-1700"], glob("Xorg*")));
        assert_eq!(meant("xorg*"), (vec!["Xorg-1668", "Xorg-1700"], glob("Xorg*")));
        assert_eq!(meant("Xorg-16"), (vec!["Xorg-1668"], None));
        assert_eq!(meant("kworker"), (vec!["kworker/1"], None));
        assert_eq!(meant("org-1"), (vec!["Xorg-1668", "Xorg-1700"], glob("*org-1*")));
        // Of the first word one letter of four is wrong, and of the other one of six is missing.
        assert_eq!(meant("Xorf"), (vec!["Xorg-1668", "Xorg-1700"], None));
        assert_eq!(meant("kworkr"), (vec!["kworker/1"], None));
        // Two letters of nine are wrong, and three.
        assert_eq!(meant("Xrog-1668"), (vec!["Xorg-1668"], None));
        assert_eq!(meant("Xorg-1780").0, ["Xorg-1700", "Xorg-1668"]);
        assert_eq!(meant("something else").0, [""; 0]);
        assert_eq!(meant("").0, [""; 0]);
        assert_eq!(
            listed(&names),
            "Xorg-1668, Xorg-1700, a00, a01, a02, a03, a04, a05 and 16 more"
        );
    }

    #[test]
    fn names_and_globs_choose_and_exclude() {
        assert!(matches(&[], &[], "a"));
        assert!(matches(&["a*"], &[], "abc"));
        assert!(!matches(&["a*"], &["ab*"], "abc"));
        assert!(!matches(&["b"], &[], "abc"));
        assert!(matches(&["clk [x]"], &[], "clk [x]"));
    }
}
