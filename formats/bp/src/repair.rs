//! Saving what can be saved of a damaged file.

use kymo_core::{Context, Destination, Error, Finding, Result, Severity, Source};
use kymo_model::RepairReport;

use crate::Reader;
use crate::read::End;
use crate::write::{Options, Writer};

/// Number of elements after which progress is reported.
const PROGRESS_ELEMENTS: u64 = 1 << 10;

/// Writes every sound element of a file again, in the same byte order, and says what was lost.
pub(crate) fn repair(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    let reader = Reader::salvage(source, context)?;
    if !reader.elements().any(|element| element.fault.is_none()) {
        return Err(Error::request("nothing in it can be read, so nothing was written"));
    }
    let kept = write_all(&reader, to, context, false)?;
    let found = reader.findings().iter().filter(|finding| finding.severity > Severity::Note);
    // A length that was wrong is the one error that costs nothing.
    let is_loss =
        |finding: &Finding| finding.severity == Severity::Error && finding.rule != "element-length";
    let (losses, corrected) = found.cloned().partition(is_loss);
    Ok(RepairReport { kept, unit: "elements", corrected, losses })
}

/// Writes a sound file again, element by element, ending as it ended.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    let reader = Reader::open(source, context)?;
    if let Some(fault) = reader.elements().find_map(|element| element.fault) {
        return Err((*fault).into());
    }
    let zero_word = matches!(reader.end(), End::ZeroWord { .. });
    write_all(&reader, to, context, zero_word).map(drop)
}

fn write_all(
    reader: &Reader,
    to: &Destination,
    context: &Context<'_>,
    zero_word: bool,
) -> Result<u64> {
    let options = Options { endian: reader.endian(), ..Options::default() };
    let mut writer = Writer::new(to.file()?, options);
    if zero_word {
        writer = writer.with_zero_word();
    }
    let mut kept = 0;
    context.progress.begin("writing", reader.size_bytes());
    for element in reader.elements().filter(|element| element.fault.is_none()) {
        writer.copy(&element, reader.endian())?;
        kept += 1;
        if kept % PROGRESS_ELEMENTS == 0 {
            context.progress.advance_to(element.offset + element.length);
        }
    }
    context.progress.end();
    let file = writer.finish()?;
    file.commit()?;
    Ok(kept)
}
