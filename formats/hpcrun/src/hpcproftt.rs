//! The text that HPCToolkit's `hpcproftt` prints of a profile: the `fprint` of the description.
//!
//! For 04.00b it is the same byte for byte. Tools that print the older layouts are no longer at
//! hand; they are printed in the same manner.

use std::fmt;
use std::io::Write;

use kymo_core::Result;
use kymo_model::{Flow, RecordSink};

use crate::read::{Profile, Trace, Values};
use crate::spec;
use crate::types::{
    Epoch, EpochHeader, Footer, Header, Id, LoadModule, Metric, MetricFields, MetricFlags, Node,
    NvPair,
};

/// The name of the style.
pub(crate) const STYLE: &str = "hpcproftt";

const RULE: &str = "=============================================================================";

/// Prints a profile under the name of its file.
pub(crate) fn dump(profile: &Profile, file: &str, sink: &mut dyn RecordSink) -> Result<Flow> {
    let mut out = DumpText { text: Vec::new(), sink, flow: Flow::More };
    writeln!(out.text, "{RULE}\n{file}\n{RULE}\n{}", profile.header)?;
    for epoch in &profile.epochs {
        print_epoch(&mut out, epoch)?;
    }
    if let Some(footer) = &profile.footer {
        print_id_kinds(&mut out, profile)?;
        print_sparse(&mut out, profile)?;
        print_footer(&mut out, footer)?;
        writeln!(out.text, "\n[You look fine today!]")?;
    }
    out.send()?;
    Ok(out.flow)
}

/// Prints the nodes of a trace, one a line.
pub(crate) fn dump_trace(trace: &Trace, sink: &mut dyn RecordSink) -> Result<Flow> {
    let mut out = DumpText { text: Vec::new(), sink, flow: Flow::More };
    for record in trace.iter(0..trace.len()) {
        out.line(format_args!("{}", record.node))?;
        if out.flow == Flow::Stop {
            break;
        }
    }
    out.send()?;
    Ok(out.flow)
}

/// Text on its way to the sink, a little at a time: a profile may be large.
struct DumpText<'s> {
    text: Vec<u8>,
    sink: &'s mut dyn RecordSink,
    flow: Flow,
}

