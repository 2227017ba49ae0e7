//! Where reading goes on after damage: no farther away than the damage makes it.

use std::collections::HashSet;

use crate::messages::{Found, Message, read, recording};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// Lines of text, each with a number that counts the time since the one before, as recorders write
/// them.
fn lines(options: Options, bytes: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), options);
    let clock = writer.add(&StreamMeta::new("clk delta").format("uleb128")).unwrap();
    let text = writer.add(&StreamMeta::new("stdout").format("utf-8")).unwrap();
    for count in 0_u32.. {
        if writer.position() >= bytes {
            break;
        }
        writer.write(clock, &[0x80 | (count % 128) as u8, 0x80 | (count / 128) as u8, 1]).unwrap();
        writer.write(text, format!("line {count} of what a program said").as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

fn essence(message: &Message) -> (u32, Vec<u8>) {
    (message.id, message.payload.clone())
}

/// The messages of the whole file that are not in the damaged one, and those of the damaged one
/// that are not in the whole.
fn differences(whole: &Found, damaged: &Found) -> (Vec<Message>, Vec<Message>) {
    let without = |messages: &[Message], others: &[Message]| -> Vec<Message> {
        let others: HashSet<_> = others.iter().map(essence).collect();
        messages.iter().filter(|message| !others.contains(&essence(message))).cloned().collect()
    };
    (without(&whole.messages, &damaged.messages), without(&damaged.messages, &whole.messages))
}

/// A page of a disk and more became zeros, ones or noise, in units of the usual size: what lies a
/// frame's length or more behind the hole is there.
#[test]
fn a_hole_costs_what_was_in_it_and_a_frames_length_behind_it() {
    let whole_bytes = lines(Options::new(), 200_000);
    let whole = read(&whole_bytes);
    let noise = |count: usize| (count.wrapping_mul(2_654_435_761) >> 11) as u8;
    for bytes in [512, 1041, 1100, 4096, 30_000] {
        for start in [3000, 60_011] {
            for fill in [|_| 0, |_| 0xFF, |_| 0x55, noise] {
                let mut damaged = whole_bytes.clone();
                let hole = start..start + bytes;
                for at in hole.clone() {
                    damaged[at] = fill(at);
                }
                let found = read(&damaged);
                let (lost, more) = differences(&whole, &found);
                for message in lost {
                    let is_near = message.end as usize + 64 > hole.start
                        && (message.start as usize) < hole.end + 1200;
                    assert!(is_near, "{hole:?}: lost the message at {}", message.start);
                }
                let is_in_hole = |message: &Message| {
                    message.start < hole.end as u64 && message.end > start as u64
                };
                assert!(more.iter().all(is_in_hole), "{hole:?}");
            }
        }
    }
}

/// Bytes that are missing, or too many, in the last unit but one of a session: its last unit, which
/// no tick follows, is there, whether or not another session was appended.
#[test]
fn what_was_appended_costs_nothing_of_the_session_before_it() {
    let sizes = || Options::new().sizes(65_536, 8192).unwrap();
    let first = lines(sizes(), 40_000);
    let other = lines(sizes(), 30_000);
    // The unit from 25601 to 33793, and then the last one, of 6 KiB.
    for start in (25_700..33_000).step_by(499) {
        for (to, instead) in [(start + 3, &b""[..]), (start, b"###"), (start + 20, b"")] {
            let damaged = [&first[..start], instead, &first[to..]].concat();
            let appended = [&damaged[..], &other].concat();
            let (alone, both) = (read(&damaged), read(&appended));
            let (lost, _) = differences(&read(&first), &alone);
            let kept = |found: &Found| -> Vec<_> {
                let end = damaged.len() as u64;
                found.messages.iter().filter(|m| m.end <= end).map(essence).collect()
            };
            assert!(kept(&alone) == kept(&both), "{start}..{to}");
            assert!(lost.iter().all(|message| message.end < 33_793), "{start}..{to}");
        }
    }
}

/// Values of fixed length, most of whose bytes might be headers: no two ways to read them agree.
/// Where the checksum tells which byte was changed, only the message that has it is lost.
#[test]
fn a_changed_bit_of_a_header_costs_that_message_alone_where_there_is_a_checksum() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let clock = writer.add(&StreamMeta::new("clk").length(8).format("uint64le")).unwrap();
    let level = writer.add(&StreamMeta::new("level").length(8).format("uint64le")).unwrap();
    for count in 0_u64..150 {
        writer.write(clock, &(0x1212_1414_1212_1401 + count).to_le_bytes()).unwrap();
        writer.write(level, &(0x1414_1212_1212_1201 + count).to_le_bytes()).unwrap();
    }
    let whole_bytes = writer.finish().unwrap();
    let whole = read(&whole_bytes);
    for message in &whole.messages {
        for bit in 0..8 {
            let mut damaged = whole_bytes.clone();
            damaged[message.start as usize] ^= 1 << bit;
            let found = read(&damaged);
            let (lost, more) = differences(&whole, &found);
            let place = format!("byte {}, bit {bit}", message.start);
            assert!(lost.iter().all(|lost| lost == message), "{place}: lost {}", lost.len());
            assert!(more.iter().all(|more| more.start == message.start), "{place}");
            assert!(found.has_trouble(), "{place}");
        }
    }
}

/// The length of a number that tells itself where it ends: every message but that one is there,
/// also where no checksum tells.
#[test]
fn a_changed_length_of_a_number_costs_that_number_alone() {
    for crc in [Options::new(), Options::new().crc(None)] {
        let whole_bytes = lines(crc, 12_000);
        let whole = read(&whole_bytes);
        // One that seems to reach beyond the end of the file is cut.
        let is_number = |message: &&Message| message.payload.len() == 3 && message.end < 11_900;
        for message in whole.messages.iter().filter(is_number) {
            for bit in 0..7 {
                let mut damaged = whole_bytes.clone();
                damaged[message.start as usize + 1] ^= 1 << bit;
                let found = read(&damaged);
                let (lost, more) = differences(&whole, &found);
                let place = format!("byte {}, bit {bit}", message.start + 1);
                assert!(lost.iter().all(|lost| lost == message), "{place}: lost {lost:?}");
                assert_eq!(more, [], "{place}");
                assert!(found.has_trouble(), "{place}");
            }
        }
    }
}

/// The damage of a recording of all kinds of streams: what is given was written.
#[test]
fn holes_in_small_units_invent_nothing() {
    let whole_bytes = recording(30_000);
    let whole = read(&whole_bytes);
    for start in (1500..28_000).step_by(701) {
        for bytes in [30, 300, 1500] {
            let mut damaged = whole_bytes.clone();
            damaged[start..start + bytes].fill(0x55);
            let found = read(&damaged);
            let hole = start as u64..(start + bytes) as u64;
            let (_, more) = differences(&whole, &found);
            let is_known = |message: &Message| {
                message.may_lack_beginning || (message.start < hole.end && message.end > hole.start)
            };
            assert!(more.iter().all(is_known), "{hole:?}");
        }
    }
}

/// A writer may put anything into a stream, whatever format it says: every fiftieth value here is no
/// text, no number, or two.
fn other_values(format: &str, value: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let options = Options::new().sizes(1 << 17, 1 << 14).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let stream = writer.add(&StreamMeta::new("v").format(format)).unwrap();
    let fixed = writer.add(&StreamMeta::new("fixed").length(16)).unwrap();
    for count in 0..2500 {
        writer.write(stream, &value(count)).unwrap();
        writer.write(fixed, b"ABCDEFGHIJKLMNOP").unwrap();
    }
    writer.finish().unwrap()
}

/// A bit of a payload costs its own message alone, whatever the values beside it look like.
#[test]
fn a_changed_payload_costs_its_own_message_alone_beside_values_of_other_forms() {
    let text = |count: u32| match count % 50 {
        0 => format!("\u{1}{count} caf").into_bytes().into_iter().chain([0xE9]).collect(),
        _ => format!("some text {count}").into_bytes(),
    };
    let json = |count: u32| match count % 50 {
        0 => [format!("{{\"x\":{count}}}").as_bytes(), &[1, 0xE9]].concat(),
        _ => format!("{{\"x\":{count}}}").into_bytes(),
    };
    let two = |count: u32| [0x80 | (count % 128) as u8, (count / 128) as u8, 1].to_vec();
    let files =
        [other_values("utf-8", text), other_values("json", json), other_values("uleb128", two)];
    for (file, whole_bytes) in files.into_iter().enumerate() {
        let whole = read(&whole_bytes);
        assert_eq!(whole.messages.len(), 5000);
        for message in whole.messages.iter().step_by(89) {
            let mut damaged = whole_bytes.clone();
            damaged[message.end as usize - 2] ^= 1 << (message.start % 8);
            let found = read(&damaged);
            let place = format!("file {file}, message at {}", message.start);
            let is_other = |(found, written): &(&Message, &Message)| found != written;
            let others = found.messages.iter().zip(&whole.messages).filter(is_other).count();
            assert_eq!((found.messages.len(), others), (5000, 1), "{place}");
            assert_eq!(found.wrong.len(), 1, "{place}");
        }
    }
}

/// Two places of one unit are damaged, so that nothing leads from the one to the tick: what is
/// between them is there all the same.
#[test]
fn what_is_between_two_holes_of_a_unit_is_there() {
    let whole_bytes = lines(Options::new(), 270_000);
    let whole = read(&whole_bytes);
    let noise = |count: usize| (count.wrapping_mul(2_654_435_761) >> 11) as u8;
    // The second unit is from 132,097 to 263,169.
    for starts in [[140_000, 250_000], [150_011, 158_000], [200_000, 262_500]] {
        for fill in [|_| 0, |_| 0xFF, |_| 0x55, noise] {
            let mut damaged = whole_bytes.clone();
            for at in starts.iter().flat_map(|start| *start..*start + 512) {
                damaged[at] = fill(at);
            }
            let (lost, more) = differences(&whole, &read(&damaged));
            let is_near = |message: &Message, behind: usize| {
                starts.iter().any(|start| {
                    message.end as usize + 64 > *start
                        && (message.start as usize) < start + 512 + behind
                })
            };
            for message in lost {
                assert!(is_near(&message, 1200), "{starts:?}: lost {}", message.start);
            }
            assert!(more.iter().all(|message| is_near(message, 0)), "{starts:?}");
        }
    }
}
