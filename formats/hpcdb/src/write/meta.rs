//! `meta.db`: names, metrics, and the tree of contexts.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kymo_core::bytes::Sink;
use kymo_core::model::profile::{
    FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node, Relation, Scope, Statistic,
    Thread,
};
use kymo_core::{Error, Result};

use super::SCOPES;
use super::file::{Out, header, sink};
use crate::spec::{
    COMBINE_MAX, COMBINE_MIN, COMBINE_SUM, CONTEXT_BYTES, ENTRY_BYTES, FILE_BYTES, FUNCTION_BYTES,
    FileKind, HAS_FUNCTION, HAS_POINT, HAS_SOURCE, LEXICAL_FUNCTION, LEXICAL_INSTRUCTION,
    LEXICAL_LINE, LEXICAL_LOOP, METRIC_BYTES, MODULE_BYTES, RELATION_CALL, RELATION_INLINED,
    RELATION_LEXICAL, SCOPE_BYTES, SCOPE_INSTANCE_BYTES, SUMMARY_BYTES,
};

/// Kinds of identifiers that every database names.
const ID_KINDS: [&str; 8] =
    ["SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE"];

/// Propagation scopes: name, type, propagation index.
const PROPAGATION_SCOPES: [(&str, u8, u8); 4] =
    [("point", 1, 255), ("function", 3, 0), ("lex_aware", 0, 255), ("execution", 2, 255)];

/// `meta.db`, before it is written.
#[derive(Debug)]
pub(super) struct MetaWriter {
    title: String,
    id_kinds: Vec<String>,
    statistics: Vec<Statistic>,
    metrics: Vec<Metric>,
    modules: Vec<String>,
    files: Vec<String>,
    /// Which files are copied into the database, to the path they have.
    copied: HashSet<u64>,
    functions: Vec<Function>,
    contexts: Vec<Written>,
    /// The place of each context in that list, by its number.
    by_number: HashMap<u32, usize>,
}

/// A context, and where its children are once they are written.
#[derive(Debug)]
struct Written {
    number: u32,
    node: Node,
    children: Vec<usize>,
    /// Bytes of the children, and where they begin.
    array: (u64, u64),
}

/// Where records of one kind are.
#[derive(Clone, Copy)]
struct Records {
    first: u64,
    size: u64,
}

impl Records {
    fn at(self, index: u64) -> u64 {
        self.first + self.size * index
    }
}

