//! All that commands read: what they would say of it is said by the check, too.

use std::sync::Arc;

use kymo_core::Result;
use kymo_model::profile::{
    Context, FlatGrouping, MetricId, MetricQuery, ProfileView, Step, ThreadId, Walk, flat,
};
use kymo_model::timeline::{TimelineView, Window};

use super::DatabaseCheck;
use crate::dataset::summary;
use crate::model::{Profiles, Timeline};
use crate::rows;

/// Reads all of a database. What is wrong is noted by the database.
pub(super) fn check(checking: &DatabaseCheck) {
    let database = &checking.database;
    let _ = summary(database);
    rows::functions(database).for_each(drop);
    rows::contexts(database).for_each(drop);
    rows::profiles(database).for_each(drop);
    if let Some(view) = Timeline::new(Arc::clone(database)) {
        // An error is of what is noted beside it.
        let _ = timeline(&Arc::new(view));
    }
    if let Some(view) = Profiles::new(Arc::clone(database)) {
        profile(&view);
    }
}

fn timeline(view: &Arc<Timeline>) -> Result<()> {
    let (_, _) = (view.clocks(), view.tracks());
    let mut events = Arc::clone(view).events(&Window::default())?;
    while events.next()?.is_some() {}
    Ok(())
}

/// Reads threads, contexts with their names, and values by both ways.
fn profile(view: &Profiles) {
    let noted = |result: Result<()>| {
        if let Err(error) = result {
            view.note(&error);
        }
    };
    noted(walk(view));
    for thread in (0..view.thread_count()).filter_map(|thread| u32::try_from(thread).ok()) {
        noted(view.thread(ThreadId(thread)).map(drop));
        noted(view.thread_values(ThreadId(thread)).map(|values| values.for_each(drop)));
    }
    if !view.metrics().is_empty() {
        let question = MetricQuery { view, metric: MetricId(0), threads: None };
        noted(flat(&question, FlatGrouping::Function).map(drop));
    }
}

fn walk(view: &Profiles) -> Result<()> {
    for step in Walk::new(view)? {
        let Step::Enter(context, _) = step? else { continue };
        if let Err(error) = check_context(view, &context) {
            view.note(&error);
        }
    }
    Ok(())
}

fn check_context(view: &Profiles, context: &Context) -> Result<()> {
    view.label(context)?;
    context.function.map(|function| view.function(function)).transpose()?;
    context.source.map(|(file, _)| view.file(file)).transpose()?;
    context.point.map(|(module, _)| view.module(module)).transpose()?;
    view.context_values(context)?.for_each(drop);
    Ok(())
}
