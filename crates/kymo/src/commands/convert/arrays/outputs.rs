//! Destinations for the outputs of a conversion.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::Error;
use kymo_export::arrays::Target;

use super::super::Args;
use crate::failure::Failure;
use crate::inputs;
use crate::outlet;
use crate::session::Named;

/// Destination for the outputs.
pub(super) enum Outputs {
    /// To OUT itself.
    One,
    /// Into the directory OUT, each under its own name.
    Many(Names),
}

/// The output of each input.
#[derive(Default)]
pub(super) struct Names {
    outputs: HashMap<PathBuf, PathBuf>,
    /// Directories that were made for outputs, each behind the one above it.
    made: Vec<PathBuf>,
}

impl Names {
    /// Makes the directory of an output, with those above it that are not there.
    fn make_directory(&mut self, directory: &Path) -> anyhow::Result<()> {
        let missing = directory.ancestors().take_while(|path| !path.exists());
        let missing: Vec<_> = missing.map(Path::to_owned).collect();
        let made = fs::create_dir_all(directory).map_err(Error::io("create a directory"));
        made.map_err(|error| outlet::about(directory, error))?;
        self.made.extend(missing.into_iter().rev());
        Ok(())
    }
}

/// Removes the directories that were made and in which nothing came to be.
impl Drop for Names {
    fn drop(&mut self) {
        for directory in self.made.iter().rev() {
            // One with something in it stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

impl Outputs {
    /// A name in OUT for every input: its own with another extension, below the directories that
    /// it was found in.
    pub(super) fn many(
        args: &Args,
        target: &dyn Target,
        found: &[inputs::Input],
    ) -> anyhow::Result<Self> {
        let is_named_as_file = args.output.extension().is_some_and(|extension| {
            extension.to_str().and_then(kymo_export::arrays::by_extension).is_some()
        });
        if args.output.is_file() || (is_named_as_file && !args.output.is_dir()) {
            let failure = Failure::usage("several files become files in a directory");
            let name = target.name();
            let hint = format!("name a directory, and --to {name}; --join makes one file of them");
            return Err(Named::error(inputs::display(&args.output), failure.hint(hint)));
        }
        let extension = target.extensions().first().copied().unwrap_or_default();
        let below = |input: &Path| {
            let mut roots = args.inputs.iter().filter(|root| root.is_dir());
            let below = roots.find_map(|root| input.strip_prefix(root).ok());
            below.or(input.file_name().map(Path::new)).unwrap_or(input).to_owned()
        };
        let mut names: HashMap<PathBuf, u32> = HashMap::new();
        for input in found.iter().flatten() {
            *names.entry(with_extension(&below(input), extension)).or_default() += 1;
        }
        let mut outputs = HashMap::new();
        let mut sources: HashMap<PathBuf, PathBuf> = HashMap::new();
        for input in found.iter().flatten() {
            let name = below(input);
            let short = with_extension(&name, extension);
            let is_alone = names.get(&short) == Some(&1);
            let output = args.output.join(if is_alone { short } else { and(&name, extension) });
            if let Some(other) = sources.insert(output.clone(), input.clone()) {
                let [one, other] = [input, &other].map(|path| inputs::display(path));
                let failure = Failure::usage(format!("{one} and {other} would have one output"));
                let failure = failure.hint("convert them into different directories");
                return Err(Named::error(inputs::display(&output), failure));
            }
            outputs.insert(input.clone(), output);
        }
        Ok(Self::Many(Names { outputs, made: Vec::new() }))
    }

    /// The output for an input, in a directory that is there.
    pub(super) fn output_path(&mut self, args: &Args, input: &Path) -> anyhow::Result<PathBuf> {
        let Self::Many(names) = self else {
            return Ok(args.output.clone());
        };
        let output = names.outputs.get(input).cloned().unwrap_or_else(|| args.output.clone());
        if let Some(directory) = output.parent() {
            names.make_directory(directory)?;
        }
        Ok(output)
    }
}

/// Returns true if an output is a directory for files: one that is there, or is written as one. If
/// outputs of this kind are directories themselves, it is one only if it has no such output in it.
pub(super) fn is_folder(output: &Path, target: &dyn Target) -> bool {
    let is_written_so = output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let is_output = target.is_directory()
        && (output.join("zarr.json").is_file() || output.extension().is_some());
    (output.is_dir() || is_written_so) && !is_output
}

/// A name with another extension behind its own.
fn and(name: &Path, extension: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// A name with another extension. One that is a number counts parts of a run, and stays.
fn with_extension(name: &Path, extension: &str) -> PathBuf {
    let old = name.extension().and_then(|old| old.to_str()).unwrap_or_default();
    if !old.is_empty() && old.bytes().all(|byte| byte.is_ascii_digit()) {
        return name.with_extension(format!("{old}.{extension}"));
    }
    name.with_extension(extension)
}
