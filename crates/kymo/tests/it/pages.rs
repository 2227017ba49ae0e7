//! Pages of `kymo report`: of profiles, of streams without tasks, and of arrays.

use crate::support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::support::{file, folder, kymo, run};
use kymo_bp::{Data, Dimension};
use kymo_conformance::testdata;

/// The page of a file.
fn page(file: &Path, options: &[&str]) -> String {
    let (code, page, said) = run(kymo().args(["report", "-o", "-"]).args(options).arg(file));
    assert_eq!(code, Some(0), "{said}");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script") && !page.contains("http-equiv"), "a page needs no script");
    page
}

/// The texts of the cells of the rows below a heading, up to the next heading.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let heading = format!("<h2>{heading}</h2>\n");
    assert!(page.contains(&heading), "no {heading} in {page}");
    let below = page.split_once(&heading).unwrap().1;
    let table = below.split("</table>").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("<tr><td"));
    let cells = |row: &str| {
        let cells = row.split("<td").skip(1);
        cells.map(|cell| cell.split_once('>').unwrap().1.to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// What a heading has is what `top` prints.
#[test]
fn a_profile_has_its_metrics_its_flame_graph_its_functions_and_its_threads() {
    let database = testdata("hpcdb/matmul-omp");
    let page = page(&database, &[]);
    let (_, top, _) = run(kymo().args(["top", "--json", "-n", "3"]).arg(&database));
    let top: Vec<serde_json::Value> =
        top.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let metric = top[0]["metric"].as_str().unwrap();
    let functions = rows(&page, &format!("Functions by {metric}"));
    for (row, expected) in functions.iter().zip(&top) {
        let name = expected["function"].as_str().unwrap();
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert_eq!(row[4], name);
    }
    assert!(functions.len() >= 3, "{functions:?}");
    assert!(rows(&page, "Metrics").iter().any(|row| row[2] == metric), "{metric}");
    // Each box of the flame graph tells how much it is; the first is all there is.
    let drawn = page.split_once("<h2>Flame graph</h2>").unwrap().1;
    let drawn = drawn.split_once("</svg>").unwrap().0;
    assert!(drawn.contains("<title>all ("), "{}", &drawn[..500]);
    assert!(!drawn.contains("<style"), "styles of a picture would hold for the page");
    let (_, threads, _) = run(kymo().args(["threads", "--json"]).arg(&database));
    let shown = rows(&page, "Threads").len();
    assert_eq!(shown, threads.lines().count().min(30));
}

/// Ten lines of one wording in nine seconds, and three of another.
#[test]
fn streams_have_counts_rates_a_picture_and_their_most_frequent_messages() {
    let folder = folder();
    let log = folder.path().join("pump.log");
    let grammar = r"# kymo log
# time = 's'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) (?<text>.*)$'
";
    let mut lines = String::new();
    for second in 0..10 {
        writeln!(lines, "{second} out request {second} took {second}.5 ms").unwrap();
    }
    for second in 10..13 {
        writeln!(lines, "{second} err cannot open <file {second}>").unwrap();
    }
    fs::write(&log, format!("{grammar}{lines}")).unwrap();
    let page = page(&log, &["--from", "textlog"]);
    let streams = rows(&page, "Streams");
    let messages = rows(&page, "Most frequent messages");
    let told: Vec<_> = messages.iter().map(|row| (row[0].as_str(), row[2].as_str())).collect();
    assert_eq!(told[0].0, "10", "{messages:?}");
    assert!(told[0].1.starts_with("request # took # ms"), "{messages:?}");
    assert_eq!(told[1].0, "3", "{messages:?}");
    assert!(told[1].1.starts_with("cannot open &lt;file #&gt;"), "{messages:?}");
    // 76.9 % and 23.1 % of thirteen.
    assert_eq!([&*messages[0][1], &*messages[1][1]], ["76.9 %", "23.1 %"]);
    assert_eq!(streams.iter().map(|row| row[0].parse::<u64>().unwrap()).sum::<u64>(), 13);
    let drawn = page.split_once("<h2>Events over time</h2>").unwrap().1;
    assert!(drawn.split_once("</svg>").unwrap().0.matches("<rect").count() > 10);
}

#[test]
fn arrays_have_their_shapes_and_ranges() {
    let folder = folder();
    let path = file(&folder.path().join("field.bp"), |writer| {
        let shape = [Dimension::local(2), Dimension::local(2)];
        for step in [1.0, 2.0] {
            let values = [step, -3.0, 4.5 * step, f64::NAN];
            writer.dataset("/fields", "phi", &shape, Data::Double(&values)).unwrap();
        }
        writer.scalar("/run", "steps", Data::Int(&[2])).unwrap();
    });
    let variables = rows(&page(&path, &[]), "Variables");
    let cells: Vec<Vec<&str>> =
        variables.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    assert_eq!(cells[0], ["/fields/phi", "double", "2*{2, 2}", "-3", "9", "2"]);
    assert_eq!(cells[1][0], "/run/steps");
    assert_eq!(cells[1][2..], ["scalar", "2", "2", ""]);
}

/// What is asked of events is refused where there are none, and is no empty page.
#[test]
fn a_range_of_time_of_what_has_no_times_is_refused() {
    let first = support::data("v1-2008-07-11/01_scalars_all_types.bp");
    let (code, _, said) = run(kymo().args(["report", "-o", "-", "--since", "+1s"]).arg(first));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no events in time"), "{said}");
}
