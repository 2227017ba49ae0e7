//! `meta.db`: names, metrics, and the tree of contexts.

mod contexts;
mod kept;
mod metrics;
mod texts;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kymo_core::bytes::Sink;
use kymo_core::{Error, Invariant as _, Result};
use kymo_model::profile::{
    ComputedMetric, FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node, Scope,
    Statistic, Thread,
};

use super::cct::Numbered;
use super::file::{FileWriter, Form};
use crate::spec::{FILE_BYTES, FUNCTION_BYTES, FileKind, MODULE_BYTES};
use crate::types::PropagationScope;
pub(crate) use kept::{Codes, Kind};
use texts::{Texts, text};

/// Kinds of identifiers that every database names.
const ID_KINDS: [&str; 8] =
    ["SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE"];

/// Greatest number of kinds: they are counted in a byte.
const ID_KINDS_MAX: usize = 255;

/// `meta.db`, before it is written.
#[derive(Debug)]
pub(super) struct MetaWriter {
    form: Form,
    title: String,
    description: String,
    id_kinds: Vec<String>,
    statistics: Vec<Statistic>,
    /// Statistics beside those, which the model has no words for.
    others: Vec<Kind>,
    /// All that can be, by their places in the order of ids.
    scopes: Vec<PropagationScope>,
    /// Names of those that are listed whether a metric has them or not.
    read_scopes: Vec<String>,
    metrics: Vec<Metric>,
    computed: Vec<ComputedMetric>,
    /// The place of each metric in the order of ids.
    ranks: Vec<u32>,
    modules: Vec<String>,
    files: Vec<String>,
    /// Files that are copied into the database, to the path they have.
    copied: HashSet<u64>,
    functions: Vec<Function>,
    /// Functions that entry points are called by.
    entries: HashSet<u64>,
    contexts: Vec<WrittenContext>,
    /// The place of each context in that list, by its number.
    by_number: HashMap<u32, usize>,
}

/// A context, and where its children are once they are written.
#[derive(Debug)]
struct WrittenContext {
    number: u32,
    node: Node,
    codes: Codes,
    children: Vec<usize>,
    /// Bytes of the children, and where they begin.
    array: (u64, u64),
}

/// Places of the records of one kind.
#[derive(Clone, Copy)]
struct Records {
    first: u64,
    size: u64,
}

impl Records {
    fn offset_of(self, index: u64) -> u64 {
        self.first + self.size * index
    }
}

/// Places of functions, files and modules.
struct Places {
    functions: Vec<u64>,
    files: Records,
    modules: Records,
}

impl Places {
    fn function(&self, id: FunctionId) -> Result<u64> {
        let place = usize::try_from(id.0).ok().and_then(|index| self.functions.get(index));
        place.copied().or_broken("a context is of a function that was written")
    }
}

impl MetaWriter {
    pub(super) fn new(title: &str, form: Form) -> Self {
        Self {
            form,
            title: title.to_owned(),
            description: String::new(),
            id_kinds: ID_KINDS.map(str::to_owned).to_vec(),
            statistics: vec![Statistic::Sum],
            others: Vec::new(),
            scopes: kept::scopes(&[]),
            read_scopes: Vec::new(),
            metrics: Vec::new(),
            computed: Vec::new(),
            ranks: Vec::new(),
            modules: Vec::new(),
            files: Vec::new(),
            copied: HashSet::new(),
            functions: Vec::new(),
            entries: HashSet::new(),
            contexts: Vec::new(),
            by_number: HashMap::new(),
        }
    }

    /// Says which statistics each metric has.
    pub(super) fn set_statistics(&mut self, statistics: &[Statistic]) {
        self.statistics = statistics.to_vec();
    }

    pub(super) fn statistics(&self) -> &[Statistic] {
        &self.statistics
    }

    pub(super) fn statistic_count(&self) -> usize {
        self.statistics.len() + self.others.len()
    }

    /// Takes statistics that follow the others, and codes of scopes.
    pub(super) fn keep(&mut self, others: Vec<Kind>, read: &[PropagationScope]) {
        self.others = others;
        self.scopes = kept::scopes(read);
        self.read_scopes = read.iter().map(|scope| scope.name.clone()).collect();
    }

    /// Says with which codes a context is written that was taken before.
    pub(super) fn keep_codes(&mut self, number: u32, codes: Codes) {
        let index = self.by_number.get(&number);
        if let Some(context) = index.and_then(|index| self.contexts.get_mut(*index)) {
            context.codes = codes;
        }
    }

    /// The place of a statistic among those that each metric has.
    pub(super) fn statistic(&self, statistic: Statistic) -> Result<usize> {
        let place = self.statistics.iter().position(|known| *known == statistic);
        place.ok_or_else(|| Error::request("a statistic comes that was not told of"))
    }

