//! The layouts that are a run of epochs: 02.00 as described, 02.00b and 03.00b.

use kymo_core::bytes::{Cursor, ReadError, ReadErrorKind};
use kymo_core::{Finding, Severity};

use super::arrays::{NodeLayout, Nodes, Values};
use super::{ProfileReader, primitive, too_many};
use crate::spec::{EPOCH_TAG, METRICS_MAX};
use crate::types::{Dialect, Epoch, EpochHeader, Header, LoadMap, Metric};

/// Layout of an epoch where one version has had several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// As described; of those that were shipped, metrics without sampling.
    First,
    /// As described, with the load map of 2009; of those that were shipped, with sampling.
    Second,
}

/// An epoch as far as it could be read in one way.
struct Attempt<'a> {
    epoch: Epoch,
    stop: Option<ReadError>,
    /// True if the nodes were reached.
    has_nodes: bool,
    rest: Cursor<'a>,
}

impl Attempt<'_> {
    /// Returns true if it ends where an epoch may end.
    fn ends_well(&self) -> bool {
        let rest = self.rest.remaining_bytes();
        self.stop.is_none() && (rest.is_empty() || rest.starts_with(EPOCH_TAG))
    }
}

impl<'a> ProfileReader<'a> {
    /// Reads the header and all epochs.
    pub(super) fn epochs(&mut self) {
        let dialect = self.profile.header.dialect;
        let mut cursor = self.cursor(Header::magic_bytes(dialect));
        if !self.header(&mut cursor) {
            return;
        }
        let count = if dialect == Dialect::Described { self.count(&mut cursor) } else { None };
        let mut left = count.unwrap_or(u32::MAX);
        while left > 0 && (count.is_some() || cursor.remaining() > 0) {
            if self.profile.epochs.len() as u64 >= self.limits.items_max {
                return self.too_many(cursor.offset());
            }
            let attempt = self.attempt(&cursor);
            cursor = attempt.rest;
            if let Some(error) = attempt.stop {
                self.lose_epoch(&attempt.epoch, &error, count.map(|_| left - 1));
                self.fault("epoch", error);
                self.keep(attempt.epoch);
                return;
            }
            self.keep(attempt.epoch);
            left -= 1;
        }
        if cursor.remaining() > 0 {
            let bytes = cursor.remaining();
            let why = format!("{bytes} bytes follow the last epoch");
            self.warn("trailing", cursor.offset(), why);
        }
    }

    fn keep(&mut self, epoch: Epoch) {
        if epoch.header.is_some() {
            self.profile.epochs.push(epoch);
        }
    }

    /// Says how far an epoch could be read, and how many there should be after it.
    fn lose_epoch(&mut self, epoch: &Epoch, error: &ReadError, after: Option<u32>) {
        let (metrics, nodes) = (epoch.metrics.len(), epoch.nodes.len());
        let (what, kind) = (error.what, &error.kind);
        let mut why = format!("{what}: {kind}; {metrics} metrics and {nodes} nodes are kept");
        if let Some(after) = after.filter(|after| *after > 0) {
            why = format!("{why}, and epochs after it that are lost: {after}");
        }
        let severity = Severity::Error;
        self.profile.losses.push(Finding::at_offset(severity, "epoch", error.offset, why));
    }

    fn too_many(&mut self, offset: u64) {
        let limit = self.limits.items_max;
        let found = limit.saturating_add(1);
        let error = ReadErrorKind::OverLimit { found, limit }.error_at("epoch", offset);
        self.profile.losses.push(Finding::unreadable("epoch", &error));
        self.fault("epoch", error);
    }

    /// The number of epochs, which the writer of 2009 left out.
    fn count(&mut self, cursor: &mut Cursor<'a>) -> Option<u32> {
        if cursor.remaining() == 0 || cursor.remaining_bytes().starts_with(EPOCH_TAG) {
            return None;
        }
        let at = cursor.offset();
        match cursor.u32("number of epochs") {
            Ok(count) => {
                self.note_count(at, "epochs", Some(count.into()));
                Some(count)
            }
            Err(error) => {
                self.profile.losses.push(Finding::unreadable("epoch", &error));
                self.fault("epoch", error);
                Some(0)
            }
        }
    }

