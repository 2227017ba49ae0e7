//! Databases of HPCToolkit before `meta.db`: their properties are in a file `experiment.xml`.

use std::path::Path;

use kymo_core::Source;

use super::Kind;

const NAME: &str = "experiment.xml";

/// Databases of hpcprof, 2011 to 2022: the root element says 2.0, 2.1 or 2.2.
const DENSE: Kind = Kind {
    name: "an HPCToolkit database of 2011 to 2022 (experiment.xml 2)",
    advice: "open it with hpcviewer 2022.06 or earlier, or run `kymo prof` on its measurements",
};

/// Databases of hpcprof2 before their layout was settled: 3.0 and 4.0, beside profile.db and cct.db.
const SPARSE: Kind = Kind {
    name: "an HPCToolkit database of 2020 to 2022 (experiment.xml 3 or 4, by hpcprof2)",
    advice: "open it with hpcviewer 2022.06 or earlier, or run `kymo prof` on its measurements",
};

/// Names the generation of a database, by its directory or by its `experiment.xml`.
pub(super) fn recognise(source: &Source) -> Option<Kind> {
    let probe = source.probe();
    if !source.is_directory() {
        let is_named = source.path().file_name() == Some(NAME.as_ref());
        return if is_named { generation(probe.head) } else { None };
    }
    // A measurement directory may have anything beside its profiles.
    let is_profile = |name: &Path| name.extension().is_some_and(|end| end == "hpcrun");
    let has_profiles = || probe.entries().any(|name| is_profile(&name));
    let head = probe.file_head(NAME, 64 << 10)?;
    let is_newer = source.path().join("meta.db").is_file();
    generation(&head).filter(|_| !is_newer && !has_profiles())
}

/// The version that the root element states; before it there may be a DTD.
fn generation(head: &[u8]) -> Option<Kind> {
    const ROOT: &str = "<HPCToolkitExperiment version=\"";
    let text = String::from_utf8_lossy(head);
    let (_, version) = text.split_once(ROOT)?;
    match version.bytes().next()? {
        b'2' => Some(DENSE),
        b'3' | b'4' => Some(SPARSE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Unrecognised, detect};

    #[test]
    fn a_database_is_known_by_its_directory_and_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let named = |path: &Path| {
            let source = Source::open(path, &kymo_core::bytes::Limits::default()).unwrap();
            match detect(&source) {
                Err(Unrecognised::Foreign { name, .. }) => Some(name),
                _ => None,
            }
        };
        let dtd = "<?xml version=\"1.0\"?>\n<!DOCTYPE HPCToolkitExperiment [\n]>\n";
        for (version, kind) in [("2.0", DENSE), ("2.2", DENSE), ("4.0", SPARSE)] {
            let root = format!("{dtd}<HPCToolkitExperiment version=\"{version}\">");
            std::fs::write(&path, root).unwrap();
            assert_eq!(named(&path), Some(kind.name));
            assert_eq!(named(folder.path()), Some(kind.name));
        }
        // Traces are part of such a database, and profiles are not.
        std::fs::write(folder.path().join("a-000000-000-1-2-0.hpctrace"), b"HPCRUN-trace").unwrap();
        assert_eq!(named(folder.path()), Some(SPARSE.name));
        std::fs::write(folder.path().join("a-000000-000-1-2-0.hpcrun"), b"HPCRUN-profile").unwrap();
        assert_eq!(named(folder.path()), None);
    }
}
