//! A database whose `meta.db` is damaged: what of it can be shown is written as another.

use std::sync::Arc;

use kymo_core::{Context, Destination, Error, Finding, Result, Severity, Source};
use kymo_model::RepairReport;
use kymo_model::profile::{
    ContextNumber, ProfileSink, ProfileView, Statistic, ThreadId, copy_profile,
};
use kymo_model::timeline::TimeNs;

use super::values::STATISTICS_LOST;
use super::{copy_other_files, evidence, finding, remaining_findings};
use crate::model::Profiles;
use crate::read::Database;
use crate::repair::trace::sound;
use crate::spec::FileKind;
use crate::types::Layout;
use crate::walk::TreeWalk;
use crate::write::Writer;

/// Writes what `top --salvage` shows. All that is wrong is a loss: nobody knows what should be there.
///
/// # Errors
/// When there is nothing to show, or what there is makes no sound database.
pub(super) fn save(
    source: &Source,
    database: &Arc<Database>,
    found: &[Finding],
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    let nothing = || Error::request("there is nothing that can be shown");
    let meta = database.meta.as_ref().ok_or_else(nothing)?;
    let view = Profiles::new(Arc::clone(database)).ok_or_else(nothing)?;
    let mut listed: Vec<_> =
        TreeWalk::new(Arc::clone(database)).map(|(context, ..)| context.ctx_id).collect();
    listed.sort_unstable();
    if listed.is_empty() || view.metrics().is_empty() {
        return Err(nothing());
    }
    let mut writer = match database.layout() {
        Layout::Described => Writer::described(to, &meta.title)?,
        _ => Writer::new(to, &meta.title)?,
    };
    writer.statistics(&[Statistic::Sum])?;
    copy_profile(&view, &mut writer)?;
    let mut samples = 0;
    if let Some(file) = &database.trace {
        let threads = u32::try_from(view.thread_count()).unwrap_or(u32::MAX);
        let traces = (0..file.traces.count).filter_map(|index| file.cut_trace(index));
        for (trace, _) in traces {
            let line = trace.prof_index.checked_sub(1).filter(|line| *line < threads);
            let Some(line) = line else { continue };
            let mut elements = sound(file, trace, &listed).map(|element| {
                let context = (element.ctx_id != 0).then(|| ContextNumber(element.ctx_id.into()));
                Ok((TimeNs(i64::try_from(element.timestamp).unwrap_or(i64::MAX)), context))
            });
            samples += writer.samples(ThreadId(line), &mut elements)?;
        }
    }
    let (mut odd, mut unreadable) = (Vec::new(), Vec::new());
    writer.finish_with(|path| {
        unreadable = copy_other_files(source, database, &context.limits, path)?.unreadable;
        odd = remaining_findings(path, context)?;
        Ok(())
    })?;
    let is_wrong = |finding: &&Finding| finding.severity > Severity::Note;
    let mut losses: Vec<_> = found.iter().filter(is_wrong).cloned().collect();
    losses.extend(unreadable);
    losses.extend(not_written(database));
    let why = format!(
        "it was damaged: all files are written again, of {} contexts and {samples} samples that can be \
         shown",
        listed.len()
    );
    let mut corrected = vec![Finding {
        file: Some(FileKind::Meta.name().to_owned()),
        ..Finding::for_whole_file(Severity::Warning, "repaired", why)
    }];
    corrected.extend(odd);
    let kept = 3 + u64::from(samples > 0);
    Ok(RepairReport { kept, unit: "files", corrected, losses })
}

/// Returns the losses: what sound files have and the new ones do not. These are statistics other
/// than sums, and the readings of `cct.db` that differ from those of `profile.db`.
fn not_written(database: &Arc<Database>) -> Vec<Finding> {
    let mut losses = Vec::new();
    let metrics = database.meta.iter().flat_map(|meta| &meta.metrics);
    if metrics.flat_map(|metric| &metric.statistics).any(|statistic| !statistic.is_sum()) {
        losses.push(finding(Severity::Warning, "lost", FileKind::Profile, STATISTICS_LOST));
    }
    let message = match evidence::judged(database) {
        Ok(differing) if differing.is_empty() => return losses,
        Ok(differing) => format!(
            "{} values differ from those of cct.db, and are written as they are here: which are \
             right is not known",
            differing.len()
        ),
        Err(error) => format!("its values cannot be compared with those of cct.db: {error}"),
    };
    losses.push(finding(Severity::Warning, "lost", FileKind::Profile, message));
    losses
}
