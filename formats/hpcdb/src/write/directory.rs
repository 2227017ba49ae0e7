//! What else is in a database: how metrics are shown, a description, copies of sources.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use kymo_core::{Error, Result, create_below};

use super::file::Form;

/// Writes `FORMATS.md` and `metrics/`.
pub(super) fn write(directory: &Path, form: Form, taxonomy: &str) -> Result<()> {
    let folder = directory.join("metrics");
    fs::create_dir(&folder).map_err(Error::io("create a directory of the output"))?;
    let put = |path: PathBuf, text: &str| {
        fs::write(path, text).map_err(Error::io("create a file of the output"))
    };
    put(folder.join("default.yaml"), taxonomy)?;
    put(folder.join("METRICS.yaml.ex"), include_str!("texts/METRICS.yaml.ex"))?;
    let formats = match form {
        Form::Described => include_str!("texts/FORMATS.described.md"),
        Form::Released => include_str!("texts/FORMATS.md"),
    };
    put(directory.join("FORMATS.md"), formats)
}

/// Copies the text of a source file into the database, and tells its path there. Nothing is
/// copied where the path would lead out of it.
pub(super) fn copy_source(
    directory: &Path,
    path: &str,
    text: &mut dyn Read,
) -> Result<Option<String>> {
    let Some(inside) = inside(path) else { return Ok(None) };
    let to = Path::new(&inside);
    create_below(directory, to.parent().unwrap_or(to))?;
    let mut file =
        File::create(directory.join(to)).map_err(Error::io("create a file of the output"))?;
    std::io::copy(text, &mut file).map_err(Error::io("copy a source file"))?;
    Ok(Some(inside))
}

/// `src/` and an absolute path without its slash, and without what leads back up in it.
fn inside(path: &str) -> Option<String> {
    let below = path.strip_prefix('/').filter(|below| !below.contains('\0'))?;
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(below).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| format!("src/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_database() {
        for path in ["/opt/a.c", "/opt/build/../a.c", "/opt/./b/c/../../a.c", "/opt//a.c"] {
            assert_eq!(inside(path).as_deref(), Some("src/opt/a.c"), "{path:?}");
        }
        for path in ["/../a.c", "a.c", "/", "", "/opt/../../../a.c", "//etc", "/a\0b"] {
            assert_eq!(inside(path), None, "{path:?}");
        }
    }
}
