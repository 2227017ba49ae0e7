//! The format's side of core's contract: what it is, and what opening a file gives.

use std::sync::Arc;

use kymo_model::table::ColumnTable;
use kymo_core::{Context, Destination, Error, Finding, Probe, Result, Source};
use kymo_model::{Capability, Confidence, Dataset, DumpRequest, Flow, Format, FormatInfo, RecordSink, RepairReport, Summary, Table};

use crate::tables::Events;
use crate::types::Log;
use crate::{Writer, check, model, spec};

/// The {{Type}} format.
#[derive(Debug)]
pub struct {{Type}};

static INFO: FormatInfo = FormatInfo {
    name: "{{name}}",
    title: "{{Type}}",
    about: "what it records, and who wrote it",
    extensions: &["{{name}}"],
    dialects: &["version 1"],
    abilities: &[Capability::Write],
    dump_styles: &[],
};

impl Format for {{Type}} {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        probe.head.starts_with(&spec::MAGIC).then_some(Confidence::Magic)
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        let bytes = source.bytes()?;
        let log = Log::read(&bytes, &context.limits)?;
        let findings = check::rules(&log, source.size_bytes());
        let findings = findings.take(context.limits.findings_max).collect();
        source.verify()?;
        Ok(Box::new(Open { log, findings }))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let findings = check::check(&source.bytes()?, &context.limits);
        source.verify()?;
        Ok(findings)
    }

    fn repair(&self, _: &Source, _: &Destination, _: &Context<'_>) -> Result<RepairReport> {
        Err(Error::request("a damaged {{Type}} file cannot be repaired"))
    }

    fn rewrite(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
        let log = Log::read(&source.bytes()?, &context.limits)?;
        let count = u32::try_from(log.events.len());
        let count = count.map_err(|_| Error::request("more events than a file can hold"))?;
        let mut writer = Writer::new(to.file()?, count)?;
        log.events.iter().try_for_each(|event| writer.write(event))?;
        let file = writer.finish()?;
        source.verify()?;
        file.commit()
    }
}

/// An open file.
struct Open {
    log: Log,
    findings: Vec<Finding>,
}

impl Dataset for Open {
    fn summary(&self) -> Summary {
        let mut summary = Summary { dialect: "version 1".to_owned(), ..Summary::default() };
        summary.fact("events", self.log.events.len());
        summary
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        vec![ColumnTable::new(Events::new(self.log.clone()))]
    }

    fn dump(&self, _: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        for (index, event) in (0..).zip(self.log.events.iter()) {
            if sink.record(&model::record(index, event))? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}
