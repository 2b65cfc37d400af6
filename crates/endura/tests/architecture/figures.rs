//! A figure that a page promises names the command that prints it.
//!
//! A figure is a number with a unit of time, of a rate or of a ratio (`ms`, `%`, `times`, `MiB a second`). Sizes in bytes
//! are not looked for: they are those of the format or limits, which other tests hold. A figure is backed by a command in
//! its own paragraph, item or row; in a paragraph beside its table or list; in the first paragraph of its section; or in
//! the section of a page to which its paragraph, item or row links. [`SETTINGS`] has what is no measurement.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::pages::{anchor, pages};
use crate::rules;

/// Phrases that are no measurements, and what they are instead.
const SETTINGS: [(&str, &str); 25] = [
    ("30 s", "the default interval of checkpoints"),
    ("30 seconds", "the same; and what Linux waits before it writes a page back"),
    ("every 5 seconds", "how often Linux looks for such pages"),
    ("10 to 90 seconds", "the defaults of Docker and systemd"),
    ("of 0 seconds", "an interval that a user sets"),
    ("0.001 to 4,000,000", "the limits of that interval"),
    ("| 1 s | it is the kernel's own", "an interval that was not chosen"),
    ("20 ms to 1 s", "between two looks for shared blocks"),
    ("8 GiB a second", "the speed of a disk that is assumed"),
    ("about 10 ms", "how long a step of unsharing shall take"),
    ("more than 20 ms", "from when on `WritersHeld` is reported"),
    ("out for 40 ms", "how long writers are kept out at a time"),
    ("for 4 ms in", "how long they are let in then"),
    ("takes in 40 ms", "how long writers are kept out at a time"),
    ("at most 60 ms", "the limit of one operation's wait"),
    ("waits for 60 ms", "the same"),
    ("at most 2 ms", "the limit of a hold's wait"),
    ("50 µs up to 1 ms", "the sleeps of a wait"),
    ("longer than 50 µs", "the same"),
    ("32 times, and then", "how often a wait yields"),
    ("32 times as many", "2 MiB in pages of 64 KiB"),
    ("after 0.2 s", "a setting of the kernel of the test"),
    ("up to 6 s", "when a test cuts the power"),
    ("up to 0.8 s", "the same"),
    ("split was 19,865 times", "a count of a campaign, beside its command"),
];

/// What programs say, whose ages are those of the test that writes the page.
const WRITTEN_BY_A_TEST: &str = "docs/states.md";

/// What a code span contains that names a command.
const COMMANDS: [&str; 9] = [
    "cargo ",
    "endura bench",
    "endura-bench",
    "endura torture",
    "endura demo",
    "--test ",
    "--example ",
    ".ci/",
    "ENDURA_",
];

const UNITS: [&str; 21] = [
    "ns", "µs", "ms", "s", "second", "seconds", "minute", "minutes", "hour", "hours", "%", "times",
    "percent", "KB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s", "kop/s", "Mop/s",
];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Paragraph,
    Item,
    Row,
    Code,
}

/// A paragraph, an item of a list, a row of a table, or a line of code.
struct Part {
    kind: Kind,
    line: usize,
    text: String,
}

/// What is below one heading, up to the next one of any level.
#[derive(Default)]
struct Section {
    anchor: String,
    parts: Vec<Part>,
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || (number.len() < line.len() && number.starts_with(". "))
}

fn sections(page: &str) -> Vec<Section> {
    let (mut all, mut in_code, mut goes_on) = (vec![Section::default()], false, false);
    let indented = |line: &str| line.starts_with("    ");
    for (number, whole) in page.lines().enumerate() {
        let line = whole.trim();
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        if is_fence || line.is_empty() {
            goes_on = false;
        } else if in_code || (!goes_on && indented(whole)) {
            let text = format!("`{line}`");
            all.last_mut().unwrap().parts.push(Part { kind: Kind::Code, line: number + 1, text });
        } else if line.starts_with('#') {
            all.push(Section { anchor: anchor(line), parts: Vec::new() });
            goes_on = false;
        } else {
            let parts = &mut all.last_mut().unwrap().parts;
            let kind = match line {
                _ if line.starts_with('|') => Kind::Row,
                _ if is_item(line) => Kind::Item,
                _ => Kind::Paragraph,
            };
            match parts.last_mut() {
                Some(last)
                    if goes_on
                        && kind == Kind::Paragraph
                        && !matches!(last.kind, Kind::Row | Kind::Code) =>
                {
                    last.text += &format!(" {line}");
                }
                _ => parts.push(Part { kind, line: number + 1, text: line.to_owned() }),
            }
            goes_on = true;
        }
    }
    all
}

fn names_a_command(text: &str) -> bool {
    let mut spans = text.split('`').skip(1).step_by(2);
    spans.any(|span| COMMANDS.iter().any(|command| span.contains(command)))
}

fn exempt() -> impl Iterator<Item = &'static str> {
    SETTINGS.into_iter().map(|(setting, _)| setting)
}

