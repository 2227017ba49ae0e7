//! Reason why something failed, and what to do next.

use std::fmt::{Display, Formatter};
use std::io;
use std::path::Path;

use kymo_core::Error;
use kymo_core::bytes::ReadErrorKind;
use kymo_registry::Unrecognised;

use crate::session::Named;

/// A failure that this program finds by itself, with the next step.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    is_usage: bool,
}

impl Failure {
    /// A failure that explains itself.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, is_usage: false }
    }

    /// Creates the failure for typed input that makes no sense, whatever the file.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { is_usage: true, ..Self::new(message) }
    }

    /// Adds what to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Error for something that cannot be read of a file whose format has no way to save the rest.
#[derive(Debug)]
pub(crate) struct Unreadable(Error);

impl Unreadable {
    /// Says of an error with a file that no repair is to be offered, where that is so.
    pub(crate) fn from_error(
        error: anyhow::Error,
        can_repair: impl FnOnce() -> bool,
    ) -> anyhow::Error {
        let is_unreadable =
            matches!(error.downcast_ref::<Error>(), Some(Error::Read(_) | Error::ReadIn { .. }));
        if !is_unreadable || can_repair() {
            return error;
        }
        match error.downcast::<Error>() {
            Ok(error) => anyhow::Error::new(Self(error)),
            Err(error) => error,
        }
    }
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unreadable {}

/// Returns true if an error is about what was typed and not about a file.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    if let Some(named) = error.downcast_ref::<Named>() {
        return is_usage(&named.error);
    }
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_usage)
}

/// The message of an error, without the numbers that only the system understands.
pub(crate) fn message(error: &anyhow::Error) -> String {
    if let Some(Named { name, error }) = error.downcast_ref::<Named>() {
        return format!("{name}: {}", message(error));
    }
    if let Some(kymo_recorder::Error::Io(error)) = error.downcast_ref() {
        return format!("cannot write it: {}", reason(error));
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Io { action, error }) => format!("cannot {action}: {}", reason(error)),
        _ => format!("{error:#}"),
    }
}

/// The message of an error that is said of a file: it is not named twice.
pub(crate) fn message_about(name: &str, error: &anyhow::Error) -> String {
    match error.downcast_ref::<Named>() {
        Some(named) if named.name == name => message(&named.error),
        _ => message(error),
    }
}

/// Returns the message of the system, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match text.find(" (os error") {
        Some(end) => text.get(..end).unwrap_or_default(),
        None => &text,
    };
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// So many recordings of a directory are named.
const NAMED_MAX: usize = 3;

/// Lists the recordings of a directory that may be meant.
fn those_in(directory: &str) -> String {
    let found = crate::inputs::recordings_below(Path::new(directory));
    let few = found.iter().take(NAMED_MAX).map(|path| quoted(&crate::inputs::display(path)));
    let few = few.collect::<Vec<_>>().join(" or ");
    let directory = quoted(directory);
    match found.len() {
        0 => format!("name the files in it; `kymo ls {directory}` lists the recordings among them"),
        1..=NAMED_MAX => format!("name what is in it: {few}"),
        _ => format!("name one that is in it: {few}; `kymo ls {directory}` lists the others"),
    }
}

/// Advises what to do about an error with a file, if there is something.
pub(crate) fn hint(error: &anyhow::Error, name: &str) -> Option<String> {
    if let Some(Named { name, error }) = error.downcast_ref::<Named>() {
        return hint(error, name);
    }
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.hint.clone();
    }
    if let Some(Unrecognised::Directory) = error.downcast_ref::<Unrecognised>() {
        return Some(those_in(name));
    }
    let name = quoted(name);
    match error.downcast_ref::<Error>()? {
        // Nothing of what is known of a format holds for a version that is not read.
        Error::Read(error) if matches!(error.kind, ReadErrorKind::OtherVersion(_)) => None,
        Error::Read(_) => Some(format!(
            "`kymo check {name}` shows all that is wrong, `kymo repair {name} OUT` keeps what is \
             sound, --salvage shows it as it is"
        )),
        // Whether it can be repaired depends on what the other files of the directory have.
        Error::ReadIn { .. } => Some(format!(
            "`kymo check {name}` shows all that is wrong, `kymo repair {name} OUT` keeps what is \
             sound if the other files have what is lost here, --salvage shows it as it is"
        )),
        Error::OverInput(_) => Some("name a path outside of the input".to_owned()),
        Error::Changed(_) | Error::ChangedIn { .. } => {
            Some("run it again once nothing writes to the file".to_owned())
        }
        Error::Io { error, .. } => match error.kind() {
            io::ErrorKind::NotFound => {
                Some("check the spelling and the directory you are in".to_owned())
            }
            _ => None,
        },
        _ => None,
    }
}

/// A name as one would type it in a shell.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+,:@%=".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_a_shell_reads_them() {
        assert_eq!(quoted("a/b-1.bp"), "a/b-1.bp");
        assert_eq!(quoted("my run.bp"), "'my run.bp'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    #[test]
    fn a_system_error_is_said_without_its_number() {
        let missing = io::Error::from_raw_os_error(2);
        let error = anyhow::Error::from(Error::io("open it")(missing));
        assert_eq!(message(&error), "cannot open it: no such file or directory");
        assert!(hint(&error, "x").is_some());
    }

    #[test]
    fn an_error_about_another_file_keeps_its_next_step() {
        let exists = Failure::usage("it exists already").hint("--force replaces it");
        let error = Named::error("out.h5", exists);
        assert_eq!(message(&error), "out.h5: it exists already");
        assert_eq!(message_about("out.h5", &error), "it exists already");
        assert_eq!(message_about("in.bp", &error), "out.h5: it exists already");
        assert_eq!(hint(&error, "in.bp").as_deref(), Some("--force replaces it"));
        assert!(is_usage(&error));
        let denied = io::Error::from_raw_os_error(13);
        let error = Named::error("out.h5", Error::io("create it")(denied));
        assert_eq!(message(&error), "out.h5: cannot create it: permission denied");
    }
}
