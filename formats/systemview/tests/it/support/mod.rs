//! A recording put together byte by byte.

/// The text at the start.
pub(crate) const HEADER: &[u8] =
    b";\n; Version     SEGGER SystemViewer V2.42\n; Author      kymo\n;\n";

/// The zeros that the host finds the first packet by.
pub(crate) const SYNC: [u8; 10] = [0; 10];

/// Packets of a lamp that blinks: two tasks, a timer interrupt, and nothing to do in between.
/// A tick is a microsecond.
pub(crate) fn packets() -> Vec<Vec<u8>> {
    let text = |id: u8, lead: &[u8], text: &[u8], time: u8| {
        let mut packet = vec![id];
        packet.extend(lead);
        packet.push(u8::try_from(text.len()).unwrap_or(0));
        packet.extend(text);
        packet.push(time);
        packet
    };
    vec![
        // TRACE_START; the time since the clock was at zero is 1000.
        vec![10, 0xE8, 0x07],
        // INIT: 6 bytes; 1,000,000 ticks in a second is 40 42 0F in sevens: C0 84 3D.
        vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5],
        text(14, &[], b"N=Blinky,I#15=SysTick", 5),
        text(9, &[1, 3], b"blink", 2),
        text(9, &[2, 1], b"log", 3),
        // The timer makes the first task ready, which then runs.
        vec![2, 15, 10],
        vec![6, 1, 4],
        vec![18, 2],
        vec![4, 1, 1],
        // A message of 2 characters with level 1, and no arguments.
        vec![26, 5, 2, b'o', b'n', 1, 0, 6],
        // It makes the other ready, and stops.
        vec![6, 2, 1],
        vec![7, 1, 4, 2],
        vec![4, 2, 1],
        // An event of a module: two numbers, the second is 300.
        vec![0x80, 0x04, 3, 9, 0xAC, 0x02, 7],
        vec![5, 13],
        vec![17, 1],
        vec![1, 2, 0x80, 0x08],
        vec![11, 1],
    ]
}

/// All of it.
pub(crate) fn recording() -> Vec<u8> {
    [HEADER.to_vec(), SYNC.to_vec(), packets().concat()].concat()
}

/// Returns true if a prefix ends after a packet.
pub(crate) fn ends_between_packets(end: usize) -> bool {
    let mut at = HEADER.len() + SYNC.len();
    packets().iter().any(|packet| {
        at += packet.len();
        at == end
    })
}
