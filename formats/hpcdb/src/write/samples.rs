//! Samples that follow each other as `trace.db` has them, before it is known where they go.

use kymo_core::bytes::Sink;
use kymo_core::{Error, Result};
use kymo_model::profile::SunkSample;

use super::file::Form;
use crate::spec::ELEMENT_BYTES;

/// So many bytes are handed on at once where not all are put together at first.
const BYTES_HELD: usize = 1 << 18;

/// A time and a context; 0 is idle.
pub(super) type Sample = (u64, u32);

/// Samples in order of time. Idle is said once, however often it was sampled.
#[derive(Debug)]
pub(super) struct Samples {
    bytes: Sink,
    /// The first sample and the last, also where that is idle still and not said.
    ends: Option<(Sample, Sample)>,
    /// Reason why one could not be taken.
    refused: Option<Error>,
}

impl Samples {
    pub(super) fn new(form: Form) -> Self {
        Self { bytes: form.sink(), ends: None, refused: None }
    }

    /// Takes a sample, or why there is none.
    pub(super) fn take(&mut self, sample: Result<SunkSample>) {
        if let Err(error) = sample.and_then(|sample| self.add(sample)) {
            self.refused = self.refused.take().or(Some(error));
        }
    }

    fn add(&mut self, (time, context): SunkSample) -> Result<()> {
        let time = u64::try_from(time.0).map_err(|_| Error::request("a time before 1970"))?;
        let sample = (time, context.map_or(Ok(0), super::ctx_id)?);
        let (first, last) = self.ends.unwrap_or((sample, sample));
        let is_idle_still = self.ends.is_some() && is_idle_still(last, sample)?;
        self.ends = Some((first, sample));
        if !is_idle_still {
            self.bytes.u64(time);
            self.bytes.u32(sample.1);
        }
        Ok(())
    }

    /// Returns true if so much was taken that it is time to hand it on.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES_HELD
    }

    /// The bytes, and the first and the last sample, where the last one before them was this.
    /// Nothing where there are none.
    pub(super) fn encode_after(
        &self,
        before: Option<Sample>,
    ) -> Result<Option<(&[u8], Sample, Sample)>> {
        let Some((first, last)) = self.ends else { return Ok(None) };
        let is_idle_still = before.map_or(Ok(false), |before| is_idle_still(before, first))?;
        let said = usize::try_from(if is_idle_still { ELEMENT_BYTES } else { 0 }).unwrap_or(0);
        let bytes = self.bytes.as_slice().get(said..).unwrap_or_default();
        Ok(Some((bytes, first, last)))
    }

    /// Checks that all could be taken.
    pub(super) fn ended(mut self) -> Result<Self> {
        self.refused.take().map_or(Ok(self), Err)
    }
}

/// Returns true if a sample says only what the one before it said: that a thread is idle.
fn is_idle_still((last, before): Sample, (time, context): Sample) -> Result<bool> {
    if time < last {
        return Err(Error::request(format!("samples go back in time, from {last} ns to {time}")));
    }
    Ok(before == 0 && context == 0)
}
