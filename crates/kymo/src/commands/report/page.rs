//! HTML that needs nothing else.

use kymo_core::Finding;

use crate::picture::svg::escaped;
use crate::render::grid::Grid;
use crate::render::numbers;

const STYLE: &str = "\
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1280px; padding: 0 1em;
  color: #222; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 2em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5em 0 1.5em }
th { color: #666; font-weight: normal; border-bottom: 1px solid #bbb } th:has(+ td) { border: 0 }
th, td { padding: .15em .8em .15em 0; text-align: right; white-space: nowrap }
th.text, td.text { text-align: left; white-space: pre }
td.marks { font-family: ui-monospace, \"DejaVu Sans Mono\", monospace; line-height: 1; font-size: 13px }
tr:hover td { background: #f3f6fa }
p.note { color: #666 } :not(svg) > svg { width: 100%; height: auto }
.flame svg svg { overflow: visible }
td.share { min-width: 7em; background: linear-gradient(to right, #cfe0f3 var(--part), transparent 0) }
.flame text { font: 12px ui-monospace, \"DejaVu Sans Mono\", monospace; fill: #111 }
";

/// A cell of a list.
pub(super) enum Cell {
    Number(String),
    Text(String),
    /// A part of a whole, which is drawn too.
    Share(f64),
}

impl Cell {
    fn is_empty(&self) -> bool {
        match self {
            Self::Number(text) | Self::Text(text) => text.is_empty(),
            Self::Share(_) => false,
        }
    }

    fn html(&self) -> String {
        match self {
            Self::Number(text) => format!("<td>{}", escaped(text)),
            Self::Text(text) => format!("<td class=text>{}", escaped(text)),
            // What is not known, or no part of a whole, has no bar.
            Self::Share(part) if !(0.0..=1.0).contains(part) => "<td>".to_owned(),
            Self::Share(part) => {
                let percent = part * 100.0;
                format!("<td class=share style=\"--part:{percent:.1}%\">{percent:.1} %")
            }
        }
    }
}

/// A page as it grows.
pub(super) struct Page {
    html: String,
}

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = escaped(title);
        let html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n<h1>{title}</h1>\n"
        );
        Self { html }
    }

    /// A part of a page, to be put into it later.
    pub(super) fn part() -> Self {
        Self { html: String::new() }
    }

    /// Adds a part.
    pub(super) fn append(&mut self, part: &Self) {
        self.push(&part.html);
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.push(&format!("<h2>{}</h2>\n", escaped(text)));
    }

    pub(super) fn caption(&mut self, text: &str) {
        self.push(&format!("<p>{}</p>\n", escaped(text)));
    }

    /// Names and what they are.
    pub(super) fn facts(&mut self, facts: &[(String, String)]) {
        self.push("<table>\n");
        for (name, value) in facts {
            let (name, value) = (escaped(name), escaped(value));
            self.push(&format!("<tr><th class=text>{name}<td class=text>{value}\n"));
        }
        self.push("</table>\n");
    }

    /// A picture, which is markup already.
    pub(super) fn svg(&mut self, svg: &str) {
        self.push(svg);
    }

    /// Figures: so many rows of them, or all.
    pub(super) fn table(&mut self, mut grid: Grid, rows: usize) {
        let more = grid.keep(rows);
        let is_text: Vec<_> = grid.is_text();
        let class = |at: usize, cell: &str| match is_text.get(at) {
            // Marks are as wide as what stands for nothing between them.
            Some(true) if cell.chars().any(|c| ('▁'..='█').contains(&c)) => {
                " class=\"text marks\""
            }
            Some(true) => " class=text",
            _ => "",
        };
        self.push("<table>\n");
        for (line, row) in grid.table().iter().enumerate() {
            let tag = if line == 0 { "th" } else { "td" };
            self.push("<tr>");
            for (at, cell) in row.iter().enumerate() {
                self.push(&format!("<{tag}{}>{}", class(at, cell), escaped(cell)));
            }
            self.push("\n");
        }
        self.push("</table>\n");
        if more > 0 {
            let more = numbers::grouped(more as u64);
            self.push(&format!("<p class=note>{more} more</p>\n"));
        }
    }

    /// A heading and figures below it, where there are any.
    pub(super) fn section(&mut self, title: &str, grid: Grid, rows: usize) {
        if grid.len() > 0 {
            self.heading(title);
            self.table(grid, rows);
        }
    }

    /// Writes remarks that are good to know.
    pub(super) fn remarks(&mut self, texts: &[String]) {
        for text in texts {
            self.push(&format!("<p class=note>{}</p>\n", escaped(text)));
        }
    }

    /// Rows of texts.
    pub(super) fn rows(&mut self, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.push("<table>\n<tr>");
        for head in heads {
            self.push(&format!("<th class=text>{}", escaped(head)));
        }
        self.push("\n");
        for row in rows {
            self.push("<tr>");
            for cell in row {
                self.push(&format!("<td class=text>{}", escaped(&cell)));
            }
            self.push("\n");
        }
        self.push("</table>\n");
    }

    /// A heading and rows below it, so many or all, where there are any. Columns of numbers are told, and
    /// those without anything are left out.
    pub(super) fn listed(
        &mut self,
        title: &str,
        heads: &[(&str, bool)],
        rows: &[Vec<Cell>],
        rows_max: usize,
    ) {
        if rows.is_empty() {
            return;
        }
        self.heading(title);
        let is_used: Vec<bool> = (0..heads.len())
            .map(|at| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty())))
            .collect();
        let shown = if rows_max == 0 { rows.len() } else { rows.len().min(rows_max) };
        self.push("<table>\n<tr>");
        for ((head, is_number), _) in heads.iter().zip(&is_used).filter(|(_, is_used)| **is_used) {
            let class = if *is_number { "" } else { " class=text" };
            self.push(&format!("<th{class}>{}", escaped(head)));
        }
        self.push("\n");
        for row in rows.iter().take(shown) {
            let cells = row.iter().zip(&is_used).filter(|(_, is_used)| **is_used);
            let cells: String = cells.map(|(cell, _)| cell.html()).collect();
            self.push(&format!("<tr>{cells}\n"));
        }
        self.push("</table>\n");
        if shown < rows.len() {
            let more = numbers::grouped((rows.len() - shown) as u64);
            self.push(&format!("<p class=note>{more} more</p>\n"));
        }
    }

    /// A flame graph, which is markup already.
    pub(super) fn flame(&mut self, svg: &str) {
        self.push(&format!("<div class=flame>\n{svg}</div>\n"));
    }

    /// Returns true if there is nothing on it.
    pub(super) fn is_empty(&self) -> bool {
        self.html.is_empty()
    }

    /// Writes the findings about the file.
    pub(super) fn findings(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.heading("Findings");
        let rows = findings.iter().map(|finding| {
            let offset = finding.offset.map_or(String::new(), |offset| format!("{offset:#x}"));
            let file = finding.file.clone().unwrap_or_default();
            vec![finding.severity.name().to_owned(), file, offset, finding.message.clone()]
        });
        self.rows(&["severity", "file", "byte", "what"], rows);
    }

    pub(super) fn finish(self) -> String {
        self.html + "</html>\n"
    }

    fn push(&mut self, text: &str) {
        self.html.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        let mut page = Page::new("<script>");
        page.facts(&[("a&b".to_owned(), "\"c\"".to_owned())]);
        let html = page.finish();
        assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"));
        assert!(html.contains("a&amp;b<td class=text>&quot;c&quot;"));
    }
}
