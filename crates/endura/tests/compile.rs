//! What must compile as it is written, without an annotation, and what must not, with the lines that rustc says then. (Where a
//! newer rustc says them in another way, `TRYBUILD=overwrite` writes them down: read the difference.)

#[test]
fn what_must_and_must_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass.rs");
    cases.compile_fail("tests/ui/fail-*.rs");
}
