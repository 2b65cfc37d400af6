//! Pages of help: groups of commands, advanced options last, and examples that work.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{Place, code, command, program, text, works};

/// A page of help for a terminal of so many columns.
pub(super) fn page_at(arguments: &[&str], columns: usize) -> String {
    let output = command(arguments).env("COLUMNS", columns.to_string()).output();
    let output = output.expect("the command");
    assert_eq!(code(&output), 0, "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// The names of all commands, from the groups of the first page.
pub(super) fn commands() -> Vec<String> {
    let page = works(&["help"]);
    let groups = page.split_once("\nEntries:\n").expect("groups").1;
    let groups = groups.split_once("\nOptions:\n").expect("options").0;
    let names = groups.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The two examples at the end of a page.
fn examples(page: &str) -> Vec<&str> {
    let (_, examples) = page.rsplit_once("\nExamples:\n").expect("examples at the end");
    examples.lines().map(str::trim).collect()
}

#[test]
fn commands_are_grouped() {
    let page = works(&["help"]);
    let place = |title: &str| page.find(&format!("\n{title}:\n")).expect("a group");
    let titles = ["Entries", "Pools", "Copies", "Tests", "Separate programs", "This program"];
    assert!(titles.map(place).is_sorted());
    let names = commands();
    assert!(names.len() == 23 && names[0] == "get" && names[22] == "help", "{names:?}");
    let [separate, own] = ["Separate programs", "This program"].map(place);
    for program in ["endura-explore", "endura-bench"] {
        let about = page[separate..own].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(about.contains(&format!("the separate program `{program}`")), "{about}");
    }
}

#[test]
fn advanced_options_are_the_last_and_two_examples_end_each_page() {
    for name in commands() {
        let page = works(&["help", &name]);
        if name == "help" {
            continue;
        }
        assert_eq!(examples(&page).len(), 2, "{page}");
        let [common, advanced] = ["\nOptions:\n", "\nAdvanced options:\n"].map(|at| page.find(at));
        if ["get", "put", "scan", "import", "info", "torture"].contains(&&*name) {
            assert!(common.is_some() && common < advanced, "{page}");
            let advanced = advanced.expect("advanced options");
            assert!(page[advanced..].contains("--media") && !page[..advanced].contains("--media"));
        }
    }
}

/// What the examples of a command find.
const FOUND: &str = "endura put data.endura user:1 Ada
endura put data.endura 7 42 --map hits
printf 'Ada,1\\n' > people.csv
printf 'expect hits 7 42\\nput hits 7 43\\n' > changes.txt";

/// What LMDB's own program prints of an environment with one entry.
const MDB_DUMP: &str = "#!/bin/sh
printf 'VERSION=3\\nformat=print\\ntype=btree\\nHEADER=END\\n k\\n v\\nDATA=END\\n'
";

#[test]
fn examples_work() {
    let mut run = 0;
    for name in commands() {
        // These take long, or are other programs. (Another test parses their examples.)
        if ["help", "demo", "torture", "explore", "bench"].contains(&&*name) {
            continue;
        }
        let page = works(&["help", &name]);
        let place = Place::new();
        fs::create_dir(place.path("bin")).expect("a folder");
        symlink(program(), place.path("bin/endura")).expect("a link");
        let path = std::env::var("PATH").expect("PATH");
        let path = format!("{}:{path}", place.path("bin").display());
        let shell = |script: &str| {
            let mut shell = Command::new("bash");
            let shell = shell.args(["-ec", script]).current_dir(place.path("")).env("PATH", &path);
            let output = shell.output().expect("a shell");
            assert_eq!(code(&output), 0, "{name}: `{script}`: {}", text(&output.stderr));
        };
        // By a process of its own: a file that another test's child has inherited, open for writing, is busy.
        shell(&format!("cat > bin/mdb_dump <<'END'\n{MDB_DUMP}END\nchmod 755 bin/mdb_dump"));
        shell(FOUND);
        for example in examples(&page) {
            match &*name {
                "drop" => {
                    shell("endura put data.endura 1 1 --map old");
                    shell("endura import data.endura people.csv --map people");
                }
                // It makes a pool that is missing; one that is whole it refuses.
                "restore" => shell("rm data.endura"),
                // No page is shown where there is no terminal, or no `man`.
                "man" if example.contains("| man") => continue,
                _ => {}
            }
            shell(example);
            run += 1;
        }
    }
    assert_eq!(run, 18 * 2 - 1);
}
