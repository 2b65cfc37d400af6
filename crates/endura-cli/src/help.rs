//! The pages of help, beyond what the arguments say of themselves: the groups of commands, and examples.

use std::io::stdout;

use clap::Command;
use clap::builder::StyledStr;
use endura_console::text::{columns, wrapped};

/// The widest page.
pub(crate) const WIDEST: usize = 80;

/// The column of the texts behind the names of commands.
const TEXTS: usize = 15;

/// The commands in the order of the page.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Entries", &["get", "put", "del", "batch", "scan", "import", "export"]),
    ("Pools", &["info", "check", "count", "rename", "drop"]),
    ("Copies", &["backup", "checkpoint", "restore", "compact"]),
    ("Tests", &["demo", "torture"]),
    ("Separate programs", &["explore", "bench"]),
    ("This program", &["completions", "man", "help"]),
];

/// Two examples of each command.
static EXAMPLES: [(&str, [&str; 2]); 22] = [
    ("get", ["endura get data.endura user:1", "endura get data.endura 7 --map hits --json"]),
    ("put", ["endura put data.endura user:1 Ada", "endura put data.endura 7 42 --map hits"]),
    ("del", ["endura del data.endura user:1", "endura del data.endura 7 --map hits --json"]),
    (
        "batch",
        [
            "endura batch data.endura changes.txt",
            "echo \"put hits 8 1\" | endura batch data.endura --json",
        ],
    ),
    (
        "scan",
        [
            "endura scan data.endura --prefix user:",
            "endura scan data.endura --map hits --from 5 --limit 10",
        ],
    ),
    (
        "import",
        [
            "endura import data.endura people.csv --map people",
            "mdb_dump some.lmdb | endura import data.endura --map old",
        ],
    ),
    ("export", ["endura export data.endura main.csv", "endura export data.endura --all monday"]),
    ("info", ["endura info data.endura", "endura info data.endura --space --json"]),
    ("check", ["endura check data.endura", "endura check data.endura --json"]),
    ("count", ["endura count data.endura", "endura count data.endura --map hits --verify"]),
    (
        "rename",
        [
            "endura rename data.endura hits visits",
            "endura rename data.endura visits hits --wait 60",
        ],
    ),
    ("drop", ["endura drop data.endura old", "endura drop data.endura people --wait 60"]),
    (
        "backup",
        [
            "endura backup data.endura monday.endura",
            "endura backup data.endura tuesday.endura --json",
        ],
    ),
    (
        "checkpoint",
        [
            "endura checkpoint data.endura --checkpoint-every 5",
            "endura checkpoint data.endura --json",
        ],
    ),
    ("restore", ["endura restore data.endura", "endura restore data.endura --keep-torn"]),
    (
        "compact",
        [
            "endura compact data.endura small.endura",
            "endura compact data.endura smaller.endura --json",
        ],
    ),
    ("demo", ["endura demo", "endura demo --kind nbtree --dir /var/tmp"]),
    ("torture", ["endura torture --rounds 20", "endura torture --kind nbtree --seed 7 --json"]),
    ("explore", ["endura explore --help", "endura explore nbtree --seconds 300"]),
    ("bench", ["endura bench --help", "endura bench readme --quick"]),
    ("completions", ["source <(endura completions bash)", "endura completions zsh > _endura"]),
    ("man", ["endura man | man -l -", "endura man > endura.1"]),
];

/// The command with its groups and its examples.
pub(crate) fn dressed(command: Command) -> Command {
    let page = template(&command);
    command.help_template(page).mut_subcommands(with_examples)
}

/// `command`, whose help ends with its examples.
fn with_examples(command: Command) -> Command {
    let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == command.get_name()) else {
        return command;
    };
    let above = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    command.after_help(format!("{above}Examples:\n  {}\n  {}", examples[0], examples[1]))
}

/// The page of the program, with its commands in groups.
fn template(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let width = columns(stdout()).min(WIDEST);
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        page.push_str(&format!("\n{header}{title}:{header:#}\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP.into(), StyledStr::to_string);
            let space = " ".repeat(TEXTS.saturating_sub(2 + name.len()));
            page.push_str(&format!("  {literal}{name}{literal:#}{space}"));
            let lines = wrapped(&about, width.saturating_sub(TEXTS));
            page.push_str(&lines.join(&format!("\n{}", " ".repeat(TEXTS))));
            page.push('\n');
        }
    }
    page + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}")
}

/// What the command `help` does, which clap adds later.
const HELP: &str = "Print this page, or that of a command";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::{CommandFactory, Parser};

    #[test]
    fn each_command_is_in_a_group_and_has_examples() {
        let command = Cli::command();
        let mut names: Vec<_> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut in_examples: Vec<_> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        in_examples.sort_unstable();
        assert_eq!(in_examples, names);
        names.push("help");
        let mut in_groups: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        names.sort_unstable();
        in_groups.sort_unstable();
        assert_eq!(in_groups, names);
    }

    #[test]
    fn each_example_is_of_its_command_and_valid() {
        for (name, examples) in EXAMPLES {
            for example in examples {
                let own = &example[example.find("endura").expect("the program")..];
                let own = own.split([')', '>', '|']).next().expect("a command");
                let words: Vec<_> = own.split_whitespace().collect();
                assert_eq!(words[1], name, "{example}");
                assert!(Cli::try_parse_from(words).is_ok(), "{example}");
                assert!(example.len() <= 58, "{example}: wraps at 60 columns");
            }
        }
    }
}
