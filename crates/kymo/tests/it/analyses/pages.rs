//! Pages and pictures.

use std::fs;

use super::log;
use crate::support::{folder, kymo, run};

#[test]
fn a_page_says_what_its_charts_do_not_show() {
    let folder = folder();
    let sends = |at: u32| format!("{at} a sends M to b{}\n", at % 12);
    let path = log(folder.path(), &(0..100).map(sends).collect::<Vec<_>>().concat());
    let page = folder.path().join("page.html");
    let (code, _, said) = run(kymo().arg("report").arg(&path).arg("-o").arg(&page));
    assert_eq!(code, Some(0), "{said}");
    let page = fs::read_to_string(page).unwrap();
    // Of twelve receivers the chart has nine beside the sender; 30 messages are drawn of theirs.
    // Those have eight each.
    let others = "3 other streams and 24 messages with others are not drawn";
    assert!(page.contains(others), "{page}");
    assert!(page.contains(" messages are not drawn"), "{page}");
}

#[test]
fn a_page_has_as_many_violations_as_other_rows() {
    let folder = folder();
    // M takes 5 ms seven times.
    let message = |at: u32| format!("{at} a sends M to b\n{} b gets M from a\n", at + 5);
    let path = log(folder.path(), &(0..7).map(|n| message(n * 10)).collect::<String>());
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='late'\nmessage='M'\nlatency_max='1ms'\n";
    fs::write(&rules, text).unwrap();
    let rows = |number: &str| {
        let args = ["report", "-o", "-", "-n", number, "--rules"];
        let (code, page, said) = run(kymo().args(args).arg(&rules).arg(&path));
        assert_eq!(code, Some(3), "{said}");
        let (_, page) = page.split_once("<h2>Rules</h2>").unwrap();
        let page = page.split("<h2>").next().unwrap();
        assert!(page.contains("<p>1 rule, 7 violations</p>"), "{page}");
        let more = page.split("<p class=note>").nth(1).map(|more| more.split('<').next().unwrap());
        (page.matches("<td class=text>late").count(), more.map(str::to_owned))
    };
    assert_eq!(rows("3"), (3, Some("late: 4 violations more".to_owned())));
    assert_eq!(rows("7"), (7, None));
    assert_eq!(rows("0"), (7, None));
}

#[test]
fn a_page_goes_to_standard_output_where_that_is_asked_for() {
    let folder = folder();
    let path = log(folder.path(), "0 cpu0 idle -> a\n10 cpu0 a -> idle\n");
    let mut report = kymo();
    report.current_dir(folder.path()).arg("report").arg(&path).args(["-o", "-"]);
    for _ in 0..2 {
        let (code, page, said) = run(&mut report);
        assert_eq!(code, Some(0), "{said}");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    }
    assert!(!folder.path().join("-").exists());
}

#[test]
fn pictures_go_to_standard_output_and_say_which_letters_they_lack() {
    let folder = folder();
    let path = log(folder.path(), "0 cpu0 idle -> \u{65e5}\n20 cpu0 \u{65e5} -> idle\n");
    let (code, svg, said) = run(kymo().arg("gantt").arg(&path).args(["-o", "-"]));
    assert!(code == Some(0) && svg.starts_with("<svg ") && svg.contains('\u{65e5}'), "{said}");
    let png = folder.path().join("out.png");
    let (code, _, said) = run(kymo().arg("gantt").arg(&path).arg("-o").arg(&png));
    assert!(code == Some(3) && said.contains("PNG has no font for"), "{said}");
}

#[test]
fn names_of_pictures_lack_their_middle_and_tell_it() {
    let folder = folder();
    let (one, two) = ("a-task-with-a-rather-long-name-1", "a-task-with-a-rather-long-name-2");
    let lines = format!(
        "1 cpu0 idle -> {one}\n2 cpu0 {one} -> {two}\n3 cpu0 {two} -> idle\n\
         4 {one} sends X to {two}\n5 {two} gets X from {one}\n"
    );
    let path = log(folder.path(), &lines);
    let (_, svg, said) = run(kymo().arg("gantt").arg(&path).args(["-o", "-"]));
    // 25 places: 12 of the begin, and 12 of the end.
    for (name, end) in [(one, "-long-name-1"), (two, "-long-name-2")] {
        let label = format!("<title>{name}</title>a-task-with-…{end}</text>");
        assert!(svg.contains(&label), "{said}{svg}");
    }
    assert!(svg.contains(">ms after 0.001000000 s</text>"), "{svg}");
    // 18 places: 9 and 8.
    let (_, svg, said) = run(kymo().args(["messages", "--chart", "-o", "-"]).arg(&path));
    assert!(svg.contains(&format!("<title>{one}</title>a-task-wi…g-name-1</text>")), "{said}{svg}");
}

#[test]
fn a_chart_of_all_rows_that_fit_does_not_offer_more() {
    let folder = folder();
    let switches = (0..1002).map(|at| format!("{at} cpu0 t{at} -> t{}\n", at + 1));
    let path = log(folder.path(), &switches.collect::<String>());
    // Of t1 to t1001, which run; t0 and t1002 do not.
    let said = |number: &str| run(kymo().args(["gantt", "-o", "-", "-n", number]).arg(&path)).2;
    assert!(said("999").contains("2 rows are not drawn (-n draws more)"), "{}", said("999"));
    for number in ["0", "1000"] {
        let said = said(number);
        assert!(said.contains("1 row is not drawn (--stream chooses some)"), "{said}");
    }
}

#[test]
fn arrows_that_cross_the_borders_of_a_range_end_there() {
    let folder = folder();
    // Both run from 0 to 100; one message goes into the range from 20 to 60, and one is in it.
    let lines = "0 cpu0 idle -> a\n0 cpu1 idle -> b\n10 a sends X to b\n30 b gets X from a\n\
                 31 a sends Y to b\n32 b gets Y from a\n100 cpu0 a -> idle\n100 cpu1 b -> idle\n";
    let path = log(folder.path(), lines);
    let range = ["--since", "20ms", "--until", "60ms", "-o", "-"];
    let (code, svg, said) = run(kymo().arg("gantt").args(range).arg(&path));
    assert_eq!(code, Some(0), "{said}");
    let arrows: Vec<_> = svg.lines().filter(|line| line.contains("#be3c3c")).collect();
    // Two lines each: the shaft, and the head.
    assert_eq!(arrows.len(), 4, "{arrows:?}");
    // A row is 20 high from 50 on, so that their middles are at 60 and 80; 1000 are 40 ms from 210
    // on. It left 10 ms before the border and arrived 10 ms behind it: half of its way is outside.
    assert!(svg.contains("points=\"210.0,70.0 460.0,80.0\""), "{arrows:?}");
}
