//! What is lost on the way from a file to its values: it is said, and changes the exit code.

use kymo_core::model::arrays::{ArraysView, Variable};

use crate::render::{escaped, numbers};
use crate::report::Report;
use crate::session::Outcome;

/// Says that values of a variable were rounded, where some were; ask once they are read.
pub(crate) fn rounding(
    report: &mut Report,
    file: &str,
    view: &dyn ArraysView,
    variable: &Variable,
) -> Outcome {
    if !(variable.rounds && view.has_rounded()) {
        return Outcome::Done;
    }
    let (path, type_name) = (escaped(&variable.path), &variable.type_name);
    let loss = format_args!("{path}: values of type {type_name} are rounded to double precision");
    report.remark(file, loss);
    Outcome::Findings
}

/// Values that were asked for, and those of them that are not there: no block covers them, or
/// the writer never wrote them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Missing {
    missing: u64,
    total: u64,
}

impl Missing {
    /// Counts the values of an array.
    pub(crate) fn add(&mut self, values: &dyn arrow_array::Array) {
        self.missing += values.logical_null_count() as u64;
        self.total += values.len() as u64;
    }

    /// How many are missing, where some are.
    pub(crate) fn text(self) -> Option<String> {
        let [missing, total] = [self.missing, self.total].map(numbers::grouped);
        (self.missing > 0).then(|| format!("{missing} of {total} values are not in the file"))
    }

    /// Says how many are missing, where some are.
    pub(crate) fn say(self, report: &mut Report, file: &str, path: &str) -> Outcome {
        if self.missing == 0 {
            return Outcome::Done;
        }
        let [missing, total] = [self.missing, self.total].map(numbers::grouped);
        let path = escaped(path);
        report.remark(
            file,
            format_args!("{missing} of {total} values of {path} are not in the file"),
        );
        Outcome::Findings
    }
}
