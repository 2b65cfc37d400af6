//! Which documents hold a word: several values per key by tuple keys.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::ops::ControlFlow;

use endura::{Map, Pool, Result};

fn search(index: &Map<(String, u64), u32>, word: &str) -> Result<Vec<u64>> {
    index.prefix(word).keys().map(|key| Ok(key?.1)).collect()
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("index.endura"))?;
    let docs = pool.map::<u64, str>("docs")?;
    let index = pool.map::<(String, u64), u32>("words")?; // word, document -> how often

    docs.extend([(1, "to be or not to be"), (2, "to have or to hold"), (3, "let it be")])?;
    for entry in &docs {
        let (id, text) = entry?;
        for word in text.split(' ') {
            index.update((word, id), |n| n.unwrap_or(0) + 1)?;
        }
    }

    assert_eq!(search(&index, "be")?, [1, 3]);
    assert_eq!(search(&index, "or")?, [1, 2]);
    assert!(search(&index, "o")?.is_empty(), "a prefix of a tuple is whole fields");
    assert_eq!(index.get(("to", 2))?, Some(2));

    // Words from "h" up to "j", without copies of them.
    let mut words = String::new();
    index.range_with(("h", 0)..("j", 0), |(word, id), _| words += &format!("{word}@{id} "))?;
    assert_eq!(words, "have@2 hold@2 it@3 ");

    // The first word that is in two documents.
    let mut last = String::new();
    let found = index.range_with(.., |(word, _), _| {
        if word == last {
            return ControlFlow::Break(word.to_owned());
        }
        last = word.to_owned();
        ControlFlow::Continue(())
    })?;
    assert_eq!(found, ControlFlow::Break("be".to_owned()));

    // Take a document out.
    let text = docs.remove(2)?.unwrap_or_default();
    for word in text.split(' ') {
        index.remove((word, 2))?;
    }
    assert_eq!(search(&index, "or")?, [1]);

    // All of one word.
    assert_eq!(index.remove_range(("be", 0)..=("be", u64::MAX))?, 2);
    println!("{} pairs left", index.len()?);
    Ok(())
}
