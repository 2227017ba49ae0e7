//! A sound database, read and written again by our writer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::{Context, Destination, Error, Result, Severity, Source};
use kymo_model::profile::{
    Column, ContextNumber, FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node,
    ProfileSink, ProfileView, SinkValue, Statistic, Thread, ThreadId,
};
use kymo_model::timeline::TimeNs;

use crate::model::{Profiles, context_of, scope_of, statistic_of};
use crate::read::{Database, Meta, Trust};
use crate::repair::copy_other_files;
use crate::rows;
use crate::spec::combine_name;
use crate::types::{self, Layout, Strided};
use crate::walk::TreeWalk;
use crate::write::{Codes, Kind, Writer};

/// Writes all of a database again: the described draft as it is, all others as released.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    let why = "a database is written as a whole: name its directory";
    if !source.is_directory() {
        return Err(Error::request(why));
    }
    let database = Arc::new(Database::open(source, context, Trust::Strict)?);
    let Some(meta) = &database.meta else { return Err(Error::request("there is no meta.db")) };
    let writer = match database.layout() {
        Layout::Described => Writer::described(to, &meta.title),
        _ => Writer::new(to, &meta.title),
    };
    let mut rewriting = Rewriting { database: &database, meta, writer: writer? };
    rewriting.metrics()?;
    rewriting.names()?;
    rewriting.contexts()?;
    rewriting.values()?;
    rewriting.samples()?;
    // What could not be read would be missing.
    if let Some(finding) = database.findings().into_iter().find(|one| one.severity > Severity::Note)
    {
        return Err(Error::request(format!("it is damaged: {}", finding.message)));
    }
    let limits = &context.limits;
    rewriting.writer.finish_with(|path| copy_other_files(source, &database, limits, path).map(drop))
}

/// A database on its way.
struct Rewriting<'a> {
    database: &'a Arc<Database>,
    meta: &'a Meta,
    writer: Writer,
}

