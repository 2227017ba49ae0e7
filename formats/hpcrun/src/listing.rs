//! Kinds of records: what their fields are, for the dump and the tables alike.

use std::ops::Range;

use kymo_core::Value;

use crate::measurement::{PROFILE, Part, TRACE};
use crate::read::Values;
use crate::spec;
use crate::types::{
    Dialect, EpochHeader, Id, IdKind, LoadModule, Lush, Metric, MetricFlags, MetricValue, Node,
    NvPair, TraceRecord,
};

/// One kind of records: how many a recording has, how they are read, what their fields are.
pub(crate) struct Listing<R: 'static> {
    /// The word for one, and the name of the table.
    pub(crate) kind: &'static str,
    pub(crate) table: &'static str,
    pub(crate) about: &'static str,
    pub(crate) columns: &'static [(&'static str, Cells<R>)],
    pub(crate) count: fn(&Part) -> usize,
    /// True if they are read in place, and a recording must hold them.
    pub(crate) is_in_place: bool,
    /// Greatest number of records that may be read at once: strings of the file can be long.
    pub(crate) at_once: usize,
    /// Some of them, with their offsets.
    pub(crate) read: fn(&Part, Range<usize>) -> Placed<R>,
}

/// Records with their offsets.
pub(crate) type Placed<R> = Vec<(u64, R)>;

/// Records with strings of the file that are read at once: a batch stays below two gigabytes.
const TEXTS_AT_ONCE: usize = 256;

/// Ways in which the cells of a column are made from records.
pub(crate) enum Cells<R> {
    Number(fn(&R) -> u64),
    MaybeNumber(fn(&R) -> Option<u64>),
    Address(fn(&R) -> Option<u64>),
    Real(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> Option<bool>),
    Text(fn(&R) -> String),
    MaybeText(fn(&R) -> Option<String>),
}

impl<R> Cells<R> {
    /// The value of one cell.
    pub(crate) fn value(&self, record: &R) -> Value {
        let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
        match self {
            Self::Number(cell) => cell(record).into(),
            Self::MaybeNumber(cell) => or_null(cell(record).map(Value::UInt)),
            Self::Address(cell) => or_null(cell(record).map(Value::Address)),
            Self::Real(cell) => or_null(cell(record).map(Value::Float)),
            Self::Flag(cell) => or_null(cell(record).map(Value::Bool)),
            Self::Text(cell) => cell(record).into(),
            Self::MaybeText(cell) => or_null(cell(record).map(Value::Text)),
        }
    }
}

/// First part of a file.
pub(crate) struct FileHeader {
    /// Its name, where it is one of a directory.
    name: Option<String>,
    content: &'static str,
    version: &'static str,
    endian: &'static str,
    flags: Option<u64>,
}

pub(crate) static HEADERS: Listing<FileHeader> = Listing {
    kind: "header",
    table: "headers",
    at_once: usize::MAX,
    is_in_place: false,
    about: "what each file begins with",
    columns: &[
        ("name", Cells::MaybeText(|header| header.name.clone())),
        ("content", Cells::Text(|header| header.content.into())),
        ("version", Cells::Text(|header| header.version.into())),
        ("byte_order", Cells::Text(|header| header.endian.into())),
        ("flags", Cells::Address(|header| header.flags)),
    ],
    count: |part| {
        usize::from(part.first_of_profile().is_some()) + usize::from(part.trace.is_some())
    },
    read: |part, range| {
        let profile = part.first_of_profile().map(|profile| FileHeader {
            name: part.file(PROFILE),
            content: match profile.header.dialect {
                Dialect::Described => "profile as described",
                _ => "profile",
            },
            version: profile.header.dialect.version(),
            endian: profile.header.endian.name(),
            flags: None,
        });
        let trace = part.trace.as_ref().map(|trace| FileHeader {
            name: part.file(TRACE),
            content: "trace",
            version: trace.version.text(),
            endian: trace.endian.name(),
            flags: Some(trace.flags),
        });
        let headers = profile.into_iter().chain(trace).map(|header| (0, header));
        headers.skip(range.start).take(range.len()).collect()
    },
};

