//! What stands behind the path of the module in `loadmodule`.

use std::path::PathBuf;

use endura::{Pool, PoolOptions};

/// Where the pool is if nothing is said: in the folder of the server (`dir`).
const PATH: &str = "data.endura";

/// Options of the pool, by the names and with the values that the library reads. [`FLAGS`] need no value.
const NAMES: [&str; 5] =
    ["max-size", "checkpoint-every", "checkpoint-file", "no-checkpoints", "read-mostly"];

/// Options that are set by their name alone: what they set, and to what.
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
