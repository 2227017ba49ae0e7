//! A small recording for `kymo demo`.

use kymo_core::{Error, Result};
use kymo_model::Demo;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{ByteOrder, Options, Writer};

/// A boiler for ten minutes: a clock with deltas, a temperature, a log, and a remark made later.
pub(crate) fn demo() -> Result<Vec<Demo>> {
    let bytes = boiler().map_err(|error| Error::request(error.to_string()))?;
    let about = "a boiler: a clock with deltas, a temperature, a log and a remark";
    Ok(vec![Demo { file: "boiler.rtc", about, bytes }])
}

/// 2026-01-02 03:04:05 UTC.
const START: u64 = 1_767_323_045;

fn boiler() -> std::result::Result<Vec<u8>, Box<dyn std::error::Error>> {
    let options = Options::new().sizes(8192, 2048)?.byte_order(ByteOrder::Little);
    let mut writer = Writer::new(Vec::new(), options);
    let clock = StreamMeta::new("clk").length(12).format("timespec").flag("clock", true)?;
    let delta = StreamMeta::new("clk delta").format("uleb128").flag("clock", true)?;
    let delta = delta.number("gain", 1e-3)?.text("delta", "clk")?;
    let heat = StreamMeta::new("temperature").length(2).format("uint16le");
    let heat = heat.text("clock", "clk delta")?.number("gain", 0.1)?.text("unit", "°C")?;
    let log = StreamMeta::new("log").format("utf-8").text("clock", "clk delta")?;
    let remarks = StreamMeta::new("remarks").format("annotate/utf-8").text("stream", "log")?;
    let clock = writer.add(&clock)?;
    let [delta, heat, log, remarks] =
        [writer.add(&delta)?, writer.add(&heat)?, writer.add(&log)?, writer.add(&remarks)?];
    writer.write(clock, &timespec(START))?;
    writer.write(delta, &[0])?;
    writer.write(log, b"burner on")?;
    for second in 1..=600_u16 {
        let milliseconds = u64::from(second) * 1000;
        writer.write(delta, kymo_rtc_wire::leb128::Encoded::unsigned(milliseconds).as_bytes())?;
        let tenths = 200 + second - u16::from(second % 7 == 0) * 5;
        writer.write(heat, &tenths.to_le_bytes())?;
        if second == 450 {
            writer.write(log, b"burner off")?;
        }
    }
    let mut remark = timespec(START + 450).to_vec();
    remark.extend_from_slice("this was by hand".as_bytes());
    writer.write(remarks, &remark)?;
    Ok(writer.finish()?)
}

fn timespec(seconds: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    for (byte, from) in bytes.iter_mut().zip(seconds.to_le_bytes()) {
        *byte = from;
    }
    bytes
}
