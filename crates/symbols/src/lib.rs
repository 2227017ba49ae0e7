//! Names, lines and inlined calls of addresses, from programs and their debug information.
//!
//! A module is looked for once: where it was recorded, or where a replaced prefix leads. Its debug
//! information is in it, or in a file of its own that is found by the build-id or by a link. DWARF
//! tells of functions, inlined calls and lines; where it does not, the symbols do. Of DWARF only
//! the units are read that addresses are in, also where they were split off into files of their own
//! or share what they tell with other modules.

mod aranges;
mod attributes;
mod budget;
mod build;
mod calls;
mod code;
mod compat;
mod cplusplus;
mod demangle;
mod dwarf;
mod elf;
mod entry_facts;
mod executable;
mod image;
mod inlining;
mod kernel;
mod limitation;
mod lines;
mod logical;
mod loops;
mod naming;
mod scopes;
mod sections;
mod shared;
mod split;
mod unit;
mod unwind;
mod xz;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;
use kymo_core::bytes::Limits;
use kymo_model::structure::{Resolved, Resolver, Symbols};

pub use build::RecordedAddresses;
use demangle::Style;
use dwarf::Debug;
use image::Image;
use kernel::KernelSymbols;
use limitation::Limitation;
use logical::Logical;
use loops::Finder;

/// Places in which programs and libraries are looked for.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Beginnings of paths, and what to put in their place. The first that fits counts.
    pub replace: Vec<(String, String)>,
    /// True if names are those that hpcprof shows: everything demangled as C++.
    pub compat: bool,
    /// True if loops are looked for in the machine code.
    pub loops: bool,
    /// True if nothing is looked for but in the directory of the measurement, and where paths are
    /// replaced to.
    pub only_named: bool,
}

impl Search {
    /// The paths that a path may stand for, in the order in which to try them.
    #[must_use]
    pub fn paths(&self, path: &str) -> Vec<PathBuf> {
        let recorded = (!self.only_named).then(|| PathBuf::from(path));
        self.replaced(path).into_iter().chain(recorded).collect()
    }

    /// The path that is to be in the place of another.
    #[must_use]
    pub fn replaced(&self, path: &str) -> Option<PathBuf> {
        self.replace.iter().find_map(|(from, to)| {
            // Slashes at the end change nothing: each of the two may have one, or not.
            let (from, to) = (from.trim_end_matches('/'), to.trim_end_matches('/'));
            let rest = path.strip_prefix(from)?;
            let is_whole = rest.is_empty() || rest.starts_with('/');
            is_whole.then(|| PathBuf::from(format!("{to}{rest}")))
        })
    }

    /// Returns true if a file may be looked at that lies beside a program, or where the system
    /// keeps debug information.
    pub(crate) fn may_read(&self, path: &Path) -> bool {
        !self.only_named || !path.starts_with(image::DEBUG)
    }

    /// Whether a name that a program tells of a file may be joined to the folder of the program: one
    /// that begins at the root or has a step back leads where nobody said to look.
    pub(crate) fn may_follow(&self, name: &str) -> bool {
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        !self.only_named || Path::new(name).components().all(is_below)
    }
}

/// The folder of tables of the kernel's symbols in the directory of a measurement.
const KERNEL_SYMBOLS: &str = "kernel_symbols";

/// The folder of images there of what the kernel maps into processes, and what their names end in.
const VDSO: &str = "vdso";

/// The folder of programs of GPUs there, and what their names end in.
const GPUBINS: &str = "gpubins";
const GPUBIN: &str = "gpubin";

/// Names of modules that are the kernel itself, and what it maps into processes.
const KERNEL_NAME: &str = "vmlinux";
const VDSO_NAME: &str = "[vdso]";

