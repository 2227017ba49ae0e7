//! What every format promises, for RTC.

use kymo_conformance::Subject;
use kymo_rtc::Rtc;
use kymo_rtc_wire::read::{Item, View, Walker};

kymo_conformance::promises!(
    Subject::new(&Rtc)
        .unsound(&["bad/"])
        .named_only(&["empty_nowrite"])
        .freedom(&["reference/", "scripted/"])
        .valid_prefix(ends_between_frames)
);

kymo_conformance::promises!(Subject::new(&Rtc).unsound(&["bad/"]); zeros_are_survived);

/// A recording may end after any frame: a writer that is killed leaves such a file.
fn ends_between_frames(bytes: &[u8], end: usize) -> bool {
    let view = View::from_file(bytes);
    let mut walker = Walker::new().without_checksums();
    loop {
        match walker.next(&view) {
            _ if end == 0 => return true,
            Ok(Item::Frame(frame)) if frame.end == end as u64 => return true,
            Ok(Item::Frame(frame)) if frame.end > end as u64 => return false,
            Ok(Item::End) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}
