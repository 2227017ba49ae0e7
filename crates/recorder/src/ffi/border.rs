//! Border to C: values of C come in, and errors and panics do not go out.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::PoisonError;

use super::items::Items;
use super::kymo_recorder;
use crate::error::Error;

/// Reason why a call failed, in words.
pub(super) type Failure = String;

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn in_words(error: Error) -> Failure {
    error.to_string()
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function; what goes wrong, a panic included, is kept for `kymo_error` and
/// told by `failed`.
pub(super) fn guarded<T>(failed: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    let result = catch_unwind(AssertUnwindSafe(body));
    let result = result.unwrap_or_else(|_| Err("an internal error".to_owned()));
    result.unwrap_or_else(|failure| {
        let text = CString::new(failure.replace('\0', " ")).unwrap_or_default();
        LAST_ERROR.with(|last| *last.borrow_mut() = text);
        failed
    })
}

/// The text of what went wrong last in this thread.
pub(super) fn last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

/// Runs a body that only succeeds or fails: 0 or -1.
pub(super) fn succeeds(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    guarded(-1, || body().map(|()| 0))
}

/// Does something with a recorder.
///
/// # Safety
///
/// `recorder` is null, or from `kymo_create` or `kymo_append` and not finished.
pub(super) unsafe fn with<T>(
    recorder: *mut kymo_recorder,
    body: impl FnOnce(&mut Items) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: not null means alive, by this function's contract; it is only borrowed as shared.
    let recorder = unsafe { recorder.as_ref() }.ok_or("there is no recorder")?;
    let mut items = recorder.items.lock().unwrap_or_else(PoisonError::into_inner);
    body(&mut items)
}

/// Text of a C program.
///
/// # Safety
///
/// `text` is null or points to bytes that end with a NUL and stay unchanged during the call.
pub(super) unsafe fn optional_text<'a>(text: *const c_char) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and ends with a NUL, by this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| "a text is not UTF-8".to_owned())
}

/// As [`optional_text`], where it must not be null.
///
/// # Safety
///
/// As for [`optional_text`].
pub(super) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    // SAFETY: the contract is the same.
    unsafe { optional_text(text) }?.ok_or_else(|| "a text is missing".to_owned())
}

/// A path of a C program: where file names are bytes, any but NUL.
///
/// # Safety
///
/// As for [`optional_text`].
pub(super) unsafe fn path(path: *const c_char) -> Result<PathBuf, Failure> {
    #[cfg(unix)]
    if !path.is_null() {
        use std::os::unix::ffi::OsStrExt as _;
        // SAFETY: not null, and ends with a NUL, by this function's contract.
        let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
        return Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)));
    }
    // SAFETY: the contract is the same.
    unsafe { text(path) }.map(PathBuf::from)
}

/// Bytes of a C program.
///
/// # Safety
///
/// `data` is null, or points to `length` bytes that stay unchanged during the call.
pub(super) unsafe fn bytes<'a>(data: *const c_void, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err("the data is missing, or longer than memory".to_owned());
    }
    // SAFETY: not null and `length` bytes long, by this function's contract; not over isize::MAX.
    Ok(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) })
}
