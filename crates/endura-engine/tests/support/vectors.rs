//! The tests of a binary once more, over each set of vector instructions that this processor has.
//!
//! The choice is that of a whole process, so each set has a child of its own, which is told by its environment.

use std::process::Command;
use std::sync::Once;

use endura_engine::cpu::vectors::Vectors;

const VARIABLE: &str = "ENDURA_TEST_VECTORS";

fn named() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Uses the vectors that the environment names. Called before a map is made.
pub(crate) fn use_named() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Some(name) = named() {
            let vectors = Vectors::named(&name).expect("vectors of that name");
            assert!(vectors.force(), "this processor has no {vectors}");
        }
    });
}

/// Runs the tests whose names contain one of `names` in a child for each set but the one that is used anyway.
pub(crate) fn again_over_each(names: &[&str]) {
    use_named();
    if named().is_some() {
        // A child, or one that a person has told.
        return;
    }
    for vectors in Vectors::available().filter(|&vectors| vectors != Vectors::chosen()) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.args(names).env(VARIABLE, vectors.name()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "over {vectors}: {said}");
        assert!(!said.contains(" 0 passed"), "no test ran over {vectors}: {said}");
    }
}