/// A pair, and whether it is an epoch's.
pub(crate) static NV_PAIRS: Listing<(NvPair, &'static str)> = Listing {
    kind: "nv_pair",
    table: "nv_pairs",
    at_once: TEXTS_AT_ONCE,
    is_in_place: false,
    about: "what the recorder said about the process, by name",
    columns: &[
        ("of", Cells::Text(|(_, item)| (*item).into())),
        ("name", Cells::Text(|(pair, _)| pair.name.to_string())),
        ("value", Cells::Text(|(pair, _)| pair.value.to_string())),
    ],
    count: |part| header_pairs(part).len() + epoch_pairs(part).len(),
    read: |part, range| {
        let of_header = header_pairs(part).iter().map(|pair| (pair, "header"));
        let pairs = of_header.chain(epoch_pairs(part).iter().map(|pair| (pair, "epoch")));
        let pairs = pairs.skip(range.start).take(range.len());
        pairs.map(|(pair, this_name)| (pair.offset, (pair.clone(), this_name))).collect()
    },
};

pub(crate) fn header_pairs(part: &Part) -> &[NvPair] {
    part.first_of_profile().map_or(&[], |profile| &profile.header.nv)
}

fn epoch_pairs(part: &Part) -> &[NvPair] {
    part.epoch().and_then(|epoch| epoch.header.as_ref()).map_or(&[], |header| &header.nv)
}

pub(crate) static EPOCHS: Listing<EpochHeader> = Listing {
    kind: "epoch",
    table: "epochs",
    at_once: usize::MAX,
    is_in_place: false,
    about: "the headers of epochs, which 04.00b does not have",
    columns: &[
        ("flags", Cells::Address(|epoch| Some(epoch.flags))),
        ("ra_distance", Cells::Number(|epoch| epoch.ra_distance.into())),
        ("granularity", Cells::Number(|epoch| epoch.granularity)),
    ],
    count: |part| part.epoch().map_or(0, |epoch| usize::from(epoch.header.is_some())),
    read: |part, range| {
        let header = |epoch: &crate::Epoch| Some((epoch.offset, epoch.header.clone()?));
        let header = part.epoch().and_then(header).filter(|_| range.start == 0);
        header.into_iter().take(range.len()).collect()
    },
};

/// Some items of a slice with their offsets.
fn part_of<T: Clone>(items: &[T], range: Range<usize>, offset: fn(&T) -> u64) -> Placed<T> {
    let end = range.end.min(items.len());
    let items = items.get(range.start.min(end)..end).unwrap_or_default();
    items.iter().map(|item| (offset(item), item.clone())).collect()
}

pub(crate) static METRICS: Listing<(usize, Metric)> = Listing {
    kind: "metric",
    table: "metrics",
    at_once: TEXTS_AT_ONCE,
    is_in_place: false,
    about: "what was counted",
    columns: &[
        ("id", Cells::Number(|(id, _)| *id as u64)),
        ("name", Cells::Text(|(_, metric)| metric.name.to_string())),
        ("description", Cells::Text(|(_, metric)| metric.description.to_string())),
        ("is_real", Cells::Flag(|(_, metric)| Some(metric.flags.is_real()))),
        ("period", Cells::Number(|(_, metric)| metric.period)),
        ("type", Cells::MaybeNumber(|(_, metric)| Some(metric.flags.fields()?.kind.into()))),
        (
            "value_type",
            Cells::MaybeNumber(|(_, metric)| Some(metric.flags.fields()?.value_type.into())),
        ),
        (
            "value_format",
            Cells::MaybeNumber(|(_, metric)| Some(metric.flags.fields()?.value_format.into())),
        ),
        ("move2proc", Cells::Flag(|(_, metric)| Some(metric.flags.fields()?.move2proc))),
        ("partner", Cells::MaybeNumber(|(_, metric)| Some(metric.flags.fields()?.partner.into()))),
        ("show", Cells::MaybeNumber(|(_, metric)| Some(metric.flags.fields()?.show.into()))),
        ("show_percent", Cells::Flag(|(_, metric)| Some(metric.flags.fields()?.show_percent))),
        ("formula", Cells::Text(|(_, metric)| metric.formula.to_string())),
        ("format", Cells::Text(|(_, metric)| metric.format.to_string())),
        (
            "is_frequency",
            Cells::MaybeNumber(|(_, metric)| Some(metric.sampling?.is_frequency.into())),
        ),
        (
            "is_multiplexed",
            Cells::MaybeNumber(|(_, metric)| Some(metric.sampling?.is_multiplexed.into())),
        ),
        ("mean_threshold", Cells::Real(|(_, metric)| Some(metric.sampling?.mean_threshold))),
        ("samples", Cells::MaybeNumber(|(_, metric)| Some(metric.sampling?.samples))),
        (
            "flags",
            Cells::Address(|(_, metric)| match metric.flags {
                MetricFlags::Described(flags) => Some(flags),
                MetricFlags::Shipped(_) | MetricFlags::Packed(_) => None,
            }),
        ),
        (
            "flag_bytes",
            Cells::MaybeText(|(_, metric)| match metric.flags {
                MetricFlags::Described(_) => None,
                MetricFlags::Shipped(bytes) | MetricFlags::Packed(bytes) => {
                    Some(Value::Bytes(bytes.to_vec()).to_string())
                }
            }),
        ),
    ],
    count: |part| part.epoch().map_or(0, |epoch| epoch.metrics.len()),
    read: |part, range| {
        let metrics = part.epoch().map_or(&[][..], |epoch| &epoch.metrics);
        let first = range.start;
        let metrics = part_of(metrics, range, |metric| metric.offset).into_iter();
        metrics.zip(first..).map(|((offset, metric), id)| (offset, (id, metric))).collect()
    },
};

