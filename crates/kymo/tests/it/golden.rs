//! What each command prints, as reviewed. `cargo xtask bless` rewrites it.

#[test]
fn commands_print_what_was_reviewed() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("tests/cmd/*.toml");
}