impl DumpText<'_> {
    const TEXT_BYTES: usize = 1 << 16;

    fn line(&mut self, line: fmt::Arguments<'_>) -> Result<()> {
        if self.flow == Flow::Stop {
            return Ok(());
        }
        writeln!(self.text, "{line}")?;
        if self.text.len() < Self::TEXT_BYTES { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<()> {
        if self.flow == Flow::More {
            self.flow = self.sink.text(&self.text)?;
        }
        self.text.clear();
        Ok(())
    }
}

fn print_epoch(out: &mut DumpText<'_>, epoch: &Epoch) -> Result<()> {
    if let Some(header) = &epoch.header {
        out.line(format_args!("{header}"))?;
        print_metrics(out, epoch)?;
    }
    out.line(format_args!("[loadmap: (num-entries: {})", epoch.load_modules.len()))?;
    for module in &epoch.load_modules {
        out.line(format_args!("  {module}"))?;
    }
    out.line(format_args!("]\n[cct: (num-nodes: {})", epoch.nodes.len()))?;
    let metrics = epoch.metrics.len();
    for (index, node) in epoch.nodes.iter().enumerate() {
        out.line(format_args!("  {node}"))?;
        if matches!(epoch.values, Values::Dense) && metrics > 0 {
            let values = epoch.values.read(&epoch.nodes, index * metrics..(index + 1) * metrics);
            let is_real = epoch.metrics.iter().map(|metric| metric.flags.is_real());
            let texts = values.iter().zip(is_real).map(|(v, real)| number(v.bits, real));
            out.line(format_args!("    (metrics: {})", texts.collect::<Vec<_>>().join(" ")))?;
        }
    }
    out.line(format_args!("]"))?;
    if epoch.header.is_none() { print_metrics(out, epoch) } else { Ok(()) }
}

fn print_metrics(out: &mut DumpText<'_>, epoch: &Epoch) -> Result<()> {
    out.line(format_args!("[metric-tbl: (num-entries: {})", epoch.metrics.len()))?;
    for (id, metric) in epoch.metrics.iter().enumerate() {
        out.line(format_args!("  [(id: {id}) {metric}]"))?;
    }
    out.line(format_args!("]"))
}

fn print_id_kinds(out: &mut DumpText<'_>, profile: &Profile) -> Result<()> {
    let count = profile.id_kinds.len();
    out.line(format_args!("[id-tuple dxnry: (number of kinds: {count})"))?;
    for kind in &profile.id_kinds {
        out.line(format_args!("  (kind: {}) (kindStr: {})", kind.kind, kind.name))?;
    }
    out.line(format_args!("]"))
}

fn print_sparse(out: &mut DumpText<'_>, profile: &Profile) -> Result<()> {
    let Some(epoch) = profile.epochs.first() else { return Ok(()) };
    let Values::Sparse(sparse) = &epoch.values else { return Ok(()) };
    let ids = profile.id_tuple.iter().map(|id| format!("{} ", id_text(profile, *id)));
    let ids: String = ids.collect();
    out.line(format_args!("[sparse metrics:\n  [basic information:\n     id tuple:[{ids}]"))?;
    out.line(format_args!("    (number of non-zero metrics: {})", sparse.len()))?;
    out.line(format_args!("    (number of non-zero cct nodes: {})\n  ]", sparse.nodes()))?;
    let note = "(NOTES: printed in file order, help checking if hpcrun file is correct)";
    out.line(format_args!("  [metrics:\n  {note}"))?;
    let is_real: Vec<_> = epoch.metrics.iter().map(|metric| metric.flags.is_real()).collect();
    let mut printed = Ok(());
    epoch.values.each(&epoch.nodes, 0..sparse.len(), |value| {
        if printed.is_ok() {
            let is_real = is_real.get(usize::from(value.metric)).copied().unwrap_or(false);
            let text = number(value.bits, is_real);
            printed = out.line(format_args!("    (value: {text}, metric id: {})", value.metric));
        }
    });
    printed?;
    out.line(format_args!("  ]\n  [cct node indices:"))?;
    for index in 0..=sparse.nodes() {
        let Some((id, start)) = sparse.entry(index) else { continue };
        let id = if id == spec::INDEX_END { "END".to_owned() } else { id.to_string() };
        out.line(format_args!("    (cct node id: {id}, index: {start})"))?;
    }
    out.line(format_args!("  ]\n]"))
}

fn print_footer(out: &mut DumpText<'_>, footer: &Footer) -> Result<()> {
    const LABELS: [&str; 6] =
        ["hdr", "loadmap", "cct", "metric-tbl", "id-tuple dxnry", "sparse metrics"];
    out.line(format_args!("[footer:"))?;
    for (label, (start, end)) in LABELS.iter().zip(footer.sections) {
        out.line(format_args!("  [{label:>14} start: {start}, end: {end}]"))?;
    }
    out.line(format_args!("  [{:>14} start: {}]", "footer", footer.footer_start))?;
    out.line(format_args!("  [        MAGIC NUMBER: equal to the expected? YES!]\n]"))
}

/// An id with the name of its kind and how to take it.
fn id_text(profile: &Profile, id: Id) -> String {
    let kind = profile.id_kinds.iter().find(|kind| kind.kind == id.kind());
    let name = kind.map_or_else(|| id.kind().to_string(), |kind| kind.name.to_string());
    let (physical, logical) = (id.physical, id.logical);
    match id.interpretation() {
        0 => format!("({name}: {physical}, {logical})"),
        1 => format!("({name}(GEN LOCAL): {physical}, {logical})"),
        2 => format!("({name}(GEN GLOBAL): {physical}, {logical})"),
        _ => format!("({name}(SINGLE): {logical})"),
    }
}

impl fmt::Display for NvPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[nv-pair: '{}', '{}']", self.name, self.value)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magic = String::from_utf8_lossy(self.dialect.magic());
        let letter = char::from(spec::endian_letter(self.endian));
        let version = self.dialect.version();
        writeln!(f, "{magic}\n[hdr:\n  (version: {version})\n  (endian: {letter})")?;
        self.nv.iter().try_for_each(|pair| writeln!(f, "  {pair}"))?;
        f.write_str("]")
    }
}

