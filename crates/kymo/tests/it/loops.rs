//! Loops found in machine code, compared with those that hpcstruct found in the same programs.
//!
//! Of every function that hpcstruct or we know loops of, the loops are compared by the address of
//! their entry, by how deep they are nested, and by file and line, where both tell them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_hpcrun::StructureFile;
use kymo_model::profile::base_name;
use kymo_model::structure::{Module, Resolved, Resolver, Scope, Symbols};
use kymo_symbols::{Programs, Search};

/// How far loops agree.
#[derive(Debug, PartialEq, Eq)]
struct Agreement {
    /// Functions that either knows loops of, and of which both know where they begin.
    functions: usize,
    /// Loops of hpcstruct in them.
    loops: usize,
    /// Those that we know with the same entry and depth.
    same: usize,
    /// And with the same line.
    lines: usize,
    /// Loops that hpcstruct does not know.
    more: usize,
}

/// Why a function differs. Where it is not our fault, hpcstruct's file shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// hpcstruct takes a call to return that does not, and what comes after it for part of a loop.
    NeverReturns,
    /// hpcstruct does not look at what only exceptions lead to; there are loops in it.
    Exceptions,
    /// hpcstruct does not follow a table of jumps that we follow.
    Table,
    /// hpcstruct follows a table of computed addresses that we do not, or not as far.
    Computed,
    /// hpcstruct does not know where an inlined call stands (`<unknown>`) that ends the loop.
    CallUnknown,
    /// A loop that is entered at several places has another header.
    Irreducible,
    /// hpcstruct has no loop where there is a plain one.
    Overlooked,
    /// Loops that are in code which no symbol tells of: hpcstruct takes it for part of the function
    /// that jumps there. What was measured there has no name with us.
    Unnamed,
}

