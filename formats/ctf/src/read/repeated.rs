//! Packets that a stream has twice, byte for byte: a file that was copied behind itself, or the same
//! file by two names. What they tell happened once, so that only the first of them is read.

use kymo_core::{Finding, Severity};

use super::{Place, Reader, Track};

const REPEATED: &str = "repeated-packets";

/// Leaves out packets that are there before, and says so.
pub(super) fn remove_repeated(reader: &mut Reader) {
    let mut tracks = std::mem::take(&mut reader.tracks);
    for (number, track) in tracks.iter_mut().enumerate() {
        let (mut first, mut count) = (None, 0_u64);
        // They are in the order of their times, so that those of the same times are neighbours.
        track.packets.dedup_by(|later, earlier| {
            let is_same = is_same(reader, *earlier, *later);
            if is_same {
                first.get_or_insert(*later);
                count += 1;
            }
            is_same
        });
        if let Some(first) = first {
            report_repeated(reader, (number, track), first, count);
        }
    }
    reader.tracks = tracks;
}

/// Returns true if two packets are the same one. Their times show it, or their number does; those
/// that have neither may well look alike.
fn is_same(reader: &Reader, earlier: usize, later: usize) -> bool {
    let packets = reader.packets().get(earlier).zip(reader.packets().get(later));
    packets.is_some_and(|(one, other)| {
        let lasts = one.times.is_some_and(|(begin, end)| begin < end);
        let is_known = lasts || one.times.is_some() && one.sequence.is_some();
        is_known
            && one.times == other.times
            && one.sequence == other.sequence
            && one.content_bits == other.content_bits
            && reader.packet_bytes(one) == reader.packet_bytes(other)
    })
}

fn report_repeated(reader: &Reader, (number, track): (usize, &Track), first: usize, count: u64) {
    let Some(packet) = reader.packets().get(first) else { return };
    let (packets, are) = if count == 1 { ("packet", "is") } else { ("packets", "are") };
    let message = format!("{count} {packets} of {} {are} there twice, and read once", track.name);
    let mut finding = Finding::at_offset(Severity::Warning, REPEATED, packet.offset, message);
    finding.file = Some(reader.file_name(packet.file));
    reader.add(Place::Track(number, REPEATED), finding);
}
