//! The module's arguments in `loadmodule`.

use std::path::PathBuf;

use endura::{Pool, PoolOptions};

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
    let mut words = arguments.iter().peekable();
    let is_name = |word: &&String| NAMES.contains(&word.to_ascii_lowercase().as_str());
    let path = words.next_if(|word| !is_name(word)).map_or(PATH, |path| path);
    let mut options = Pool::options();
    while let Some(word) = words.next() {
        let name = word.to_ascii_lowercase();
        if !NAMES.contains(&name.as_str()) {
            return Err(format!("`{word}` is no option: {}", NAMES.join(", ")));
        }
        options = match FLAGS.iter().find(|(flag, ..)| *flag == name) {
            Some((_, name, value)) => options.set(name, value)?,
            None => options.set(&name, words.next().ok_or(format!("`{name}` needs a value"))?)?,
        };
    }
    Ok((path.into(), options))
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
        for wrong in ["p q", "max-size", "max-size x", "no-checkpoints checkpoint-every 1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
