//! Metrics of a taxonomy, one for each way to look at them.

use super::allowance::Allowance;
use super::formula::{ExprId, FormulaError, Formulas};
use super::infix::excerpt;
use super::yaml::{Document, Node, NodeId};

/// Greatest depth of metrics below each other.
const LEVELS_MAX: usize = 32;

/// Number of formulas that cannot be used and are reported.
const UNUSABLE_MAX: usize = 64;

/// Size of a metric or a variant, beside its name and what it is looked for in.
const EACH: usize = 64;

/// A way to look at a metric.
#[derive(Debug)]
pub(super) struct MetricView {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_visible: bool,
    /// True if it is shown as a share of the whole, too.
    pub(super) has_share: bool,
    /// True if its values are parts of a hundred.
    pub(super) is_percent: bool,
    pub(super) inclusive: Sides,
    pub(super) exclusive: Sides,
}

impl MetricView {
    /// The formulas, in the order of core's sides.
    pub(super) fn sides(&self) -> [Option<ExprId>; 4] {
        let (inclusive, exclusive) = (self.inclusive, self.exclusive);
        [inclusive.standard, exclusive.standard, inclusive.custom, exclusive.custom]
    }
}

/// Formulas of one side of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    /// For rows that stand for many places, such as functions.
    pub(super) standard: Option<ExprId>,
    /// For places in the tree.
    pub(super) custom: Option<ExprId>,
}

/// A metric, on the way through the tree of metrics.
struct Level {
    node: NodeId,
    /// The indices of the metrics below it.
    children: Vec<usize>,
    variants: Vec<Variant>,
}

/// A variant of a metric.
struct Variant {
    name: String,
    inclusive: Sides,
    exclusive: Sides,
    is_hidden: bool,
    has_share: bool,
}

/// Reads every variant of every metric, each metric before those below it.
pub(super) fn read_shown(
    document: &Document,
    root: NodeId,
    mut allowance: Allowance,
    formulas: &mut Formulas,
    unusable: &mut Unusable,
) -> Result<Vec<MetricView>, String> {
    let mut levels = levels(document, root, &mut allowance)?;
    // Those below come first: others are made of them.
    for index in (0..levels.len()).rev() {
        let variants = variants(document, &levels, index, formulas, &mut allowance, unusable)?;
        if let Some(level) = levels.get_mut(index) {
            level.variants = variants;
        }
    }
    let mut all = Vec::new();
    for shown in levels.iter().flat_map(|level| shown(document, level)) {
        allowance.take(shown.name.len() + shown.description.len())?;
        all.push(shown);
    }
    Ok(all)
}

/// Every metric before those below it.
fn levels(
    document: &Document,
    root: NodeId,
    allowance: &mut Allowance,
) -> Result<Vec<Level>, String> {
    let items = |map, key| document.get(map, key).map_or(&[][..], |list| document.items(list));
    let mut pending: Vec<(NodeId, usize, Option<usize>)> =
        items(root, "roots").iter().rev().map(|node| (*node, 0, None)).collect();
    let mut levels: Vec<Level> = Vec::new();
    while let Some((node, level, parent)) = pending.pop() {
        allowance.take(EACH + document.pairs(node).len())?;
        let index = levels.len();
        if let Some(parent) = parent.and_then(|parent| levels.get_mut(parent)) {
            parent.children.push(index);
        }
        levels.push(Level { node, children: Vec::new(), variants: Vec::new() });
        if level < LEVELS_MAX {
            let below = items(node, "children").iter().rev();
            pending.extend(below.map(|child| (*child, level + 1, Some(index))));
        }
    }
    Ok(levels)
}

fn variants(
    document: &Document,
    levels: &[Level],
    index: usize,
    formulas: &mut Formulas,
    allowance: &mut Allowance,
    unusable: &mut Unusable,
) -> Result<Vec<Variant>, String> {
    let Some(level) = levels.get(index) else { return Ok(Vec::new()) };
    let list = document.get(level.node, "variants");
    let mut found = Vec::new();
    for (name, how) in list.map_or(&[][..], |list| document.pairs(list)) {
        let name = document.text(*name).unwrap_or_default().to_owned();
        allowance.take(EACH + name.len() + document.pairs(*how).len())?;
        let Some(formula) = document.get(*how, "formula") else { continue };
        allowance.take(document.pairs(formula).len())?;
        let size = formulas.size();
        let (inclusive, exclusive) = match document.text(formula) {
            Some(kind @ ("first" | "sum")) => {
                let children = children(document, levels, level, *how, &name, allowance)?;
                match (kind, children.first()) {
                    ("first", Some(first)) => *first,
                    ("sum", _) => totals(&children, formulas),
                    _ => continue,
                }
            }
            _ => match both_sides(document, formula, formulas) {
                Ok(sides) => sides,
                Err(wrong) => {
                    unusable.add(document, level.node, &name, &wrong);
                    continue;
                }
            },
        };
        allowance.take(formulas.size() - size)?;
        let ways = variant_nodes(document, *how);
        allowance.take(ways.len())?;
        let is_shown = |so: &str| ways.iter().any(|way| document.text(*way) == Some(so));
        let (is_hidden, has_share) = (is_shown("hidden"), is_shown("percent"));
        found.push(Variant { name, inclusive, exclusive, is_hidden, has_share });
    }
    Ok(found)
}