    /// Reads an epoch in the way that makes sense of it.
    fn attempt(&self, cursor: &Cursor<'a>) -> Attempt<'a> {
        let order = match self.profile.header.dialect {
            Dialect::Shipped0300 => [Variant::Second, Variant::First],
            _ => [Variant::First, Variant::Second],
        };
        let [first, second] = order;
        let first = self.epoch(cursor.clone(), first);
        if first.ends_well() {
            return first;
        }
        let second = self.epoch(cursor.clone(), second);
        let is_better = second.ends_well() || (second.has_nodes && !first.has_nodes);
        if is_better { second } else { first }
    }

    fn epoch(&self, mut cursor: Cursor<'a>, variant: Variant) -> Attempt<'a> {
        let epoch = Epoch {
            offset: cursor.offset(),
            header: None,
            metrics: Vec::new(),
            load_modules: LoadMap::default(),
            nodes: Nodes::new(bytes::Bytes::new(), 0, NodeLayout::default(), self.endian),
            values: Values::Dense,
        };
        let mut attempt = Attempt { epoch, stop: None, has_nodes: false, rest: cursor.clone() };
        let stop = self.fill(&mut cursor, variant, &mut attempt);
        attempt.stop = stop.err();
        attempt.rest = cursor;
        attempt
    }

    fn fill(
        &self,
        cursor: &mut Cursor<'a>,
        variant: Variant,
        attempt: &mut Attempt<'a>,
    ) -> Result<(), ReadError> {
        let dialect = self.profile.header.dialect;
        let epoch = &mut attempt.epoch;
        let header = EpochHeader::read(cursor, dialect, &self.limits)?;
        let lip_bytes = header.lip_bytes(dialect, epoch.offset)?;
        epoch.header = Some(header);
        let has_sampling = dialect != Dialect::Described && variant == Variant::Second;
        let at = cursor.offset();
        let (metrics, stop) = primitive::metrics(cursor, dialect, has_sampling, &self.limits);
        epoch.metrics = metrics;
        stop.map_or(Ok(()), Err)?;
        numbered(&epoch.metrics, at)?;
        self.load_map(cursor, variant, epoch)?;
        let is_described = dialect == Dialect::Described;
        let layout = NodeLayout {
            is_signed: true,
            lip_bytes,
            has_module: !is_described,
            has_flags: false,
            metrics: u32::try_from(epoch.metrics.len()).unwrap_or(u32::MAX),
        };
        let at = cursor.offset();
        let count = if is_described {
            cursor.u32("number of nodes")?.into()
        } else {
            cursor.u64("number of nodes")?
        };
        let (size, left) = (layout.size(), cursor.remaining());
        let room = (left / size).min(self.limits.items_max);
        attempt.has_nodes = count <= room;
        let (offset, length) = (cursor.offset(), count.min(room) * size);
        let nodes = self.take(cursor, "nodes", length)?;
        epoch.nodes = Nodes::new(nodes, offset, layout, self.endian);
        if count > room {
            let items_max = self.limits.items_max;
            return Err(too_many("number of nodes", at, count, size, left, items_max));
        }
        Ok(())
    }

    fn load_map(
        &self,
        cursor: &mut Cursor<'a>,
        variant: Variant,
        epoch: &mut Epoch,
    ) -> Result<(), ReadError> {
        let read = match (self.profile.header.dialect, variant) {
            (Dialect::Described, Variant::First) => primitive::described_module,
            (Dialect::Described, Variant::Second) => primitive::module_of_2009,
            _ => primitive::shipped_module,
        };
        let (mut modules, stop) = primitive::load_modules(cursor, &self.limits, read);
        if self.profile.header.dialect == Dialect::Described {
            primitive::number(&mut modules);
        }
        epoch.load_modules = modules.into();
        stop.map_or(Ok(()), Err)
    }
}

/// Refuses more metrics than can be numbered: values name theirs with two bytes.
fn numbered(metrics: &[Metric], at: u64) -> Result<(), ReadError> {
    let (found, limit) = (metrics.len() as u64, METRICS_MAX);
    let over = ReadErrorKind::OverLimit { found, limit };
    if found > limit { Err(over.error_at("number of metrics", at)) } else { Ok(()) }
}
