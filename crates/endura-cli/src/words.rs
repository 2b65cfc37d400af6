//! The library's errors in the words of the command: options in place of methods.

use endura_console::outcome::Failure;

/// Parts of errors of the library, and what the command says in their place.
const WORDS: [(&str, &str); 12] = [
    (
        "wait for it (`lock_timeout`), or open it read-only in every process",
        "or wait for it with `--wait`",
    ),
    ("(`lock_timeout`)", "(`--wait`)"),
    ("(`Checkpoints::in_file`)", "(`--checkpoint-file`)"),
    (
        "(`Checkpoints::in_file`, `Checkpoints::beside_pool`)",
        "(`--checkpoint-file`, `--checkpoint-beside`)",
    ),
    ("(`must_exist`)", "(`--checkpoint-must-exist`)"),
    ("(`accept_unclean`, or `endura check --accept`)", "(`endura check --accept`)"),
    ("(`from`)", "(`--from`)"),
    (" (`Pool::restore`)", ""),
    (
        "if it was open for writing, close it, and its next open goes back to its checkpoint",
        "if this command writes, the next one that writes goes back to the checkpoint",
    ),
    ("a larger `max_size`", "a larger `--max-size`"),
    ("ask for a smaller `max_size`", "give a smaller `--max-size`"),
    (
        "overwrite it with `put`, or remove it with `delete` or `pop_first_key`",
        "overwrite it with `endura put`, or remove it with `endura del`",
    ),
];

/// `failure` in the words of the command.
pub(crate) fn own(failure: Failure) -> Failure {
    failure.reworded(|text| of_library(&text))
}

/// A sentence of the library in the words of the command.
pub(crate) fn of_library(text: &str) -> String {
    WORDS.iter().fold(text.to_owned(), |text, (library, command)| text.replace(library, command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use endura::Error;

    #[test]
    fn errors_have_no_words_of_the_library() {
        let io = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        for error in [
            Error::Locked,
            Error::Full { need: 2, free: 1, limit: endura::SpaceLimit::MaxSize, pool: None },
            Error::NotAPool { pool: None, what: "it is a folder", checkpoint: None },
            Error::Decode { type_name: "u64".into(), source: "short".into() },
            Error::Io { doing: "mapping the pool".into(), source: io },
        ] {
            let told = own(Failure::from(error));
            let Failure::Pool { text, .. } = told else { panic!("another failure: {told:?}") };
            for word in
                ["lock_timeout", "max_size", "read-only in", "pop_first", "::", "must_exist"]
            {
                assert!(!text.contains(word), "{text}");
            }
        }
    }
}
