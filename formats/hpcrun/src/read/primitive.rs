//! The parts that all layouts are made of: strings, pairs, headers, metrics, load modules.

use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadErrorKind, ReadResult};

use super::too_many;
use crate::spec::{self, MAGIC_DESCRIBED, MAGIC_PROFILE};
use crate::types::{
    Dialect, EpochHeader, Header, Id, IdKind, LoadModule, Metric, MetricFlags, NvPair, Place,
    Sampling, Str,
};

/// Part of a list that could be read, and the reason why it ends there if that is not its end.
pub(crate) type Partial<T> = (Vec<T>, Option<ReadError>);

impl Str {
    /// Reads a length of four bytes and as many bytes.
    pub fn read(cursor: &mut Cursor<'_>, what: &'static str) -> ReadResult<Self> {
        let length = cursor.count_u32(what, spec::STR_BYTES_MAX, 1)?;
        Ok(Self(cursor.bytes(what, length as u64)?.to_vec()))
    }
}

impl NvPair {
    /// Reads a name and a value.
    pub fn read(cursor: &mut Cursor<'_>) -> ReadResult<Self> {
        let offset = cursor.offset();
        let name = Str::read(cursor, "name of an nv-pair")?;
        Ok(Self { offset, name, value: Str::read(cursor, "value of an nv-pair")? })
    }
}

impl Header {
    /// Reads the magic and the pairs, and says how many bytes they take.
    pub fn read(bytes: &[u8], limits: &Limits) -> ReadResult<(Self, u64)> {
        let (dialect, endian) = Self::read_magic(bytes)?;
        let mut cursor = Cursor::new(bytes, endian);
        cursor.skip("magic", Self::magic_bytes(dialect))?;
        let nv = require_whole(nv_pairs(&mut cursor, limits))?;
        Ok((Self { dialect, endian, nv }, cursor.offset()))
    }

    /// Reads the magic, and which layout and byte order it tells.
    pub fn read_magic(bytes: &[u8]) -> ReadResult<(Dialect, Endian)> {
        let mut cursor = Cursor::new(bytes, Endian::Big);
        let described = bytes.starts_with(MAGIC_DESCRIBED);
        let magic = if described { &MAGIC_DESCRIBED[..] } else { &MAGIC_PROFILE[..] };
        if cursor.bytes("magic", magic.len() as u64)? != magic {
            let why = "this is not how a profile of hpcrun begins";
            return Err(ReadError::invalid("magic", 0, why));
        }
        let at = cursor.offset();
        let version = cursor.bytes("version", spec::VERSION_BYTES)?;
        let dialect = match (described, version) {
            (true, b"02.00") => Dialect::Described,
            (false, b"02.00") => Dialect::Shipped0200,
            (false, b"03.00") => Dialect::Shipped0300,
            (false, b"04.00") => Dialect::Shipped0400,
            _ => {
                let known = if described { "02.00 is" } else { "02.00, 03.00 and 04.00 are" };
                let why = format!("{} is not known; {known}", version.escape_ascii());
                return Err(ReadError::invalid("version", at, why));
            }
        };
        let at = cursor.offset();
        let endian = spec::endian_of(cursor.u8("byte order")?);
        let why = "it is neither l nor b";
        let endian = endian.ok_or_else(|| ReadError::invalid("byte order", at, why))?;
        Ok((dialect, endian))
    }

    /// The bytes of the magic, with version and byte order.
    #[must_use]
    pub fn magic_bytes(dialect: Dialect) -> u64 {
        dialect.magic().len() as u64 + spec::VERSION_BYTES + 1
    }
}

impl EpochHeader {
    /// Reads the tag and what follows it. The two layouts have two fields in another order.
    pub fn read(cursor: &mut Cursor<'_>, dialect: Dialect, limits: &Limits) -> ReadResult<Self> {
        let at = cursor.offset();
        if cursor.bytes("epoch tag", 8)? != spec::EPOCH_TAG {
            return Err(ReadError::invalid("epoch tag", at, "it is not EPOCH___"));
        }
        let flags = cursor.u64("epoch flags")?;
        let (ra_distance, granularity) = if dialect == Dialect::Described {
            let ra_distance = cursor.u32("return-address distance")?;
            (ra_distance, cursor.u64("granularity")?)
        } else {
            let granularity = cursor.u64("granularity")?;
            (cursor.u32("return-address distance")?, granularity)
        };
        let nv = require_whole(nv_pairs(cursor, limits))?;
        Ok(Self { flags, ra_distance, granularity, nv })
    }