    /// Sets the description of the database as a whole, and the names of the kinds of identifiers.
    pub(super) fn describe(&mut self, description: &str, id_kinds: &[String]) {
        description.clone_into(&mut self.description);
        self.id_kinds = id_kinds.to_vec();
    }

    /// Takes a metric that is computed from others, which is only told of in the taxonomy.
    pub(super) fn computed(&mut self, computed: &ComputedMetric) {
        let metric = printable(&computed.metric);
        self.computed.push(ComputedMetric { metric, ..computed.clone() });
    }

    pub(super) fn all_computed(&self) -> &[ComputedMetric] {
        &self.computed
    }

    pub(super) fn metric(&mut self, metric: &Metric) -> Result<MetricId> {
        let id = u32::try_from(self.metrics.len());
        let id = id.map_err(|_| Error::request("there are too many metrics"))?;
        self.metrics.push(printable(metric));
        self.ranks.push(id);
        Ok(MetricId(id))
    }

    /// Gives metrics other places in the order of ids than those they are listed in.
    pub(super) fn rank(&mut self, ranks: Vec<u32>) {
        self.ranks = ranks;
    }

    /// The place of a metric in the order of ids.
    pub(super) fn rank_of(&self, metric: MetricId) -> u32 {
        let rank = usize::try_from(metric.0).ok().and_then(|index| self.ranks.get(index));
        rank.copied().unwrap_or(metric.0)
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
        if let (Scope::Entry, Some(function)) = (node.scope, node.function) {
            self.entries.insert(function.0);
        }
        let codes = Codes::from_node(node, self.name_of(node));
        let (node, children) = (*node, Vec::new());
        self.contexts.push(WrittenContext { number, node, codes, children, array: (0, 0) });
        Ok(())
    }

    /// Returns the name of the function of a context.
    fn name_of(&self, node: &Node) -> &str {
        let function = node.function.and_then(|id| usize::try_from(id.0).ok());
        let function = function.and_then(|index| self.functions.get(index));
        function.map_or("", |function| function.name.as_str())
    }

    /// Returns the number of contexts, and their highest number.
    pub(super) fn numbered(&self) -> Numbered {
        let highest = self.contexts.iter().map(|context| context.number).max().unwrap_or(0);
        Numbered { count: self.contexts.len() as u64, highest }
    }

    /// Names the kinds of identifiers that threads have, as many as there may be.
    pub(super) fn id_kinds(&mut self, threads: &[Thread]) -> Vec<String> {
        for part in threads.iter().flat_map(|thread| &thread.ids) {
            let is_new = !self.id_kinds.iter().any(|known| **known == *part.kind.0);
            if is_new && self.id_kinds.len() < ID_KINDS_MAX {
                self.id_kinds.push(part.kind.0.clone().into_owned());
            }
        }
        self.id_kinds.clone()
    }

    /// Writes the file.
    pub(super) fn write(mut self, path: &Path) -> Result<()> {
        let mut out = FileWriter::create(path)?;
        out.zeros(FileKind::Meta.header_bytes())?;
        let general = self.general(&mut out)?;
        let id_names = self.id_names(&mut out)?;
        let metrics = self.write_metrics(&mut out)?;
        out.align(8)?;
        let (strings, texts) = self.strings(&mut out)?;
        let (modules, module_records) =
            self.paths(&mut out, &self.modules, &HashSet::new(), &texts, MODULE_BYTES)?;
        let (files, file_records) =
            self.paths(&mut out, &self.files, &self.copied, &texts, FILE_BYTES)?;
        let (functions, function_at) =
            self.write_functions(&mut out, &texts, module_records, file_records)?;
        let places =
            Places { functions: function_at, files: file_records, modules: module_records };
        let context = self.write_contexts(&mut out, &texts, &places)?;
        let sections = [general, id_names, metrics, context, strings, modules, files, functions];
        out.fill(0, self.form.header(FileKind::Meta, &sections).as_slice())?;
        out.finish(FileKind::Meta)
    }

    fn general(&self, out: &mut FileWriter) -> Result<(u64, u64)> {
        let start = out.position();
        let mut section = self.form.sink();
        section.u64(start + 16);
        section.u64(start + 16 + self.title.len() as u64 + 1);
        text(&mut section, &self.title);
        text(&mut section, &self.description);
        write_section(out, start, &section)
    }

    fn id_names(&self, out: &mut FileWriter) -> Result<(u64, u64)> {
        let start = out.position();
        let count = u8::try_from(self.id_kinds.len());
        let count = count.map_err(|_| Error::request("there are too many kinds of ids"))?;
        let mut section = self.form.sink();
        section.u64(start + 16);
        if self.form.is_described() {
            section.u16(count.into());
            section.bytes(&[0; 6]);
        } else {
            section.u8(count);
            section.bytes(&[0; 7]);
        }
        let mut at = start + 16 + 8 * u64::from(count);
        for kind in &self.id_kinds {
            section.u64(at);
            at += kind.len() as u64 + 1;
        }
        self.id_kinds.iter().for_each(|kind| text(&mut section, kind));
        write_section(out, start, &section)
    }