/// Returns the path of a module in the directory of a measurement, where recorders put it for its
/// symbols. Recorders give its path below that directory, or with the place where that was at the
/// time, or its name: `<vmlinux.11ac0300>`, `[vdso]`.
#[must_use]
pub fn path_in_measurement(path: &str, directory: &Path) -> Option<PathBuf> {
    if path == VDSO_NAME {
        return only_vdso(directory);
    }
    let name = path.strip_prefix('<').and_then(|name| name.strip_suffix('>'));
    if let Some(name) = name.filter(|name| name.starts_with(KERNEL_NAME) && !name.contains('/')) {
        return Some(Path::new(KERNEL_SYMBOLS).join(name));
    }
    let path = Path::new(path);
    let relative = if path.is_relative() {
        path.to_owned()
    } else {
        Path::new(path.parent()?.file_name()?).join(path.file_name()?)
    };
    let mut parts = relative.components();
    let folder = parts.next().and_then(|part| part.as_os_str().to_str());
    // Programs may well be in a folder of that name; images have an ending of their own.
    let ends_in = |wanted| relative.extension().is_some_and(|extension| extension == wanted);
    let is_known = match folder {
        Some(KERNEL_SYMBOLS) => true,
        Some(VDSO) => path.is_relative() || ends_in(VDSO),
        Some(GPUBINS) => path.is_relative() || ends_in(GPUBIN),
        _ => false,
    };
    let is_beside = is_known && parts.all(|part| matches!(part, Component::Normal(_)));
    is_beside.then_some(relative)
}

/// The image that the kernel mapped into processes, where there was one.
fn only_vdso(directory: &Path) -> Option<PathBuf> {
    let mut names =
        fs::read_dir(directory.join(VDSO)).ok()?.flatten().map(|entry| entry.file_name());
    let (first, None) = (names.next()?, names.next()) else { return None };
    Some(Path::new(VDSO).join(first))
}

/// The programs and libraries of a measurement. Each is opened when an address in it is looked up.
#[derive(Debug)]
pub struct Programs {
    modules: BTreeMap<String, Candidate>,
    style: Style,
    search: Search,
    limits: Limits,
}

/// A module that may be there.
#[derive(Debug)]
struct Candidate {
    paths: Vec<PathBuf>,
    is_kernel: bool,
    /// Possible path of the module, by its name in the measurement, which no other module has.
    beside: Option<PathBuf>,
    /// Addresses that were recorded in it.
    recorded: RecordedAddresses,
    /// Information about it, or the reason why there is none.
    known: OnceLock<Result<ModuleInformation, Limitation>>,
    /// Set where a program was looked into that may be another than the one that was measured.
    unverified: OnceLock<()>,
}

#[derive(Debug)]
enum ModuleInformation {
    Image(Box<Image>),
    Kernel(KernelSymbols),
    Logical(Logical),
}

/// Message about a module that nothing leads to but its path.
const NOT_LOOKED_FOR: &str = "it is not looked for outside of what was named";

impl Candidate {
    fn open(&self, search: &Search, limits: &Limits) -> Option<&ModuleInformation> {
        let open = |path: &PathBuf| {
            let bytes = image::read(path, limits)?;
            if self.is_kernel && !bytes.starts_with(ELF) {
                KernelSymbols::open(bytes, Style::from_compat(search.compat))
                    .map(ModuleInformation::Kernel)
            } else if Logical::is_it(&bytes) {
                Logical::read(&bytes).map(ModuleInformation::Logical).map_err(Limitation::damaged)
            } else {
                // What does not even begin as a program was never one.
                let is_damaged = bytes.starts_with(ELF);
                let is_verified =
                    self.beside.as_ref() == Some(path) || self.require_same_build(&bytes)?;
                if !is_verified {
                    // The first word stands: a file is opened once.
                    let _ = self.unverified.set(());
                }
                let image = Image::open(path, &bytes, search, limits);
                let image = image.map_err(|why| Limitation { why, is_damaged })?;
                Ok(ModuleInformation::Image(Box::new(image)))
            }
        };
        let absent = if self.paths.is_empty() { NOT_LOOKED_FOR } else { image::ABSENT };
        let open = || self.path().map_or_else(|| Err(Limitation::absent(absent)), open);
        self.known.get_or_init(open).as_ref().ok()
    }

