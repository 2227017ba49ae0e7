//! Pages and pictures.

use std::fs;

use crate::log;
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