/// The numbers with units in `text`, outside of code. What the code has as an argument is no measurement: "`wait(5)` waits
/// 5 seconds".
fn figures(text: &str) -> Vec<String> {
    let mut prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("…");
    for setting in exempt() {
        let is_part = |at: usize| prose[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.');
        let found: Vec<_> =
            prose.match_indices(setting).map(|(at, _)| at).filter(|&at| !is_part(at)).collect();
        found.into_iter().rev().for_each(|at| prose.replace_range(at..at + setting.len(), "…"));
    }
    let words: Vec<_> = prose.split_whitespace().collect();
    let bare = |at: usize| {
        words.get(at).map_or("", |word| word.trim_matches(|c| ",.;:()*|[]".contains(c)))
    };
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ",.-–".contains(c))
    };
    let code = text.split('`').skip(1).step_by(2);
    let arguments: Vec<_> =
        code.flat_map(|code| code.split(|c: char| !c.is_ascii_digit() && c != '.')).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_rate = ["million", "MiB", "KiB", "GiB"].contains(&bare(at + 1))
            && (bare(at + 2), bare(at + 3)) == ("a", "second");
        let ends_here = !bare(at).is_empty() && word.ends_with([',', ';', ')', ':']);
        if is_number(bare(at))
            && !arguments.contains(&bare(at))
            && !ends_here
            && (is_rate || UNITS.contains(&bare(at + 1)))
        {
            found.push(format!("{} {}", bare(at), bare(at + 1)));
        }
        let of_hundred = bare(at).strip_suffix('%').is_some_and(is_number);
        found.extend(of_hundred.then(|| bare(at).to_owned()));
    }
    found
}

/// Whether a command stands where readers of the part at `at` look for it.
fn is_backed(section: &Section, at: usize, leads_to_a_command: &dyn Fn(&str) -> bool) -> bool {
    let part = &section.parts[at];
    let before = section.parts[..at].iter().rev().find(|other| other.kind != part.kind);
    let behind = section.parts[at..].iter().find(|other| other.kind != part.kind);
    let counts = |other: &Part| match other.kind {
        Kind::Code => true,
        Kind::Paragraph => part.kind != Kind::Paragraph,
        Kind::Item | Kind::Row => false,
    };
    let mut near = before.into_iter().chain(behind);
    let links = part.text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    names_a_command(&part.text)
        || names_a_command(&section.parts[0].text)
        || near.any(|other| counts(other) && names_a_command(&other.text))
        || links.into_iter().any(leads_to_a_command)
}

/// The figures of a page that no command backs.
fn unbacked(
    name: &str,
    sections: &[Section],
    leads_to_a_command: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for section in sections {
        for (at, part) in section.parts.iter().enumerate() {
            let figures = figures(&part.text);
            if !figures.is_empty() && !is_backed(section, at, leads_to_a_command) {
                wrong.push(format!("{name}:{}: {}", part.line, figures.join(", ")));
            }
        }
    }
    wrong
}

/// The text of the doc comments of a file, as a page.
fn documentation(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or_default()
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn figures_name_the_command_that_prints_them() {
    let root = rules::root();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let by_hand = pages().into_iter().filter(|page| !page.ends_with(WRITTEN_BY_A_TEST));
    let mut texts: BTreeMap<_, _> = by_hand.map(|page| (page.clone(), read(&page))).collect();
    let mut files = Vec::new();
    rules::sources(&root.join("crates/endura/src"), &mut files);
    texts.extend(files.into_iter().map(|file| (file.clone(), documentation(&read(&file)))));
    let known: BTreeMap<_, _> = texts.iter().map(|(page, text)| (page, sections(text))).collect();
    let (mut all, mut wrong) = (0, Vec::new());
    for (page, parts) in &known {
        let leads = |link: &str| {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => (*page).clone(),
                "crate" => root.join("crates/endura/src/lib.rs"),
                _ => page.parent().unwrap().join(path).canonicalize().unwrap_or_default(),
            };
            let section =
                known.get(&target).and_then(|all| all.iter().find(|s| s.anchor == anchor));
            section
                .is_some_and(|section| section.parts.iter().any(|part| names_a_command(&part.text)))
        };
        all += parts
            .iter()
            .flat_map(|s| &s.parts)
            .map(|part| figures(&part.text).len())
            .sum::<usize>();
        let name = page.strip_prefix(&root).unwrap().display().to_string();
        wrong.extend(unbacked(&name, parts, &leads));
    }
    assert!(all > 150, "{all} figures only");
    assert!(wrong.is_empty(), "no command prints these figures:\n{}", wrong.join("\n"));
    for phrase in exempt() {
        let is_there = texts.values().any(|text| text.replace('\n', " ").contains(phrase));
        assert!(is_there, "no page says `{phrase}` any more");
    }
}

#[test]
fn a_figure_without_a_command_is_noticed() {
    let page = "# One\nIt takes 1.1 ms.\n\n| a | b |\n| x | 20 % |\n\n- 3.4 times (`cargo test`)\n- 9 s\n\
                # Two\n`cargo bench` prints:\n- 5 µs\n\nand 7 million a second, [so](#one), [or](#two) 64 KiB in `8 s`.\n";
    let sections = sections(page);
    assert_eq!(
        unbacked("page", &sections, &|_| false),
        ["page:2: 1.1 ms", "page:5: 20 %", "page:8: 9 s"]
    );
    assert_eq!(unbacked("page", &sections, &|link| link == "#one").len(), 3);
    assert!(figures("`wait(5)` waits 5 seconds").is_empty());
    assert_eq!(
        figures("between 1 and 2,500 ns, (0.5 s) 30%, of 3 a second"),
        ["2,500 ns", "0.5 s", "30%"]
    );
}
