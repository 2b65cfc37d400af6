//! The page `docs/states.md`.

use crate::make::State;

pub(crate) const HEAD: &str = "\
# States of a pool

For users who have a message in front of them, and want to know what it means and what comes next. For each state of a
pool, this page has what the commands and the library say about it. The pool is `p`, and its checkpoint
`p.checkpoint`. *Rust* and *Python* open an existing pool for writing (`open_existing`, `create=False`): before the `:` is the
kind of the error, after it its text. *memcached* and *Redis* are servers that start with the pool. `endura-memcached` says this
on standard error, the module in the log of Redis; `serves` means that the server runs. A ` / ` stands for a new line.

`cargo test -p endura-cli --test states` puts a pool into each of these states and compares what it hears with this
page; with `ENDURA_BLESS=1` it writes the page. `.ci/run` does the same for Python and the servers.
";

/// The section of a state. The rows of voices that were not asked are taken from the old page.
pub(crate) fn section(state: &State, said: &[(&'static str, Option<String>)], old: &str) -> String {
    let old = section_of(old, state.name).unwrap_or_default();
    let rows = said.iter().map(|(who, text)| match text {
        Some(text) => row(who, text),
        None => {
            let start = format!("| {who} |");
            let found = old.lines().find(|line| line.starts_with(&start));
            found.map(|line| format!("{line}\n")).unwrap_or_default()
        }
    });
    format!(
        "\n## {}\n\n{}\n\n| asked | says |\n| --- | --- |\n{}",
        title(state.name),
        state.story,
        rows.collect::<String>()
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
