//! Pictures of variables.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_bp::{Data, Dimension, Options, Writer};

/// A square of four numbers, a cube of eight, a scalar of nine steps, and a text.
fn file(folder: &Path) -> PathBuf {
    let mut writer = Writer::new(Vec::new(), Options::default());
    let two = Dimension::local(2);
    writer.dataset("/", "square", &[two; 2], Data::Double(&[0.0, 1.0, 2.0, 3.0])).unwrap();
    writer.dataset("/", "cube", &[two; 3], Data::Int(&[0, 1, 2, 3, 4, 5, 6, 7])).unwrap();
    for step in 0..9 {
        writer.scalar("/", "ramp", Data::Int(&[step])).unwrap();
    }
    writer.scalar("/", "text", Data::String("one")).unwrap();
    let path = folder.join("a.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

/// The pixels of a picture, and its size.
fn pixels(path: &Path) -> (Vec<[u8; 3]>, (u32, u32)) {
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels = bytes.chunks(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    (pixels, (info.width, info.height))
}

/// The pixel of a picture, and its size.
fn pixel(path: &Path, x: usize, y: usize) -> ([u8; 3], (u32, u32)) {
    let (pixels, size) = pixels(path);
    (pixels[y * size.0 as usize + x], size)
}

#[test]
fn a_heat_map_has_its_smallest_number_dark_and_its_largest_light() {
    let folder = folder();
    let (file, out) = (file(folder.path()), folder.path().join("a.png"));
    let (code, _, said) = run(kymo().arg("plot").arg(&file).args(["square", "-o"]).arg(&out));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(pixel(&out, 150, 100), ([68, 1, 84], (900, 600)));
    assert_eq!(pixel(&out, 700, 500).0, [253, 231, 37]);
    // In the order of Fortran, the second number is below the first and not beside it.
    let mut fortran = kymo();
    fortran
        .args(["plot", "--order", "fortran", "--force", "-o"])
        .arg(&out)
        .arg(&file)
        .arg("square");
    assert_eq!(run(&mut fortran).0, Some(0));
}

#[test]
fn a_picture_with_text_names_what_it_shows() {
    let folder = folder();
    let (file, out) = (file(folder.path()), folder.path().join("a.svg"));
    let mut plot = kymo();
    plot.arg("plot").arg(&file).args(["cube", "--start", "1,0,0", "--count", "1,-1,-1", "-o"]);
    assert_eq!(run(plot.arg(&out)).0, Some(0));
    let text = fs::read_to_string(&out).unwrap();
    for part in
        [">/cube[1, 0:2, 0:2]<", ">index 1<", ">index 2<", "data:image/png;base64,iVBOR", "</svg>"]
    {
        assert!(text.contains(part), "{part}");
    }
    // Nothing is replaced unasked.
    assert_eq!(run(&mut plot).0, Some(1));
}

#[test]
fn a_scalar_is_drawn_over_its_steps_in_the_terminal() {
    let folder = folder();
    let file = file(folder.path());
    let (code, out, _) = run(kymo().arg("plot").arg(&file).arg("ramp"));
    assert_eq!(code, Some(0));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.first(), Some(&"/ramp"));
    assert_eq!(lines.last(), Some(&"across: step from 0 to 8; values from 0 to 8"));
    // The first bar is the lowest there is, and the last the highest.
    assert!(lines[16].starts_with('▁'), "{out}");
    assert!(lines[1].ends_with('▁') && lines[1].starts_with(' '), "{out}");
}

/// Special numbers, nothing but them, nothing at all, and complex numbers with units.
fn odd(folder: &Path) -> PathBuf {
    let mut writer = Writer::new(Vec::new(), Options::default());
    let some = [1.0, f64::NAN, f64::INFINITY, 3.0];
    writer.dataset("/", "some", &[Dimension::local(4)], Data::Double(&some)).unwrap();
    writer.dataset("/", "none", &[Dimension::local(2)], Data::Double(&[f64::NAN; 2])).unwrap();
    writer.dataset("/", "empty", &[Dimension::local(0)], Data::Double(&[])).unwrap();
    let complex = [[3.0, 4.0], [0.0, 0.0]];
    writer.dataset("/", "wave", &[Dimension::local(2)], Data::Complex(&complex)).unwrap();
    writer.dataset_attribute("/wave", "units", Data::String("V")).unwrap();
    let path = folder.join("odd.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

#[test]
fn what_is_no_number_is_said_and_not_drawn() {
    let folder = folder();
    let file = odd(folder.path());
    let (code, out, said) = run(kymo().arg("plot").arg(&file).arg("some"));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.ends_with("2 values are NaN or infinite and not drawn\n"), "{said}");
    assert!(out.ends_with("values from 1 to 3\n"), "{out}");
    for (name, why) in [("none", "no value that could be drawn"), ("empty", "has no values")] {
        let (code, out, said) = run(kymo().arg("plot").arg(&file).arg(name));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{name}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn complex_numbers_are_drawn_by_magnitude_and_units_are_named() {
    let folder = folder();
    let (code, out, _) = run(kymo().arg("plot").arg(odd(folder.path())).arg("wave"));
    assert_eq!(code, Some(0));
    assert!(out.starts_with("/wave [V], magnitude\n"), "{out}");
    assert!(out.ends_with("values from 0 to 5\n"), "{out}");
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let folder = folder();
    let file = file(folder.path());
    let refused = [("text", "is no number"), ("cube", "3 dimensions"), ("rump", "no variable")];
    for (name, why) in refused {
        let (code, _, said) = run(kymo().arg("plot").arg(&file).arg(name));
        assert_eq!(code, Some(1), "{name}");
        assert!(said.contains(why), "{said}");
    }
    let (code, _, _) = run(kymo().arg("plot").arg(&file).args(["square", "-o", "a.gif"]));
    assert_eq!(code, Some(2));
    // The next step can be typed as it stands.
    let (_, _, said) = run(kymo().arg("plot").arg(&file).arg("cube"));
    let options = said.rsplit("can be drawn: ").next().unwrap().split_whitespace();
    let (code, out, said) = run(kymo().arg("plot").arg(&file).arg("cube").args(options));
    assert_eq!(code, Some(0), "{said}");
    assert!(out.starts_with("/cube[0, 0:2, 0:2]\n"), "{out}");
}

#[test]
fn what_stands_below_a_quick_look_fits_the_terminal_and_tells_values_apart() {
    let folder = folder();
    let mut writer = Writer::new(Vec::new(), Options::default());
    let shape = [Dimension::local(100), Dimension::local(200)];
    let values: Vec<_> = (0..20_000).map(|n| 1e-9 * f64::from(n) / 7.0).collect();
    writer.dataset("/", "map", &shape, Data::Double(&values)).unwrap();
    let near = [1.0, 1.0 + f64::EPSILON];
    writer.dataset("/", "near", &[Dimension::local(2)], Data::Double(&near)).unwrap();
    let path = folder.path().join("a.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let (_, out, _) = run(kymo().arg("plot").arg(&path).arg("map"));
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let below =
        "across: index 1 from 0 to 199; down: index 0 from 0 to 99\nvalues from 0 to 2.857e-6\n";
    assert!(out.ends_with(below), "{out}");
    let (_, out, _) = run(kymo().arg("plot").arg(&path).arg("near"));
    assert!(out.ends_with("values from 1e0 to 1.0000000000000002e0\n"), "{out}");
}

#[test]
fn a_map_of_more_values_than_cells_states_the_range_of_its_values() {
    let folder = folder();
    let mut values = vec![0.0; 2000 * 2000];
    values[0] = 1000.0;
    let mut writer = Writer::new(Vec::new(), Options::default());
    let shape = [Dimension::local(2000); 2];
    writer.dataset("/", "spike", &shape, Data::Double(&values)).unwrap();
    let huge = [1e308; 4];
    writer.dataset("/", "huge", &[Dimension::local(2); 2], Data::Double(&huge)).unwrap();
    let path = folder.path().join("a.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let (_, out, _) = run(kymo().arg("plot").arg(&path).arg("spike"));
    assert!(out.ends_with("values from 0 to 1000\n"), "{out}");
    // 2000 values in 16 lines of 80 characters: the one that stands out is seen, and alone.
    assert!(out.contains("\neach character: of 125×25 values, that farthest from the mean\n"));
    assert!(out.lines().nth(1).unwrap().starts_with('█'), "{out}");
    assert_eq!(out.matches('█').count(), 1, "{out}");
    let svg = folder.path().join("a.svg");
    assert_eq!(run(kymo().arg("plot").arg(&path).args(["spike", "-o"]).arg(&svg)).0, Some(0));
    let text = fs::read_to_string(&svg).unwrap();
    assert!(text.contains(">of 5×3 values, that farthest from the mean<"), "{text}");
    let png = folder.path().join("a.png");
    assert_eq!(run(kymo().arg("plot").arg(&path).args(["spike", "-o"]).arg(&png)).0, Some(0));
    assert_eq!(pixel(&png, 100, 50).0, [253, 231, 37]);
    let (_, out, _) = run(kymo().arg("plot").arg(&path).arg("huge"));
    assert!(out.ends_with("every value is 1e308\n"), "{out}");
}

#[test]
fn a_heat_map_loses_nothing_that_stands_out() {
    let folder = folder();
    let mut values = vec![0.0; 1000 * 1000];
    // A one in every fifth row and tenth column: 200 × 100, each in a cell of its own.
    for row in (0..1000).step_by(5) {
        for column in (0..1000).step_by(10) {
            values[row * 1000 + column] = 1.0;
        }
    }
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.dataset("/", "s", &[Dimension::local(1000); 2], Data::Double(&values)).unwrap();
    let path = folder.path().join("a.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let out = folder.path().join("a.png");
    assert_eq!(run(kymo().arg("plot").arg(&path).args(["s", "-o"]).arg(&out)).0, Some(0));
    let (pixels, (width, _)) = pixels(&out);
    // The map is at 100 across and 50 down, and 670 by 490 pixels large.
    let is_light = |at: &usize| {
        let (x, y) = (at % width as usize, at / width as usize);
        (100..770).contains(&x) && (50..540).contains(&y) && pixels[*at] == [253, 231, 37]
    };
    let light = (0..pixels.len()).filter(is_light).count();
    assert_eq!(light, 200 * 100);
}

#[test]
fn letters_of_units_are_drawn_and_those_without_a_font_said() {
    let folder = folder();
    let mut writer = Writer::new(Vec::new(), Options::default());
    for (name, units) in [("φ", "µm² °C"), ("日", "m")] {
        writer.dataset("/", name, &[Dimension::local(2)], Data::Int(&[1, 2])).unwrap();
        writer.dataset_attribute(&format!("/{name}"), "units", Data::String(units)).unwrap();
    }
    let path = folder.path().join("a.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let plot = |name: &str, to: &str| {
        run(kymo().arg("plot").arg(&path).args([name, "-o"]).arg(folder.path().join(to)))
    };
    let (code, _, said) = plot("φ", "a.png");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let (code, _, said) = plot("日", "b.png");
    assert_eq!(code, Some(3));
    assert!(said.contains("question marks; .svg has all"), "{said}");
    assert_eq!(plot("日", "b.svg").0, Some(0));
}

/// A log of the speed of a drive: 1 at 10 s, 2 at 11 s, 6 at 19 s, and a remark at 20 s.
fn log(folder: &Path) -> PathBuf {
    let path = folder.join("drive.txt");
    fs::write(&path, "10 m: speed=1\n11 m: speed=2\n19 m: speed=6\n20 m: off\n").unwrap();
    let grammar = "[[line]]\nmatch = '^(?<time>\\d+) (?<task>m): (speed=(?<speed>\\d+)|off)'\n";
    fs::write(folder.join("drive.txt.toml"), grammar).unwrap();
    path
}

#[test]
fn numbers_of_a_recording_are_drawn_over_its_time() {
    let folder = folder();
    let file = log(folder.path());
    let (code, out, said) = run(kymo().arg("plot").arg(&file).arg("m.speed"));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    // The mean of 1, 2 and 6 is 3, and the squares of their distances from it add up to 14.
    assert!(out.contains("time from 10.000000000 to 20.000000000; values from 1 to 6"), "{out}");
    assert!(out.contains("3 values, mean 3, deviation 2.160247"), "{out}");
    // 80 characters are ten seconds: 2 counts for eight of them, 6 for one.
    let top = out.lines().nth(1).unwrap();
    assert_eq!(top, format!("{}{}", " ".repeat(72), "▁".repeat(8)));

    let mut part = kymo();
    part.arg("plot").arg(&file).args(["m.speed", "--since", "12s", "--until", "15s"]);
    let (code, _, said) = run(&mut part);
    assert_eq!(code, Some(1));
    assert!(said.contains("m.speed has no number that could be drawn"), "{said}");

    let svg = folder.path().join("speed.svg");
    let mut picture = kymo();
    picture.arg("plot").arg(&file).args(["m.speed", "--since", "18s", "-o"]).arg(&svg);
    assert_eq!(run(&mut picture).0, Some(0));
    assert!(fs::read_to_string(&svg).unwrap().contains("s after 18.000000000"));
}

#[test]
fn what_cannot_be_drawn_of_a_recording_is_said() {
    let folder = folder();
    let (array, log) = (file(folder.path()), log(folder.path()));
    for (file, options, words) in [
        (&log, &["speed"][..], "there is no stream speed"),
        (&log, &["m.speed", "--step", "1"][..], "a stream, which has no steps"),
        (&log, &["m.speed", "--since", "30s"][..], "nothing of it is in that range"),
        (&array, &["ramp", "--since", "1s"][..], "an array, which has no times"),
    ] {
        let (code, out, said) = run(kymo().arg("plot").arg(file).args(options));
        assert!(code != Some(0) && out.is_empty() && said.contains(words), "{options:?}: {said}");
    }
}
