//! Losses on the way from a file to its values: they are reported, and change the exit code.

use arrow_schema::DataType;
use kymo_model::arrays::{ArraysView, Raw, Variable, VariableId};

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

/// Returns the message about text that is Latin-1 in the file, if some of a variable's text is.
pub(crate) fn recoded_text(
    view: &dyn ArraysView,
    id: VariableId,
    variable: &Variable,
) -> kymo_core::Result<Option<&'static str>> {
    if variable.data_type != DataType::Utf8 {
        return Ok(None);
    }
    for step in 0..variable.steps {
        let blocks = view.step(id, step)?.blocks;
        let mut raws = blocks.iter().filter_map(|block| view.raw(block.id));
        let is_latin_1 = |raw: Raw<'_>| {
            let mut texts = raw.bytes.chunks(raw.each.max(1));
            texts.any(|text| std::str::from_utf8(text).is_err())
        };
        if raws.any(is_latin_1) {
            return Ok(Some("text is Latin-1 and stored as UTF-8"));
        }
    }
    Ok(None)
}

/// The same of a table that lists variables, attributes or both.
pub(crate) fn recoded_table(view: &dyn ArraysView, table: &str) -> Option<&'static str> {
    let mut ids = (0..view.variable_count()).map(VariableId);
    let is_recoded = table != "attributes" && ids.any(|id| view.variable(id).is_recoded)
        || table != "variables" && view.attributes().iter().any(|it| it.is_recoded);
    is_recoded.then_some("names or texts are Latin-1 and stored as UTF-8")
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

    /// Returns the number of missing values as text, if some are missing.
    pub(crate) fn text(self) -> Option<String> {
        let [missing, total] = [self.missing, self.total].map(numbers::grouped);
        (self.missing > 0).then(|| format!("{missing} of {total} values are not in the file"))
    }

    /// Says how many are missing, where some are.
    pub(crate) fn report(self, report: &mut Report, file: &str, path: &str) -> Outcome {
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