pub(crate) static LOAD_MODULES: Listing<LoadModule> = Listing {
    kind: "load_module",
    table: "load_modules",
    at_once: TEXTS_AT_ONCE,
    is_in_place: false,
    about: "programs and libraries that were loaded",
    columns: &[
        ("id", Cells::Number(|module| module.id.into())),
        ("path", Cells::Text(|module| module.path.to_string())),
        ("flags", Cells::Address(|module| Some(module.flags))),
        ("load_addr", Cells::Address(|module| Some(module.place?.load_addr))),
        ("load_offset", Cells::Address(|module| Some(module.place?.load_offset))),
    ],
    count: |part| part.epoch().map_or(0, |epoch| epoch.load_modules.len()),
    read: |part, range| {
        let modules = part.epoch().map_or(&[][..], |epoch| &epoch.load_modules);
        part_of(modules, range, |module| module.offset)
    },
};

/// A node, with what its layout has a place for.
pub(crate) struct ListedNode {
    node: Node,
    /// True if it has a load module beside the address. Without one an address is no code of a
    /// placeholder.
    has_module: bool,
    /// True if the signs of ids tell leaves.
    is_signed: bool,
}

impl ListedNode {
    fn node_with_module(&self) -> Option<&Node> {
        Some(&self.node).filter(|_| self.has_module)
    }

    fn signed_node(&self) -> Option<&Node> {
        Some(&self.node).filter(|_| self.is_signed)
    }

    fn lush(&self) -> Option<&Lush> {
        self.node.lush.as_ref()
    }
}

pub(crate) static NODES: Listing<ListedNode> = Listing {
    kind: "node",
    table: "nodes",
    at_once: usize::MAX,
    is_in_place: true,
    about: "nodes of the calling-context trees",
    columns: &[
        ("id", Cells::Number(|listed| listed.node.id.into())),
        ("parent", Cells::Number(|listed| listed.node.parent.into())),
        ("lm_id", Cells::MaybeNumber(|listed| Some(listed.node_with_module()?.lm_id.into()))),
        ("ip", Cells::Address(|listed| Some(listed.node.ip))),
        ("placeholder", Cells::MaybeText(|listed| listed.node_with_module()?.placeholder())),
        (
            "name",
            Cells::MaybeText(|listed| {
                listed.node_with_module()?.placeholder_name().map(str::to_owned)
            }),
        ),
        ("is_leaf", Cells::Flag(|listed| Some(listed.signed_node()?.is_leaf))),
        ("parent_is_leaf", Cells::Flag(|listed| Some(listed.signed_node()?.parent_is_leaf))),
        ("flags", Cells::MaybeNumber(|listed| listed.node.flags.map(u64::from))),
        ("lush_assoc", Cells::Address(|listed| Some(listed.lush()?.assoc.into()))),
        (
            "lush_association",
            Cells::MaybeText(|listed| {
                spec::association_name(listed.lush()?.assoc).map(str::to_owned)
            }),
        ),
        (
            "lush_lip",
            Cells::MaybeText(|listed| Some(Value::Bytes(listed.lush()?.lip.clone()).to_string())),
        ),
    ],
    count: |part| part.epoch().map_or(0, |epoch| epoch.nodes.len()),
    read: |part, range| {
        let Some(epoch) = part.epoch() else { return Vec::new() };
        let (has_module, is_signed) =
            (epoch.nodes.layout().has_module, epoch.nodes.layout().is_signed);
        let listed = |index| {
            let node = epoch.nodes.get(index)?;
            Some((epoch.nodes.offset_of(index), ListedNode { node, has_module, is_signed }))
        };
        range.map_while(listed).collect()
    },
};