    /// Returns true where a program is the one that was measured, as far as that can be told. Fails
    /// where it is another.
    fn require_same_build(&self, bytes: &Bytes) -> Result<bool, Limitation> {
        // Code of a GPU has addresses of its own; its file is named by what is in it.
        if elf::is_of_gpu(bytes) {
            return Ok(true);
        }
        // What cannot be read at all is said by those who read it.
        object::File::parse(&**bytes).map_or(Ok(true), |file| self.recorded.fit(&file, bytes))
    }

    /// The first file that is there counts, also where it is no program.
    fn path(&self) -> Option<&PathBuf> {
        self.paths.iter().find(|path| path.try_exists().unwrap_or(true))
    }

    /// Describes the place where it was looked for, or found, other than where it was recorded.
    fn other_location(&self) -> Option<String> {
        let (recorded, others) = self.paths.split_last()?;
        match self.path() {
            Some(found) => (found != recorded).then(|| format!(" (at {})", found.display())),
            None => others.first().map(|other| format!(", nor at {}", other.display())),
        }
    }
}

impl Programs {
    /// Takes modules by the paths that were recorded, each with the directory that it is below if
    /// its path is relative.
    #[must_use]
    pub fn new<'a>(
        modules: impl Iterator<Item = (&'a str, &'a Path)>,
        search: &Search,
        limits: &Limits,
    ) -> Self {
        let candidate = |(path, directory): (&str, &Path)| {
            let beside = path_in_measurement(path, directory);
            let is_kernel = beside.as_ref().is_some_and(|path| path.starts_with(KERNEL_SYMBOLS));
            let beside = beside.map(|beside| directory.join(beside));
            let resolved = Path::new(path).is_relative().then(|| directory.join(path));
            let name = resolved.as_ref().map(|resolved| resolved.to_string_lossy().into_owned());
            let name = name.unwrap_or_else(|| path.to_owned());
            let replaced = search.replaced(path).or_else(|| search.replaced(&name));
            // What is relative is in the directory.
            let recorded = (resolved.is_some() || !search.only_named).then(|| PathBuf::from(&name));
            let recorded = recorded.filter(|recorded| beside.as_ref() != Some(recorded));
            let paths = replaced.into_iter().chain(beside.clone()).chain(recorded).collect();
            let beside = beside.or(resolved);
            let (recorded, known) = (RecordedAddresses::default(), OnceLock::new());
            let unverified = OnceLock::new();
            (name, Candidate { paths, is_kernel, beside, recorded, known, unverified })
        };
        let modules = modules.map(candidate).collect();
        Self {
            modules,
            style: Style::from_compat(search.compat),
            search: search.clone(),
            limits: *limits,
        }
    }
}

impl Programs {
    /// Takes addresses that were recorded in a module, by the path that it is looked up by: programs
    /// that they do not fit are not used.
    pub fn expect(&mut self, path: &str, recorded: RecordedAddresses) {
        if let Some(candidate) = self.modules.get_mut(path) {
            candidate.recorded = recorded;
        }
    }

    /// Programs that were looked into and of which nothing tells that they are those that were
    /// measured.
    #[must_use]
    pub fn unverified(&self) -> Vec<&str> {
        let is_it = |candidate: &Candidate| candidate.unverified.get().is_some();
        let found = self.modules.iter().filter(|(_, candidate)| is_it(candidate));
        found.map(|(path, _)| path.as_str()).collect()
    }

    /// Gives a function without a name that of its symbol. What tells the name may be in a file that
    /// is not there.
    fn name_function(&self, image: &Image, address: u64, to: &mut [Resolved]) {
        if let Some(Resolved::Function { name, .. }) = to.first_mut()
            && name.is_empty()
            && self.style == Style::Best
            && let Some(symbol) = image.symbol(address)
        {
            *name = self.style.demangled(&symbol.name);
        }
    }
}

