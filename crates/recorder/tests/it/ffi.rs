//! The C interface called with what it must refuse.

use std::ffi::{CStr, CString};
use std::ptr;
use std::time::{Duration, Instant};

use kymo_recorder::ffi::{
    kymo_annotate, kymo_close_stream, kymo_config, kymo_counter_clock, kymo_create,
    kymo_delta_clock, kymo_error, kymo_finish, kymo_flush, kymo_set_clock, kymo_set_counter,
    kymo_stream, kymo_write, kymo_write_at_ticks, kymo_write_now,
};

fn last_error() -> String {
    // SAFETY: the text stays until the next call fails in this thread.
    unsafe { CStr::from_ptr(kymo_error()) }.to_str().unwrap().to_owned()
}

#[test]
fn nothing_is_no_recorder() {
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert_eq!(kymo_flush(ptr::null_mut()), -1);
        assert_eq!(last_error(), "there is no recorder");
        assert_eq!(kymo_finish(ptr::null_mut()), -1);
        assert!(kymo_create(ptr::null(), ptr::null()).is_null());
        assert_eq!(last_error(), "a text is missing");
        assert_eq!(kymo_write(ptr::null_mut(), 1, ptr::null(), 5), -1);
    }
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let path = CString::new("never made").unwrap();
    let sizes = kymo_config { major_bytes: 1000, minor_bytes: 10, ..kymo_config::default() };
    let sync = kymo_config { sync: 7, ..kymo_config::default() };
    let crc = kymo_config { crc: 3, ..kymo_config::default() };
    let refused = [
        (sizes, "powers of two"),
        (sync, "7 is not a way to synchronise"),
        (crc, "3 is not a checksum"),
    ];
    for (config, why) in refused {
        // SAFETY: both point to what they should.
        assert!(unsafe { kymo_create(path.as_ptr(), &raw const config) }.is_null());
        assert!(last_error().contains(why), "{}", last_error());
    }
}

/// File names are bytes on Unix. With a small buffer what was written is soon in the file.
#[cfg(unix)]
#[test]
fn any_path_can_be_recorded_to_with_a_small_buffer() {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let folder = tempfile::tempdir().unwrap();
    let mut name = folder.path().as_os_str().as_bytes().to_vec();
    name.extend_from_slice(b"/run\xFF.rtc");
    let path = CString::new(name.clone()).unwrap();
    let config = kymo_config { buffer_bytes: 512, ..kymo_config::default() };
    let file = std::path::PathBuf::from(std::ffi::OsString::from_vec(name));
    // SAFETY: texts end with a NUL, data is as long as it says, the recorder is not yet finished.
    unsafe {
        let recorder = kymo_create(path.as_ptr(), &raw const config);
        assert!(!recorder.is_null(), "{}", last_error());
        let (name, format) = (c"a".as_ptr(), c"raw".as_ptr());
        let stream = kymo_stream(recorder, name, format, 0, 0, 0, ptr::null());
        for _ in 0..10 {
            assert_eq!(kymo_write(recorder, stream, [0x55_u8; 500].as_ptr().cast(), 500), 0);
        }
        // All but what may wait, and the Marker before it.
        assert!(std::fs::metadata(&file).unwrap().len() >= 1025 + 5000 - 2 * 512);
        assert_eq!(kymo_finish(recorder), 0);
    }
}

#[test]
fn numbers_of_the_wrong_kind_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = CString::new(folder.path().join("a.rtc").to_str().unwrap()).unwrap();
    // SAFETY: texts end with a NUL, data is as long as it says, the recorder is not yet finished.
    unsafe {
        let recorder = kymo_create(path.as_ptr(), ptr::null());
        let clock = kymo_counter_clock(recorder, c"cycles".as_ptr(), 1e-8, 0.0);
        let delta = kymo_delta_clock(recorder, c"delta".as_ptr(), clock, 6);
        let stream =
            kymo_stream(recorder, c"a".as_ptr(), c"raw".as_ptr(), 0, delta, 0, ptr::null());
        assert_eq!((clock, delta, stream), (1, 2, 3));

        assert_eq!(kymo_write(recorder, clock, c"x".as_ptr().cast(), 1), -1);
        assert_eq!(last_error(), "1 is not the number of a stream");
        assert_eq!(kymo_set_counter(recorder, stream, 5), -1);
        assert_eq!(kymo_set_clock(recorder, clock, 5, 0), -1);
        assert_eq!(kymo_annotate(recorder, stream, 0, 0, ptr::null(), 0), -1);
        assert_eq!(kymo_delta_clock(recorder, c"d".as_ptr(), clock, 5), -1);
        assert_eq!(kymo_write_now(recorder, stream, c"x".as_ptr().cast(), 1), -1);
        assert_eq!(kymo_write(recorder, -1, ptr::null(), 0), -1);
        let attributes = c"[1]".as_ptr();
        assert_eq!(kymo_stream(recorder, c"b".as_ptr(), c"raw".as_ptr(), 0, 0, 0, attributes), -1);
        assert_eq!(kymo_stream(recorder, c"c".as_ptr(), c"raw".as_ptr(), 0, 0, 4, ptr::null()), -1);
        assert_eq!(last_error(), "4 has flags that streams do not have");

        assert_eq!(kymo_write_at_ticks(recorder, stream, 7, c"x".as_ptr().cast(), 1), 0);
        assert_eq!(kymo_set_counter(recorder, delta, 6), -1);
        assert!(last_error().contains("before the last one"), "{}", last_error());
        assert_eq!(kymo_close_stream(recorder, stream), 0);
        assert_eq!(kymo_write(recorder, stream, c"x".as_ptr().cast(), 1), -1);
        assert_eq!(kymo_finish(recorder), 0);
    }
}

/// A burst, then silence: what has waited for the interval is handed to the system without another
/// call.
#[test]
fn what_has_waited_is_flushed_while_nothing_comes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rtc");
    let path = CString::new(file.to_str().unwrap()).unwrap();
    let config = kymo_config { flush_milliseconds: 20, ..kymo_config::default() };
    // SAFETY: texts end with a NUL, data is as long as it says, the recorder is not yet finished.
    unsafe {
        let recorder = kymo_create(path.as_ptr(), &raw const config);
        assert!(!recorder.is_null(), "{}", last_error());
        let (name, format) = (c"a".as_ptr(), c"raw".as_ptr());
        let stream = kymo_stream(recorder, name, format, 0, 0, 0, ptr::null());
        for _ in 0..10 {
            assert_eq!(kymo_write(recorder, stream, b"message".as_ptr().cast(), 7), 0);
        }
        let deadline = Instant::now() + Duration::from_mins(1);
        let is_there = || {
            let bytes = std::fs::read(&file).unwrap();
            bytes.windows(7).filter(|window| window == b"message").count() == 10
        };
        while !is_there() {
            assert!(Instant::now() < deadline, "nothing was flushed");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(kymo_finish(recorder), 0);
    }
}
