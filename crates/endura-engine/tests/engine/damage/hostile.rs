//! Words that no session leaves, and every operation that meets them: it answers or fails. The table in
//! `docs/testing.md` is what came of it; `ENDURA_BLESS=1` writes it anew.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use endura::{MapOptions, Pool};
use endura_engine::{Error, Kind, Result};

use crate::support::patched::{Closed, LENGTH, Words, options, outcome, spelled};
use crate::support::patience::within;

/// Longer than an operation takes on a loaded machine.
const LIMIT: Duration = Duration::from_secs(30);

/// What is changed in the file of a pool, whose last generation is told.
struct Damage {
    name: &'static str,
    kind: Kind,
    change: fn(&Words, u64),
}

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;

/// A lock word of the session of this generation.
fn lock_word(generation: u64, flags: u64) -> u64 {
    generation << 44 | flags
}

fn lock_all(words: &Words, nodes: &[u64], word: u64) {
    assert!(!nodes.is_empty());
    nodes.iter().for_each(|&at| words.put(at, word));
}

const DAMAGES: [Damage; 15] = [
    Damage {
        name: "leaves locked in the session to come",
        kind: Kind::FastFair,
        change: |words, last| lock_all(words, &words.fast_fair(0), lock_word(last + 1, LOCKED)),
    },
    Damage {
        name: "inner nodes locked in it",
        kind: Kind::FastFair,
        change: |words, last| lock_all(words, &words.fast_fair(1), lock_word(last + 1, LOCKED)),
    },
    Damage {
        name: "leaves locked two sessions later",
        kind: Kind::FastFair,
        change: |words, last| lock_all(words, &words.fast_fair(0), lock_word(last + 2, LOCKED)),
    },
    Damage {
        name: "leaves absorbed in the session to come",
        kind: Kind::FastFair,
        change: |words, last| lock_all(words, &words.fast_fair(0), lock_word(last + 1, OBSOLETE)),
    },
    Damage {
        name: "leaves used in it",
        kind: Kind::FastFair,
        change: |words, last| lock_all(words, &words.fast_fair(0), lock_word(last + 1, 0)),
    },
    Damage {
        name: "a leaf named twice, its own sibling",
        kind: Kind::FastFair,
        change: |words, _| {
            let (root, child) = (words.root(), words.get(words.root() + 72));
            words.put(root + 88, child);
            words.put(child + 24, child);
        },
    },
    Damage {
        name: "two leaves, each the other's sibling",
        kind: Kind::FastFair,
        change: |words, _| {
            let child = |i: u64| words.get(words.root() + 72 + 16 * i);
            let (left, right) = (child(0), child(1));
            words.put(right + 24, left);
            words.put(right + 16, words.get(left + 8));
            words.put(words.root() + 72 + 32, left);
        },
    },
    Damage {
        name: "chunks locked in the session to come",
        kind: Kind::Roart,
        change: |words, last| lock_all(words, &words.roart(), lock_word(last + 1, LOCKED)),
    },
    Damage {
        name: "chunks locked two sessions later",
        kind: Kind::Roart,
        change: |words, last| lock_all(words, &words.roart(), lock_word(last + 2, LOCKED)),
    },
    Damage {
        name: "chunks replaced in the session to come",
        kind: Kind::Roart,
        change: |words, last| lock_all(words, &words.roart(), lock_word(last + 1, OBSOLETE)),
    },
    Damage {
        name: "chunks used in it",
        kind: Kind::Roart,
        change: |words, last| lock_all(words, &words.roart(), lock_word(last + 1, 0b101)),
    },
    Damage {
        name: "nodes whose children are one and the same, the last without any",
        kind: Kind::Roart,
        change: |words, _| knots(words),
    },
    Damage {
        name: "every second block replaced by the next, which is frozen",
        kind: Kind::NbTree,
        change: |words, _| signposts(words),
    },
    Damage {
        name: "a block that is followed by itself",
        kind: Kind::NbTree,
        change: |words, _| words.blocks().iter().skip(1).for_each(|&at| words.put(at, at)),
    },
    Damage {
        name: "a block that is replaced by the one before",
        kind: Kind::NbTree,
        change: |words, _| {
            let blocks = words.blocks();
            words.put(blocks[2], blocks[1] | 0b11);
        },
    },
];

