//! The section of metrics.

use kymo_core::bytes::Sink;
use kymo_core::{Error, Invariant as _, Result};
use kymo_model::profile::{Metric, MetricId, MetricScope};

use super::super::SCOPES;
use super::super::file::FileWriter;
use super::texts::Texts;
use super::{Kind, MetaWriter, Records, write_section};
use crate::spec::{
    DRAFT_METRIC_BYTES, DRAFT_SCOPE_BYTES, DRAFT_SUMMARY_BYTES, METRIC_BYTES, SCOPE_BYTES,
    SCOPE_INSTANCE_BYTES, SUMMARY_BYTES,
};
use crate::types::PropagationScope;

impl MetaWriter {
    pub(super) fn write_metrics(&self, out: &mut FileWriter) -> Result<(u64, u64)> {
        let start = out.position();
        let section =
            if self.form.is_described() { self.described(start) } else { self.released(start)? };
        write_section(out, start, &section)
    }

    fn released(&self, start: u64) -> Result<Sink> {
        let kinds = self.kinds();
        let (count, partials) = (u64::from(self.metric_count()), kinds.len() as u64);
        let all: u64 = self.metrics.iter().map(scope_count).sum();
        let listed = self.listed_scopes();
        let metrics = Records { first: start + 0x20, size: METRIC_BYTES };
        let instances = Records { first: metrics.offset_of(count), size: SCOPE_INSTANCE_BYTES };
        let summaries = Records { first: instances.offset_of(all), size: SUMMARY_BYTES };
        let scopes = Records { first: summaries.offset_of(all * partials), size: SCOPE_BYTES };
        let scope_at = |scope| {
            let place = listed.iter().position(|(listed, _)| *listed == scope);
            let place = place.or_broken("a metric has scopes that are listed")?;
            Ok::<_, Error>(scopes.offset_of(place as u64))
        };
        let mut texts = Texts::new(scopes.offset_of(listed.len() as u64), self.form);
        let mut section = self.form.sink();
        section.u64(metrics.first);
        section.u32(self.metric_count());
        section.bytes(&[32, 16, 24, 0]);
        section.u64(scopes.first);
        section.u16(small(listed.len() as u64));
        section.u8(16);
        section.bytes(&[0; 5]);
        let mut before = 0;
        for metric in &self.metrics {
            section.u64(texts.intern(&metric.name));
            section.u64(instances.offset_of(before));
            section.u64(summaries.offset_of(before * partials));
            section.u16(small(scope_count(metric)));
            section.u16(small(scope_count(metric) * partials));
            section.u32(0);
            before += scope_count(metric);
        }
        for (metric, index) in self.metrics.iter().zip(0..) {
            for scope in scopes_of(metric) {
                section.u64(scope_at(scope)?);
                section.u16(self.id(index, 0, scope));
                section.bytes(&[0; 6]);
            }
        }
        for (metric, index) in self.metrics.iter().zip(0..) {
            for (kind, place) in kinds.iter().zip(0..) {
                for scope in scopes_of(metric) {
                    section.u64(scope_at(scope)?);
                    section.u64(texts.intern(&kind.formula));
                    section.u16(kind.combine.into());
                    section.u16(self.id(index, place, scope));
                    section.u32(0);
                }
            }
        }
        for (_, scope) in listed {
            section.u64(texts.intern(&scope.name));
            section.u8(scope.scope_type);
            section.u8(scope.propagation_index);
            section.bytes(&[0; 6]);
        }
        section.bytes(texts.bytes.as_slice());
        Ok(section)
    }

    /// In the described draft each metric has its scopes, and each scope its summaries.
    fn described(&self, start: u64) -> Sink {
        let kinds = self.kinds();
        let (count, partials) = (u64::from(self.metric_count()), kinds.len() as u64);
        let all: u64 = self.metrics.iter().map(scope_count).sum();
        let metrics = Records { first: start + 0x10, size: DRAFT_METRIC_BYTES };
        let scopes = Records { first: metrics.offset_of(count), size: DRAFT_SCOPE_BYTES };
        let summaries = Records { first: scopes.offset_of(all), size: DRAFT_SUMMARY_BYTES };
        let mut texts = Texts::new(summaries.offset_of(all * partials), self.form);
        let mut section = self.form.sink();
        section.u64(metrics.first);
        section.u32(self.metric_count());
        section.bytes(&[24, 24, 16, 0]);
        let mut before = 0;
        for metric in &self.metrics {
            section.u64(texts.intern(&metric.name));
            section.u16(small(scope_count(metric)));
            section.bytes(&[0; 6]);
            section.u64(scopes.offset_of(before));
            before += scope_count(metric);
        }
        let mut before = 0;
        for (metric, index) in self.metrics.iter().zip(0..) {
            for scope in scopes_of(metric) {
                section.u64(texts.intern(self.scope_name(scope)));
                section.u16(small(partials));
                section.u16(self.id(index, 0, scope));
                section.u32(0);
                section.u64(summaries.offset_of(before * partials));
                before += 1;
            }
        }
        for (metric, index) in self.metrics.iter().zip(0..) {
            for scope in scopes_of(metric) {
                for (kind, place) in kinds.iter().zip(0..) {
                    section.u64(texts.intern(&kind.formula));
                    section.u8(kind.combine);
                    section.u8(0);
                    section.u16(self.id(index, place, scope));
                    section.u32(0);
                }
            }
        }
        section.bytes(texts.bytes.as_slice());
        section
    }

    /// The scopes that are listed, each with its place in the order of ids: those that a metric
    /// has, and those that were read.
    fn listed_scopes(&self) -> Vec<(u64, &PropagationScope)> {
        let is_listed = |place: u64, scope: &PropagationScope| {
            let of_metric = |metric| scopes_of(metric).any(|value| value == place);
            self.read_scopes.contains(&scope.name) || self.metrics.iter().any(of_metric)
        };
        let all = (0..).zip(&self.scopes);
        all.filter(|(place, scope)| self.metrics.is_empty() || is_listed(*place, scope)).collect()
    }

    fn scope_name(&self, place: u64) -> &str {
        let scope = usize::try_from(place).ok().and_then(|place| self.scopes.get(place));
        scope.map_or("", |scope| scope.name.as_str())
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

/// The scopes that a metric has, by their places in the order of ids.
fn scopes_of(metric: &Metric) -> impl Iterator<Item = u64> {
    let places = (0..).zip(MetricScope::ALL);
    places.filter(|(_, reach)| metric.reaches.contains(reach)).map(|(place, _)| place)
}

fn scope_count(metric: &Metric) -> u64 {
    scopes_of(metric).count() as u64
}

/// A number that is small: metrics have few scopes and statistics.
fn small(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
