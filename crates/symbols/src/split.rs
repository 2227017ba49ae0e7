//! Debug information that was split off into files of its own: a `.dwo` for each unit, or a `.dwp`
//! with those of a whole program.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gimli::{
    Dwarf, DwarfPackage, DwarfPackageSections, DwarfSections, DwoId, EndianSlice, Reader as _,
    RunTimeEndian, Section as _, SectionId, UnitHeader, UnitType,
};
use kymo_core::bytes::Limits;

use crate::Search;
use crate::budget::Budget;
use crate::demangle::bounded;
use crate::dwarf::Reader;
use crate::image;
use crate::limitation::{self, Limitation};
use crate::sections::{Home, Parsed};

/// The files that units of a module were split off into. Each is opened when it is asked for.
#[derive(Debug)]
pub(crate) struct SplitFiles {
    folder: PathBuf,
    search: Search,
    limits: Limits,
    package: Option<DwarfPackageSections<Bytes>>,
    /// Reason why the package is not taken.
    lack: Option<Limitation>,
    /// By the number of the unit that asked first.
    files: Vec<OnceLock<Result<DwarfSections<Bytes>, Limitation>>>,
}

impl SplitFiles {
    /// Looks for a package beside a module.
    pub(crate) fn new(
        path: &Path,
        dwarf: Option<&DwarfSections<Bytes>>,
        endian: RunTimeEndian,
        search: &Search,
        limits: &Limits,
    ) -> Self {
        let mut units = 0;
        if let Some(dwarf) = dwarf {
            let mut headers =
                dwarf.debug_info.borrow(|info| EndianSlice::new(info, endian)).units();
            while let Ok(Some(_)) = headers.next() {
                units += 1;
            }
        }
        let mut package = path.as_os_str().to_owned();
        package.push(".dwp");
        let package = dwarf.map(|_| open_package(Path::new(&package), limits));
        let mut lacks = Vec::new();
        let package = limitation::found(package.unwrap_or(Ok(None)), &mut lacks);
        Self {
            folder: path.parent().unwrap_or(path).to_owned(),
            search: search.clone(),
            limits: *limits,
            package,
            lack: lacks.pop(),
            files: std::iter::repeat_with(OnceLock::new).take(units).collect(),
        }
    }

    /// Returns the reason why less is known than could be.
    pub(crate) fn limitation(&self) -> Option<&Limitation> {
        self.lack.as_ref()
    }

    /// Lists the possible paths of the file of a unit: where it was made, or beside the module.
    fn candidates(&self, made_at: &str) -> Vec<PathBuf> {
        let beside = Path::new(made_at).file_name().map(|name| self.folder.join(name));
        self.search.paths(made_at).into_iter().chain(beside).collect()
    }

    /// The file of a unit, which the unit of that number asked for first.
    fn open(
        &self,
        number: usize,
        made_at: &str,
    ) -> Option<&Result<DwarfSections<Bytes>, Limitation>> {
        let open = || {
            let mut lacks = vec![Limitation::absent(made_at)];
            for path in self.candidates(made_at) {
                match open_file(&path, &self.limits) {
                    Ok(found) => return Ok(found),
                    Err(lack) => lacks.push(lack),
                }
            }
            Err(Limitation::worst(lacks).unwrap_or_else(|| Limitation::absent(made_at)))
        };
        Some(self.files.get(number)?.get_or_init(open))
    }
}

/// A file of what was split off.
fn open_file(path: &Path, limits: &Limits) -> Result<DwarfSections<Bytes>, Limitation> {
    let bytes = image::read(path, limits)?;
    let file = object::File::parse(&*bytes).map_err(|error| damaged(path, &error))?;
    let section = |id: SectionId| {
        let name = id.dwo_name().filter(|_| image::is_needed(id));
        let found = name.map(|name| image::section(&file, &bytes, name));
        found.unwrap_or(Ok(Bytes::new())).map_err(|lack| damaged(path, &lack.why))
    };
    DwarfSections::load(section)
}

/// The package of all that was split off; nothing where there is none.
fn open_package(
    path: &Path,
    limits: &Limits,
) -> Result<Option<DwarfPackageSections<Bytes>>, Limitation> {
    let Ok(bytes) = image::read(path, limits) else { return Ok(None) };
    let file = object::File::parse(&*bytes).map_err(|error| damaged(path, &error))?;
    let section = |id: SectionId| {
        // The index tells parts of all sections, so all have to be there.
        let name = id.dwo_name().unwrap_or(id.name());
        image::section(&file, &bytes, name).map_err(|lack| damaged(path, &lack.why))
    };
    DwarfPackageSections::load(section).map(Some)
}

fn damaged(path: &Path, why: &dyn Display) -> Limitation {
    Limitation::damaged(format!("its debug file {} is damaged: {why}", path.display()))
}

/// Units that were split off.
pub(crate) struct Splits<'a> {
    files: &'a SplitFiles,
    endian: RunTimeEndian,
    package: Option<DwarfPackage<Reader<'a>>>,
    /// The unit that asked first for a file.
    first: RefCell<HashMap<String, usize>>,
    /// Those that were found. Each belongs to one unit, so no other is given it.
    found: RefCell<HashSet<u64>>,
    /// Files that are not there: how many, and the first of them.
    absent: RefCell<(usize, String)>,
    /// The first that is damaged.
    damaged: RefCell<Option<Limitation>>,
}

