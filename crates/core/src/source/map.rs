//! Files mapped into memory, and what happens when one shrinks under the reader.
//!
//! This is the one place of the workspace that maps files, and one of two where `unsafe` is
//! allowed (`ARCHITECTURE.md`). Reading a page of a mapped file that lies beyond the end the
//! file has by then raises SIGBUS. Each mapping is therefore listed in a fixed table, and a
//! handler puts a page of zeros where the missing one was and marks the mapping as torn. The
//! reader goes on with zeros, which it must survive as it survives any bytes, and
//! [`Mapping::verify`] turns the mark into an error.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::Mmap;

use super::stamp::{ClosedFile, Stamp};
use crate::{Error, Result};

/// Number of mapped files that stay open. Systems usually allow some hundred, and a measurement has
/// a file for each thread: the others are closed, and looked at by their paths.
const OPEN_MAX: usize = 32;

/// Number of mapped files that are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Description of what happened to a file of which a page was missing.
pub(super) const TORN: &str = "could not be read from its disk";

/// A mapped file.
#[derive(Debug)]
pub(super) struct Mapping {
    // Declared first: the place in the table is freed before the memory is unmapped.
    guard: guard::Guard,
    map: Mmap,
    file: Mapped,
    /// True if a page was missing, for those who ask when it is not mapped any more.
    torn: Arc<AtomicBool>,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.guard.is_torn() {
            self.torn.store(true, Ordering::Release);
        }
    }
}

/// The file that is mapped.
#[derive(Debug)]
enum Mapped {
    Open(OpenFile, Stamp),
    Closed(ClosedFile),
}

/// A file that is open, and counted.
#[derive(Debug)]
struct OpenFile(File);

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Mapped {
    /// Keeps a file open; where many are already, it is closed if it is found again at a path.
    fn new(file: File, again: Option<&Path>, opened: Stamp) -> Self {
        let are_open = OPEN.fetch_add(1, Ordering::Relaxed);
        let file = OpenFile(file);
        match again {
            Some(path) if are_open >= OPEN_MAX => {
                Self::Closed(ClosedFile { path: path.to_path_buf(), opened })
            }
            _ => Self::Open(file, opened),
        }
    }
}

impl Mapping {
    /// Maps a file, or hands it back to be read when it cannot be guarded.
    pub(super) fn new(
        file: File,
        again: Option<&Path>,
    ) -> io::Result<std::result::Result<Self, File>> {
        let opened = Stamp::from_metadata(&file.metadata()?);
        let map = map(&file)?;
        match guard::Guard::new(&map) {
            Some(guard) => {
                let (file, torn) = (Mapped::new(file, again, opened), Arc::default());
                Ok(Ok(Self { guard, map, file, torn }))
            }
            None => Ok(Err(file)),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.map
    }

    /// Returns the state of the file at the time it was mapped.
    pub(super) fn opened(&self) -> Stamp {
        match &self.file {
            Mapped::Open(_, opened) => *opened,
            Mapped::Closed(file) => file.opened,
        }
    }

    /// Tells whether a page was missing, once it is not mapped any more.
    pub(super) fn torn(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.torn)
    }

    /// Reads bytes of the file the other way: into memory, as many as there are. Where it was
    /// closed, the mapping must do.
    #[cfg(unix)]
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        match &self.file {
            Mapped::Open(file, _) => file.0.read_at(bytes, offset),
            Mapped::Closed(_) => Ok(0),
        }
    }

    /// Elsewhere positions are shared between readers: the mapping must do.
    #[cfg(not(unix))]
    pub(super) fn read_at(&self, _bytes: &mut [u8], _offset: u64) -> io::Result<usize> {
        Ok(0)
    }

    /// Fails when the file shrank or was overwritten since it was mapped.
    pub(super) fn verify(&self) -> Result<()> {
        match &self.file {
            Mapped::Open(file, opened) => {
                opened.verify(&file.0.metadata().map_err(Error::io("look at it again"))?)?;
            }
            Mapped::Closed(file) => file.verify()?,
        }
        if self.guard.is_torn() {
            return Err(Error::Changed(TORN));
        }
        Ok(())
    }
}

#[allow(unsafe_code, reason = "mapping a file is a named exception")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is private to this module and read-only. Another program may still write
    // to or cut the file: cut pages are guarded; for overwritten ones every reader treats each
    // byte as untrusted and checks every use against a slice's real length, so that a changed
    // byte gives another answer or an error, and `verify` reports it.
    unsafe { Mmap::map(file) }
}

#[cfg(unix)]
mod guard {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Greatest number of files that may be mapped at once; more are read into memory instead.
    const PLACES: usize = 4096;

    /// A mapping as the handler sees it. An end of 0 marks a free place.
    struct MappingSlot {
        taken: AtomicBool,
        start: AtomicUsize,
        end: AtomicUsize,
        torn: AtomicBool,
    }

    static TABLE: [MappingSlot; PLACES] = [const {
        MappingSlot {
            taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            torn: AtomicBool::new(false),
        }
    }; PLACES];

    static INSTALLED: Once = Once::new();

    /// Action for SIGBUS before ours, for faults that are not ours.
    static PREVIOUS: std::sync::OnceLock<libc::sigaction> = std::sync::OnceLock::new();

    /// A mapping's place in the table, freed on drop.
    pub(super) struct Guard {
        place: &'static MappingSlot,
    }