impl Rewriting<'_> {
    fn metrics(&mut self) -> Result<()> {
        let metrics = &self.meta.metrics;
        let (those, others): (Vec<_>, Vec<_>) =
            kinds(metrics)?.into_iter().partition(|kind| model_statistic(kind).is_some());
        self.writer.statistics(&those.iter().filter_map(model_statistic).collect::<Vec<_>>())?;
        self.writer.keep(others, &self.meta.scopes);
        for metric in metrics {
            // Those that are not known are refused by now.
            let reaches = metric
                .instances
                .iter()
                .filter_map(|scope_instance| scope_of(&scope_instance.scope))
                .collect();
            self.writer.metric(&Metric { reaches, ..Metric::named(metric.name.clone()) })?;
        }
        // By the ids they have, which need not be in the order of the list.
        let mut order: Vec<_> = (0_u32..).zip(metrics).collect();
        order.sort_by_key(|(_, metric)| {
            metric.instances.iter().map(|scope_instance| scope_instance.prop_metric_id).min()
        });
        let mut ranks = vec![0; metrics.len()];
        for (rank, (index, _)) in (0_u32..).zip(order) {
            if let Some(slot) = usize::try_from(index).ok().and_then(|at| ranks.get_mut(at)) {
                *slot = rank;
            }
        }
        self.writer.describe(&self.meta.description, &self.meta.id_names, ranks);
        Ok(())
    }

    /// Modules, files and functions, also those that nothing leads to.
    fn names(&mut self) -> Result<()> {
        for module in rows::modules(self.database) {
            self.writer.module(&module.path.unwrap_or_default())?;
        }
        for file in rows::files(self.database) {
            let path = file.path.unwrap_or_default();
            let id = self.writer.file(&path)?;
            if file.is_copied {
                self.writer.copied(id, &path);
            }
        }
        for offset in self.meta.functions.offsets() {
            let found = self.meta.part.with_file(self.meta.function(offset))?;
            self.writer.function(&Function {
                name: found.name.unwrap_or_default(),
                module: placed(self.meta.modules, found.module)?.map(ModuleId),
                offset: found.offset,
                file: placed(self.meta.files, found.file)?.map(FileId),
                line: found.line,
            })?;
        }
        Ok(())
    }

    fn contexts(&mut self) -> Result<()> {
        for (context, parent, _) in TreeWalk::new(Arc::clone(self.database)) {
            let above = parent.map(|parent| ContextNumber(parent.into()));
            let node = self.node(&context)?;
            self.writer.context(above, ContextNumber(context.ctx_id.into()), &node)?;
            let call = self.source(context.call)?;
            self.writer.keep_codes(context.ctx_id, Codes::read(&context, call));
        }
        Ok(())
    }

    fn node(&mut self, context: &types::Context) -> Result<Node> {
        let found = context_of(self.meta, context);
        let function = match &context.entry {
            Some(entry) => {
                let name = entry.name.clone();
                Some(self.writer.function(&Function { name, ..Function::default() })?)
            }
            None => placed(self.meta.functions, context.function)?.map(FunctionId),
        };
        let source = self.source(context.source)?;
        let module = placed(self.meta.modules, context.point.map(|(module, _)| module))?;
        let point = module.map(ModuleId).zip(context.point.map(|(_, offset)| offset));
        let (scope, relation) = (found.scope, found.relation);
        Ok(Node { scope, relation, function, source, point })
    }

    /// A file by its place, and a line.
    fn source(&self, source: Option<(u64, u32)>) -> Result<Option<(FileId, u32)>> {
        let file = placed(self.meta.files, source.map(|(file, _)| file))?;
        Ok(file.map(FileId).zip(source.map(|(_, line)| line)))
    }

    fn values(&mut self) -> Result<()> {
        let view = Profiles::new(Arc::clone(self.database));
        let view = view.ok_or_else(|| Error::request("there are no values"))?;
        let ids = || (0..).map(ThreadId).take(view.thread_count());
        let threads =
            ids().map(|id| thread(self.database, &view, id)).collect::<Result<Vec<_>>>()?;
        self.writer.threads(&threads)?;
        self.require_listed()?;
        for id in ids() {
            let mut values = view.thread_values(id)?.map(|found| {
                let found = found?;
                let (context, column, value) = (found.context, found.column, found.value);
                Ok(SinkValue { context, column, value })
            });
            self.writer.values(id, &mut values)?;
        }
        self.summary()
    }

    /// Refuses values of metrics that are not listed: they would be missing.
    fn require_listed(&self) -> Result<()> {
        let instances = self.meta.metrics.iter().flat_map(|metric| &metric.instances);
        let listed: HashSet<u64> =
            instances.map(|scope_instance| scope_instance.prop_metric_id.into()).collect();
        let values = match self.database.profile {
            Some(_) => rows::values(self.database),
            None => rows::context_values(self.database),
        };
        let mut values = values.filter(|row| row.profile > 0);
        match values.find(|row| !listed.contains(&row.metric)) {
            Some(row) => Err(unlisted(row.metric)),
            None => Ok(()),
        }
    }

    /// The statistics of the summary, which need not be what threads come to.
    fn summary(&mut self) -> Result<()> {
        let Some(file) = &self.database.profile else { return Ok(()) };
        let Some(first) = file.part.with_file(file.profile(0))? else { return Ok(()) };
        if !first.is_summary {
            return Ok(());
        }
        let columns = columns(&self.meta.metrics)?;
        let values = rows::values_of(Arc::clone(self.database), 0, first);
        self.writer.placed_summary(values.map(|row| {
            let (column, place) = *columns.get(&row.metric).ok_or_else(|| unlisted(row.metric))?;
            Ok((ContextNumber(row.context), column, place, row.value))
        }))
    }

    fn samples(&mut self) -> Result<()> {
        let Some(file) = &self.database.trace else { return Ok(()) };
        for index in 0..file.traces.count {
            let Some(trace) = file.part.with_file(file.trace(index))? else { continue };
            let thread = trace.prof_index.checked_sub(1).map(ThreadId);
            let thread = thread.ok_or_else(|| Error::request("the summary has a trace"))?;
            let mut samples = (0..trace.count).map(|index| {
                let element = file.part.with_file(file.element(&trace, index))?;
                let time = i64::try_from(element.timestamp);
                let time = TimeNs(time.map_err(|_| Error::request("a sample has no time"))?);
                let context = u64::from(element.ctx_id);
                Ok((time, (context != 0).then_some(ContextNumber(context))))
            });
            if trace.count > 0 {
                self.writer.samples(thread, &mut samples)?;
            }
        }
        Ok(())
    }
}

