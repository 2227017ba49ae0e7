//! Names of functions without the arguments of their templates.

use std::borrow::Cow;

/// True if arguments of templates are left out of names.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct FoldArgs {
    /// Leave arguments of templates out of names: `forall<…>`. JSON and CSV have whole names
    /// [default: auto, on a terminal].
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always"
    )]
    fold_templates: Option<FoldMode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FoldMode {
    /// On a terminal.
    Auto,
    Always,
    Never,
}

impl FoldArgs {
    /// A name as it is shown.
    pub(crate) fn name(self, name: &str, is_terminal: bool) -> Cow<'_, str> {
        let folds = match self.fold_templates.unwrap_or(FoldMode::Auto) {
            FoldMode::Auto => is_terminal,
            FoldMode::Always => true,
            FoldMode::Never => false,
        };
        if folds { folded(name) } else { Cow::Borrowed(name) }
    }
}

/// Arguments of so few characters are no shorter when they are left out.
const SHORT: usize = 3;

/// A name with `<…>` in the place of what its templates are made of. What begins in no name, such as
/// `<unknown>` and `<T as Trait>`, and operators stay.
fn folded(name: &str) -> Cow<'_, str> {
    if !name.contains('<') {
        return Cow::Borrowed(name);
    }
    let (mut out, mut rest) = (String::new(), name);
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let is_operator = out.trim_end_matches('<').ends_with("operator");
        let is_argument = out.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
        let end = if is_argument && !is_operator { end_of_group(from) } else { None };
        let taken = match end {
            Some(end) if end > SHORT + 2 => {
                out.push_str("<…>");
                end
            }
            end => {
                let end = end.unwrap_or(1);
                out.push_str(from.get(..end).unwrap_or_default());
                end
            }
        };
        rest = from.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the end of a group that begins with `<`; `None` where it does not end.
fn end_of_group(text: &str) -> Option<usize> {
    let (mut depth, mut round, mut before) = (0_usize, 0_usize, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '(' => round += 1,
            ')' => round = round.checked_sub(1)?,
            // Within parentheses these compare, or belong to what is ended there.
            '<' if round == 0 => depth += 1,
            '>' if round == 0 && before != '-' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_templates_are_left_out() {
        for (name, expected) in [
            ("main", "main"),
            ("RAJA::forall<RAJA::seq_exec, Range<long>>(int)", "RAJA::forall<…>(int)"),
            (
                "std::vector<double, A<double> >::push_back(double&&)",
                "std::vector<…>::push_back(double&&)",
            ),
            ("f<int>", "f<int>"),
            ("std::ops::call::<Closure, u64>", "std::ops::call::<…>"),
            ("<unknown> 0x97e", "<unknown> 0x97e"),
            ("<alloc::vec::Vec<String> as Drop>::drop", "<alloc::vec::Vec<…> as Drop>::drop"),
            ("operator<< <std::char_traits<char> >", "operator<< <std::char_traits<…> >"),
            ("A::operator<(B<long, int> const&)", "A::operator<(B<…> const&)"),
            (
                "std::function<int (long)>::operator->() const",
                "std::function<…>::operator->() const",
            ),
            ("f<(a > b), int>", "f<…>"),
            ("broken<name", "broken<name"),
        ] {
            assert_eq!(folded(name), expected);
        }
    }

    #[test]
    fn whole_names_are_kept_where_nobody_reads_them() {
        let name = "forall<long, long>";
        let fold = |fold_templates| FoldArgs { fold_templates };
        assert_eq!(fold(None).name(name, false), name);
        assert_eq!(fold(None).name(name, true), "forall<…>");
        assert_eq!(fold(Some(FoldMode::Always)).name(name, false), "forall<…>");
        assert_eq!(fold(Some(FoldMode::Never)).name(name, true), name);
    }
}