impl<'a> Splits<'a> {
    pub(crate) fn new(files: &'a SplitFiles, endian: RunTimeEndian, budget: &Budget) -> Self {
        let empty = EndianSlice::new(&[], endian);
        let slice = |section| EndianSlice::new(section, endian);
        let package = files.package.as_ref();
        let package = package.map(|it| it.borrow(|section| slice(section), empty));
        let package = package.and_then(|package| budget.read(package));
        if let Some(package) = &package {
            let abbreviations = package.debug_abbrev.reader().len();
            let lines = package.debug_line.reader().len();
            let listed = package.debug_rnglists.reader().len();
            budget.add_split(package.debug_info.reader().len(), abbreviations + lines, listed);
        }
        let (first, found) = (RefCell::default(), RefCell::default());
        let (absent, damaged) = (RefCell::default(), RefCell::default());
        Self { files, endian, package, first, found, absent, damaged }
    }

    /// Returns the reason why less is known than could be.
    pub(crate) fn limitation(&self) -> Option<Limitation> {
        let (count, first) = &*self.absent.borrow();
        let absent = (*count > 0).then(|| {
            Limitation::absent(match count {
                1 => format!("one of its units is in a debug file that is not there: {first}"),
                _ => format!(
                    "{count} of its units are in debug files that are not there, such as {first}"
                ),
            })
        });
        self.damaged.borrow().clone().or(absent)
    }

    /// The unit that a skeleton stands for.
    pub(crate) fn find(
        &self,
        budget: &Budget,
        skeleton: &Parsed<'a>,
        number: usize,
    ) -> Option<Parsed<'a>> {
        let id = skeleton.unit.dwo_id?;
        if !self.found.borrow_mut().insert(id.0) {
            return None;
        }
        let packed = self.package.as_ref().map(|package| package.find_cu(id, &skeleton.dwarf));
        let packed = packed.and_then(|found| budget.read(found)).flatten();
        let dwarf = match packed {
            Some(dwarf) => dwarf,
            None => self.file(budget, skeleton, number)?,
        };
        let Some(mut unit) = unit_of(budget, &dwarf, id) else {
            self.lost(&Limitation::absent(compiler_output_path(skeleton)?));
            return None;
        };
        unit.copy_relocated_attributes(&skeleton.unit);
        Some(Parsed::new(Arc::new(dwarf), unit, Home::Split, skeleton.executable))
    }

    /// The file that a skeleton names.
    fn file(
        &self,
        budget: &Budget,
        skeleton: &Parsed<'a>,
        number: usize,
    ) -> Option<Dwarf<Reader<'a>>> {
        let made_at = compiler_output_path(skeleton)?;
        let first = *self.first.borrow_mut().entry(made_at.clone()).or_insert(number);
        let sections = self.files.open(first, &made_at)?.as_ref();
        let sections = sections.map_err(|lack| self.lost(lack)).ok()?;
        let mut dwarf = sections.borrow(|section| EndianSlice::new(section, self.endian));
        if first == number {
            budget.add(&dwarf);
        }
        dwarf.make_dwo(&skeleton.dwarf);
        Some(dwarf)
    }

    /// Notes that a unit was not found. What it says of a file that is not there is its path.
    fn lost(&self, lack: &Limitation) {
        if lack.is_damaged {
            self.damaged.borrow_mut().get_or_insert_with(|| lack.clone());
            return;
        }
        let (count, first) = &mut *self.absent.borrow_mut();
        if *count == 0 {
            first.clone_from(&lack.why);
        }
        *count += 1;
    }
}

/// The path that the compiler wrote the file of a unit to.
fn compiler_output_path(skeleton: &Parsed<'_>) -> Option<String> {
    let Parsed { dwarf, unit, .. } = skeleton;
    let name = dwarf.attr_string(unit, unit.dwo_name().ok()??).ok()?;
    let name = bounded(name.slice());
    let folder = unit.comp_dir.map(|folder| bounded(folder.slice())).unwrap_or_default();
    if folder.is_empty() || name.starts_with('/') {
        return Some(name);
    }
    Some(format!("{folder}/{name}"))
}

/// The unit of that id. Where headers do not tell it, the first entry does.
fn unit_of<'a>(
    budget: &Budget,
    dwarf: &Dwarf<Reader<'a>>,
    id: DwoId,
) -> Option<gimli::Unit<Reader<'a>>> {
    let may_be = |header: &UnitHeader<Reader<'a>>| match header.type_() {
        UnitType::SplitCompilation(found) => found == id,
        UnitType::Compilation => header.version() < 5,
        _ => false,
    };
    let mut headers = dwarf.units();
    while let Some(Some(header)) = budget.read(headers.next()) {
        budget.take_header()?;
        if may_be(&header)
            && let Some(unit) = budget.unit(dwarf, header)
            && unit.dwo_id == Some(id)
        {
            return Some(unit);
        }
    }
    None
}
