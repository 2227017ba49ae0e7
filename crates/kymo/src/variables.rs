//! Variables that a name means, and the message when it means none or too many.

use kymo_model::arrays::{ArraysView, VariableId};

use crate::failure::{Failure, quoted};
use crate::masks::Masks;
use crate::render::escaped;
use crate::session::{Outcome, Session};

/// Paths that a message lists.
const LISTED_MAX: usize = 5;

/// The variables that a path, a name or a glob means, and whether it is a glob.
pub(crate) fn find(
    view: &dyn ArraysView,
    wanted: &str,
    file: &str,
) -> Result<(Vec<VariableId>, bool), Failure> {
    let exact = view.find(wanted);
    if !exact.is_empty() {
        return Ok((exact, false));
    }
    if wanted.contains(['*', '?', '[', '{']) {
        let masks = Masks::new(&[wanted])?;
        let ids = (0..view.variable_count()).map(VariableId);
        let matching: Vec<_> = ids.filter(|id| masks.matches(&view.variable(*id).path)).collect();
        if !matching.is_empty() {
            return Ok((matching, true));
        }
    }
    if let Some(failure) = ambiguous(view, wanted, "a path or a glob") {
        return Err(failure);
    }
    let hint = match near(view, wanted) {
        Some(near) => format!("there is {near}"),
        None => format!("`kymo ls {}` lists the variables", quoted(file)),
    };
    Err(Failure::new(format!("there is no variable {}", escaped(wanted))).hint(hint))
}

/// Says that a path has other variables than that which something is done with: of other types, or
/// with their names in another encoding.
pub(crate) fn report_other_types(
    session: &mut Session,
    file: &str,
    view: &dyn ArraysView,
    id: VariableId,
    others: &[VariableId],
    done: &str,
) -> Outcome {
    let variable = view.variable(id);
    let is_alike = |other: &&VariableId| view.variable(**other).is_recoded == variable.is_recoded;
    let types = others.iter().filter(is_alike).count();
    let (path, type_name) = (escaped(&variable.path), &variable.type_name);
    if types > 0 {
        let loss = format!(
            "{path}: only the values of type {type_name} are {done}; the path has {types} other \
             type(s) too"
        );
        session.report.remark(file, loss);
    }
    if types < others.len() {
        let loss = format!(
            "{path}: only what has this name in UTF-8 is {done}; what has it in Latin-1 is in \
             hdf5, netcdf, zarr and npz, with a number behind its name"
        );
        session.report.remark(file, loss);
    }
    Outcome::Findings
}

/// Explains why a name that several paths end in means no variable.
pub(crate) fn ambiguous(view: &dyn ArraysView, name: &str, instead: &str) -> Option<Failure> {
    let ends = |path: &String| {
        let before = path.strip_suffix(name.trim_start_matches('/'));
        before.is_some_and(|before| before.ends_with('/'))
    };
    let mut found: Vec<_> = paths(view).filter(ends).collect();
    found.dedup();
    if name.is_empty() || found.len() < 2 {
        return None;
    }
    let listed: Vec<_> = found.iter().take(LISTED_MAX).map(|path| escaped(path)).collect();
    let rest = match found.len() {
        total if total > LISTED_MAX => format!(", … ({LISTED_MAX} shown)"),
        _ => String::new(),
    };
    let (name, total) = (escaped(name), found.len());
    let why =
        format!("{name} names {total} variables: {}{rest}; give {instead}", listed.join(", "));
    Some(Failure::new(why))
}

/// The paths that are most like a name, the likest first, and how many more there are.
pub(crate) fn near(view: &dyn ArraysView, wanted: &str) -> Option<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let wanted = last(wanted);
    if wanted.is_empty() {
        return None;
    }
    let rank = |path: String| {
        let name = last(&path);
        let is_part = path.to_lowercase().contains(&wanted);
        let misses = if is_part { 0 } else { distance(&wanted, &name) };
        let misses_max = wanted.chars().count() / 3;
        (is_part || misses <= misses_max).then_some((misses, path))
    };
    let mut found: Vec<_> = paths(view).filter_map(rank).collect();
    found.sort_by_key(|(misses, _)| *misses);
    found.dedup();
    let listed: Vec<_> = found.iter().take(LISTED_MAX).map(|(_, path)| escaped(path)).collect();
    match found.len() {
        0 => None,
        total if total > LISTED_MAX => {
            Some(format!("{} and {} more", listed.join(", "), total - LISTED_MAX))
        }
        _ => Some(listed.join(", ")),
    }
}

fn paths(view: &dyn ArraysView) -> impl Iterator<Item = String> {
    (0..view.variable_count()).map(|index| view.variable(VariableId(index)).path)
}

/// The name that one is but for a letter in three; of several the likest, and of these the first.
pub(crate) fn nearest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong_max = typed.chars().count() / 3;
    let near = names.into_iter().map(|name| (distance(typed, name), name));
    let near = near.filter(|(wrong, _)| *wrong <= wrong_max).min_by_key(|(wrong, _)| *wrong);
    near.map(|(_, name)| name)
}

/// Counts the characters that must be put in, left out or changed to make one name of another.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut costs: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.chars().enumerate() {
        let mut corner = row;
        let mut left = row + 1;
        for (cost, b) in costs.iter_mut().skip(1).zip(&other) {
            let changed = corner + usize::from(a != *b);
            corner = *cost;
            left = changed.min(corner + 1).min(left + 1);
            *cost = left;
        }
        if let Some(first) = costs.first_mut() {
            *first = row + 1;
        }
    }
    costs.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_names_counts_single_characters() {
        let known = [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3)];
        for (one, other, expected) in known {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
        assert_eq!(distance("tmeperature", "temperature"), 2);
    }
}
