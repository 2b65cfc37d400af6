//! What the commands and the library say of a state.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use endura::Pool;

use crate::faces;
use crate::make::{State, Writer, place_for, pool, to_write};

pub(crate) type Voice = fn(&Path) -> String;

/// All who say something of a state; those that are not asked have no function.
pub(crate) fn voices(state: &State) -> Vec<(&'static str, Option<Voice>)> {
    let own: [(&str, Voice); 4] = [
        ("`endura info`", info),
        ("`endura check`", |folder| last(&run(folder, &["check", "p", "--wait", "0"]))),
        ("`endura count`", |folder| all_lines(&run(folder, &["count", "p", "--wait", "0"]))),
        ("`endura restore`", |folder| last(&run(folder, &["restore", "p"]))),
    ];
    let mut all: Vec<(&str, Option<Voice>)> =
        own.into_iter().map(|(who, voice)| (who, Some(voice))).collect();
    if state.writes {
        all.push(("`endura import`", Some(import)));
    }
    all.push(("Rust", Some(rust)));
    all.extend(faces::voices());
    all
}

/// What each of them says. Each gets the state anew, because some of them change it. `None` is one that is not asked.
pub(crate) fn all(state: &State) -> Vec<(&'static str, Option<String>)> {
    let voices = voices(state).into_iter();
    voices.map(|(who, voice)| (who, voice.map(|voice| of(state, voice)))).collect()
}

/// What one voice says of a state.
fn of(state: &State, say: Voice) -> String {
    let folder = place_for(state);
    if state.writes {
        fs::write(to_write(folder.path()), "").unwrap();
    }
    (state.make)(folder.path());
    let writer = state.is_open.then(|| Writer::start(&pool(folder.path())));
    let text = say(folder.path());
    drop(writer);
    let folder = folder.path().canonicalize().unwrap();
    normalised(&text.replace(&format!("{}/", folder.display()), ""))
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_endura");
    Command::new(program).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All lines in one: those of the standard error first.
fn all_lines(output: &Output) -> String {
    let texts = text(&output.stderr) + &text(&output.stdout);
    let lines = texts.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines = lines.filter(|line| !line.is_empty() && line != "map entries");
    let code = output.status.code().unwrap_or(-1);
    with_code(lines.collect::<Vec<_>>().join(" / "), code)
}

/// The last line, which is a sentence.
fn last(output: &Output) -> String {
    let errors = text(&output.stderr);
    let out = text(&output.stdout);
    let last = out.lines().last().map(str::to_owned);
    let lines: Vec<_> = errors.lines().map(str::to_owned).chain(last).collect();
    with_code(lines.join(" / "), output.status.code().unwrap_or(-1))
}

fn with_code(text: String, code: i32) -> String {
    if code == 0 { text } else { format!("{text} (exit code {code})") }
}

/// The rows that depend on the state.
fn info(folder: &Path) -> String {
    const ROWS: [&str; 9] =
        ["power", "checkpoints", "file", "newest", "last", "warning", "main", "not", "and"];
    let output = run(folder, &["info", "p", "--wait", "0"]);
    let out = text(&output.stdout);
    assert!(
        out.lines().all(|line| line.chars().count() <= 60 || line.contains("/")),
        "wider than 60 columns:\n{out}"
    );
    let mut rows: Vec<String> = Vec::new();
    for line in out.lines().skip(1) {
        let words: Vec<_> = line.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        if line.starts_with("                ") {
            if let Some(row) = rows.last_mut() {
                row.push(' ');
                row.push_str(&words.join(" "));
            }
        } else if ROWS.contains(first) && words.get(1) != Some(&"in") && !is_size(&words) {
            rows.push(words.join(" "));
        }
    }
    let errors = all_lines(&Output { stdout: Vec::new(), ..output });
    let shown = rows.into_iter().chain((!errors.is_empty()).then_some(errors));
    shown.collect::<Vec<_>>().join(" / ")
}

/// Whether this is the row of the file's size.
fn is_size(words: &[&str]) -> bool {
    words[0] == "file" && words.len() > 2
}

/// What an import says.
fn import(folder: &Path) -> String {
    let lines: String = (0..1_000_000).map(|key| format!("{key}\t{key}\n")).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura"));
    command.args(["import", "p"]).current_dir(folder);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command ends before it has read all.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    all_lines(&child.wait_with_output().unwrap())
}

/// What writes say.
fn written(pool: &Pool) -> String {
    let map = pool.map::<u64, u64>("main").unwrap();
    match (0..1_000_000).try_for_each(|key| map.put(key, key).map(drop)) {
        Ok(()) => "; writes".to_owned(),
        Err(error) => format!("; a write: `{}`: {error}", error.code()),
    }
}

/// What an open for writing says.
fn rust(folder: &Path) -> String {
    match Pool::options().open_existing(pool(folder)) {
        Err(error) => format!("`{}`: {error}", error.code()),
        Ok(pool) => {
            let done = match pool.restored() {
                Some(restored) if restored.reason.is_some() => {
                    "opens, taken back to the checkpoint"
                }
                Some(_) => "opens, made anew from the checkpoint",
                None => "opens",
            };
            let warnings = pool.stats().unwrap().warnings;
            let warnings = warnings.iter().map(|warning| format!("; warning: {warning}"));
            let writes = to_write(folder).exists();
            let written = if writes { written(&pool) } else { String::new() };
            let text = done.to_owned() + &warnings.collect::<String>() + &written;
            assert!(pool.close().is_ok() || writes);
            text
        }
    }
}

/// Times, ages, sizes and the numbers of processes are other ones in each run.
fn normalised(text: &str) -> String {
    let words: Vec<_> = text.split(' ').collect();
    let is_number = |word: &str| {
        let digits = word.trim_start_matches('(');
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
    };
    let has_form = |word: &str, form: &str| {
        word.len() == form.len()
            && word.chars().zip(form.chars()).all(|(c, f)| match f {
                '0' => c.is_ascii_digit(),
                _ => c == f,
            })
    };
    let is_date = |word: &str| has_form(word, "0000-00-00");
    let is_time = |word: &str| has_form(word, "00:00:00");
    let mut shown = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let unit = words.get(at + 1).copied().unwrap_or_default();
        let what = words.get(at + 2).copied().unwrap_or_default();
        let is_varying = matches!(what, "ago" | "ago;" | "ago," | "ago:" | "old" | "old," | "of")
            && is_number(word);
        shown.push(match unit {
            _ if at > 0 && words[at - 1].ends_with("process") && is_number(word) => {
                "4711".to_owned()
            }
            // The name of its program.
            _ if at > 1 && words[at - 2].ends_with("process") && word.starts_with('(') => word
                .split_once(')')
                .map_or_else(String::new, |(_, rest)| format!("(program){rest}")),
            _ if is_date(word) => "2026-01-31".to_owned(),
            _ if is_time(word) => "12:00:00".to_owned(),
            "s" if is_varying => "12".to_owned(),
            "B" | "KiB" | "MiB" if is_varying => {
                word.replace(|c: char| "0123456789.,".contains(c), "") + "8"
            }
            _ => (*word).to_owned(),
        });
    }
    shown.join(" ")
}