    /// The texts that modules, files, functions and entry points have.
    fn strings(&self, out: &mut FileWriter) -> Result<((u64, u64), Texts)> {
        let start = out.position();
        let mut texts = Texts::new(start, self.form);
        let names = self.functions.iter().map(|function| &function.name);
        for name in self.modules.iter().chain(&self.files).chain(names) {
            texts.intern(name);
        }
        texts.intern("");
        if self.form.is_described() {
            for (_, root) in contexts::DESCRIBED_ROOTS {
                texts.intern(root);
            }
        }
        out.put(texts.bytes.as_slice())?;
        let size = out.position() - start;
        out.align(8)?;
        Ok(((size, start), texts))
    }

    /// Writes functions, and tells where each is. In the released layout entry points are none.
    fn write_functions(
        &self,
        out: &mut FileWriter,
        texts: &Texts,
        modules: Records,
        files: Records,
    ) -> Result<((u64, u64), Vec<u64>)> {
        let start = out.position();
        let records = Records { first: start + 0x10, size: FUNCTION_BYTES };
        let is_function = self.functions_of_code();
        let count = is_function.iter().filter(|is_function| **is_function).count();
        out.put(table(self.form, records, count)?.as_slice())?;
        let mut at = Vec::with_capacity(self.functions.len());
        for ((function, index), is_function) in self.functions.iter().zip(0..).zip(is_function) {
            at.push(out.position());
            if !is_function {
                continue;
            }
            let mut record = self.form.sink();
            let name = self.function_name(index, &function.name);
            record.u64(if name.is_empty() { 0 } else { texts.interned_offset(name) });
            record.u64(function.module.map_or(0, |id| modules.offset_of(id.0)));
            record.u64(function.offset);
            record.u64(function.file.map_or(0, |id| files.offset_of(id.0)));
            record.u32(function.line);
            record.u32(0);
            out.put(record.as_slice())?;
        }
        Ok(((out.position() - start, start), at))
    }

    /// Returns true if each function is more than what an entry point is called.
    fn functions_of_code(&self) -> Vec<bool> {
        let mut is_function = vec![true; self.functions.len()];
        if self.form.is_described() {
            return is_function;
        }
        let place = |id: u64| usize::try_from(id).unwrap_or(usize::MAX);
        for entry in &self.entries {
            if let Some(is_function) = is_function.get_mut(place(*entry)) {
                *is_function = false;
            }
        }
        let nodes = self.contexts.iter().map(|context| &context.node);
        for function in nodes.filter(|node| node.scope != Scope::Entry).filter_map(|n| n.function) {
            if let Some(is_function) = is_function.get_mut(place(function.0)) {
                *is_function = true;
            }
        }
        is_function
    }

    /// A section of modules or files, each with a path, some of them copied.
    fn paths(
        &self,
        out: &mut FileWriter,
        paths: &[String],
        copied: &HashSet<u64>,
        texts: &Texts,
        size: u64,
    ) -> Result<((u64, u64), Records)> {
        let start = out.position();
        let records = Records { first: start + 0x10, size };
        out.put(table(self.form, records, paths.len())?.as_slice())?;
        for (path, index) in paths.iter().zip(0..) {
            let mut record = self.form.sink();
            record.u32(copied.contains(&index).into());
            record.u32(0);
            record.u64(texts.interned_offset(path));
            out.put(record.as_slice())?;
        }
        Ok(((out.position() - start, start), records))
    }
}

/// The header of a section with a list of records.
fn table(form: Form, records: Records, count: usize) -> Result<Sink> {
    let count = u32::try_from(count).map_err(|_| Error::request("there are too many names"))?;
    let mut header = form.sink();
    header.u64(records.first);
    header.u32(count);
    header.u16(u16::try_from(records.size).unwrap_or(0));
    header.u16(0);
    Ok(header)
}

/// Writes a section, and tells its size and where it is.
fn write_section(out: &mut FileWriter, start: u64, section: &Sink) -> Result<(u64, u64)> {
    out.put(section.as_slice())?;
    let size = out.position() - start;
    out.align(8)?;
    Ok((size, start))
}
/// A metric under the name that texts have here, which end at their first zero byte: it is known by
/// that name in several files.
fn printable(metric: &Metric) -> Metric {
    let [name, description] =
        [&metric.name, &metric.description].map(|text| texts::printable(text));
    Metric { name, description, ..metric.clone() }
}