impl fmt::Display for EpochHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[epoch-hdr:\n  (flags: {:#x})", self.flags)?;
        writeln!(f, "  (measurement-granularity: {})", self.granularity)?;
        writeln!(f, "  (ra-to-callsite-distance: {})", self.ra_distance)?;
        self.nv.iter().try_for_each(|pair| writeln!(f, "  {pair}"))?;
        f.write_str("]")
    }
}

impl fmt::Display for LoadModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[(id: {}) (nm: {}) (flg: {:#x})", self.id, self.path, self.flags)?;
        if let Some(place) = self.place {
            let (addr, offset) = (place.load_addr, place.load_offset);
            write!(f, " (load-addr: {addr:#x}) (load-offset: {offset:#x})")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, period) = (&self.name, self.period);
        if let MetricFlags::Described(flags) = self.flags {
            return write!(f, "(nm: {name}) (flg: {flags:#x}) (period: {period})");
        }
        write!(f, "(nm: {name}) (desc: {}) ", self.description)?;
        if let Some(MetricFields { kind, value_type, value_format, partner, show, .. }) =
            self.flags.fields()
        {
            let percent = u8::from(self.flags.fields().is_some_and(|fields| fields.show_percent));
            write!(f, "((ty: {kind}) (val-ty: {value_type}) (val-fmt: {value_format}) ")?;
            write!(f, "(partner: {partner}) (show: {show}) (showPercent: {percent})) ")?;
        }
        let (formula, format) = (&self.formula, &self.format);
        write!(f, "(period: {period}) (formula: {formula}) (format: {format})")?;
        if let Some(sampling) = self.sampling {
            let (frequency, multiplexed) = (sampling.is_frequency, sampling.is_multiplexed);
            write!(f, "\n    (frequency: {frequency}) (multiplexed: {multiplexed}) ")?;
            let (mean, samples) = (sampling.mean_threshold, sampling.samples);
            write!(f, "(period-mean: {mean:.6}) (num-samples: {samples})")?;
        }
        Ok(())
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |negative: bool| if negative { "-" } else { "" };
        let (leaf, parent) = (sign(self.is_leaf), sign(self.parent_is_leaf));
        write!(f, "[node: (id: {leaf}{}) (id-parent: {parent}{}) ", self.id, self.parent)?;
        if let Some(lush) = &self.lush {
            write!(f, "(as: {:#x}) (lip:", lush.assoc)?;
            lush.lip.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
            f.write_str(") ")?;
        }
        write!(f, "(lm-id: {}) (lm-ip: {:#x}) ", self.lm_id, self.ip)?;
        if let Some(code) = self.placeholder() {
            write!(f, "'{code}' ")?;
        }
        if let Some(name) = self.placeholder_name() {
            write!(f, "\"{name}\" ")?;
        }
        f.write_str("]")
    }
}

/// A value as C prints it: a count, or a number with six significant digits.
fn number(bits: u64, is_real: bool) -> String {
    if is_real { general(f64::from_bits(bits)) } else { bits.to_string() }
}

/// A number as `%g` of C prints it.
fn general(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match usize::try_from(5 - exponent) {
        Ok(decimals) if exponent >= -4 => trimmed(&format!("{value:.decimals$}")).to_owned(),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
        }
    }
}

/// Without the zeros at the end of a fraction.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_c_does() {
        let expected = [
            (0.00255, "0.00255"),
            (2_013_990.4, "2.01399e+06"),
            (3.0, "3"),
            (0.0, "0"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_012_5, "1.25e-05"),
            (0.000_1, "0.0001"),
            (-2.5, "-2.5"),
        ];
        for (value, text) in expected {
            assert_eq!(general(value), text);
        }
    }
}
