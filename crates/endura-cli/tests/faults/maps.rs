//! Only an entry creates a map or a pool; maps are dropped, renamed and counted.

use crate::support::{
    Place, code, command, ended, ends_with, endura, endura_with, json, text, works,
};
use endura::{Kind, MapOptions};

fn maps(pool: &str) -> Vec<String> {
    let info = json(&works(&["info", pool, "--json"]));
    let maps = info["maps"].as_array().expect("maps").iter();
    maps.map(|map| map["name"].as_str().expect("a name").into()).collect()
}

#[test]
fn only_an_entry_makes_a_map() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    let typo = ends_with(3, &["del", pool, "5", "--map", "typo"]);
    assert!(typo.contains("`typo`") && typo.contains("`main`") && typo.contains(pool), "{typo}");
    ends_with(2, &["del", pool, "x", "--map", "main"]);
    ends_with(2, &["put", pool, "x", "1", "--map", "other", "--keys", "u64"]);
    ends_with(2, &["put", pool, "1", "1", "--map", ""]);
    let long = "k".repeat(65_537);
    ends_with(3, &["put", pool, &long, "v", "--map", "roart"]);
    ends_with(3, &["import", pool, "/nowhere", "--map", "other"]);
    for input in ["", "x y\n", "\n\n"] {
        endura_with(&["import", pool, "--map", "other"], input.as_bytes());
        assert_eq!(maps(pool), ["main"], "{input:?}");
    }
    let retry = endura_with(&["import", pool, "--map", "other"], b"x\ty\n");
    assert_eq!(code(&retry), 0, "{}", text(&retry.stderr));
    assert_eq!(maps(pool), ["main", "other"]);
}

#[test]
fn only_an_entry_makes_a_pool() {
    let place = Place::new();
    let pool = &*place.pool();
    let long = "n".repeat(256);
    ends_with(2, &["put", pool, "1", "1", "--map", &long]);
    ends_with(3, &["put", pool, "1", "1", "--max-size", "1K"]);
    ends_with(3, &["put", pool, &"k".repeat(65_537), "v", "--map", "roart"]);
    ends_with(2, &["put", pool, "a", "b", "--values", "u64"]);
    for input in ["", "x y\n", "\n"] {
        endura_with(&["import", pool], input.as_bytes());
        assert!(place.names().is_empty(), "{input:?}: {:?}", place.names());
    }
    endura_with(&["import", pool, "--max-size", "1K"], b"1\t2\n");
    assert!(place.names().is_empty());
    assert_eq!(code(&endura_with(&["import", pool], b"x\ty\n")), 0);
    assert_eq!(works(&["scan", pool]), "x\ty\n");
}

#[test]
fn maps_are_dropped_renamed_and_counted() {
    let place = Place::new();
    let pool = &*place.pool();
    for (map, kind, key) in [("a", "fast-fair", "1"), ("b", "nbtree", "2"), ("c", "roart", "x\\0")]
    {
        works(&["put", pool, key, "7", "--map", map, "--kind", kind]);
    }
    for (from, to) in [("a", "größe"), ("b", "B"), ("c", "C")] {
        let before = works(&["scan", pool, "--map", from]);
        works(&["rename", pool, from, to]);
        assert_eq!(works(&["scan", pool, "--map", to]), before);
        ends_with(3, &["scan", pool, "--map", from]);
    }
    assert_eq!(maps(pool), ["B", "C", "größe"]);
    assert!(ends_with(3, &["rename", pool, "B", "C"]).contains("`C`"));
    assert!(ends_with(3, &["rename", pool, "b", "D"]).contains("`B`"));
    assert!(ends_with(3, &["rename", pool, "B", "B"]).contains("`B`"));
    ends_with(2, &["rename", pool, "B", ""]);
    ends_with(2, &["rename", pool, "B", &"n".repeat(256)]);
    let info = json(&works(&["info", pool, "--json"]));
    let kinds: Vec<_> = info["maps"].as_array().expect("maps").iter().map(|m| &m["kind"]).collect();
    assert_eq!(kinds, ["NbTree", "Roart", "FastFair"]);
    assert!(works(&["count", pool]).contains("größe"));
    works(&["drop", pool, "B"]);
    ends_with(3, &["drop", pool, "B"]);
    assert_eq!(maps(pool), ["C", "größe"]);
    assert!(endura(&["check", pool]).status.success());
}

/// No entry is written anew: a pool that has room for them once has its map renamed, and at once.
#[test]
fn a_renaming_needs_no_space() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    let lines: String = (0..300_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert_eq!(code(&endura_with(&["import", pool], lines.as_bytes())), 0);
    let bytes = std::fs::metadata(pool).expect("the pool").len();
    works(&["rename", pool, "main", "ids"]);
    assert_eq!(std::fs::metadata(pool).expect("the pool").len(), bytes);
    assert_eq!(maps(pool), ["ids"]);
    assert!(works(&["count", pool]).contains("300,000"));
}

/// Whenever it is killed, there is one of two names, with all entries.
#[test]
fn a_killed_renaming_leaves_one_name() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    let mut name = "main".to_string();
    for round in 0..30 {
        let other = if name == "main" { "x".repeat(200) } else { "main".into() };
        let mut child = command(&["rename", pool, &name, &other]).spawn().expect("a start");
        std::thread::sleep(std::time::Duration::from_micros(200 * round));
        let _ = child.kill();
        ended(child);
        let [found] = &maps(pool)[..] else { panic!("{:?}", maps(pool)) };
        assert!(*found == name || *found == other, "{found}");
        assert_eq!(works(&["scan", pool, "--map", found]), "1\t2\n");
        name = found.clone();
    }
}

#[test]
fn a_map_that_is_missing_is_told_with_those_that_are_there() {
    let place = Place::new();
    let pool = &*place.pool();
    let made = endura::Pool::options().create_new(pool).expect("a pool");
    let options = MapOptions::new().kind(Kind::NbTree);
    (0..12).for_each(|i| {
        drop(made.map_with::<u64, u64>(&format!("m{i:02}"), options).expect("a map"));
    });
    made.close().expect("a close");
    let get = ends_with(3, &["get", pool, "1"]);
    assert!(get.contains("`m09` and 2 more") && !get.contains("m10"), "{get}");
    assert!(get.contains("endura info") && get.contains("with --map"), "{get}");
    let drop = ends_with(3, &["drop", pool, "typo"]);
    assert!(drop.contains("`m09`") && !drop.contains("--map"), "{drop}");
}
