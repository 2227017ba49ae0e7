//! Standard error: errors, findings and remarks.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use clap::ColorChoice;
use kymo_core::{Finding, Severity};

use crate::failure;
use crate::output::Paint;
use crate::render::alike::{self, GroupedFinding};
use crate::render::style;

/// Findings of an opened file that are said one by one; `check` says all.
const FINDINGS_SHOWN: usize = 3;

/// Destination of everything that is no result. If it cannot be written, that is nobody's failure.
pub(crate) struct Report {
    writer: Box<dyn Write>,
    paint: Paint,
    is_terminal: bool,
    is_quiet: bool,
}

impl Report {
    /// Standard error.
    pub(crate) fn stderr(color: ColorChoice, is_quiet: bool) -> Self {
        let stderr = io::stderr();
        Self {
            paint: Paint::for_stream(color, &stderr),
            is_terminal: stderr.is_terminal(),
            writer: Box::new(stderr),
            is_quiet,
        }
    }

    /// Another place, for showing what a command says.
    pub(crate) fn with_writer(writer: Box<dyn Write>, paint: Paint, is_terminal: bool) -> Self {
        Self { writer, paint, is_terminal, is_quiet: false }
    }

    /// Returns true if nothing is to be said but errors.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Returns true if a person sees it, and wants to.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_terminal && !self.is_quiet
    }

    /// Says what failed and what to do next.
    pub(crate) fn error(&mut self, name: &str, error: &anyhow::Error) {
        let bad = self.paint.style(style::ERROR);
        let message = failure::message_about(name, error);
        self.line(format_args!("{bad}kymo:{bad:#} {name}: {message}"));
        if let Some(hint) = failure::hint(error, name) {
            self.hint(&hint);
        }
    }

    /// Says what failed where that is about no file.
    pub(crate) fn failure(&mut self, error: &anyhow::Error) {
        let bad = self.paint.style(style::ERROR);
        let message = failure::message(error);
        self.line(format_args!("{bad}kymo:{bad:#} {message}"));
        if let Some(hint) = failure::hint(error, "FILE") {
            self.hint(&hint);
        }
    }

    /// Says what to do next.
    pub(crate) fn hint(&mut self, hint: &str) {
        if !self.is_quiet {
            let faint = self.paint.style(style::HINT);
            self.line(format_args!("{faint}hint:{faint:#} {hint}"));
        }
    }

    /// Says something that is good to know.
    pub(crate) fn remark(&mut self, name: &str, text: impl Display) {
        if !self.is_quiet {
            self.line(format_args!("kymo: {name}: {text}"));
        }
    }

    /// Says a finding.
    pub(crate) fn finding(&mut self, name: &str, finding: &Finding) {
        if !self.is_quiet {
            self.loss(name, finding);
        }
    }

    /// Says findings that differ only in where they are.
    pub(crate) fn print_group(&mut self, name: &str, alike: GroupedFinding<'_>) {
        let text = alike::text(alike, self.paint);
        self.remark(name, text);
    }

    /// Says a finding also to those who want to hear of errors alone: something was left out.
    pub(crate) fn loss(&mut self, name: &str, finding: &Finding) {
        let text = style::finding(finding, self.paint);
        self.line(format_args!("kymo: {name}: {text}"));
    }

    /// Says the findings of an opened file that matter: a few, the worst first, then how many more.
    /// `options` are those that `kymo check` needs to see the same.
    pub(crate) fn findings(&mut self, name: &str, options: &str, findings: &[Finding]) {
        let matter = |finding: &&Finding| finding.severity >= Severity::Warning;
        let alike = alike::worst_first(findings.iter().filter(matter));
        for alike in alike.iter().take(FINDINGS_SHOWN) {
            let text = alike::text(*alike, self.paint);
            self.remark(name, text);
        }
        match alike.iter().skip(FINDINGS_SHOWN).map(|(_, count)| count).sum::<u64>() {
            0 => {}
            1 => self.remark(name, format_args!("and 1 more finding")),
            more => self.remark(name, format_args!("and {more} more findings")),
        }
        if !alike.is_empty() {
            let name = failure::quoted(name);
            self.hint(&format!("`kymo check {options}{name}` shows all that is wrong"));
        }
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.writer, "{text}");
        let _ = self.writer.flush();
    }
}
