//! Files put together byte by byte from the descriptions, without the crate's writer.

/// Bytes in one byte order.
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
    is_big: bool,
}

impl Bytes {
    pub(crate) fn big() -> Self {
        Self { bytes: Vec::new(), is_big: true }
    }

    pub(crate) fn little() -> Self {
        Self { bytes: Vec::new(), is_big: false }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn number(&mut self, mut little: Vec<u8>) -> &mut Self {
        if self.is_big {
            little.reverse();
        }
        self.raw(&little)
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.number(value.to_le_bytes().to_vec())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.number(value.to_le_bytes().to_vec())
    }

    pub(crate) fn i32(&mut self, value: i32) -> &mut Self {
        self.number(value.to_le_bytes().to_vec())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.number(value.to_le_bytes().to_vec())
    }

    pub(crate) fn str(&mut self, text: &str) -> &mut Self {
        self.u32(u32::try_from(text.len()).unwrap()).raw(text.as_bytes())
    }
}

/// The magic and the pairs of 02.00 as described.
fn described_header(out: &mut Bytes) {
    let letter = if out.is_big { b"b" } else { b"l" };
    out.raw(b"HPCRUN____02.00").raw(letter);
    out.u32(2).str("program-name").str("solver").str("mpi-rank").str("3");
}

/// An epoch of 02.00 as described: `main` called `work` from 0x401187, and `work` was hit twice.
fn described_epoch(out: &mut Bytes, is_lush: bool) {
    out.raw(b"EPOCH___").u64(u64::from(is_lush)).u32(1).u64(1);
    if is_lush {
        out.u32(1).str("lip-size").str("8");
    } else {
        out.u32(0);
    }
    // Counts and seconds, both asynchronous.
    out.u32(2).str("PAPI_TOT_CYC").u64(2).u64(1000).str("TIME (sec)").u64(6).u64(1);
    out.u32(2);
    out.u64(0x40_0000).u64(0x40_0000).str("/opt/solver").u32(0);
    out.u64(0x7f00_0000_0000).u64(0).str("/lib/libm.so").u32(7);
    out.u32(3);
    for (id, parent, ip, cycles, seconds) in
        [(1, 0, 0, 0, 0.0_f64), (2, 1, 0x40_1187, 0, 0.0), (-3, 2, 0x7f00_0000_1234, 5, 0.25)]
    {
        out.i32(id).i32(parent);
        if is_lush {
            out.u32(0x0000_0236);
        }
        out.u64(ip);
        if is_lush {
            out.u64(0xabcd);
        }
        out.u64(cycles).u64(seconds.to_bits());
    }
}

/// 02.00 as described, with two epochs, the second with LUSH fields.
pub(crate) fn described(mut out: Bytes) -> Vec<u8> {
    described_header(&mut out);
    out.u32(2);
    described_epoch(&mut out, false);
    described_epoch(&mut out, true);
    out.bytes
}

/// What the writer of 2009 made: no count of epochs, and load modules in another order.
pub(crate) fn of_2009() -> Vec<u8> {
    let mut out = Bytes::little();
    described_header(&mut out);
    out.raw(b"EPOCH___").u64(0).u32(0).u64(1).u32(0);
    out.u32(1).str("WALLCLOCK").u64(2).u64(5000);
    out.u32(1).str("/opt/solver").u64(0x40_0000).u64(0x40_0000);
    out.u32(2).i32(1).i32(0).u64(0).u64(0).i32(-2).i32(1).u64(0x40_1000).u64(9);
    out.bytes
}

/// 02.00b with one epoch; `has_sampling` is the variant of 2017.
pub(crate) fn shipped_0200(has_sampling: bool) -> Vec<u8> {
    let mut out = Bytes::big();
    out.raw(b"HPCRUN-profile____02.00b").u32(1).str("program-name").str("solver");
    out.raw(b"EPOCH___").u64(0).u64(1).u32(1).u32(0);
    out.u32(1).str("CPUTIME (usec)").str("time");
    out.raw(&[1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]).u64(1).str("").str("");
    if has_sampling {
        out.u16(1).u16(0).u64(2.5_f64.to_bits()).u64(77);
    }
    out.u32(1).u16(1).str("/opt/solver").u64(1);
    out.u64(3);
    for (id, parent, module, ip, value) in
        [(12, 0, 0, 0, 0), (14, 12, 1, 0x1187, 0), (-16, 14, 1, 0x1240, 4000)]
    {
        out.i32(id).i32(parent).u16(module).u64(ip).u64(value);
    }
    out.bytes
}

/// 04.00b with nodes of 19 bytes, or of 18 as until 2021-11.
pub(crate) fn shipped_0400(has_flags: bool) -> Vec<u8> {
    let mut out = Bytes::big();
    let mut bounds = Vec::new();
    out.raw(b"HPCRUN-profile____04.00b").u32(1).str("program-name").str("solver");
    pad(&mut out, &mut bounds, 0);
    let start = out.bytes.len();
    out.u32(1).u16(1).str("/opt/solver").u64(1);
    pad(&mut out, &mut bounds, start);
    let start = out.bytes.len();
    out.u64(4);
    for (id, parent, module, ip) in [
        (12, 0, 0, u64::from_be_bytes(*b"^Primary")),
        (14, 12, 0, u64::from_be_bytes(*b"| Main  ")),
        (16, 14, 1, 0x1187),
        (19, 16, 1, 0x1240),
    ] {
        out.u32(id).u32(parent).u16(module).u64(ip);
        if has_flags {
            out.raw(&[1]);
        }
    }
    pad(&mut out, &mut bounds, start);
    let start = out.bytes.len();
    out.u32(2);
    for (name, format, period) in [("CPUTIME (sec)", 2, 1), ("cycles", 1, 1000)] {
        out.str(name).str("").raw(&[1, 0, format, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.u64(period).str("").str("").u16(0).u16(0).u64(0).u64(0);
    }
    pad(&mut out, &mut bounds, start);
    let start = out.bytes.len();
    out.u16(2).u16(1).str("NODE").u16(3).str("THREAD");
    pad(&mut out, &mut bounds, start);
    let start = out.bytes.len();
    out.u16(2).u16(1 | 1 << 14).u64(0x7f_0100).u64(0).u16(3 | 3 << 14).u64(5).u64(5);
    out.u64(3).u32(2);
    out.u64(0.5_f64.to_bits()).u16(0).u64(7).u16(1).u64(0.25_f64.to_bits()).u16(0);
    out.u32(19).u64(0).u32(16).u64(2).u32(0x656e_6421).u64(3);
    pad(&mut out, &mut bounds, start);
    let footer = out.bytes.len();
    for (start, end) in bounds {
        out.u64(start as u64).u64(end as u64);
    }
    out.u64(footer as u64).raw(b"HPCRUNsm");
    out.bytes
}

/// Ends a section that began at `start`, and fills up with zeros to where the next begins.
fn pad(out: &mut Bytes, bounds: &mut Vec<(usize, usize)>, start: usize) {
    bounds.push((start, out.bytes.len()));
    out.bytes.resize(out.bytes.len().next_multiple_of(1024), 0);
}

/// A trace of three records, data-centric or not, of 01.01b or 01.00b.
pub(crate) fn trace(is_old: bool, is_data_centric: bool) -> Vec<u8> {
    let mut out = Bytes::big();
    let version = if is_old { b"01.00b" } else { b"01.01b" };
    out.raw(b"HPCRUN-trace______").raw(version);
    let unit = if is_old { 1_000 } else { 1 };
    if !is_old {
        out.u64(u64::from(is_data_centric));
    }
    for (time, node) in [(0, 19), (4_000_000, 21), (8_000_000, 19)] {
        out.u64((1_700_000_000_000_000_000 + time) / unit).u32(node);
        if is_data_centric {
            out.u32(if node == 19 { 0x7fff_ffff } else { 2 });
        }
    }
    out.bytes
}