    /// The bytes of a logical instruction pointer, if nodes have one.
    pub(crate) fn lip_bytes(&self, dialect: Dialect, offset: u64) -> ReadResult<Option<u16>> {
        if !self.is_lush() {
            return Ok(None);
        }
        let told = self.nv.iter().find(|pair| pair.name.text().contains("LIP"));
        let told = told.or_else(|| self.nv.iter().find(|pair| pair.name == spec::LIP_NAME.into()));
        let told = told.filter(|_| dialect == Dialect::Described);
        let bytes = match told {
            None => Some(spec::LIP_BYTES),
            Some(pair) => pair.value.text().trim().parse::<u64>().ok(),
        };
        let fits = |bytes: &u64| bytes.is_multiple_of(8) && *bytes <= spec::LIP_BYTES_MAX;
        let bytes = bytes.filter(fits).and_then(|bytes| u16::try_from(bytes).ok());
        let why = "it is no multiple of 8 up to 4096";
        let refused = || ReadError::invalid("size of a logical instruction pointer", offset, why);
        bytes.map(Some).ok_or_else(refused)
    }
}

/// A list that must be whole.
fn require_whole<T>((items, stop): Partial<T>) -> ReadResult<Vec<T>> {
    stop.map_or(Ok(items), Err)
}

/// Reads a list of pairs, up to where it breaks off.
pub(crate) fn nv_pairs(cursor: &mut Cursor<'_>, limits: &Limits) -> Partial<NvPair> {
    list(cursor, "number of nv-pairs", limits, 8, NvPair::read)
}

