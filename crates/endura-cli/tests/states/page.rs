//! The page `docs/states.md`.

use crate::make::State;
use crate::says::Said;

pub(crate) const HEAD: &str = "\
# States of a pool

For users who have a message in front of them, and want to know what it means and what comes next. For each state of a
pool, this page has what the commands and the library say about it. The pool is `p`, and its checkpoint
`p.checkpoint`. *Rust* opens the pool for writing; after a `:` follows the text of the error. Python, memcached and Redis
say the same as Rust, with the names of their own settings.

`cargo test -p endura-cli --test states` puts a pool into each of these states and compares what it hears with this
page; with `ENDURA_BLESS=1` it writes the page.
";

/// The section of a state.
pub(crate) fn section(state: &State, said: &[Said]) -> String {
    let rows: String = said.iter().map(|(who, text)| row(who, text)).collect();
    format!(
        "\n## {}\n\n{}\n\n| asked | says |\n| --- | --- |\n{rows}",
        title(state.name),
        state.story
    )
}

fn row(who: &str, text: &str) -> String {
    format!("| {who} | {} |\n", text.replace('|', "\\|").replace('\n', " "))
}

fn title(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// The section of a state on a page.
pub(crate) fn section_of(page: &str, name: &str) -> Option<String> {
    let begin = format!("\n## {}\n", title(name));
    let from = page.find(&begin)?;
    let rest = &page[from + 1..];
    let end = rest.find("\n## ").map_or(rest.len(), |at| at);
    Some(format!("\n{}", &rest[..end]))
}
