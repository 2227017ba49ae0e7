//! A format of a few lines, sound or with one fault, to test the kit with.
//!
//! A file is `TOY1`, a count of four bytes, and as many numbers of four bytes.

mod tests;

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field as Column, Schema, SchemaRef};
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadErrorKind, Sink};
use kymo_core::{Context, Destination, Error, Finding, Probe, Result, Source};
use kymo_model::arrays::{
    ArraysView, Attribute, Block, BlockId, Step, Variable, VariableId, VariableKind,
};
use kymo_model::table::{ColumnTable, Columns};
use kymo_model::{
    Capability, Confidence, Dataset, DumpRequest, Flow, Format, FormatInfo, Record, RecordSink,
    RepairReport, Summary, Table,
};

const MAGIC: &[u8; 4] = b"TOY1";
const HEAD_BYTES: u64 = 8;

/// Fault of a toy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    SniffsByNameOnly,
    Panics,
    Hangs,
    AllocatesByCount,
    InventsWhatIsCut,
    HidesWhatIsCut,
    LosesWhenRewriting,
    WritesTheDateOfToday,
    TableIsOffByOne,
    LimitLosesARow,
    ChecksNothing,
    CheckFails,
    RepairKeepsTheCount,
    RepairLeavesLitter,
    IgnoresLimits,
    GivesTwiceAtOnce,
    GivesTwiceLater,
}

/// A format with a fault.
struct Toy(Fault);

static INFO: FormatInfo = FormatInfo {
    name: "toy",
    title: "Toy",
    about: "a list of numbers",
    extensions: &["toy"],
    dialects: &[],
    abilities: &[Capability::Write, Capability::Repair],
    dump_styles: &[],
};

/// A file of some numbers.
fn file(numbers: &[u32]) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    sink.bytes(MAGIC);
    sink.u32(u32::try_from(numbers.len()).unwrap());
    for number in numbers {
        sink.u32(*number);
    }
    sink.into_vec()
}

impl Toy {
    /// The numbers that can be read, and why not all can.
    fn read(&self, bytes: &[u8], limits: &Limits) -> (Vec<u32>, Option<ReadError>) {
        let mut numbers = Vec::new();
        let error = self.read_into(&mut numbers, bytes, limits).err();
        (numbers, error)
    }

    fn read_into(
        &self,
        numbers: &mut Vec<u32>,
        bytes: &[u8],
        limits: &Limits,
    ) -> std::result::Result<(), ReadError> {
        let mut cursor = Cursor::new(bytes, Endian::Little);
        if cursor.array("magic")? != *MAGIC {
            return Err(ReadError::invalid("magic", 0, "this is no toy"));
        }
        let count = cursor.u32("count")?;
        self.misbehave(count);
        if u64::from(count) > limits.items_max && self.0 != Fault::IgnoresLimits {
            let (found, limit) = (count.into(), limits.items_max);
            return Err(ReadErrorKind::OverLimit { found, limit }.error_at("count", 4));
        }
        for _ in 0..count {
            numbers.push(cursor.u32("number")?);
        }
        match cursor.remaining() {
            0 => Ok(()),
            _ => Err(ReadError::invalid("end", cursor.offset(), "bytes after the end")),
        }
    }

    fn misbehave(&self, count: u32) {
        match self.0 {
            Fault::Panics => assert!(count < 0x8000_0000, "too many"),
            Fault::Hangs if count > 0xFFFF => std::thread::sleep(std::time::Duration::MAX),
            Fault::AllocatesByCount => {
                let count = count.min(1 << 24) as usize;
                std::hint::black_box(Vec::<u32>::with_capacity(count));
            }
            _ => {}
        }
    }

    fn dataset(&self, numbers: Vec<u32>, error: Option<ReadError>) -> Box<dyn Dataset> {
        let finding = error.map(|error| Finding::unreadable("unreadable", &error));
        Box::new(List {
            fault: self.0,
            numbers: numbers.into(),
            findings: finding.into_iter().collect(),
        })
    }
}

impl Format for Toy {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if probe.head.starts_with(MAGIC) && self.0 != Fault::SniffsByNameOnly {
            Some(Confidence::Magic)
        } else {
            let named = probe.has_extension(INFO.extensions);
            named.then_some(Confidence::Name)
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        let (mut numbers, error) = self.read(&source.bytes()?, &context.limits);
        match (error, self.0) {
            (None, _) | (Some(_), Fault::HidesWhatIsCut) => Ok(self.dataset(numbers, None)),
            (Some(error), Fault::InventsWhatIsCut) => {
                numbers.push(0);
                Ok(self.dataset(numbers, Some(error)))
            }
            (Some(error), _) => Err(error.into()),
        }
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let (_, error) = self.read(&source.bytes()?, &context.limits);
        match (error, self.0) {
            (None, _) | (_, Fault::ChecksNothing) => Ok(Vec::new()),
            (Some(error), Fault::CheckFails) => Err(error.into()),
            (Some(error), _) => Ok(vec![Finding::unreadable("unreadable", &error)]),
        }
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        let (numbers, error) = self.read(&source.bytes()?, &context.limits);
        Ok(self.dataset(numbers, error))
    }

