//! Rules across elements: what is wrong with a file, and where.
//!
//! Severities: data that cannot be read or must not be trusted is an error; what is readable
//! but against the rules is a warning; what writers in the field are known to do is a note.

mod blocks;

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity, Value, shortened};
use kymo_model::arrays::VariableKind;

use crate::Reader;
use crate::model::VariableElements;
use crate::read::{End, scalar_value};
use crate::spec::Datatype;
use crate::types::{Element, ElementKind, normal_path, text};

/// Every finding of a file that was opened as far as it can be read.
pub(crate) fn check(reader: &Reader, limits: &Limits) -> Vec<Finding> {
    let mut findings = Findings::new(limits);
    findings.extend(reader.findings().iter().cloned());
    for element in reader.elements() {
        check_element(&element, &mut findings);
    }
    check_end(reader, &mut findings);
    check_types(reader, &mut findings);
    check_attributes(reader, &mut findings);
    let mut pairs_left = blocks::PAIRS_MAX;
    for id in 0..reader.grouping().variables().len() {
        if reader.grouping().variables().get(id).map(VariableElements::kind)
            == Some(VariableKind::Global)
        {
            blocks::check(reader, id, &mut pairs_left, &mut findings);
        }
    }
    findings.into_vec()
}

/// Rules of a single element beyond those of reading it.
fn check_element(element: &Element<'_>, findings: &mut Findings) {
    let mut found = |severity, rule, message: String| {
        findings.push(Finding::at_offset(severity, rule, element.offset, message));
    };
    for (what, bytes) in [("name", element.name), ("path", element.path)] {
        if bytes.iter().any(u8::is_ascii_control) {
            let shown = beginning(bytes);
            found(Severity::Warning, "name", format!("the {what} {shown} has control characters"));
        }
    }
    if element.name.is_empty() && element.kind.is_some() {
        found(Severity::Note, "name", "the name is empty".into());
    }
    if element.kind == Some(ElementKind::Group) {
        let message = "a group by itself: no known writer makes one, and old readers refuse it";
        found(Severity::Warning, "group", message.into());
    }
    let Some(payload) = &element.payload else {
        return;
    };
    if !payload.datatype.is_known() {
        let message = format!("datatype {} is not known; values are bytes", payload.datatype.0);
        found(Severity::Warning, "datatype", message);
    }
    if element.is_missing_values() {
        let bytes = payload.stated_bytes;
        let message = format!("a known writer's fault: {bytes} bytes of strings were not written");
        found(Severity::Note, "string-values", message);
    }
    check_attribute_type(element, payload.datatype, &mut found);
}

fn check_attribute_type(
    element: &Element<'_>,
    datatype: Datatype,
    found: &mut impl FnMut(Severity, &'static str, String),
) {
    let is_string = datatype == Datatype::STRING;
    let says_string = match element.kind {
        Some(ElementKind::DatasetAttributeString | ElementKind::GroupAttributeString) => true,
        Some(ElementKind::DatasetAttributeNumber | ElementKind::GroupAttributeNumber) => false,
        _ => return,
    };
    if is_string != says_string {
        let (tag, name) = (if says_string { "string" } else { "number" }, datatype.name());
        let message = format!("the tag says {tag}, but the value is of type {name}");
        found(Severity::Warning, "attribute-type", message);
    }
}

fn check_end(reader: &Reader, findings: &mut Findings) {
    if let End::ZeroWord { offset } = reader.end() {
        let message = "a length of zero ends the file, as an appending writer leaves it";
        findings.push(Finding::at_offset(Severity::Note, "zero-word", offset, message));
    }
    if reader.grouping().dialects().is_empty() {
        let message = "the sizes of types are those of several writers";
        findings.push(Finding::for_whole_file(Severity::Note, "element-sizes", message));
    }
}

/// A path whose writings are not all of one type.
fn check_types(reader: &Reader, findings: &mut Findings) {
    let grouping = reader.grouping();
    // The same name in another encoding is another.
    let mut first: HashMap<(&str, bool), usize> = HashMap::new();
    for (id, grouped) in grouping.variables().iter().enumerate() {
        let name = (grouped.path(), grouped.is_recoded());
        let earlier = *first.entry(name).or_insert(id);
        if earlier == id {
            continue;
        }
        let words = |id: usize| {
            let variable = grouping.variable(id);
            format!("{} {} of rank {}", variable.kind.name(), variable.type_name, variable.rank)
        };
        let at = grouping.members(id).first().and_then(|&index| reader.element(index as usize));
        let message = format!(
            "{} is a {} here, but a {} before",
            shortened(grouped.path()),
            words(id),
            words(earlier)
        );
        let offset = at.map_or(0, |element| element.offset);
        findings.push(Finding::at_offset(Severity::Warning, "type-change", offset, message));
    }
}

/// Attributes of nothing, and those that contradict an earlier one.
fn check_attributes(reader: &Reader, findings: &mut Findings) {
    let hasher = RandomState::default();
    // By hash, since there may be millions; what has the same hash is compared.
    let mut firsts: HashMap<u64, u32, RandomState> = HashMap::default();
    for &index in reader.grouping().attributes() {
        let Some(element) = reader.element(index as usize) else { continue };
        let path = normal_path(&[&element.path_text()]);
        let is_of_dataset = element.kind.is_some_and(ElementKind::is_dataset_attribute);
        if is_of_dataset && !reader.grouping().has_path(&path) && findings.has_room() {
            let (name, path) = (beginning(element.name), shortened(&path));
            let why = format!("{name} describes {path}, which is not there");
            findings.push(Finding::at_offset(
                Severity::Note,
                "dangling-attribute",
                element.offset,
                why,
            ));
        }
        let first = *firsts.entry(hasher.hash_one((&path, element.name))).or_insert(index);
        if first == index {
            continue;
        }
        let Some(before) = reader.element(first as usize) else { continue };
        let is_same = before.name == element.name && normal_path(&[&before.path_text()]) == path;
        if is_same && !has_same_value(&before, &element) {
            findings.push(conflict(reader, &before, &element, &path));
        }
    }
}

/// Returns true if two attributes have the same value, bit for bit.
fn has_same_value<'a>(a: &Element<'a>, b: &Element<'a>) -> bool {
    let value = |element: &Element<'a>| element.payload.as_ref().map(|p| (p.datatype, p.bytes));
    value(a) == value(b)
}

fn conflict(reader: &Reader, before: &Element<'_>, element: &Element<'_>, path: &str) -> Finding {
    let shown = |element: &Element<'_>| match &element.payload {
        // A string may be long; its beginning tells.
        Some(payload) if payload.datatype == Datatype::STRING => beginning(payload.bytes),
        _ => scalar_value(element, reader.endian()).to_string(),
    };
    let why = format!(
        "{} of {} is {}, but was {} before",
        beginning(element.name),
        shortened(path),
        shown(element),
        shown(before)
    );
    Finding::at_offset(Severity::Warning, "attribute-conflict", element.offset, why)
}

/// The beginning of a text, with control characters escaped.
fn beginning(bytes: &[u8]) -> String {
    let head = bytes.get(..200).unwrap_or(bytes);
    shortened(&Value::Text(text(head).into_owned()).to_string()).into_owned()
}
