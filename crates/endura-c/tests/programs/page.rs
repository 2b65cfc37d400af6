//! The blocks of `docs/c.md`: those of C are one program from the top to the end, and so are those of C++.

use super::build::Language;

const PAGE: &str = include_str!("../../../../docs/c.md");

/// The program of a language.
pub(crate) fn program(language: Language) -> String {
    let fence = format!("```{}\n", language.ending());
    let blocks = PAGE.split(&fence).skip(1).map(|rest| {
        let (block, _) = rest.split_once("\n```").expect("a block that ends");
        format!("{block}\n")
    });
    let program: String = blocks.collect();
    assert!(program.contains("int main("), "a whole program");
    program
}