    fn repair(
        &self,
        source: &Source,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<RepairReport> {
        let bytes = source.bytes()?;
        let (numbers, error) = self.read(&bytes, &context.limits);
        let mut written = file(&numbers);
        if self.0 == Fault::RepairKeepsTheCount
            && let (Some(count), Some(found)) = (written.get_mut(4..8), bytes.get(4..8))
        {
            count.copy_from_slice(found);
        }
        if self.0 == Fault::RepairLeavesLitter {
            std::fs::write(to.path().with_extension("log"), "done").unwrap();
        }
        write(to, &written)?;
        Ok(RepairReport {
            corrected: Vec::new(),
            kept: numbers.len() as u64,
            unit: "numbers",
            losses: error.map(|error| Finding::unreadable("lost", &error)).into_iter().collect(),
        })
    }

    fn rewrite(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
        let (mut numbers, error) = self.read(&source.bytes()?, &context.limits);
        if let Some(error) = error {
            return Err(error.into());
        }
        match self.0 {
            Fault::LosesWhenRewriting => drop(numbers.pop()),
            Fault::WritesTheDateOfToday => numbers.insert(0, 20_260_101),
            _ => {}
        }
        write(to, &file(&numbers))
    }
}

fn write(to: &Destination, bytes: &[u8]) -> Result<()> {
    let mut file = to.file()?;
    file.write_all(bytes)?;
    file.commit()
}

/// An open toy.
#[derive(Clone)]
struct List {
    fault: Fault,
    numbers: Arc<[u32]>,
    findings: Vec<Finding>,
}

fn offset_of(index: u64) -> u64 {
    HEAD_BYTES + 4 * index
}

impl List {
    fn values(&self, range: Range<u64>) -> Option<&[u32]> {
        let start = usize::try_from(range.start).ok()?;
        self.numbers.get(start..usize::try_from(range.end).ok()?)
    }
}

impl Dataset for List {
    fn summary(&self) -> Summary {
        Summary::default()
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        vec![ColumnTable::new(self.clone())]
    }

    fn dump(&self, _request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        let mut given: Vec<_> = (0..).zip(self.numbers.iter()).collect();
        match (given.first().copied(), self.fault) {
            (Some(first), Fault::GivesTwiceAtOnce) => given.insert(0, first),
            (Some((place, _)), Fault::GivesTwiceLater) => given.push((place, &0)),
            _ => {}
        }
        for (index, (place, number)) in (0..).zip(given) {
            let record = Record {
                kind: "number",
                index,
                offset: offset_of(place),
                fields: vec![("value", (*number).into())],
            };
            if sink.record(&record)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn arrays(&self) -> Option<Arc<dyn ArraysView>> {
        Some(Arc::new(self.clone()))
    }
}

impl Columns for List {
    type Row<'a> = u64;

    fn name(&self) -> &'static str {
        "numbers"
    }

    fn about(&self) -> &'static str {
        "a number"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Column::new("offset", DataType::UInt64, false),
            Column::new("value", DataType::UInt32, false),
        ]))
    }

    fn row_count(&self) -> u64 {
        let lost = u64::from(self.fault == Fault::LimitLosesARow && !self.numbers.is_empty());
        self.numbers.len() as u64 - lost
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<u64>> {
        Ok(rows.map(|row| row as u64).collect())
    }

    fn column(&self, index: usize, rows: &[u64]) -> Result<ArrayRef> {
        let shift = u32::from(self.fault == Fault::TableIsOffByOne);
        let rows = rows.iter().copied();
        let value = |row: u64| self.values(row..row + 1).map_or(0, |values| values[0]);
        Ok(match index {
            0 => Arc::new(UInt64Array::from_iter_values(rows.map(offset_of))),
            _ => Arc::new(UInt32Array::from_iter_values(
                rows.map(|row| value(row).wrapping_add(shift)),
            )),
        })
    }
}

impl ArraysView for List {
    fn variable_count(&self) -> usize {
        1
    }

    fn variable(&self, _id: VariableId) -> Variable {
        Variable {
            path: "/numbers".into(),
            is_recoded: false,
            type_name: "number".into(),
            data_type: DataType::UInt32,
            rounds: false,
            kind: VariableKind::Local,
            rank: 1,
            min_shape: vec![self.numbers.len() as u64],
            max_shape: vec![self.numbers.len() as u64],
            steps: 1,
            blocks: 1,
        }
    }

    fn step(&self, _id: VariableId, step: u64) -> Result<Step> {
        if step > 0 {
            return Err(Error::request("there is one step"));
        }
        let shape = vec![self.numbers.len() as u64];
        let block =
            Block { id: BlockId(0), start: vec![0], count: shape.clone(), offset: HEAD_BYTES };
        Ok(Step { shape, blocks: vec![block] })
    }

    fn read_block(&self, _block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
        let found = self.values(values);
        let found = found.ok_or_else(|| Error::request("there are fewer numbers"))?;
        Ok(Arc::new(UInt32Array::from(found.to_vec())))
    }

    fn attributes(&self) -> Vec<Attribute> {
        Vec::new()
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        let known = ["numbers", "/numbers"].contains(&path);
        known.then_some(VariableId(0)).into_iter().collect()
    }
}