/// Reads a list with a count of four bytes, up to where it breaks off.
pub(crate) fn list<T>(
    cursor: &mut Cursor<'_>,
    what: &'static str,
    limits: &Limits,
    item_bytes: u64,
    mut read: impl FnMut(&mut Cursor<'_>) -> ReadResult<T>,
) -> Partial<T> {
    let at = cursor.offset();
    let count = match cursor.u32(what) {
        Ok(count) => u64::from(count),
        Err(error) => return (Vec::new(), Some(error)),
    };
    let left = cursor.remaining();
    let room = (left / item_bytes.max(1)).min(limits.items_max);
    let mut items = Vec::new();
    for _ in 0..count.min(room) {
        match read(cursor) {
            Ok(item) => items.push(item),
            Err(error) => return (items, Some(error)),
        }
    }
    let over = || too_many(what, at, count, item_bytes, left, limits.items_max);
    (items, (count > room).then(over))
}

/// Reads a metric table, up to where it breaks off.
pub(crate) fn metrics(
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
    has_sampling: bool,
    limits: &Limits,
) -> Partial<Metric> {
    let item_bytes = if dialect == Dialect::Shipped0400 { 60 } else { 20 };
    let read = |cursor: &mut Cursor<'_>| Metric::read(cursor, dialect, has_sampling);
    list(cursor, "number of metrics", limits, item_bytes, read)
}

impl Metric {
    /// Reads a metric table; `has_sampling` tells the later of the shipped layouts.
    pub fn read_table(
        cursor: &mut Cursor<'_>,
        dialect: Dialect,
        has_sampling: bool,
        limits: &Limits,
    ) -> ReadResult<Vec<Self>> {
        require_whole(metrics(cursor, dialect, has_sampling, limits))
    }

    /// Reads a metric; `has_sampling` tells the later of the shipped layouts.
    pub fn read(cursor: &mut Cursor<'_>, dialect: Dialect, has_sampling: bool) -> ReadResult<Self> {
        let offset = cursor.offset();
        let name = Str::read(cursor, "metric name")?;
        if dialect == Dialect::Described {
            let flags = MetricFlags::Described(cursor.u64("metric flags")?);
            return Ok(Self {
                offset,
                period: cursor.u64("metric period")?,
                ..Self::new(name, flags)
            });
        }
        let description = Str::read(cursor, "metric description")?;
        let flags = MetricFlags::shipped(cursor.array("metric flags")?, dialect);
        let period = cursor.u64("metric period")?;
        let formula = Str::read(cursor, "metric formula")?;
        let format = Str::read(cursor, "metric format")?;
        let sampling = has_sampling.then(|| sampling(cursor)).transpose()?;
        Ok(Self { offset, name, description, flags, period, formula, format, sampling })
    }
}

fn sampling(cursor: &mut Cursor<'_>) -> ReadResult<Sampling> {
    Ok(Sampling {
        is_frequency: cursor.u16("metric frequency")?,
        is_multiplexed: cursor.u16("metric multiplexing")?,
        mean_threshold: cursor.f64("metric mean threshold")?,
        samples: cursor.u64("metric samples")?,
    })
}

/// Reads a load map, up to where it breaks off.
pub(crate) fn load_modules(
    cursor: &mut Cursor<'_>,
    limits: &Limits,
    read: fn(&mut Cursor<'_>) -> ReadResult<LoadModule>,
) -> Partial<LoadModule> {
    list(cursor, "number of load modules", limits, 14, read)
}

impl LoadModule {
    /// Reads a load map. As described, ids are places in it.
    pub fn read_map(
        cursor: &mut Cursor<'_>,
        dialect: Dialect,
        limits: &Limits,
    ) -> ReadResult<Vec<Self>> {
        if dialect != Dialect::Described {
            return require_whole(load_modules(cursor, limits, shipped_module));
        }
        let mut modules = require_whole(load_modules(cursor, limits, described_module))?;
        number(&mut modules);
        Ok(modules)
    }

    /// Reads a load module; as described it has no id.
    pub fn read(cursor: &mut Cursor<'_>, dialect: Dialect) -> ReadResult<Self> {
        match dialect {
            Dialect::Described => described_module(cursor),
            _ => shipped_module(cursor),
        }
    }
}

/// Numbers load modules by their place; as described they have no number of their own.
pub(crate) fn number(modules: &mut [LoadModule]) {
    for (module, id) in modules.iter_mut().zip(1..) {
        module.id = id;
    }
}

/// Reads a load module of the shipped layouts.
pub(crate) fn shipped_module(cursor: &mut Cursor<'_>) -> ReadResult<LoadModule> {
    let offset = cursor.offset();
    let id = cursor.u16("load module id")?.into();
    let path = Str::read(cursor, "load module path")?;
    Ok(LoadModule { offset, id, path, flags: cursor.u64("load module flags")?, place: None })
}

/// Reads a load module as described.
pub(crate) fn described_module(cursor: &mut Cursor<'_>) -> ReadResult<LoadModule> {
    let offset = cursor.offset();
    let load_addr = cursor.u64("load address")?;
    let load_offset = cursor.u64("load offset")?;
    let path = described_path(cursor)?;
    let flags = cursor.u32("load module flags")?.into();
    let place = Some(Place { load_addr, load_offset });
    Ok(LoadModule { offset, id: 0, path, flags, place })
}

/// Reads a path, the length of which tells the two layouts of load maps apart.
fn described_path(cursor: &mut Cursor<'_>) -> ReadResult<Str> {
    let (what, at) = ("load module path", cursor.offset());
    let path = Str::read(cursor, what)?;
    let (found, limit) = (path.0.len() as u64, u64::from(spec::PATH_BYTES_MAX));
    let over = ReadErrorKind::OverLimit { found, limit };
    if found > limit { Err(over.error_at(what, at)) } else { Ok(path) }
}

/// Reads a load module as the writer of 2009 wrote it.
pub(crate) fn module_of_2009(cursor: &mut Cursor<'_>) -> ReadResult<LoadModule> {
    let offset = cursor.offset();
    let path = described_path(cursor)?;
    let load_addr = cursor.u64("load address")?;
    let place = Some(Place { load_addr, load_offset: cursor.u64("load offset")? });
    Ok(LoadModule { offset, id: 0, path, flags: 0, place })
}

impl IdKind {
    /// Reads an entry of the dictionary of id kinds.
    pub fn read(cursor: &mut Cursor<'_>) -> ReadResult<Self> {
        let offset = cursor.offset();
        let kind = cursor.u16("id kind")?;
        Ok(Self { offset, kind, name: Str::read(cursor, "name of an id kind")? })
    }
}

impl Id {
    /// Reads one id of a tuple.
    pub fn read(cursor: &mut Cursor<'_>) -> ReadResult<Self> {
        Ok(Self {
            kind: cursor.u16("id kind")?,
            physical: cursor.u64("physical id")?,
            logical: cursor.u64("logical id")?,
        })
    }
}
