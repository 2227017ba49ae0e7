//! `variables` and `blocks`.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::Table;
use kymo_model::arrays::{ArraysView, Block, Variable, VariableId};
use kymo_model::table::{Cell, Column, RowKind};

use super::stream::{CommonRow, Rows, TableDescription};
use super::{Description, Maker};

static VARIABLES: TableDescription<Variables> = TableDescription {
    name: "variables",
    about: "a named array or scalar, written once or in steps",
    columns: VARIABLES_COLUMNS,
};

static BLOCKS: TableDescription<Blocks> = TableDescription {
    name: "blocks",
    about: "a part of a step of a variable that one writer wrote",
    columns: BLOCKS_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![VARIABLES.parts(), BLOCKS.parts()]
}

pub(super) fn tables(maker: &Maker, view: &Arc<dyn ArraysView>) -> Vec<Arc<dyn Table>> {
    let (listed, blocks) = (Arc::clone(view), Arc::clone(view));
    vec![
        maker.table(&VARIABLES, move |_, rows| {
            for id in (0..listed.variable_count()).map(VariableId) {
                rows.push(&listed.variable(id))?;
            }
            Ok(())
        }),
        maker.table(&BLOCKS, move |_, rows| each_block(&*blocks, rows)),
    ]
}

fn each_block(view: &dyn ArraysView, rows: &mut Rows<'_, Blocks>) -> Result<()> {
    for id in (0..view.variable_count()).map(VariableId) {
        let variable = view.variable(id);
        for step in 0..variable.steps {
            for (place, block) in view.step(id, step)?.blocks.iter().enumerate() {
                rows.push(&BlockRow { variable: &variable, step, place, block })?;
            }
        }
    }
    Ok(())
}

struct Variables;

impl RowKind for Variables {
    type Row<'a> = Variable;
}

impl CommonRow for Variables {
    fn recording(_row: &Variable) -> usize {
        0
    }
}

/// A list of numbers as JSON.
fn list(numbers: &[u64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

const VARIABLES_COLUMNS: &[Column<Variables>] = &[
    Column::new("path", "path of the variable", Cell::Text(|row| Some((&*row.path).into()))),
    Column::new(
        "group_path",
        "path of the group that it is in",
        Cell::Name(|row| Some(row.path.rsplit_once('/').map_or("", |(group, _)| group).into())),
    ),
    Column::new(
        "type",
        "the format's word for the type",
        Cell::Name(|row| Some((&*row.type_name).into())),
    ),
    Column::new(
        "kind",
        "scalar, array, or global array of blocks",
        Cell::Name(|row| Some(row.kind.name().into())),
    ),
    Column::new("rank", "number of dimensions", Cell::Int(|row| i64::try_from(row.rank).ok())),
    Column::new(
        "shape",
        "greatest length of each dimension over all steps, as a JSON list",
        Cell::Json(|row| Some(list(&row.max_shape).into())),
    ),
    Column::new(
        "steps",
        "number of times it was written",
        Cell::Int(|row| i64::try_from(row.steps).ok()),
    ),
    Column::new(
        "blocks",
        "number of blocks in all steps",
        Cell::Int(|row| i64::try_from(row.blocks).ok()),
    ),
];

struct BlockRow<'a> {
    variable: &'a Variable,
    step: u64,
    place: usize,
    block: &'a Block,
}

struct Blocks;

impl RowKind for Blocks {
    type Row<'a> = BlockRow<'a>;
}

impl CommonRow for Blocks {
    fn recording(_row: &BlockRow<'_>) -> usize {
        0
    }
}

const BLOCKS_COLUMNS: &[Column<Blocks>] = &[
    Column::new(
        "variable",
        "path of the variable",
        Cell::Name(|row| Some(Cow::from(&*row.variable.path))),
    ),
    Column::new("step", "step, from 0", Cell::Int(|row| i64::try_from(row.step).ok())),
    Column::new(
        "block",
        "place of the block in its step",
        Cell::Int(|row| i64::try_from(row.place).ok()),
    ),
    Column::new(
        "origin",
        "first index of the block in each dimension, as a JSON list",
        Cell::Json(|row| Some(list(&row.block.start).into())),
    ),
    Column::new(
        "shape",
        "length of the block in each dimension, as a JSON list",
        Cell::Json(|row| Some(list(&row.block.count).into())),
    ),
    Column::with_unit(
        "file_offset",
        "bytes",
        "first byte of the block in the file",
        Cell::Int(|row| i64::try_from(row.block.offset).ok()),
    ),
];