/// The ways in which a variant is shown: one, or a list.
fn variant_nodes(document: &Document, variant: NodeId) -> &[NodeId] {
    let render =
        document.pairs(variant).iter().find(|(key, _)| document.text(*key) == Some("render"));
    match render {
        Some((_, one)) if document.text(*one).is_some() => std::slice::from_ref(one),
        Some((_, list)) => document.items(*list),
        None => &[],
    }
}

/// Returns the variants of the metrics below one: the variant of the same name, or the first that
/// each has of those that are named.
fn children(
    document: &Document,
    levels: &[Level],
    level: &Level,
    how: NodeId,
    own: &str,
    allowance: &mut Allowance,
) -> Result<Vec<(Sides, Sides)>, String> {
    let wanted: Vec<&str> = match document.get(how, "child variant").map(|id| document.node(id)) {
        Some(Some(Node::Scalar(name))) => vec![name.as_str()],
        Some(Some(Node::List(names))) => names.iter().filter_map(|id| document.text(*id)).collect(),
        _ => vec![own],
    };
    allowance.take(wanted.len())?;
    let mut found = Vec::new();
    for child in level.children.iter().filter_map(|child| levels.get(*child)) {
        allowance.take(wanted.len() * child.variants.len())?;
        let named = |name: &&str| child.variants.iter().find(|variant| variant.name == **name);
        let variant = wanted.iter().find_map(named);
        found.extend(variant.map(|variant| (variant.inclusive, variant.exclusive)));
    }
    Ok(found)
}

/// Computes the totals of children, side by side.
fn totals(children: &[(Sides, Sides)], formulas: &mut Formulas) -> (Sides, Sides) {
    let mut total = |side: fn(&(Sides, Sides)) -> Option<ExprId>| {
        formulas.total(children.iter().filter_map(side).collect())
    };
    let inclusive =
        Sides { standard: total(|one| one.0.standard), custom: total(|one| one.0.custom) };
    let exclusive =
        Sides { standard: total(|one| one.1.standard), custom: total(|one| one.1.custom) };
    (inclusive, exclusive)
}

/// The formulas of both sides, of which one may be left out.
fn both_sides(
    document: &Document,
    formula: NodeId,
    formulas: &mut Formulas,
) -> Result<(Sides, Sides), FormulaError> {
    let keys = ["inclusive", "exclusive"];
    if keys.iter().all(|key| document.get(formula, key).is_none()) && !document.is_null(formula) {
        return Err(FormulaError::new(
            formula,
            "it is none of first, sum, inclusive and exclusive",
        ));
    }
    let [inclusive, exclusive] = keys.map(|key| sides(document, formula, key, formulas));
    Ok((inclusive?, exclusive?))
}

/// The formulas of one side: a formula for all, or a map of two, of which `custom` is as
/// `standard` where it is left out, and `standard` is none.
fn sides(
    document: &Document,
    formula: NodeId,
    key: &str,
    formulas: &mut Formulas,
) -> Result<Sides, FormulaError> {
    let Some(side) = document.get(formula, key).filter(|side| !document.is_null(*side)) else {
        return Ok(Sides::default());
    };
    let (standard, custom) = (document.get(side, "standard"), document.get(side, "custom"));
    if standard.is_none() && custom.is_none() {
        let all = Some(formulas.read(document, side)?);
        return Ok(Sides { standard: all, custom: all });
    }
    let mut read = |node: NodeId| {
        let is_there = !document.is_null(node);
        is_there.then(|| formulas.read(document, node)).transpose()
    };
    let standard = standard.map(&mut read).transpose()?.flatten();
    let custom = match custom {
        Some(node) => read(node)?,
        None => standard,
    };
    Ok(Sides { standard, custom })
}

/// Metrics whose formulas cannot be used.
#[derive(Debug, Default)]
pub(super) struct Unusable {
    /// The line of each, and why, in a sentence without full stop.
    pub(super) found: Vec<(usize, String)>,
}

impl Unusable {
    fn add(&mut self, document: &Document, metric: NodeId, variant: &str, wrong: &FormulaError) {
        if self.found.len() < UNUSABLE_MAX {
            let name = excerpt(document.get_text(metric, "name").unwrap_or_default());
            let name = match variant {
                "" | "Sum" => name,
                variant => format!("{name}:{}", excerpt(variant)),
            };
            let line = document.line(wrong.at);
            let why = format!("line {line}: {name} cannot be computed: {}", wrong.why);
            self.found.push((line, why));
        }
    }
}

/// Each variant of a metric under a name of its own.
fn shown<'a>(document: &'a Document, level: &'a Level) -> impl Iterator<Item = MetricView> + 'a {
    let text = |key| document.get_text(level.node, key);
    let name = text("name");
    let description = text("description").or(text("short description")).or(name);
    let is_visible = text("visible by default") != Some("false");
    let is_percent = text("format").is_some_and(|format| format.trim_end().ends_with("%%"));
    level.variants.iter().filter_map(move |variant| {
        let name = match variant.name.as_str() {
            "" | "Sum" => name?.to_owned(),
            variant => format!("{}:{variant}", name?),
        };
        let description = description.unwrap_or_default().to_owned();
        let is_visible = is_visible && !variant.is_hidden;
        let (inclusive, exclusive) = (variant.inclusive, variant.exclusive);
        let has_share = variant.has_share;
        Some(MetricView {
            name,
            description,
            is_visible,
            has_share,
            is_percent,
            inclusive,
            exclusive,
        })
    })
}