/// Below the root of a tree, nodes of four children: a way through them for each of so many numbers that nobody
/// comes to the end of them, and nothing there. The first one does not remember all that its keys share.
fn knots(words: &Words) {
    let key = spelled(0);
    let depths = spelled(0).trim_end_matches('0').len()..key.len() + 32;
    // The last two units, which were never used.
    let first = words.get(LENGTH) - 8192;
    assert!((first..first + 8192).step_by(8).all(|at| words.get(at) == 0));
    let place = |depth: usize| first + 64 * (depth as u64);
    let link = |depth: usize, byte: u8| 2 << 56 | u64::from(byte) << 48 | place(depth);
    for depth in depths.clone() {
        let known = (0..depth).map(|i| key.as_bytes().get(i).copied().unwrap_or(b'0'));
        let prefix = known.fold(0, |prefix, byte| prefix << 8 | u64::from(byte));
        let node = [0, 0xA47D << 48 | 2 << 32 | depth as u64, prefix, 0];
        let children = [b'0', b'1', b'2', b'~'].map(|byte| link(depth + 1, byte));
        let children = if depth + 1 == depths.end { [0; 4] } else { children };
        for (i, word) in node.into_iter().chain(children).enumerate() {
            words.put(place(depth) + 8 * i as u64, word);
        }
    }
    let child = words.root() + 32 + 8 * u64::from(key.as_bytes()[0]);
    words.put(child, link(depths.start, key.as_bytes()[0]));
}

/// Pairs of a block that was replaced and one that is frozen, from the second block on.
fn signposts(words: &Words) {
    let blocks = words.blocks();
    for pair in blocks[1..blocks.len() - 1].chunks_exact(2) {
        let after = words.get(pair[1]) & !3;
        words.put(pair[1] + 8, words.get(pair[0] + 8));
        words.put(pair[0], pair[1] | 0b11);
        words.put(pair[1], after | 0b01);
    }
}

type Operation = fn(&Pool, Kind, u64) -> Result<()>;

const FROM_BOTH_ENDS: &str = "remove from both ends";

/// Each is told how many entries there were.
const OPERATIONS: [(&str, Operation); 9] = [
    ("get", |pool, kind, entries| each(pool, kind, entries, Once::Get)),
    ("first, last", ends),
    ("scan", scan),
    ("insert", |pool, kind, entries| each(pool, kind, entries, Once::Insert)),
    ("update", |pool, kind, entries| each(pool, kind, entries, Once::Update)),
    ("remove", |pool, kind, entries| each(pool, kind, entries, Once::Remove)),
    (FROM_BOTH_ENDS, both_ends),
    ("verify", |pool, _, _| pool.verify().map(drop)),
    ("drop", |pool, _, _| pool.drop_map("map").map(drop)),
];

#[derive(Clone, Copy)]
enum Once {
    Get,
    Insert,
    Update,
    Remove,
}

fn one(pool: &Pool, kind: Kind, n: u64, once: Once) -> Result<()> {
    if kind == Kind::Roart {
        let (map, key) = (pool.map::<str, str>("map")?, spelled(n));
        return match once {
            Once::Get => map.get(&key).map(drop),
            Once::Insert => map.insert(&(key + "+"), "new").map(drop),
            Once::Update => map.replace(&key, "new").map(drop),
            Once::Remove => map.remove(&key).map(drop),
        };
    }
    let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind))?;
    match once {
        Once::Get => map.get(n).map(drop),
        Once::Insert => map.insert(n + (1 << 20), 7).map(drop),
        Once::Update => map.replace(n, 7).map(drop),
        Once::Remove => map.remove(n).map(drop),
    }
}

/// The operation on every key; all are tried, and the first failure is told.
fn each(pool: &Pool, kind: Kind, entries: u64, once: Once) -> Result<()> {
    (0..entries).map(|n| one(pool, kind, n, once)).fold(Ok(()), Result::and)
}

fn ends(pool: &Pool, kind: Kind, _: u64) -> Result<()> {
    if kind == Kind::Roart {
        let map = pool.map::<str, str>("map")?;
        return map.first_key_value().map(drop).and(map.last_key_value().map(drop));
    }
    let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind))?;
    map.first_key_value().map(drop).and(map.last_key_value().map(drop))
}

fn both_ends(pool: &Pool, kind: Kind, entries: u64) -> Result<()> {
    std::thread::scope(|scope| {
        let remove = |n| one(pool, kind, n, Once::Remove);
        let other = scope.spawn(move || (0..entries).rev().map(remove).fold(Ok(()), Result::and));
        let outcome = (0..entries).map(remove).fold(Ok(()), Result::and);
        outcome.and(other.join().unwrap())
    })
}

