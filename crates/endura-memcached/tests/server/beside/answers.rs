//! Answers in a form that can be compared.

use super::shown;

/// The greatest difference of two times that are the same: the servers count seconds from different moments.
const SAME_TIME: u64 = 2;

/// The lines of an answer; an item is one line with its data. Numbers of stores are replaced.
pub(super) fn comparable(mut all: &[u8]) -> Vec<String> {
    let mut answer = Vec::new();
    while !all.is_empty() {
        let end = all.iter().position(|&byte| byte == b'\n').map_or(all.len(), |end| end + 1);
        let (line, rest) = all.split_at(end);
        all = rest;
        let words: Vec<&[u8]> = line.trim_ascii_end().split(|&byte| byte == b' ').collect();
        let bytes = match &words[..] {
            [b"VALUE", _, _, bytes, ..] | [b"VA", bytes, ..] => {
                Some(std::str::from_utf8(bytes).unwrap().parse::<usize>().unwrap())
            }
            _ => None,
        };
        let line = match &words[..] {
            [b"VALUE", key, flags, bytes, _] => {
                format!("VALUE {} {} {} #", shown(key), shown(flags), shown(bytes))
            }
            [b"HD" | b"VA" | b"NS", ..] => without_numbers(&words),
            [b"ME", ..] => about(&words),
            // With the end of the line.
            _ => shown(line),
        };
        match bytes {
            None => answer.push(line),
            Some(bytes) => {
                let (data, rest) = all.split_at(all.len().min(bytes + 2));
                all = rest;
                answer.push(format!("{line}: {}", shown(data)));
            }
        }
    }
    answer
}

/// A reply of the meta protocol. A number of a store is replaced by `c#`, unless it is 0.
fn without_numbers(words: &[&[u8]]) -> String {
    let each = words.iter().map(|word| match word {
        [b'c', b'1'..=b'9', ..] => "c#".to_owned(),
        word => shown(word),
    });
    each.collect::<Vec<_>>().join(" ")
}

/// The parts of `me` that this server shows too, except for the number of the store and the size.
fn about(words: &[&[u8]]) -> String {
    let is_ours = |word: &&&[u8]| {
        !["cas=", "cls=", "size="].iter().any(|name| word.starts_with(name.as_bytes()))
    };
    let each = words.iter().filter(is_ours).map(|word| shown(word));
    each.collect::<Vec<_>>().join(" ")
}

/// The same without the time since the last use, which memcached forgets to note for an item that is used often.
pub(super) fn without_last_use(answer: Vec<String>) -> Vec<String> {
    let each = answer.into_iter().map(|line| match line.strip_prefix("ME ") {
        None => line,
        Some(rest) => {
            rest.split(' ').filter(|word| !word.starts_with("la=")).collect::<Vec<_>>().join(" ")
        }
    });
    each.collect()
}

/// Whether two answers are equal but for the moment in which they were given.
pub(super) fn are_equal(theirs: &[String], ours: &[String]) -> bool {
    let same_words = |theirs: &str, ours: &str| {
        theirs == ours
            || match (time(theirs), time(ours)) {
                (Some((one, first)), Some((other, second))) => {
                    one == other && first.abs_diff(second) <= SAME_TIME
                }
                _ => false,
            }
    };
    let same_lines = |(theirs, ours): (&String, &String)| {
        let (theirs, ours) = (theirs.split(' '), ours.split(' '));
        theirs.clone().count() == ours.clone().count()
            && theirs.zip(ours).all(|(theirs, ours)| same_words(theirs, ours))
    };
    theirs.len() == ours.len() && theirs.iter().zip(ours).all(same_lines)
}

/// The name and the seconds of a word that tells a time. memcached shows a time that has passed as a great number.
fn time(word: &str) -> Option<(&str, u64)> {
    let number = |name: &'static str| {
        Some((name, word.strip_prefix(name)?.trim_end_matches(':').parse::<u64>().ok()?))
    };
    let (name, seconds) = ["t", "l", "exp=-", "la="].into_iter().find_map(number)?;
    Some((name, if seconds > 4_000_000_000 { 0 } else { seconds }))
}
