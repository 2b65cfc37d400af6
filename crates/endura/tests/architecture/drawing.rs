//! The drawing of the library's floors in CONTRIBUTING.md: made from the imports, and from the first sentence of each room.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use super::house::{LAYERS, edges_of_library};
use super::rules;

const BEGIN: &str =
    "<!-- floors: ENDURA_BLESS=1 cargo test -p endura --test architecture drawing -->\n";
const END: &str = "<!-- end of floors -->\n";
/// Columns of a sentence.
const WIDTH: usize = 100;

/// The first sentence at the head of a room.
fn sentence(room: &str) -> String {
    let src =
        ["endura", "endura-engine"].map(|name| rules::root().join("crates").join(name).join("src"));
    let file =
        src.map(|src| [src.join(room).join("mod.rs"), src.join(format!("{room}.rs"))]).concat();
    let text = file.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap();
    let head: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let head =
        head.iter().take_while(|line| !line.is_empty()).map(|line| line.trim()).collect::<Vec<_>>();
    let head = head.join(" ");
    let end = head
        .match_indices('.')
        .find(|(at, _)| head[at + 1..].is_empty() || head[at + 1..].starts_with(' '));
    let sentence = &head[..end.map_or(head.len(), |(at, _)| at)];
    sentence.replace(['[', ']', '`'], "")
}

/// The sentence in lines of [`WIDTH`].
fn wrapped(sentence: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        let last = lines.last_mut().unwrap();
        match last.len() {
            0 => last.push_str(word),
            len if len + 1 + word.len() <= WIDTH => *last += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The rooms that each room imports from.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let room = |path: &str| path.split(['/', '.']).next().unwrap_or_default().to_owned();
    let mut uses = BTreeMap::<_, BTreeSet<_>>::new();
    for edge in edges_of_library() {
        let (from, to) = (room(&edge.from), room(&edge.to));
        if from != to && from != "lib" && to != "lib" {
            uses.entry(from).or_default().insert(to);
        }
    }
    uses
}

fn drawing() -> String {
    let (uses, mut out) = (uses(), String::from("```text\n"));
    let width = LAYERS.iter().flat_map(|row| *row).map(|room| room.len()).max().unwrap_or(0);
    for row in LAYERS.iter().rev() {
        for room in *row {
            let sentence = sentence(room);
            let below: Vec<_> = LAYERS
                .iter()
                .rev()
                .flat_map(|row| *row)
                .filter(|other| uses.get(*room).is_some_and(|uses| uses.contains(**other)))
                .copied()
                .collect();
            let below = if below.is_empty() { "nothing".to_owned() } else { below.join(" ") };
            for (i, line) in wrapped(&sentence).iter().enumerate() {
                let room = if i == 0 { room } else { "" };
                let _ = writeln!(out, "{room:width$}  {line}");
            }
            let _ = writeln!(out, "{:width$}    uses {below}", "");
        }
        out.push_str(&format!("{}\n", "-".repeat(width)));
    }
    out.push_str("```\n");
    out
}

#[test]
fn the_drawing_of_the_floors_is_that_of_the_imports() {
    let path = rules::root().join("CONTRIBUTING.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("where the drawing is");
    let (drawn, after) = rest.split_once(END).expect("where it ends");
    let drawing = drawing();
    if std::env::var_os("ENDURA_BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{drawing}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(drawn, drawing, "the first line of the block says how to draw it again");
}
