//! The module's arguments in `loadmodule`.

use std::path::{Path, PathBuf};

use endura::{Pool, PoolOptions};

use crate::store::in_words;

/// The path of the pool if none is given, relative to the folder of the server (`dir`).
const PATH: &str = "data.endura";

/// The names of the options. Those in [`FLAGS`] take no value; the others have the names and values that the library
/// reads.
const NAMES: [&str; 5] =
    ["max-size", "checkpoint-every", "checkpoint-file", "no-checkpoints", "read-mostly"];

/// The options without a value: their name, the option of the library that they set, and the value that it gets.
const FLAGS: [(&str, &str, &str); 2] =
    [("no-checkpoints", "checkpoint-every", "off"), ("read-mostly", "read-mostly", "yes")];

/// `[path] [max-size BYTES] [checkpoint-every SECONDS] [checkpoint-file PATH] [no-checkpoints] [read-mostly]`.
pub(crate) fn parse(arguments: &[String]) -> Result<(PathBuf, PoolOptions), String> {
    let is_name = |word: &&String| NAMES.contains(&word.to_ascii_lowercase().as_str());
    let of_path = words_of_path(arguments.split(|word| is_name(&word)).next().unwrap_or_default());
    let (path, words) = arguments.split_at(of_path);
    let path = if path.is_empty() { PATH.to_owned() } else { path.join(" ") };
    let mut words = words.iter();
    let mut options = Pool::options();
    let (mut has_none, mut has_checkpoints) = (false, false);
    while let Some(word) = words.next() {
        let name = word.to_ascii_lowercase();
        if !NAMES.contains(&name.as_str()) {
            return Err(format!(
                "`{word}` is no option of this module, which has {}; a path with blanks needs quotes, which CONFIG REWRITE \
                 leaves out",
                NAMES.join(", ")
            ));
        }
        let is_off = name == "no-checkpoints";
        if is_off && has_checkpoints || !is_off && name.starts_with("checkpoint") && has_none {
            return Err("`no-checkpoints` excludes `checkpoint-every` and `checkpoint-file`".into());
        }
        has_none |= is_off;
        has_checkpoints |= name.starts_with("checkpoint");
        options = match FLAGS.iter().find(|(flag, ..)| *flag == name) {
            Some((_, name, value)) => options.set(name, value),
            None => options.set(&name, words.next().ok_or(format!("`{name}` needs a value"))?),
        }
        .map_err(|text| in_words(&text))?;
    }
    Ok((path.into(), options))
}

/// How many of the words before the first option are the path of the pool. CONFIG REWRITE writes a path with blanks
/// without quotes, so the server then passes it in parts. They are taken together if that is a pool that is there.
fn words_of_path(words: &[String]) -> usize {
    let joined = words.join(" ");
    let is_there = |path: &str| Path::new(path).exists();
    if words.len() > 1 && (is_there(&joined) || is_there(&format!("{joined}.checkpoint"))) {
        return words.len();
    }
    words.len().min(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            parse(&words)
        };
        assert_eq!(of("").unwrap().0, PathBuf::from(PATH));
        let (path, options) =
            of("p.endura MAX-SIZE 64M checkpoint-every 0.5 read-mostly checkpoint-file f").unwrap();
        assert_eq!(path, PathBuf::from("p.endura"));
        let text = format!("{options:?}");
        for set in ["max_size: Some(67108864)", "500ms", "read_mostly: true", "Some(\"f\")"] {
            assert!(text.contains(set), "{text}");
        }
        assert!(of("no-checkpoints").is_ok());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("with a blank");
        let line = format!("{} max-size 64M", path.display());
        assert!(of(&line).unwrap_err().contains("`a` is no option of this module"));
        std::fs::write(&path, "").unwrap();
        assert_eq!(of(&line).unwrap().0, path);
        assert!(of("checkpoint-every off").is_ok());
        for (wrong, text) in [
            ("p q", "`q` is no option of this module, which has max-size, "),
            ("max-size", "`max-size` needs a value"),
            ("max-size x", "`max-size x`: "),
            ("checkpoint-every 0.0001", "not a number of seconds from 0.001 to 4,000,000"),
            ("no-checkpoints checkpoint-every 1", "`no-checkpoints` excludes "),
            ("checkpoint-every 1 no-checkpoints", "`no-checkpoints` excludes "),
        ] {
            let told = of(wrong).unwrap_err();
            assert!(told.contains(text) && !told.contains("`off`"), "{wrong}: {told}");
        }
    }
}