/// A module, how far its loops agree, and the functions that differ.
type Expected = (&'static str, Agreement, &'static [(&'static str, Why)]);

fn agreement(functions: usize, loops: usize, same: usize, lines: usize, more: usize) -> Agreement {
    Agreement { functions, loops, same, lines, more }
}

#[test]
fn loops_of_programs_are_those_of_hpcstruct() {
    let Some(here) = shared::file("hpctoolkit/made-here") else { return };
    for name in ["deep", "matmul-omp", "pipeline"] {
        let structure = here.join(name).join(format!("measurements/structs/{name}.hpcstruct"));
        let (found, different) = compare(&structure, &here.join("demo/bin").join(name));
        let loops = found.loops;
        assert_eq!(found, agreement(found.functions, loops, loops, loops, 0), "{name}");
        assert!(different.is_empty(), "{name}: {different:?}");
        let expected = match name {
            "deep" => (1, 1),
            "matmul-omp" => (4, 13),
            _ => (3, 9),
        };
        assert_eq!((found.functions, loops), expected, "{name}");
    }
}

#[test]
fn loops_of_templates_and_generics_are_those_of_hpcstruct() {
    let Some(here) = shared::file("hpctoolkit/made-here") else { return };
    let item = |name: &str| {
        let structure = here.join("structs").join(format!("{name}.hpcstruct"));
        compare(&structure, &here.join("demo/bin").join(name))
    };
    let (found, different) = item("templates");
    assert_eq!(found, agreement(14, 47, 45, 45, 0));
    assert_different(&different, TEMPLATES);
    let (found, different) = item("rustwork");
    assert_eq!(found, agreement(238, 786, 785, 785, 20));
    assert_different(&different, RUSTWORK);
}

/// The system's libraries, where they are those of the structure files and have their debug files.
#[test]
fn loops_of_libraries_are_those_of_hpcstruct() {
    let Some(here) = shared::file("hpctoolkit/made-here") else { return };
    compare_installed(&here, LIBRARIES, true);
}

/// The system's, where they are those of the structure files, and no debug files are there.
#[test]
fn loops_of_what_has_few_symbols_are_those_of_hpcstruct() {
    let Some(here) = shared::file("hpctoolkit/made-here") else { return };
    compare_installed(&here, STRIPPED, false);
}

fn compare_installed(here: &Path, modules: &[Expected], has_debug: bool) {
    let ids = fs::read_to_string(here.join("BUILD-IDS.tsv")).unwrap();
    for (name, expected, why) in modules {
        let is_it = |line: &&str| base_name(line.split('\t').next().unwrap()) == *name;
        let line = ids.lines().find(is_it).unwrap();
        let (path, rest) = line.split_once('\t').unwrap();
        let id = rest.split('\t').next().unwrap();
        if !is_build(Path::new(path), id) || debug_file(id).is_file() != has_debug {
            println!("left out {name}: another build, or debug files are not as they were");
            continue;
        }
        let structure = here.join("structs").join(format!("{name}.hpcstruct"));
        let (found, different) = compare(&structure, Path::new(path));
        assert_eq!(found, *expected, "{name}");
        assert_different(&different, why);
    }
}

/// The program is found where it is now, and no structure file is there.
#[test]
fn a_database_without_structure_has_loops_unless_they_are_not_wanted() {
    let Some(here) = shared::file("hpctoolkit/made-here") else { return };
    let made = folder();
    let measurement = made.path().join("measurement");
    fs::create_dir(&measurement).unwrap();
    for entry in fs::read_dir(here.join("matmul-omp/measurements")).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|end| end == "hpcrun" || end == "hpctrace") {
            fs::copy(entry.path(), measurement.join(entry.file_name())).unwrap();
        }
    }
    let demo = format!("/opt/demo={}", here.join("demo").display());
    let tree = |name: &str, more: &[&str]| {
        let to = made.path().join(name);
        let mut command = kymo();
        command.args(["prof", "-R", &demo, "-o"]).arg(&to).arg(&measurement).args(more);
        let (code, _, said) = run(&mut command);
        assert_eq!(code, Some(0), "{said}");
        let (code, out, said) = run(kymo().args(["tree", "--depth", "40"]).arg(&to));
        assert_eq!(code, Some(0), "{said}");
        out
    };
    // The six loops of `multiply` that the time is spent in, each within the one before.
    let with = tree("with", &[]);
    let mut rest = with.as_str();
    for line in [16, 18, 18, 19, 20, 22] {
        let label = format!("loop at matmul-omp.c:{line}");
        let at = rest.find(&label).unwrap_or_else(|| panic!("{label} is not in {with}"));
        rest = &rest[at + label.len()..];
    }
    assert!(!tree("off", &["--loops=off"]).contains("loop at"));
    assert!(!tree("compat", &["--compat"]).contains("loop at"));
}

fn debug_file(id: &str) -> PathBuf {
    let (first, rest) = id.split_at(2);
    PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"))
}

/// Returns true if a file is there and of this build.
fn is_build(path: &Path, id: &str) -> bool {
    let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
    let id: Vec<u8> = (0..id.len()).step_by(2).map(byte).collect();
    let is_it = |bytes: Vec<u8>| bytes.windows(id.len()).any(|found| found == id);
    fs::read(path).is_ok_and(is_it)
}

fn assert_different(found: &BTreeSet<String>, expected: &[(&str, Why)]) {
    let expected: BTreeSet<String> = expected.iter().map(|(name, _)| (*name).to_owned()).collect();
    let new: Vec<_> = found.difference(&expected).collect();
    let gone: Vec<_> = expected.difference(found).collect();
    assert!(new.is_empty() && gone.is_empty(), "differ as well: {new:#?}, no longer: {gone:#?}");
}

/// By entry: how deep, the base name of the file, and the line.
type Loops = BTreeMap<u64, (usize, String, u32)>;

/// A function as hpcstruct tells of it, and as we do.
#[derive(Default)]
struct Function {
    name: String,
    entry: u64,
    theirs: Loops,
    ours: Loops,
    /// What we take for the entry of what is there.
    entries: BTreeSet<Option<u64>>,
}

impl Function {
    /// Returns true if both mean the same function.
    fn is_known(&self) -> bool {
        let is_same = |entry: &Option<u64>| entry.is_none_or(|entry| entry == self.entry);
        !self.entries.is_empty() && self.entries.iter().all(is_same)
    }
}

/// Compares the loops of a structure file with those of a program, and names functions that differ.
fn compare(structure: &Path, program: &Path) -> (Agreement, BTreeSet<String>) {
    let limits = Limits::default();
    let file = StructureFile::read(&fs::read(structure).unwrap(), &limits, &|_| true).unwrap();
    let search = Search { loops: true, ..Search::default() };
    let program = program.to_str().unwrap();
    let modules = std::iter::once((program, Path::new("/")));
    let programs = Programs::new(modules, &search, &limits);
    let mut resolver = programs.module(program, None).unwrap();
    let mut found = agreement(0, 0, 0, 0, 0);
    let mut different = BTreeSet::new();
    for function in functions(file.modules.first().unwrap(), &mut *resolver) {
        let has_loops = !function.theirs.is_empty() || !function.ours.is_empty();
        if has_loops && function.is_known() && !add(&mut found, &function) {
            // Without the module that hpcstruct puts after the names of some.
            different.insert(function.name.split(" [").next().unwrap().to_owned());
        }
    }
    (found, different)
}

/// Adds the loops of a function, and says whether they are the same.
fn add(to: &mut Agreement, function: &Function) -> bool {
    to.functions += 1;
    to.loops += function.theirs.len();
    let more = function.ours.keys().filter(|entry| !function.theirs.contains_key(entry)).count();
    to.more += more;
    let mut is_same = more == 0;
    for (entry, (depth, file, line)) in &function.theirs {
        let Some((_, our_file, our_line)) =
            function.ours.get(entry).filter(|(ours, ..)| ours == depth)
        else {
            is_same = false;
            continue;
        };
        to.same += 1;
        // Without lines hpcstruct names the module, and we name nothing.
        let is_told = *line > 0 && !our_file.is_empty();
        let is_line = !is_told || (our_file, our_line) == (file, line);
        to.lines += usize::from(is_line);
        is_same &= is_line;
    }
    is_same
}

/// What both know of every function.
fn functions(module: &Module, resolver: &mut dyn Resolver) -> Vec<Function> {
    let mut functions: BTreeMap<u32, Function> = BTreeMap::new();
    for (range, line) in module.ranges() {
        let mut depth = 0;
        let mut function = None;
        for id in module.chain(*line) {
            match module.scope(id) {
                Some(Scope::Function { name, entry, .. }) => {
                    let known = functions.entry(id.0).or_default();
                    (known.name, known.entry) = (name.clone(), entry.unwrap_or(0));
                    function = Some(known);
                }
                Some(Scope::Loop { at, entry }) => {
                    let file = base_name(module.file(at.file).unwrap_or_default()).to_owned();
                    let found = (depth, file, at.line);
                    function.as_mut().unwrap().theirs.insert(entry.unwrap(), found);
                    depth += 1;
                }
                _ => {}
            }
        }
        let function = function.unwrap();
        for address in range.clone().step_by(8) {
            look_up(resolver, address, function);
        }
    }
    functions.into_values().collect()
}

/// Takes down what we know of an address.
fn look_up(resolver: &mut dyn Resolver, address: u64, function: &mut Function) {
    let mut scopes = Vec::new();
    resolver.resolve(address, &mut scopes);
    let mut depth = 0;
    for scope in scopes {
        match scope {
            // A part of a function that lies apart has ranges of its own, and no name with us.
            Resolved::Function { entry, name, .. }
                if name.starts_with("<unknown>") && entry != Some(function.entry) =>
            {
                function.entries.insert(None);
                return;
            }
            Resolved::Function { entry, .. } => {
                function.entries.insert(entry);
            }
            Resolved::Loop { at, entry } => {
                let (file, line) = at.unwrap_or_default();
                let file = if file.is_empty() { file } else { base_name(&file).to_owned() };
                function.ours.insert(entry, (depth, file, line));
                depth += 1;
            }
            _ => {}
        }
    }
}

const TEMPLATES: &[(&str, Why)] = &[("main", Why::NeverReturns)];

const RUSTWORK: &[(&str, Why)] = &[
    (
        "<alloc::vec::drain::Drain<T,A> as core::ops::drop::Drop>::drop::h8f637755c5b88568",
        Why::Exceptions,
    ),
    (
        "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCs4X4t9plMPHF_9addr2line4unit8ResUnitsINtNtNtCsduwmD7cSIQq_5gimli4read12endian_slice11EndianSliceNtNtB1u_9endianity12LittleEndianEEECsjrHSEGnQ3l9_3std",
        Why::Exceptions,
    ),
    (
        "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCs4X4t9plMPHF_9addr2line4unit8SupUnitsINtNtNtCsduwmD7cSIQq_5gimli4read12endian_slice11EndianSliceNtNtB1u_9endianity12LittleEndianEEECsjrHSEGnQ3l9_3std",
        Why::Exceptions,
    ),
    (
        "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc3vec3VecINtNtCs4X4t9plMPHF_9addr2line4unit7ResUnitINtNtNtCsduwmD7cSIQq_5gimli4read12endian_slice11EndianSliceNtNtB20_9endianity12LittleEndianEEEECsjrHSEGnQ3l9_3std",
        Why::Exceptions,
    ),
    (
        "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc3vec3VecINtNtCs4X4t9plMPHF_9addr2line4unit7SupUnitINtNtNtCsduwmD7cSIQq_5gimli4read12endian_slice11EndianSliceNtNtB20_9endianity12LittleEndianEEEECsjrHSEGnQ3l9_3std",
        Why::Exceptions,
    ),
    (
        "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeSINtNtCslNYArtu3iFV_5alloc5boxed3BoxDINtNtNtB4_3ops8function6FnOnceuEp6OutputuNtNtB4_6marker4SendEL_EECsjrHSEGnQ3l9_3std",
        Why::Exceptions,
    ),
    ("_RNvMs0_NtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync4once5futexNtB5_4Once4call", Why::Table),
    (
        "core::ptr::drop_in_place<alloc::vec::Vec<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>+Output = ()+core::marker::Send>>>::h09a59530e650bdba",
        Why::Exceptions,
    ),
    (
        "core::ptr::drop_in_place<alloc::vec::Vec<std::sync::mpmc::waker::Entry>>::h285e47bcbf500123",
        Why::Exceptions,
    ),
    (
        "core::ptr::drop_in_place<alloc::vec::Vec<std::thread::join_handle::JoinHandle<()>>>::haa1fc0105a3505d9",
        Why::Exceptions,
    ),
    (
        "core::ptr::drop_in_place<alloc::vec::into_iter::IntoIter<std::thread::join_handle::JoinHandle<()>>>::hb2706e56443e0f3e",
        Why::Exceptions,
    ),
    ("core::ptr::drop_in_place<std::sync::mpmc::waker::Waker>::h94649a53e01eb195", Why::Exceptions),
    (
        "core::ptr::drop_in_place<std::sync::poison::mutex::Mutex<std::sync::mpmc::waker::Waker>>::h2bbc886602efd3fc",
        Why::Exceptions,
    ),
    ("std::sys::backtrace::__rust_begin_short_backtrace::h727c2df62f23aa09", Why::Exceptions),
];

const LIBRARIES: &[Expected] = &[
    (
        "ld-linux-x86-64.so.2",
        Agreement { functions: 131, loops: 423, same: 423, lines: 420, more: 0 },
        &[("__GI___tunables_init", Why::CallUnknown), ("_dl_check_map_versions", Why::CallUnknown)],
    ),
    (
        "libc.so.6",
        Agreement { functions: 1012, loops: 3337, same: 3326, lines: 3311, more: 63 },
        &[
            ("__GI___res_context_search", Why::CallUnknown),
            ("__GI___strcoll_l", Why::CallUnknown),
            ("__GI___strxfrm_l", Why::CallUnknown),
            ("__GI___wcscoll_l", Why::CallUnknown),
            ("__gconv_transform_ucs4le_internal", Why::CallUnknown),
            ("__memmove_ssse3", Why::Table),
            ("__vfprintf_internal", Why::Computed),
            ("__vfwprintf_internal", Why::Computed),
            ("arena_get2", Why::NeverReturns),
            ("clntudp_call", Why::CallUnknown),
            ("glob_in_dir", Why::CallUnknown),
            ("inet6_option_find", Why::CallUnknown),
            ("parse_expression", Why::Table),
            ("printf_positional", Why::Computed),
            ("rfc3484_sort", Why::Irreducible),
            ("setxid_mark_thread.constprop.0", Why::CallUnknown),
            ("setxid_unmark_thread.constprop.0", Why::Overlooked),
        ],
    ),
    ("libm.so.6", Agreement { functions: 7, loops: 16, same: 16, lines: 16, more: 0 }, &[]),
];

/// Modules that have no symbols but those for linking.
const STRIPPED: &[Expected] = &[
    (
        "libgomp.so.1.0.0",
        Agreement { functions: 140, loops: 363, same: 350, lines: 350, more: 0 },
        &[
            ("<unknown procedure> 0x1cfd0", Why::Unnamed),
            ("<unknown procedure> 0x1f6d0", Why::Unnamed),
            ("<unknown procedure> 0x30440", Why::Unnamed),
            ("GOMP_barrier_cancel", Why::Unnamed),
            ("GOMP_loop_end", Why::Unnamed),
            ("GOMP_loop_end_cancel", Why::Unnamed),
            ("GOMP_loop_nonmonotonic_guided_next", Why::Unnamed),
            ("GOMP_loop_ull_nonmonotonic_dynamic_next", Why::Unnamed),
            ("GOMP_loop_ull_nonmonotonic_guided_next", Why::Unnamed),
            ("omp_get_place_proc_ids_8_", Why::Unnamed),
        ],
    ),
    (
        "libstdc++.so.6.0.30",
        Agreement { functions: 454, loops: 1077, same: 1031, lines: 1031, more: 5 },
        &[
            ("<unknown procedure> 0x16a730", Why::Exceptions),
            ("<unknown procedure> 0x171d40", Why::Exceptions),
            ("<unknown procedure> 0x172f60", Why::Exceptions),
            ("<unknown procedure> 0x187780", Why::Exceptions),
            ("<unknown procedure> 0x188a80", Why::Exceptions),
            ("<unknown procedure> 0x1677d0", Why::Unnamed),
            ("<unknown procedure> 0x17e6b0", Why::Unnamed),
            ("<unknown procedure> 0xacfd0", Why::Unnamed),
            ("<unknown procedure> 0xae9d0", Why::Unnamed),
            ("std::messages<char>::do_close(int) const", Why::Unnamed),
            ("std::to_chars(char*, char*, double)", Why::Unnamed),
            ("std::to_chars(char*, char*, double, std::chars_format, int)", Why::Unnamed),
            ("std::to_chars(char*, char*, float)", Why::Unnamed),
            ("std::to_chars(char*, char*, float, std::chars_format, int)", Why::Unnamed),
            ("std::to_chars(char*, char*, long double, std::chars_format)", Why::Unnamed),
            ("std::to_chars(char*, char*, long double, std::chars_format, int)", Why::Unnamed),
        ],
    ),
    (
        "python3.11",
        Agreement { functions: 724, loops: 2583, same: 2217, lines: 2217, more: 12 },
        &[
            ("PyBytes_FromFormatV", Why::Unnamed),
            ("PyBytes_FromObject", Why::Unnamed),
            ("PyCode_NewWithPosOnlyArgs", Why::Unnamed),
            ("PyCodec_ReplaceErrors", Why::Unnamed),
            ("PyFunction_GetAnnotations", Why::Unnamed),
            ("PyImport_ImportModuleLevelObject", Why::Unnamed),
            ("PyList_Insert", Why::Unnamed),
            ("PyLong_FromString", Why::Unnamed),
            ("PyNumber_InPlaceRemainder", Why::Unnamed),
            ("PyNumber_Power", Why::Unnamed),
            ("PyOS_strtoul", Why::Unnamed),
            ("PySet_Clear", Why::Unnamed),
            ("PySet_Pop", Why::Unnamed),
            ("PySys_AddWarnOption", Why::Unnamed),
            ("PyTraceBack_Here", Why::Unnamed),
            ("PyUnicode_AsUCS4Copy", Why::Unnamed),
            ("PyUnicode_BuildEncodingMap", Why::Unnamed),
            ("PyUnicode_CompareWithASCIIString", Why::Unnamed),
            ("PyUnicode_Contains", Why::Unnamed),
            ("PyUnicode_Find", Why::Unnamed),
            ("PyUnicode_Format", Why::Irreducible),
            ("PyUnicode_IsIdentifier", Why::Unnamed),
            ("PyUnicode_RSplit", Why::Unnamed),
            ("PyUnicode_Replace", Why::Unnamed),
            ("PyUnicode_Split", Why::Unnamed),
            ("PyUnicode_Translate", Why::Unnamed),
            ("Py_RunMain", Why::Unnamed),
            ("_PyArena_New", Why::Unnamed),
            ("_PyBytes_Join", Why::Unnamed),
            ("_PyDict_HasOnlyStringKeys", Why::Unnamed),
            ("_PyErr_CheckSignalsTstate", Why::Unnamed),
            ("_PyErr_ProgramDecodedTextObject", Why::Unnamed),
            ("_PyEval_EvalFrameDefault", Why::Computed),
            ("_PyFunction_Vectorcall", Why::Unnamed),
            ("_PyLong_FormatAdvancedWriter", Why::Unnamed),
            ("_PyObject_FastCallDictTstate", Why::Unnamed),
            ("_PyObject_GetState", Why::Unnamed),
            ("_PyObject_MakeTpCall", Why::Unnamed),
            ("_PyTraceMalloc_GetTraceback", Why::Unnamed),
            ("_PyTrash_end", Why::Unnamed),
            ("_PyUnicode_EncodeUTF32", Why::Unnamed),
            ("_PyUnicode_EncodeUTF7", Why::Unnamed),
            ("_PyUnicode_XStrip", Why::Unnamed),
            ("_Py_DumpASCII", Why::Unnamed),
            ("_Py_dg_dtoa", Why::Unnamed),
            ("_Py_dg_strtod", Why::Unnamed),
            ("_Py_strhex_bytes_with_sep", Why::Unnamed),
            ("<unknown procedure> 0x4ffd60", Why::Unnamed),
            ("<unknown procedure> 0x5012c0", Why::Unnamed),
            ("<unknown procedure> 0x505180", Why::Unnamed),
            ("<unknown procedure> 0x50a500", Why::Unnamed),
            ("<unknown procedure> 0x50f470", Why::Unnamed),
            ("<unknown procedure> 0x5129c0", Why::Unnamed),
            ("<unknown procedure> 0x5162a0", Why::Unnamed),
            ("<unknown procedure> 0x51c280", Why::Unnamed),
            ("<unknown procedure> 0x51fdb0", Why::Unnamed),
            ("<unknown procedure> 0x525860", Why::Unnamed),
            ("<unknown procedure> 0x528cc0", Why::Unnamed),
            ("<unknown procedure> 0x538a50", Why::Unnamed),
            ("<unknown procedure> 0x53fb50", Why::Unnamed),
            ("<unknown procedure> 0x551bc0", Why::Unnamed),
            ("<unknown procedure> 0x5529e0", Why::Unnamed),
            ("<unknown procedure> 0x555b50", Why::Unnamed),
            ("<unknown procedure> 0x557b80", Why::Unnamed),
            ("<unknown procedure> 0x559660", Why::Unnamed),
            ("<unknown procedure> 0x56ce20", Why::Unnamed),
            ("<unknown procedure> 0x571b00", Why::Unnamed),
            ("<unknown procedure> 0x574e70", Why::Unnamed),
            ("<unknown procedure> 0x5781e0", Why::Unnamed),
            ("<unknown procedure> 0x580540", Why::Unnamed),
            ("<unknown procedure> 0x584960", Why::Unnamed),
            ("<unknown procedure> 0x585ee0", Why::Unnamed),
            ("<unknown procedure> 0x5860a0", Why::Unnamed),
            ("<unknown procedure> 0x591640", Why::Unnamed),
            ("<unknown procedure> 0x596620", Why::Unnamed),
            ("<unknown procedure> 0x597490", Why::Unnamed),
            ("<unknown procedure> 0x5a1cb0", Why::Unnamed),
            ("<unknown procedure> 0x5a1f70", Why::Unnamed),
            ("<unknown procedure> 0x5a76b0", Why::Unnamed),
            ("<unknown procedure> 0x5b57e0", Why::Unnamed),
            ("<unknown procedure> 0x5efe60", Why::Unnamed),
            ("<unknown procedure> 0x5f0a80", Why::Unnamed),
            ("<unknown procedure> 0x61e010", Why::Unnamed),
            ("<unknown procedure> 0x61e160", Why::Unnamed),
            ("<unknown procedure> 0x628d00", Why::Unnamed),
            ("<unknown procedure> 0x629360", Why::Unnamed),
            ("<unknown procedure> 0x629cb0", Why::Unnamed),
            ("<unknown procedure> 0x62c830", Why::Unnamed),
            ("<unknown procedure> 0x630c60", Why::Unnamed),
            ("<unknown procedure> 0x6319f0", Why::Unnamed),
            ("<unknown procedure> 0x6338d0", Why::Unnamed),
            ("<unknown procedure> 0x6373a0", Why::Unnamed),
            ("<unknown procedure> 0x63afe0", Why::Unnamed),
            ("<unknown procedure> 0x63b240", Why::Unnamed),
            ("<unknown procedure> 0x63ce90", Why::Unnamed),
            ("<unknown procedure> 0x63fc90", Why::Unnamed),
            ("<unknown procedure> 0x640ae0", Why::Unnamed),
            ("<unknown procedure> 0x6446f0", Why::Unnamed),
            ("<unknown procedure> 0x64c7a0", Why::Unnamed),
            ("<unknown procedure> 0x64db80", Why::Unnamed),
            ("<unknown procedure> 0x64dd80", Why::Unnamed),
            ("<unknown procedure> 0x655490", Why::Unnamed),
            ("<unknown procedure> 0x65b2a0", Why::Unnamed),
            ("<unknown procedure> 0x65b970", Why::Unnamed),
            ("<unknown procedure> 0x664a60", Why::Unnamed),
            ("<unknown procedure> 0x669c10", Why::Unnamed),
            ("<unknown procedure> 0x669d60", Why::Unnamed),
            ("<unknown procedure> 0x66a7d0", Why::Unnamed),
            ("<unknown procedure> 0x66b100", Why::Unnamed),
            ("<unknown procedure> 0x672ca0", Why::Unnamed),
            ("<unknown procedure> 0x690c40", Why::Unnamed),
            ("<unknown procedure> 0x697d90", Why::Unnamed),
            ("<unknown procedure> 0x698180", Why::Unnamed),
            ("<unknown procedure> 0x6a7030", Why::Unnamed),
            ("<unknown procedure> 0x6aa520", Why::Unnamed),
            ("<unknown procedure> 0x6acba0", Why::Unnamed),
            ("<unknown procedure> 0x6ae500", Why::Unnamed),
            ("<unknown procedure> 0x6aeed0", Why::Unnamed),
            ("<unknown procedure> 0x6b9530", Why::Unnamed),
        ],
    ),
];
