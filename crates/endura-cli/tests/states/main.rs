//! The states of a pool, and what each command says of them: `docs/states.md`.
//!
//! The test really puts a pool into each state, runs the commands, and compares what they print with the page.
//!
//! | to | run |
//! | --- | --- |
//! | write the page | `ENDURA_BLESS=1 cargo test -p endura-cli --test states` |
//! | hear the servers as well | `ENDURA_STATES_SERVERS=1 cargo test -p endura-memcached -p endura-redis -p endura-cli --test server --test states` |
//! | hear Python as well | `ENDURA_STATES_PYTHON=PROGRAM cargo test -p endura-cli --test states`, after `.ci/python` |

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by a panic")]

mod around;
mod faces;
mod make;
mod page;
mod says;

use std::path::Path;

use make::STATES;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/states.md");

/// The page is of pools on a plain disk: on others there are warnings beside the sentences.
fn is_on_a_plain_disk() -> bool {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let pool = endura::Pool::open(folder.path().join("p")).unwrap();
    let stats = pool.stats().unwrap();
    stats.warnings.is_empty() && ["ext4", "xfs"].contains(&stats.filesystem)
}

#[test]
fn each_state_has_its_sentences() {
    if !is_on_a_plain_disk() {
        return eprintln!("left out: the folder of the tests is not on ext4 or XFS");
    }
    let old = std::fs::read_to_string(PAGE).unwrap_or_default();
    let mut new = page::HEAD.to_owned();
    for state in STATES {
        new += &match around::all(state) {
            Some(said) => page::section(state, &said, &old),
            None => page::section_of(&old, state.name).expect("the page has the state"),
        };
    }
    if std::env::var_os("ENDURA_BLESS").is_some() {
        return std::fs::write(PAGE, &new).unwrap();
    }
    let differing = old.lines().zip(new.lines()).find(|(old, new)| old != new);
    assert!(old == new, "docs/states.md is old (ENDURA_BLESS=1 writes it): {differing:#?}");
}

/// A person reads each sentence once: it does not contradict the others, and gives one advice.
#[test]
fn no_sentence_of_the_page_contradicts_its_neighbour() {
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    if std::env::var_os("ENDURA_BLESS").is_some() {
        return;
    }
    for state in STATES {
        let section = page::section_of(&page, state.name).unwrap();
        let says = |who: &str| {
            let row = section.lines().find(|line| line.starts_with(&format!("| {who} |")));
            row.unwrap_or_else(|| panic!("{}: no row of {who}", state.name)).to_owned()
        };
        let info = says("`endura info`");
        let whole = says("`endura check`").contains(": sound");
        assert!(!(whole && says("Rust").contains("torn")), "{section}");
        assert!(!(info.contains("nothing is lost") && info.contains("back to")), "{section}");
        assert!(!(info.contains("is refused") && info.contains(" s old")), "{section}");
    }
}

/// Another process that has a pool open, until it is killed.
#[test]
fn role_writer() {
    if let Some(path) = std::env::var_os(make::ROLE) {
        make::write(Path::new(&path));
    }
}

/// Another process, whose surroundings are those of a state.
#[test]
fn role_hearer() {
    if let Ok(asked) = std::env::var(around::ASKED) {
        around::hear(&asked);
    }
}

#[test]
fn states_have_names_of_their_own() {
    let names: std::collections::BTreeSet<_> = STATES.iter().map(|state| state.name).collect();
    assert_eq!(names.len(), STATES.len());
}