impl Symbols for Programs {
    fn module<'a>(&'a self, path: &str, resolved: Option<&str>) -> Option<Box<dyn Resolver + 'a>> {
        let candidate = self.modules.get(resolved.unwrap_or(path))?;
        Some(Box::new(Module { programs: self, candidate, opened: None }))
    }
}

/// A module whose addresses are looked up.
struct Module<'a> {
    programs: &'a Programs,
    candidate: &'a Candidate,
    opened: Option<Opened<'a>>,
}

/// A module that was opened.
enum Opened<'a> {
    /// It is not there.
    Nothing,
    /// A program or a library, with its debug information where there is some, and its loops where
    /// they are looked for.
    Image(&'a Image, Option<Box<Debug<'a>>>, Option<Box<Finder<'a>>>),
    /// A kernel.
    Kernel(&'a KernelSymbols),
    /// Functions of an interpreter.
    Logical(&'a Logical),
}

/// First bytes of programs.
const ELF: &[u8] = b"\x7fELF";

impl Module<'_> {
    /// The worst of what is lacking, as far as addresses were looked up.
    fn worst(&self) -> Option<Limitation> {
        let image = match self.candidate.known.get()? {
            Err(lack) => return Some(lack.clone()),
            Ok(ModuleInformation::Image(image)) => image.limitation().cloned(),
            Ok(ModuleInformation::Kernel(_) | ModuleInformation::Logical(_)) => return None,
        };
        let (debug, loops) = match &self.opened {
            Some(Opened::Image(_, debug, finder)) => {
                let debug = debug.as_ref().and_then(|debug| debug.limitation());
                (debug, finder.as_ref().and_then(|finder| finder.limitation()))
            }
            _ => (None, None),
        };
        Limitation::worst([image, debug, loops].into_iter().flatten())
    }
}

impl Resolver for Module<'_> {
    fn resolve(&mut self, address: u64, to: &mut Vec<Resolved>) {
        let (programs, candidate) = (self.programs, self.candidate);
        let open = || match candidate.open(&programs.search, &programs.limits) {
            None => Opened::Nothing,
            Some(ModuleInformation::Kernel(symbols)) => Opened::Kernel(symbols),
            Some(ModuleInformation::Logical(functions)) => Opened::Logical(functions),
            Some(ModuleInformation::Image(image)) => {
                let debug = Debug::new(image, programs.style).map(Box::new);
                Opened::Image(image, debug, Finder::new(image).map(Box::new))
            }
        };
        match self.opened.get_or_insert_with(open) {
            Opened::Nothing => {}
            Opened::Kernel(symbols) => symbols.resolve(address, to),
            Opened::Logical(functions) => functions.resolve(programs.style, address, to),
            Opened::Image(image, debug, finder) => {
                let mut finder = finder.as_deref_mut();
                if let Some(debug) = debug {
                    debug.resolve(finder.as_deref_mut(), address, to);
                    programs.name_function(image, address, to);
                }
                let symbol = image.symbol(address).filter(|_| to.is_empty());
                let line = debug.as_mut().filter(|_| symbol.is_some());
                let line = line.and_then(|debug| debug.line(address));
                to.extend(symbol.map(|symbol| Resolved::Function {
                    // No entry of DWARF is that far back, whatever addresses are.
                    record: 1 << 63 | symbol.start,
                    name: programs.style.demangled(&symbol.name),
                    at: None,
                    entry: Some(symbol.start),
                }));
                if let (Some(symbol), Some(finder)) = (symbol, finder.as_deref_mut()) {
                    finder.resolve(image.parts(symbol), address, to);
                }
                to.extend(line.map(|at| Resolved::Line { at }));
                if to.is_empty()
                    && programs.style == Style::Best
                    && let Some(range) = image.nameless(address)
                {
                    to.push(Resolved::Function {
                        record: 1 << 63 | range.start,
                        name: format!("<unknown> {:#x}", range.start),
                        at: None,
                        entry: Some(range.start),
                    });
                    if let Some(finder) = finder {
                        finder.resolve((range.start, vec![range.clone()]), address, to);
                    }
                }
            }
        }
    }

    fn limitation(&self) -> Option<String> {
        let elsewhere = || self.candidate.other_location().unwrap_or_default();
        self.worst().map(|lack| lack.why + &elsewhere())
    }

    fn is_damaged(&self) -> bool {
        self.worst().is_some_and(|lack| lack.is_damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_replaced_where_a_part_of_the_path_ends() {
        let replace = vec![("/opt/demo".to_owned(), "/data".to_owned())];
        let search = Search { replace, ..Search::default() };
        let paths = |path| search.paths(path);
        assert_eq!(paths("/opt/demo/bin/a"), ["/data/bin/a", "/opt/demo/bin/a"].map(PathBuf::from));
        assert_eq!(paths("/opt/demonstration"), [PathBuf::from("/opt/demonstration")]);
    }

    #[test]
    fn slashes_at_the_end_of_what_is_replaced_change_nothing() {
        for (from, to) in
            [("/opt", "/data"), ("/opt/", "/data"), ("/opt", "/data/"), ("/opt/", "/data/")]
        {
            let replace = vec![(from.to_owned(), to.to_owned())];
            let search = Search { replace, ..Search::default() };
            let first = |path| search.paths(path).into_iter().next();
            assert_eq!(first("/opt/bin/a"), Some("/data/bin/a".into()), "{from}={to}");
            assert_eq!(first("/opt"), Some("/data".into()), "{from}={to}");
            assert_eq!(first("/optional/a"), Some("/optional/a".into()), "{from}={to}");
        }
        let all = |from: &str, to: &str| {
            let replace = vec![(from.to_owned(), to.to_owned())];
            Search { replace, ..Search::default() }.paths("/bin/a")
        };
        assert_eq!(all("/", "/root"), ["/root/bin/a", "/bin/a"].map(PathBuf::from));
        assert_eq!(all("/bin", "/"), ["/a", "/bin/a"].map(PathBuf::from));
    }

    #[test]
    fn what_recorders_put_beside_is_found_wherever_the_directory_was() {
        let folder = tempfile::tempdir().unwrap();
        let found = |path| {
            path_in_measurement(path, folder.path()).map(|path| path.to_string_lossy().into_owned())
        };
        assert_eq!(found("vdso/ab.vdso").as_deref(), Some("vdso/ab.vdso"));
        assert_eq!(found("/builds/m/vdso/ab.vdso").as_deref(), Some("vdso/ab.vdso"));
        let kernel = Some("kernel_symbols/vmlinux.7f0100");
        assert_eq!(found("/m/kernel_symbols/vmlinux.7f0100").as_deref(), kernel);
        assert_eq!(found("<vmlinux.7f0100>").as_deref(), kernel);
        assert_eq!(found("/m/gpubins/ab.gpubin").as_deref(), Some("gpubins/ab.gpubin"));
        // Of several images nobody knows which it was.
        fs::create_dir(folder.path().join("vdso")).unwrap();
        for (name, expected) in [("ab.vdso", Some("vdso/ab.vdso")), ("cd.vdso", None)] {
            fs::write(folder.path().join("vdso").join(name), "").unwrap();
            assert_eq!(found("[vdso]").as_deref(), expected);
        }
        for path in [
            "/bin/app",
            "vdso/../../etc/passwd",
            "/vdso",
            "../vdso/a",
            "/a/vdso/..",
            "",
            "/src/vdso/app",
            "<vmlinux/../../etc/passwd>",
            "/usr/gpubins/app",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
