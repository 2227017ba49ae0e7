//! The format's side of core's contract, and where the grammar of a log is found.

use std::ffi::OsString;

use kymo_core::bytes::{Limits, ReadError};
use kymo_core::{Context, Error, Finding, Probe, Result, Source};
use kymo_lines::{Lines, LinesDataset, Reader};
use kymo_model::{Confidence, Dataset, Format, FormatInfo};

use crate::TextGrammar;
use crate::spec::{FOLDER_GRAMMAR, SIGNATURE};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct TextLog;

static INFO: FormatInfo = FormatInfo {
    name: "textlog",
    title: "Text log",
    about: "lines of any log, told by a grammar of regular expressions: tasks, messages, states",
    extensions: &["log"],
    dialects: &[
        "with --grammar FILE",
        "with NAME.toml or log.toml beside it",
        "with its grammar in it",
    ],
    abilities: &[],
    dump_styles: &[],
};

impl Format for TextLog {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        let own = || own_grammar(probe.path);
        if probe.is_directory {
            None
        } else if has_signature(probe.head) {
            Some(Confidence::Magic)
        } else if probe.has_grammar {
            // A grammar may be named for several files, and some of them are no logs.
            let is_text = !probe.head.contains(&0);
            Some(if is_text { Confidence::Magic } else { Confidence::Name })
        } else if own().is_some_and(|name| probe.has_sibling(name))
            || probe.has_extension(INFO.extensions) && probe.has_sibling(FOLDER_GRAMMAR)
        {
            Some(Confidence::Plausible)
        } else {
            None
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        let (grammar, start) = grammar_of(source, &context.limits)?;
        Ok(Box::new(LinesDataset(Reader::open(source, start, grammar, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let grammar = grammar_of(source, &context.limits);
        kymo_lines::check(source, grammar, context, |_, _| Vec::new())
    }
}

/// The name of a log's own grammar: `run.log.toml`.
fn own_grammar(path: &std::path::Path) -> Option<OsString> {
    let mut name = path.file_name()?.to_owned();
    name.push(".toml");
    Some(name)
}

fn has_signature(head: &[u8]) -> bool {
    let first = Lines::new(head).next();
    first.is_some_and(|line| line.bytes == SIGNATURE.as_bytes())
}

/// The grammar of a log, and the byte that its lines begin at.
fn grammar_of(source: &Source, limits: &Limits) -> Result<(TextGrammar, usize)> {
    let bytes = source.bytes()?;
    if has_signature(&bytes) {
        return Ok(embedded_grammar(&bytes)?);
    }
    let beside = match source.grammar() {
        Some(named) => Some(named.clone()),
        None => find_sibling(source, limits)?,
    };
    let why =
        "there is none: --grammar names it, or it lies beside the log as NAME.toml or log.toml";
    let beside = beside.ok_or_else(|| ReadError::invalid("grammar", 0, why))?;
    let toml = beside.bytes()?;
    let toml = String::from_utf8_lossy(&toml);
    let grammar = TextGrammar::read(&toml);
    let file = beside.path().to_owned();
    Ok((grammar.map_err(|error| Error::ReadIn { file, error })?, 0))
}

fn find_sibling(source: &Source, limits: &Limits) -> Result<Option<Source>> {
    let own = own_grammar(source.path());
    for name in own.into_iter().chain([FOLDER_GRAMMAR.into()]) {
        if let Some(found) = source.sibling(&name, limits)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The grammar of the first lines: TOML in comments. A `#` is taken for a space, so that what is
/// wrong has its byte.
fn embedded_grammar(bytes: &[u8]) -> std::result::Result<(TextGrammar, usize), ReadError> {
    let mut toml = String::new();
    let mut lines = Lines::new(bytes);
    let mut end = 0;
    while let Some(line) = lines.next() {
        let Some(rest) = line.bytes.strip_prefix(b"#") else { break };
        end = usize::try_from(lines.offset()).unwrap_or(usize::MAX);
        toml.push(' ');
        // The first line says what it is; bytes stay where they are.
        let text = String::from_utf8_lossy(rest);
        toml.push_str(&if line.offset == 0 { " ".repeat(text.len()).into() } else { text });
        let ended = end - usize::try_from(line.offset).unwrap_or(0) - line.bytes.len();
        toml.extend(std::iter::repeat_n(' ', ended.saturating_sub(1)));
        toml.push('\n');
    }
    if end >= bytes.len() {
        let why = "the log ends with it, so that it may be cut";
        return Err(ReadError::invalid("grammar", end as u64, why));
    }
    let capped = |mut error: ReadError| {
        error.offset = error.offset.min(end as u64);
        error
    };
    Ok((TextGrammar::read(&toml).map_err(capped)?, end))
}