fn scan(pool: &Pool, kind: Kind, entries: u64) -> Result<()> {
    let limit = 16 * entries as usize;
    let met = if kind == Kind::Roart {
        let map = pool.map::<str, str>("map")?;
        map.iter().take(limit).map(|entry| entry.map(drop)).collect::<Result<Vec<_>>>()?.len()
    } else {
        let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind))?;
        map.range(..).take(limit).map(|entry| entry.map(drop)).collect::<Result<Vec<_>>>()?.len()
    };
    assert!(met < limit, "a scan ends");
    Ok(())
}

/// Opens what is at `path`, and does it.
fn run(path: &Path, closed: &Closed, operation: Operation) -> &'static str {
    let (path, kind, entries) = (path.to_owned(), closed.kind, closed.entries);
    let result = within(LIMIT, move || {
        let pool = options().recovery_threads(0).open_existing(path)?;
        let result = operation(&pool, kind, entries);
        match pool.close() {
            // What the operation found.
            Ok(_) | Err(Error::Corrupt { .. }) => result,
            Err(error) => result.and(Err(error)),
        }
    });
    result.map_or("HANGS", outcome)
}

#[test]
fn no_operation_hangs_on_a_hostile_word() {
    let closed: BTreeMap<&str, Closed> = [Kind::FastFair, Kind::NbTree, Kind::Roart]
        .map(|kind| {
            (kind.name(), Closed::new(kind, if kind == Kind::NbTree { 1_500 } else { 300 }))
        })
        .into();
    let names = OPERATIONS.map(|(name, _)| name);
    let mut table = format!("| map | words | {} |\n", names.join(" | "));
    table += &format!("| --- | --- |{}\n", " --- |".repeat(names.len()));
    for Damage { name, kind, change } in &DAMAGES {
        let closed = &closed[kind.name()];
        let row = OPERATIONS.map(|(name, operation)| {
            let path = closed.patched(|words| change(words, closed.generation));
            let outcome = run(&path, closed, operation);
            std::fs::remove_file(path).unwrap();
            // What two threads come across depends on which is faster.
            match outcome {
                "answers" | "`Corrupt`" if name == FROM_BOTH_ENDS => "ends",
                outcome => outcome,
            }
        });
        table += &format!("| {kind} | {name} | {} |\n", row.join(" | "));
    }
    println!("{table}");
    assert!(!table.contains("HANGS"), "\n{table}");
    assert_in_docs(&table);
}

/// A change of a block that others have to come before, a thousand of them: no thread's stack is used up.
#[test]
fn a_long_chain_of_replaced_and_frozen_blocks_takes_no_stack() {
    const PAIRS: u64 = 1_000;
    let closed = Closed::new(Kind::NbTree, PAIRS * 2 * 60);
    let path = closed.patched(|words| {
        signposts(words);
        // The update finds its entry frozen, and has to change the last block.
        let blocks = words.blocks();
        assert!(blocks.len() as u64 > 2 * PAIRS);
        let entries = (0..63).map(|slot| blocks[blocks.len() - 1] + 16 + 16 * slot);
        let live = entries.filter(|&at| words.get(at) != 0 && words.get(at) >> 61 == 0);
        live.for_each(|at| words.put(at, words.get(at) | 1 << 63));
    });
    let last = closed.entries - 1;
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let update = move || {
        let map = options()
            .recovery_threads(0)
            .open_existing(path)?
            .map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree))?;
        map.replace(last, 1)?;
        map.get(last)
    };
    assert_eq!(small.spawn(update).unwrap().join().unwrap().unwrap(), Some(1));
}

/// The table stands between two marks in the page.
fn assert_in_docs(table: &str) {
    const MARKS: [&str; 2] = ["<!-- hostile words: begin -->\n", "<!-- hostile words: end -->"];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/testing.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).expect("the mark before the table");
    let (found, after) = rest.split_once(MARKS[1]).expect("the mark behind it");
    if found != table && std::env::var_os("ENDURA_BLESS").is_some() {
        let page = [before, MARKS[0], table, MARKS[1], after].concat();
        return std::fs::write(path, page).unwrap();
    }
    assert_eq!(found, table, "docs/testing.md is out of date: set ENDURA_BLESS");
}