/// Returns the name of a thread; an empty one where it has no name but its place.
fn thread(database: &Database, view: &Profiles, id: ThreadId) -> Result<Thread> {
    let thread = view.thread(id)?;
    let is_named = database.profile.is_none() || thread.id("PROFILE").is_none();
    Ok(if is_named { thread } else { Thread::default() })
}

/// Returns the reason why a value is not written.
fn unlisted(metric: u64) -> Error {
    Error::Request(format!("there are values of metric {metric}, which is not listed"))
}

/// The index of the record that a pointer leads to. One that is none of the list would be missing.
fn placed(table: Strided, pointer: Option<u64>) -> Result<Option<u64>> {
    let Some(pointer) = pointer else { return Ok(None) };
    if !table.is_record_start(pointer) {
        return Err(Error::Request(format!("{pointer:#x} leads to none of the list")));
    }
    Ok(Some((pointer - table.pointer) / table.stride.max(1)))
}

/// Returns the model's name for a statistic; `None` for one that it has no word for.
fn model_statistic(kind: &Kind) -> Option<Statistic> {
    statistic_of(&kind.formula, combine_name(kind.combine))
}

/// The statistics that every metric has: those that the model knows in the order of their ids, then
/// the others.
fn kinds(metrics: &[types::Metric]) -> Result<Vec<Kind>> {
    let mut common: Option<Vec<Kind>> = None;
    for metric in metrics {
        let is_instance = |scope: &str| {
            metric.instances.iter().any(|scope_instance| *scope_instance.scope == *scope)
        };
        if !metric.instances.iter().all(|scope_instance| scope_of(&scope_instance.scope).is_some())
            || !metric.statistics.iter().all(|statistic| is_instance(&statistic.scope))
        {
            let why = format!("{} has scopes that are not written", metric.name);
            return Err(Error::Request(why));
        }
        let mut found: Vec<_> = metric.statistics.iter().collect();
        found.sort_by_key(|item| item.stat_metric_id);
        let mut kinds: Vec<_> = found.into_iter().map(kind_of).collect();
        kinds.dedup();
        // Those that are equal in this stay in their order.
        kinds.sort_by_key(|kind| model_statistic(kind).is_none());
        if common.get_or_insert_with(|| kinds.clone()) != &kinds {
            let why = "metrics with different statistics are not written";
            return Err(Error::request(why));
        }
    }
    Ok(common.unwrap_or_default())
}

fn kind_of(statistic: &types::Statistic) -> Kind {
    Kind { formula: statistic.formula.to_string(), combine: statistic.combine }
}

/// Returns the meaning of each id of the summary: a column, and the place of the statistic.
fn columns(metrics: &[types::Metric]) -> Result<HashMap<u64, (Column, usize)>> {
    let (kinds, mut columns) = (kinds(metrics)?, HashMap::new());
    for (metric, described) in (0..).map(MetricId).zip(metrics) {
        for statistic in &described.statistics {
            let kind = kind_of(statistic);
            let place = kinds.iter().position(|known| *known == kind);
            if let Some((place, reach)) = place.zip(scope_of(&statistic.scope)) {
                columns.insert(statistic.stat_metric_id.into(), (Column { metric, reach }, place));
            }
        }
    }
    Ok(columns)
}
