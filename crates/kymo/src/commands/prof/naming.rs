//! Destination of the database.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Returns the path that was given, or a name that fits, beside the first input.
pub(super) fn output(said: Option<&Path>, inputs: &[PathBuf]) -> anyhow::Result<PathBuf> {
    if let Some(output) = said {
        if output.as_os_str() == "-" {
            let failure = Failure::usage("a database is a directory, and no stream can take it");
            return Err(failure.hint("name a directory with -o").into());
        }
        return Ok(output.to_owned());
    }
    let first = inputs.first().map_or(Path::new(""), PathBuf::as_path);
    if let Some(name) = first.file_name() {
        return Ok(first.with_file_name(database_name(&name.to_string_lossy())));
    }
    // `.` and `..` have names of their own.
    let first = fs::canonicalize(first).unwrap_or_else(|_| first.to_owned());
    let name = first.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(first.with_file_name(database_name(&name.unwrap_or_default())))
}

/// `hpctoolkit-X-measurements-9` as `hpctoolkit-X-database-9`; another name with `-database`.
fn database_name(input: &str) -> String {
    let program =
        input.strip_prefix("hpctoolkit-").and_then(|rest| rest.rsplit_once("-measurements"));
    match program {
        Some((program, rest)) if rest.is_empty() || rest.starts_with('-') => {
            format!("hpctoolkit-{program}-database{rest}")
        }
        _ => format!("{input}-database"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_after_its_measurements() {
        for (input, name) in [
            ("hpctoolkit-app-measurements", "hpctoolkit-app-database"),
            ("hpctoolkit-app-measurements-123", "hpctoolkit-app-database-123"),
            ("hpctoolkit-app-measurementsx", "hpctoolkit-app-measurementsx-database"),
            ("run", "run-database"),
        ] {
            assert_eq!(database_name(input), name);
        }
    }
}