/// A value, and whether its metric says that it is a number of double precision.
pub(crate) static VALUES: Listing<(MetricValue, bool)> = Listing {
    kind: "value",
    table: "values",
    at_once: usize::MAX,
    is_in_place: true,
    about: "values of metrics at nodes: a count, or a number of double precision",
    columns: &[
        ("node", Cells::Number(|(value, _)| value.node.into())),
        ("metric", Cells::Number(|(value, _)| value.metric.into())),
        ("count", Cells::MaybeNumber(|(value, is_real)| (!is_real).then_some(value.bits))),
        ("real", Cells::Real(|(value, is_real)| is_real.then(|| f64::from_bits(value.bits)))),
    ],
    count: |part| part.epoch().map_or(0, |epoch| epoch.values.len(&epoch.nodes)),
    read: |part, range| {
        let Some(epoch) = part.epoch() else { return Vec::new() };
        let is_real: Vec<_> = epoch.metrics.iter().map(|m| m.flags.is_real()).collect();
        let mut values = Vec::new();
        epoch.values.each(&epoch.nodes, range, |value| {
            let is_real = is_real.get(usize::from(value.metric)).copied().unwrap_or(false);
            values.push((value.offset, (value, is_real)));
        });
        values
    },
};

pub(crate) static ID_KINDS: Listing<IdKind> = Listing {
    kind: "id_kind",
    table: "id_kinds",
    at_once: TEXTS_AT_ONCE,
    is_in_place: false,
    about: "the names of the kinds of ids",
    columns: &[
        ("kind", Cells::Number(|kind| kind.kind.into())),
        ("name", Cells::Text(|kind| kind.name.to_string())),
    ],
    count: |part| part.first_of_profile().map_or(0, |profile| profile.id_kinds.len()),
    read: |part, range| {
        let kinds = part.first_of_profile().map_or(&[][..], |profile| &profile.id_kinds);
        part_of(kinds, range, |kind| kind.offset)
    },
};

pub(crate) static IDS: Listing<Id> = Listing {
    kind: "id",
    table: "ids",
    at_once: usize::MAX,
    is_in_place: false,
    about: "the ids that together name a thread",
    columns: &[
        ("kind", Cells::Number(|id| id.kind().into())),
        ("interpretation", Cells::Number(|id| id.interpretation().into())),
        ("physical", Cells::Number(|id| id.physical)),
        ("logical", Cells::Number(|id| id.logical)),
    ],
    count: |part| part.first_of_profile().map_or(0, |profile| profile.id_tuple.len()),
    read: |part, range| {
        let Some(profile) = part.first_of_profile() else { return Vec::new() };
        let ids = profile.id_tuple.iter().copied().zip(0_u64..);
        let ids = ids.skip(range.start).take(range.len());
        ids.map(|(id, index)| (profile.id_tuple_offset + 2 + 18 * index, id)).collect()
    },
};

pub(crate) static TRACE_RECORDS: Listing<TraceRecord> = Listing {
    kind: "trace_record",
    table: "trace_records",
    at_once: usize::MAX,
    is_in_place: true,
    about: "where a thread was from a time on; times are in the unit of the trace",
    columns: &[
        ("time", Cells::Number(|record| record.time)),
        ("node", Cells::Number(|record| record.node.into())),
        ("metric", Cells::MaybeNumber(|record| record.metric.map(u64::from))),
    ],
    count: |part| part.trace.as_ref().map_or(0, |trace| trace.len()),
    read: |part, range| {
        let Some(trace) = &part.trace else { return Vec::new() };
        let records = trace.iter(range.clone()).zip(range);
        records.map(|(record, index)| (trace.offset_of(index), record)).collect()
    },
};

/// Returns true if values stand among the nodes.
pub(crate) fn is_dense(part: &Part) -> bool {
    part.epoch().is_some_and(|epoch| matches!(epoch.values, Values::Dense))
}
