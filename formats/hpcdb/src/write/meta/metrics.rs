//! The section of metrics.

use kymo_core::Result;
use kymo_core::bytes::Sink;
use kymo_core::model::profile::MetricId;

use super::super::SCOPES;
use super::super::file::Out;
use super::texts::Texts;
use super::{Kind, MetaWriter, Records, whole};
use crate::spec::{
    DRAFT_METRIC_BYTES, DRAFT_SCOPE_BYTES, DRAFT_SUMMARY_BYTES, METRIC_BYTES, SCOPE_BYTES,
    SCOPE_INSTANCE_BYTES, SUMMARY_BYTES,
};

impl MetaWriter {
    pub(super) fn write_metrics(&self, out: &mut Out) -> Result<(u64, u64)> {
        let start = out.at();
        let section =
            if self.form.is_described() { self.described(start) } else { self.released(start) };
        whole(out, start, &section)
    }

    fn released(&self, start: u64) -> Sink {
        let count = self.metric_count();
        let metrics = Records { first: start + 0x20, size: METRIC_BYTES };
        let each = u64::from(SCOPES);
        let instances =
            Records { first: metrics.at(count.into()), size: SCOPE_INSTANCE_BYTES * each };
        let kinds = self.kinds();
        let partials = kinds.len() as u64;
        let summaries =
            Records { first: instances.at(count.into()), size: SUMMARY_BYTES * each * partials };
        let scopes = Records { first: summaries.at(count.into()), size: SCOPE_BYTES };
        let mut texts = Texts::new(scopes.at(each), self.form);
        let mut section = self.form.sink();
        section.u64(metrics.first);
        section.u32(count);
        section.bytes(&[32, 16, 24, 0]);
        section.u64(scopes.first);
        section.u16(4);
        section.u8(16);
        section.bytes(&[0; 5]);
        for (metric, index) in self.metrics.iter().zip(0..) {
            section.u64(texts.of(&metric.name));
            section.u64(instances.at(index));
            section.u64(summaries.at(index));
            section.u16(4);
            section.u16(u16::try_from(partials * each).unwrap_or(0));
            section.u32(0);
        }
        for metric in 0..u64::from(count) {
            for scope in 0..each {
                section.u64(scopes.at(scope));
                section.u16(self.id(metric, 0, scope));
                section.bytes(&[0; 6]);
            }
        }
        for metric in 0..u64::from(count) {
            for (kind, place) in kinds.iter().zip(0..) {
                for scope in 0..each {
                    section.u64(scopes.at(scope));
                    section.u64(texts.of(&kind.formula));
                    section.u16(kind.combine.into());
                    section.u16(self.id(metric, place, scope));
                    section.u32(0);
                }
            }
        }
        for scope in &self.scopes {
            section.u64(texts.of(&scope.name));
            section.u8(scope.scope_type);
            section.u8(scope.propagation_index);
            section.bytes(&[0; 6]);
        }
        section.bytes(texts.bytes.as_slice());
        section
    }

    /// In the described draft each metric has its scopes, and each scope its summaries.
    fn described(&self, start: u64) -> Sink {
        let count = u64::from(self.metric_count());
        let kinds = self.kinds();
        let (each, partials) = (u64::from(SCOPES), kinds.len() as u64);
        let metrics = Records { first: start + 0x10, size: DRAFT_METRIC_BYTES };
        let scopes = Records { first: metrics.at(count), size: DRAFT_SCOPE_BYTES };
        let summaries = Records { first: scopes.at(count * each), size: DRAFT_SUMMARY_BYTES };
        let mut texts = Texts::new(summaries.at(count * each * partials), self.form);
        let mut section = self.form.sink();
        section.u64(metrics.first);
        section.u32(self.metric_count());
        section.bytes(&[24, 24, 16, 0]);
        for (metric, index) in self.metrics.iter().zip(0..) {
            section.u64(texts.of(&metric.name));
            section.u16(4);
            section.bytes(&[0; 6]);
            section.u64(scopes.at(index * each));
        }
        for metric in 0..count {
            for (described, scope) in self.scopes.iter().zip(0..) {
                section.u64(texts.of(&described.name));
                section.u16(u16::try_from(partials).unwrap_or(0));
                section.u16(self.id(metric, 0, scope));
                section.u32(0);
                section.u64(summaries.at((metric * each + scope) * partials));
            }
        }
        for metric in 0..count {
            for scope in 0..each {
                for (kind, place) in kinds.iter().zip(0..) {
                    section.u64(texts.of(&kind.formula));
                    section.u8(kind.combine);
                    section.u8(0);
                    section.u16(self.id(metric, place, scope));
                    section.u32(0);
                }
            }
        }
        section.bytes(texts.bytes.as_slice());
        section
    }

    /// Every statistic that each metric has, in the order of their places.
    fn kinds(&self) -> Vec<Kind> {
        let known = self.statistics.iter().map(|statistic| Kind::from(*statistic));
        known.chain(self.others.iter().cloned()).collect()
    }

    /// The id of a statistic, or with the first place of a scope. Ids leave room for all statistics
    /// of a metric, also where they number its scopes.
    fn id(&self, metric: u64, place: u64, scope: u64) -> u16 {
        let (each, partials) = (u64::from(SCOPES), self.statistic_count() as u64);
        let rank = u32::try_from(metric).map_or(u32::MAX, |metric| self.rank_of(MetricId(metric)));
        let metric = u64::from(rank);
        u16::try_from((metric * partials.max(1) + place) * each + scope).unwrap_or(u16::MAX)
    }
}
