//! What stands behind the path of the module in `loadmodule`.

use std::path::PathBuf;
use std::time::Duration;

use endura::Checkpoints;

use crate::store::Settings;

/// Where the pool is if nothing is said: in the folder of the server (`dir`).
const PATH: &str = "data.endura";

/// `[path] [max-size BYTES] [checkpoint-every SECONDS] [checkpoint-file PATH] [no-checkpoints] [read-mostly]`.
pub(crate) fn parse(arguments: &[String]) -> Result<Settings, String> {
    let mut words = arguments.iter().peekable();
    let is_name = |word: &&String| NAMES.contains(&word.to_ascii_lowercase().as_str());
    let path = words.next_if(|word| !is_name(word)).map_or(PATH, |path| path);
    let mut settings = Settings { path: PathBuf::from(path), ..Settings::default() };
    let (mut every, mut file, mut off) = (None, None, false);
    while let Some(word) = words.next() {
        let name = word.to_ascii_lowercase();
        let mut value = || words.next().ok_or(format!("`{name}` needs a value"));
        match name.as_str() {
            "max-size" => settings.max_size = Some(number(&name, value()?)?),
            "checkpoint-every" => every = Some(number(&name, value()?)?),
            "checkpoint-file" => file = Some(value()?.clone()),
            "no-checkpoints" => off = true,
            "read-mostly" => settings.read_mostly = true,
            _ => return Err(format!("`{word}` is no option: {}", NAMES.join(", "))),
        }
    }
    if off && (every.is_some() || file.is_some()) {
        return Err("`no-checkpoints` excludes `checkpoint-every` and `checkpoint-file`".into());
    }
    let mut checkpoints = match every {
        Some(seconds) => Checkpoints::every(Duration::from_secs(seconds)),
        None if off => Checkpoints::off(),
        None => Checkpoints::as_left(),
    };
    if let Some(file) = file {
        checkpoints = checkpoints.in_file(file);
        settings.checkpoints = Some(checkpoints);
    } else if off || every.is_some() {
        settings.checkpoints = Some(checkpoints);
    }
    Ok(settings)
}

const NAMES: [&str; 5] =
    ["max-size", "checkpoint-every", "checkpoint-file", "no-checkpoints", "read-mostly"];

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{name} {text}`: a number is expected"))
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
        let settings = of("").unwrap();
        assert_eq!(settings.path, PathBuf::from(PATH));
        assert!(settings.checkpoints.is_none());
        let settings = of("p.endura MAX-SIZE 1073741824 checkpoint-every 5 read-mostly").unwrap();
        assert_eq!(settings.path, PathBuf::from("p.endura"));
        assert_eq!(settings.max_size, Some(1 << 30));
        assert!(settings.checkpoints.is_some() && settings.read_mostly);
        assert!(of("no-checkpoints").unwrap().checkpoints.is_some());
        for wrong in ["p q", "max-size", "max-size x", "no-checkpoints checkpoint-every 1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