    impl std::fmt::Debug for Guard {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Guard").field("torn", &self.is_torn()).finish()
        }
    }

    impl Guard {
        /// Takes a place for a mapping, or nothing when all are taken.
        pub(super) fn new(map: &[u8]) -> Option<Self> {
            INSTALLED.call_once(install);
            let free = |place: &&MappingSlot| {
                let order = Ordering::AcqRel;
                place.taken.compare_exchange(false, true, order, Ordering::Relaxed).is_ok()
            };
            let place = TABLE.iter().find(free)?;
            let start = map.as_ptr().addr();
            place.torn.store(false, Ordering::Relaxed);
            place.start.store(start, Ordering::Relaxed);
            place.end.store(start + map.len(), Ordering::Release);
            Some(Self { place })
        }

        /// Returns true if a page of the mapping was missing.
        pub(super) fn is_torn(&self) -> bool {
            self.place.torn.load(Ordering::Acquire)
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            self.place.end.store(0, Ordering::Release);
            self.place.taken.store(false, Ordering::Release);
        }
    }

    #[allow(unsafe_code, reason = "part of mapping a file")]
    fn install() {
        // SAFETY: both structures are plain data for which zero is valid, and the handler only
        // does what is allowed in one: loads, stores and system calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut previous: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                on_bus_error;
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous) == 0 {
                // `call_once` makes this the first and only value.
                let _ = PREVIOUS.set(previous);
            }
        }
    }

    #[allow(unsafe_code, reason = "part of mapping a file")]
    extern "C" fn on_bus_error(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes a valid `info` to a SA_SIGINFO handler.
        let address = unsafe { (*info).si_addr() }.addr();
        if !mend(address) {
            pass_on(PREVIOUS.get(), signal, info, context);
        }
    }

    /// Puts a page of zeros at a missing page of one of our mappings.
    #[allow(unsafe_code, reason = "part of mapping a file")]
    fn mend(address: usize) -> bool {
        let ours = |place: &&MappingSlot| {
            let end = place.end.load(Ordering::Acquire);
            (place.start.load(Ordering::Relaxed)..end).contains(&address)
        };
        let Some(place) = TABLE.iter().find(ours) else {
            return false;
        };
        place.torn.store(true, Ordering::Release);
        // SAFETY: the page lies inside a mapping that its owner keeps alive while it reads from
        // it, and the replacement has the same protection.
        unsafe {
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let start = std::ptr::with_exposed_provenance_mut(address & !(page - 1));
            libc::mmap(start, page, libc::PROT_READ, flags, -1, 0) != libc::MAP_FAILED
        }
    }

    /// A fault that is not ours is treated as if we were not here.
    #[allow(unsafe_code, reason = "part of mapping a file")]
    fn pass_on(
        previous: Option<&libc::sigaction>,
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        let is_handler = |action: &&libc::sigaction| {
            action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
        };
        match previous.filter(is_handler) {
            Some(action) if action.sa_flags & libc::SA_SIGINFO != 0 => {
                // SAFETY: a handler installed with SA_SIGINFO has this signature.
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    unsafe { std::mem::transmute(action.sa_sigaction) };
                handler(signal, info, context);
            }
            Some(action) => {
                // SAFETY: a handler installed without SA_SIGINFO has this signature.
                let handler: extern "C" fn(libc::c_int) =
                    unsafe { std::mem::transmute(action.sa_sigaction) };
                handler(signal);
            }
            // SAFETY: restores the default, under which the instruction faults again and the
            // process ends as it would have.
            None => unsafe {
                libc::signal(signal, libc::SIG_DFL);
            },
        }
    }

    #[cfg(test)]
    mod tests {
        use std::ptr::null_mut;
        use std::sync::atomic::AtomicI32;

        use super::*;

        static SIMPLE: AtomicI32 = AtomicI32::new(0);
        static DETAILED: AtomicI32 = AtomicI32::new(0);

        extern "C" fn simple(signal: libc::c_int) {
            SIMPLE.fetch_add(signal, Ordering::Relaxed);
        }

        extern "C" fn detailed(
            signal: libc::c_int,
            _info: *mut libc::siginfo_t,
            _context: *mut libc::c_void,
        ) {
            DETAILED.fetch_add(signal, Ordering::Relaxed);
        }

        #[allow(unsafe_code, reason = "part of mapping a file")]
        #[test]
        fn an_earlier_handler_of_either_kind_is_called() {
            // SAFETY: plain data for which zero is valid.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = simple as extern "C" fn(libc::c_int) as libc::sighandler_t;
            pass_on(Some(&action), libc::SIGBUS, null_mut(), null_mut());
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                detailed;
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            pass_on(Some(&action), libc::SIGBUS, null_mut(), null_mut());
            let called = [&SIMPLE, &DETAILED].map(|count| count.load(Ordering::Relaxed));
            assert_eq!(called, [libc::SIGBUS; 2]);
        }
    }
}

/// Elsewhere a mapped file cannot be cut: the system refuses that to the other program.
#[cfg(not(unix))]
mod guard {
    #[derive(Debug)]
    pub(super) struct Guard;

    impl Guard {
        pub(super) fn new(_map: &[u8]) -> Option<Self> {
            Some(Self)
        }

        pub(super) fn is_torn(&self) -> bool {
            false
        }
    }
}