impl MetaWriter {
    pub(super) fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            id_kinds: ID_KINDS.map(str::to_owned).to_vec(),
            statistics: vec![Statistic::Sum],
            metrics: Vec::new(),
            modules: Vec::new(),
            files: Vec::new(),
            copied: HashSet::new(),
            functions: Vec::new(),
            contexts: Vec::new(),
            by_number: HashMap::new(),
        }
    }

    /// Says which statistics each metric has.
    pub(super) fn statistics(&mut self, statistics: &[Statistic]) {
        self.statistics = statistics.to_vec();
    }

    pub(super) fn statistic_count(&self) -> usize {
        self.statistics.len()
    }

    /// The place of a statistic among those that each metric has.
    pub(super) fn statistic(&self, statistic: Statistic) -> Result<usize> {
        let place = self.statistics.iter().position(|known| *known == statistic);
        place.ok_or_else(|| Error::request("a statistic comes that was not told of"))
    }

    pub(super) fn metric(&mut self, metric: &Metric) -> Result<MetricId> {
        let id = u32::try_from(self.metrics.len());
        let id = id.map_err(|_| Error::request("there are too many metrics"))?;
        self.metrics.push(metric.clone());
        Ok(MetricId(id))
    }

    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    pub(super) fn metric_count(&self) -> u32 {
        u32::try_from(self.metrics.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn module(&mut self, path: &str) -> ModuleId {
        self.modules.push(path.to_owned());
        ModuleId(self.modules.len() as u64 - 1)
    }

    pub(super) fn file(&mut self, path: &str) -> FileId {
        self.files.push(path.to_owned());
        FileId(self.files.len() as u64 - 1)
    }

    /// The path of a file that was taken before.
    pub(super) fn file_path(&self, id: FileId) -> Result<&str> {
        let path = usize::try_from(id.0).ok().and_then(|index| self.files.get(index));
        let path = path.ok_or_else(|| Error::request("a text of a file that was not taken"))?;
        if self.copied.contains(&id.0) {
            return Err(Error::request(format!("{path} has a text already")));
        }
        Ok(path)
    }

    /// Notes that a file is in the database, at a path.
    pub(super) fn copied(&mut self, id: FileId, path: String) {
        if let Some(file) = usize::try_from(id.0).ok().and_then(|index| self.files.get_mut(index)) {
            *file = path;
            self.copied.insert(id.0);
        }
    }

    pub(super) fn function(&mut self, function: &Function) -> FunctionId {
        self.functions.push(function.clone());
        FunctionId(self.functions.len() as u64 - 1)
    }

    pub(super) fn context(&mut self, parent: Option<u32>, number: u32, node: &Node) -> Result<()> {
        if parent.is_none() != (node.scope == Scope::Entry) {
            let why = "is no entry point, or an entry point below another";
            return Err(Error::request(format!("context {number} at the top {why}")));
        }
        let index = self.contexts.len();
        if number == 0 || self.by_number.insert(number, index).is_some() {
            return Err(Error::request(format!("context {number} cannot be there twice, or be 0")));
        }
        if let Some(parent) = parent {
            let above = self.by_number.get(&parent).filter(|above| **above != index);
            let above = above.and_then(|above| self.contexts.get_mut(*above));
            let absent = || Error::request(format!("context {number} hangs below none"));
            above.ok_or_else(absent)?.children.push(index);
        }
        self.contexts.push(Written { number, node: *node, children: Vec::new(), array: (0, 0) });
        Ok(())
    }

    /// The highest number of a context.
    pub(super) fn contexts_max(&self) -> u32 {
        self.contexts.iter().map(|context| context.number).max().unwrap_or(0)
    }

    /// Names every kind of identifier that threads have.
    pub(super) fn id_kinds(&mut self, threads: &[Thread]) -> Vec<String> {
        for part in threads.iter().flat_map(|thread| &thread.ids) {
            if !self.id_kinds.iter().any(|known| **known == *part.kind.0) {
                self.id_kinds.push(part.kind.0.clone().into_owned());
            }
        }
        self.id_kinds.clone()
    }

    /// Writes the file.
    pub(super) fn write(mut self, path: &Path) -> Result<()> {
        let mut out = Out::create(path)?;
        out.zeros(FileKind::Meta.header_bytes())?;
        let general = self.general(&mut out)?;
        let id_names = self.id_names(&mut out)?;
        let metrics = self.write_metrics(&mut out)?;
        out.align(8)?;
        let (strings, texts) = self.strings(&mut out)?;
        let (modules, module_records) =
            paths(&mut out, &self.modules, &HashSet::new(), &texts, MODULE_BYTES)?;
        let (files, file_records) = paths(&mut out, &self.files, &self.copied, &texts, FILE_BYTES)?;
        let (functions, function_records) =
            self.write_functions(&mut out, &texts, module_records, file_records)?;
        let records = [function_records, file_records, module_records];
        let context = self.write_contexts(&mut out, &texts, records)?;
        let sections = [general, id_names, metrics, context, strings, modules, files, functions];
        out.fill(0, header(FileKind::Meta, &sections).as_slice())?;
        out.finish(FileKind::Meta)
    }

    fn general(&self, out: &mut Out) -> Result<(u64, u64)> {
        let start = out.at();
        let mut section = sink();
        section.u64(start + 16);
        section.u64(start + 16 + self.title.len() as u64 + 1);
        text(&mut section, &self.title);
        text(&mut section, "");
        whole(out, start, &section)
    }

    fn id_names(&self, out: &mut Out) -> Result<(u64, u64)> {
        let start = out.at();
        let count = u8::try_from(self.id_kinds.len());
        let count = count.map_err(|_| Error::request("there are too many kinds of ids"))?;
        let mut section = sink();
        section.u64(start + 16);
        section.u8(count);
        section.bytes(&[0; 7]);
        let mut at = start + 16 + 8 * u64::from(count);
        for kind in &self.id_kinds {
            section.u64(at);
            at += kind.len() as u64 + 1;
        }
        self.id_kinds.iter().for_each(|kind| text(&mut section, kind));
        whole(out, start, &section)
    }

    fn write_metrics(&self, out: &mut Out) -> Result<(u64, u64)> {
        let start = out.at();
        let count = self.metric_count();
        let metrics = Records { first: start + 0x20, size: METRIC_BYTES };
        let each = u64::from(SCOPES);
        let instances =
            Records { first: metrics.at(count.into()), size: SCOPE_INSTANCE_BYTES * each };
        let partials = self.statistics.len() as u64;
        let summaries =
            Records { first: instances.at(count.into()), size: SUMMARY_BYTES * each * partials };
        let scopes = Records { first: summaries.at(count.into()), size: SCOPE_BYTES };
        let mut texts = Texts::new(scopes.at(each));
        let mut section = sink();
        section.u64(metrics.first);
        section.u32(count);
        section.bytes(&[32, 16, 24, 0]);
        section.u64(scopes.first);
        section.u16(4);
        section.u8(16);
        section.bytes(&[0; 5]);
        for (metric, index) in self.metrics.iter().zip(0..) {
            section.u64(texts.of(&metric.name));
            section.u64(instances.at(index));
            section.u64(summaries.at(index));
            section.u16(4);
            section.u16(u16::try_from(partials * each).unwrap_or(0));
            section.u32(0);
        }
        // Ids leave room for all statistics of a metric, also where they number its scopes.
        let first = |metric: u64| metric * partials.max(1) * each;
        let id = |id: u64| u16::try_from(id).unwrap_or(u16::MAX);
        for metric in 0..u64::from(count) {
            for scope in 0..each {
                section.u64(scopes.at(scope));
                section.u16(id(first(metric) + scope));
                section.bytes(&[0; 6]);
            }
        }
        for metric in 0..u64::from(count) {
            for (statistic, place) in self.statistics.iter().zip(0..) {
                let (formula, combine) = formula_of(*statistic);
                for scope in 0..each {
                    section.u64(scopes.at(scope));
                    section.u64(texts.of(formula));
                    section.u16(combine.into());
                    section.u16(id(first(metric) + place * each + scope));
                    section.u32(0);
                }
            }
        }
        for (name, scope_type, propagation_index) in PROPAGATION_SCOPES {
            section.u64(texts.of(name));
            section.u8(scope_type);
            section.u8(propagation_index);
            section.bytes(&[0; 6]);
        }
        section.bytes(texts.bytes.as_slice());
        whole(out, start, &section)
    }

    /// The texts that modules, files, functions and entry points have.
    fn strings(&self, out: &mut Out) -> Result<((u64, u64), Texts)> {
        let start = out.at();
        let mut texts = Texts::new(start);
        let names = self.functions.iter().map(|function| &function.name);
        for name in self.modules.iter().chain(&self.files).chain(names) {
            texts.of(name);
        }
        texts.of("");
        out.put(texts.bytes.as_slice())?;
        let size = out.at() - start;
        out.align(8)?;
        Ok(((size, start), texts))
    }

    fn write_functions(
        &self,
        out: &mut Out,
        texts: &Texts,
        modules: Records,
        files: Records,
    ) -> Result<((u64, u64), Records)> {
        let start = out.at();
        let records = Records { first: start + 0x10, size: FUNCTION_BYTES };
        out.put(table(records, self.functions.len())?.as_slice())?;
        for function in &self.functions {
            let mut record = sink();
            record.u64(if function.name.is_empty() { 0 } else { texts.known(&function.name) });
            record.u64(function.module.map_or(0, |id| modules.at(id.0)));
            record.u64(function.offset);
            record.u64(function.file.map_or(0, |id| files.at(id.0)));
            record.u32(function.line);
            record.u32(0);
            out.put(record.as_slice())?;
        }
        Ok(((out.at() - start, start), records))
    }

    /// Children before those above them, entry points last.
    fn write_contexts(
        &mut self,
        out: &mut Out,
        texts: &Texts,
        records: [Records; 3],
    ) -> Result<(u64, u64)> {
        let start = out.at();
        out.zeros(0x10)?;
        for index in (0..self.contexts.len()).rev() {
            let Some(context) = self.contexts.get(index) else { continue };
            let first = out.at();
            for child in &context.children {
                if let Some(child) = self.contexts.get(*child) {
                    out.put(record_of(child, records).as_slice())?;
                }
            }
            let size = out.at() - first;
            if let (Some(context), true) = (self.contexts.get_mut(index), size > 0) {
                context.array = (size, first);
            }
        }
        let first = out.at();
        let entries: Vec<_> =
            self.contexts.iter().filter(|context| context.node.scope == Scope::Entry).collect();
        for entry in &entries {
            out.put(self.entry(entry, texts).as_slice())?;
        }
        let count = u16::try_from(entries.len());
        let mut section = sink();
        section.u64(first);
        section.u16(count.map_err(|_| Error::request("there are too many entry points"))?);
        section.u8(u8::try_from(ENTRY_BYTES).unwrap_or(32));
        out.fill(start, section.as_slice())?;
        Ok((out.at() - start, start))
    }

    fn entry(&self, entry: &Written, texts: &Texts) -> Sink {
        let function = entry.node.function.and_then(|id| usize::try_from(id.0).ok());
        let function = function.and_then(|index| self.functions.get(index));
        let name = function.map_or("", |function| function.name.as_str());
        let mut record = sink();
        record.u64(entry.array.0);
        record.u64(entry.array.1);
        record.u32(entry.number);
        record.u16(match name {
            "main thread" => 1,
            "application thread" => 2,
            _ => 0,
        });
        record.u16(0);
        record.u64(texts.known(name));
        record
    }
}

/// How a statistic is made of each thread's value, and how those are combined.
fn formula_of(statistic: Statistic) -> (&'static str, u8) {
    match statistic {
        Statistic::Count => ("1", COMBINE_SUM),
        Statistic::Sum => ("$$", COMBINE_SUM),
        Statistic::Squares => ("($$^2)", COMBINE_SUM),
        Statistic::Min => ("$$", COMBINE_MIN),
        Statistic::Max => ("$$", COMBINE_MAX),
    }
}

/// A context, with pointers to its function, file and module.
fn record_of(context: &Written, [functions, files, modules]: [Records; 3]) -> Sink {
    let Node { scope, relation, function, source, point } = context.node;
    let mut words = sink();
    let mut flags = 0;
    if let Some(function) = function {
        flags |= HAS_FUNCTION;
        words.u64(functions.at(function.0));
    }
    if let Some((file, line)) = source {
        flags |= HAS_SOURCE;
        words.u64(files.at(file.0));
        words.u32(line);
        words.u32(0);
    }
    if let Some((module, offset)) = point {
        flags |= HAS_POINT;
        words.u64(modules.at(module.0));
        words.u64(offset);
    }
    let mut record = sink();
    record.u64(context.array.0);
    record.u64(context.array.1);
    record.u32(context.number);
    record.u8(u8::try_from(flags).unwrap_or(0));
    record.u8(match relation {
        Relation::Lexical => RELATION_LEXICAL,
        Relation::Call => RELATION_CALL,
        Relation::Inlined => RELATION_INLINED,
    });
    record.u8(match scope {
        Scope::Loop => LEXICAL_LOOP,
        Scope::Line => LEXICAL_LINE,
        Scope::Instruction => LEXICAL_INSTRUCTION,
        Scope::Entry | Scope::Function | Scope::Placeholder | Scope::Other => LEXICAL_FUNCTION,
    });
    record.u8(u8::try_from(words.len() / 8).unwrap_or(0));
    record.u16((relation == Relation::Lexical).into());
    record.bytes(&[0; 6]);
    debug_assert!(record.len() as u64 == CONTEXT_BYTES);
    record.bytes(words.as_slice());
    record
}

/// A section of modules or files, each with a path, some of them copied.
fn paths(
    out: &mut Out,
    paths: &[String],
    copied: &HashSet<u64>,
    texts: &Texts,
    size: u64,
) -> Result<((u64, u64), Records)> {
    let start = out.at();
    let records = Records { first: start + 0x10, size };
    out.put(table(records, paths.len())?.as_slice())?;
    for (path, index) in paths.iter().zip(0..) {
        let mut record = sink();
        record.u32(copied.contains(&index).into());
        record.u32(0);
        record.u64(texts.known(path));
        out.put(record.as_slice())?;
    }
    Ok(((out.at() - start, start), records))
}

/// The header of a section with a list of records.
fn table(records: Records, count: usize) -> Result<Sink> {
    let count = u32::try_from(count).map_err(|_| Error::request("there are too many names"))?;
    let mut header = sink();
    header.u64(records.first);
    header.u32(count);
    header.u16(u16::try_from(records.size).unwrap_or(0));
    header.u16(0);
    Ok(header)
}

fn text(section: &mut Sink, text: &str) {
    section.bytes(text.as_bytes());
    section.u8(0);
}

/// Writes a section, and tells its size and where it is.
fn whole(out: &mut Out, start: u64, section: &Sink) -> Result<(u64, u64)> {
    out.put(section.as_slice())?;
    let size = out.at() - start;
    out.align(8)?;
    Ok((size, start))
}

/// Texts, each once, from a place on.
struct Texts {
    first: u64,
    bytes: Sink,
    known: HashMap<String, u64>,
}

impl Texts {
    fn new(first: u64) -> Self {
        Self { first, bytes: sink(), known: HashMap::new() }
    }

    /// Where a text is; it is added where it is new. A zero byte within it would end it.
    fn of(&mut self, wanted: &str) -> u64 {
        if let Some(known) = self.known.get(wanted) {
            return *known;
        }
        let at = self.first + self.bytes.len() as u64;
        text(&mut self.bytes, &wanted.replace('\0', " "));
        self.known.insert(wanted.to_owned(), at);
        at
    }

    /// Where a text is that was added before.
    fn known(&self, wanted: &str) -> u64 {
        self.known.get(wanted).copied().unwrap_or(self.first)
    }
}
