//! Maps of every type that the command can print, beside programs that use the library.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use std::cmp::Reverse;

use endura::{Json, Newtype, Pool, Postcard, Value as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use support::{Place, code, ends_with, endura, endura_with, text, works};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct User {
    name: String,
    age: u32,
}

fn types_of(pool: &str) -> Vec<[String; 3]> {
    let info: Value = serde_json::from_str(&works(&["info", pool, "--json"])).expect("JSON");
    let maps = info["maps"].as_array().expect("maps").iter();
    maps.map(|map| {
        ["name", "key_type", "value_type"].map(|what| map[what].as_str().expect("a text").into())
    })
    .collect()
}

#[test]
fn the_first_entry_says_the_types() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "user:1", "Ada"]);
    assert_eq!(works(&["get", pool, "user:1"]), "Ada\n");
    works(&["put", pool, "7", "42", "--map", "b"]);
    works(&["put", pool, "--map", "c", "--", "-7", "007"]);
    works(&["put", pool, "x", "1", "--map", "d", "--values", "i64", "--kind", "roart"]);
    let tuple = ["--keys", "(u32,str)", "--values", "json"];
    works(&[&["put", pool, "[3,\"a\"]", "{\"n\": 1}", "--map", "e"][..], &tuple].concat());
    works(&["put", pool, "1", "2", "--map", "g", "--keys", "my::Id: u64"]);
    let lines =
        "{\"key\":[20260101,\"/\"],\"value\":{\"n\":1}}\n{\"key\":[20260101,\"/a\"],\"value\":7}\n";
    let imported =
        endura_with(&["import", pool, "--map", "f", "--format", "json"], lines.as_bytes());
    assert_eq!(code(&imported), 0, "{}", text(&imported.stderr));
    assert_eq!(works(&["scan", pool, "--map", "f", "--json"]), lines);
    let expected = [
        ["b", "u64", "u64"],
        ["c", "i64", "str"],
        ["d", "str", "i64"],
        ["e", "(u32, str)", "json"],
        ["f", "(u64, str)", "json"],
        ["g", "my::Id: u64", "u64"],
        ["main", "str", "str"],
    ];
    assert_eq!(types_of(pool), expected.map(|row| row.map(String::from)));
    // What is there keeps its types, and says so.
    let complaint = ends_with(2, &["put", pool, "8", "Ada", "--map", "b"]);
    assert!(complaint.contains("`u64`") && complaint.contains("--values"), "{complaint}");
    let complaint = ends_with(3, &["put", pool, "8", "9", "--map", "b", "--values", "str"]);
    assert!(complaint.contains("Map<u64, u64>"), "{complaint}");
    // Every tree holds every type.
    works(&["put", pool, "x", "y", "--map", "new", "--kind", "nbtree"]);
    assert_eq!(works(&["get", pool, "x", "--map", "new"]), "y\n");
}

#[test]
fn maps_of_programs_are_read_and_written() {
    let place = Place::new();
    let pool = &*place.pool();
    let opened = Pool::open(pool).expect("a pool");
    let hits = opened.map::<(u32, str), u64>("hits").expect("a map");
    hits.insert((20_260_101, "/"), 7).expect("an insert");
    hits.insert((20_260_102, "/a"), 8).expect("an insert");
    opened.map::<i64, f64>("heat").expect("a map").insert(-3, 36.6).expect("an insert");
    let latest = opened.map::<Reverse<u32>, bool>("latest").expect("a map");
    for i in 1..4 {
        latest.insert(Reverse(i), i % 2 == 0).expect("an insert");
    }
    let users = opened.map::<u64, Json<User>>("users").expect("a map");
    let ada = User { name: "Ada".into(), age: 36 };
    users.insert(1, &ada).expect("an insert");
    opened.map::<u64, Postcard<User>>("packed").expect("a map").insert(1, &ada).expect("an insert");
    drop((hits, latest, users));
    opened.close().expect("a close");

    assert_eq!(
        works(&["scan", pool, "--map", "hits"]),
        "[20260101,\"/\"]\t7\n[20260102,\"/a\"]\t8\n"
    );
    assert_eq!(
        works(&["scan", pool, "--map", "hits", "--prefix", "20260102"]),
        "[20260102,\"/a\"]\t8\n"
    );
    assert_eq!(works(&["get", pool, "[20260101,\"/\"]", "--map", "hits"]), "7\n");
    assert_eq!(works(&["get", pool, "--map", "heat", "--", "-3"]), "36.6\n");
    assert_eq!(works(&["scan", pool, "--map", "latest"]), "3\tfalse\n2\ttrue\n1\tfalse\n");
    assert_eq!(works(&["get", pool, "1", "--map", "users"]), "{\"name\":\"Ada\",\"age\":36}\n");
    works(&["put", pool, "2", "{\"name\":\"Grace\",\"age\":85}", "--map", "users"]);
    let complaint = ends_with(2, &["put", pool, "2", "Grace", "--map", "users"]);
    assert!(complaint.contains("JSON"), "{complaint}");
    let packed = endura(&["get", pool, "1", "--map", "packed"]);
    assert_eq!((text(&packed.stdout), code(&packed)), ("\\x03Ada$\n", 0));
    assert!(text(&packed.stderr).contains("`postcard<User>`"), "{}", text(&packed.stderr));
    let packed: Value =
        serde_json::from_str(&works(&["get", pool, "1", "--map", "packed", "--json"]))
            .expect("JSON");
    assert_eq!(packed["value"], json!({ "type": "postcard<User>", "hex": "0341646124" }));

    let opened = Pool::open(pool).expect("the pool");
    let users = opened.map::<u64, Json<User>>("users").expect("the map");
    assert_eq!(users.get(2).expect("a look").expect("a user").age, 85);
}

/// Every map comes back from every format that has all of it, into a map of the same types.
#[test]
fn every_type_goes_through_every_format() {
    let place = Place::new();
    let pool = &*place.pool();
    let keys = [
        "u64",
        "u32",
        "i16",
        "f64",
        "str",
        "bytes",
        "char",
        "bool",
        "[u8; 3]",
        "(i8, str)",
        "Reverse<u64>",
        "Option<str>",
    ];
    let texts = [
        ["7", "70"],
        ["7", "70"],
        ["-7", "70"],
        ["-0.5", "inf"],
        ["a", "b\\tc"],
        ["\\xff", "\\x00"],
        ["ß", "\\t"],
        ["false", "true"],
        ["abc", "a\\xffc"],
        ["[-1,\"\"]", "[1,\"\\u0000\"]"],
        ["9", "3"],
        ["null", "\"x\""],
    ];
    for (i, (key, texts)) in keys.iter().zip(texts).enumerate() {
        let (map, value) = (&*format!("m{i}"), keys[keys.len() - 1 - i]);
        let values =
            &["70", "70", "70", "1.5", "b", "b", "b", "true", "abc", "[1,\"x\"]", "3", "\"x\""];
        for text in texts {
            let types = ["--map", map, "--keys", key, "--values", value];
            works(
                &[&["put", pool][..], &types, &["--", text, values[keys.len() - 1 - i]]].concat(),
            );
        }
        for format in ["tsv", "csv", "json", "mdb", "mdb-print"] {
            let out = endura(&["export", pool, "--map", map, "--format", format]);
            assert_eq!(code(&out), 0, "{key}: {}", text(&out.stderr));
            let again = &*place.text("again");
            let import = ["import", again, "--format", format, "--keys", key, "--values", value];
            let done = endura_with(&import, &out.stdout);
            assert_eq!(code(&done), 0, "{key} {format}: {}", text(&done.stderr));
            assert_eq!(
                works(&["scan", again]),
                works(&["scan", pool, "--map", map]),
                "{key} {format}"
            );
            place.remove_pool("again");
        }
    }
}

#[derive(Clone, Copy)]
struct Id(u32);

impl Newtype for Id {
    type Stored = u32;
    const NAME: Option<&'static str> = Some("my::Id");

    fn to_stored(self) -> u32 {
        self.0
    }

    fn from_stored(stored: u32) -> Self {
        Self(stored)
    }
}

/// Makes a map with the command, its types as `$name` writes them, and opens it as a program does. What is a key is a
/// value as well.
macro_rules! shapes {
    ($place:ident; $($role:ident $name:literal $text:literal: $type:ty;)*) => { $({
        let pool = &*$place.text(stringify!($role));
        $place.remove_pool(stringify!($role));
        shapes!($role pool, $name, $text, $type);
    })* };
    (key $pool:ident, $name:literal, $text:literal, $type:ty) => {
        let types = ["--keys", $name, "--values", $name];
        works(&[&["put", $pool][..], &types, &["--", $text, $text]].concat());
        let name = <$type>::type_name();
        assert_eq!(types_of($pool), [["main".into(), name.clone().into_owned(), name.into_owned()]]);
        let opened = Pool::open($pool).expect("a pool");
        let map = opened.map::<$type, $type>("main").expect($name);
        assert_eq!(map.iter().filter(Result::is_ok).count(), 1, $name);
    };
    (value $pool:ident, $name:literal, $text:literal, $type:ty) => {
        works(&["put", $pool, "1", $text, "--values", $name]);
        let opened = Pool::open($pool).expect("a pool");
        let map = opened.map::<u64, $type>("main").expect($name);
        assert_eq!(map.iter().filter(Result::is_ok).count(), 1, $name);
    };
}

const REFUSED: &[&str] = &[
    "",
    "u7",
    "usize",
    "String",
    "&str",
    "Vec<u8>",
    "[u16; 3]",
    "[u8; 03]",
    "[u8; +3]",
    "[u8; -3]",
    "[u8; 18446744073709551615]",
    "(u64)",
    "(u64,)",
    "(u8, u8, u8, u8, u8)",
    "Option<>",
    "Option<u8",
    "Option<u8>>",
    "Option<json>",
    "Reverse<json<User>>",
    "(json, u8)",
    "postcard<User>",
    "Box<u8>",
];

/// Every shape of type that both have; the grammar of names is tested beside it (`values/types.rs`).
#[test]
fn every_type_that_the_command_takes_is_one_that_programs_open() {
    let place = Place::in_memory();
    shapes! { place;
        key "u8" "7": u8;
        key "u16" "7": u16;
        key "u32" "7": u32;
        key "u64" "7": u64;
        key "u128" "7": u128;
        key "i8" "-7": i8;
        key "i16" "-7": i16;
        key "i32" "-7": i32;
        key "i64" "-7": i64;
        key "i128" "-7": i128;
        key "f32" "0.5": f32;
        key "f64" "-0.5": f64;
        key "bool" "true": bool;
        key "char" "x": char;
        key "str" "x": str;
        key "bytes" "x": [u8];
        key "[u8]" "x": Vec<u8>;
        key "[u8; 0]" "": [u8; 0];
        key "[u8;8]" "12345678": [u8; 8];
        key "[u8; 9]" "123456789": [u8; 9];
        key "my::Id:u32" "7": Id;
        key "Option<u64>" "7": Option<u64>;
        key "Option<bytes>" "null": Option<Vec<u8>>;
        key "Option<Option<bool>>" "[true]": Option<Option<bool>>;
        key "Option<(str,f64)>" "[\"x\",1]": Option<(String, f64)>;
        key "Reverse<u64>" "7": Reverse<u64>;
        key "Reverse<bytes>" "x": Reverse<Vec<u8>>;
        key "Reverse<Reverse<char>>" "x": Reverse<Reverse<char>>;
        key "Reverse<Option<str>>" "null": Reverse<Option<String>>;
        key "(u64,u64)" "[1,2]": (u64, u64);
        key "(bytes, bytes)" "[\"x\",\"y\"]": (Vec<u8>, [u8]);
        key "(my::Id: u32, str)" "[1,\"x\"]": (Id, str);
        key "(i8, bool, char)" "[1,true,\"x\"]": (i8, bool, char);
        key "(str, [u8; 2], f32, Reverse<i16>)" "[\"x\",\"ab\",1,2]": (String, [u8; 2], f32, Reverse<i16>);
        key "((u8, u8), Option<(u8, bytes)>)" "[[1,2],[3,\"x\"]]": ((u8, u8), Option<(u8, Vec<u8>)>);
        value "()" "": ();
        value "json" "{\"name\":\"Ada\",\"age\":36}": Json<Value>;
        value "json<User>" "{\"name\":\"Ada\",\"age\":36}": Json<User>;
    }
}

#[test]
fn what_no_program_opens_is_no_type() {
    let place = Place::in_memory();
    for refused in REFUSED {
        let pool = &*place.text("refused");
        ends_with(2, &["put", pool, "1", "1", "--keys", refused]);
        ends_with(2, &["put", pool, "1", "1", "--values", refused]);
        assert!(!place.names().contains(&"refused".into()), "{refused}");
    }
}

/// Nothing as a key, and as part of keys and values: the command makes such maps, and programs open them.
#[test]
fn maps_with_nothing_in_them_are_maps_of_programs_too() {
    let place = Place::new();
    let pool = &*place.pool();
    let put = |map: &str, keys: &str, values: &str, key: &str, value: &str| {
        works(&["put", pool, key, value, "--map", map, "--keys", keys, "--values", values]);
    };
    put("one", "()", "u64", "", "7");
    put("set", "u64", "()", "7", "");
    put("pair", "(u64,())", "(u64,())", "[7,null]", "[8,null]");
    put("option", "u64", "Option<()>", "7", "[null]");
    put("reverse", "Reverse<()>", "Reverse<()>", "", "");
    let open = Pool::open(pool).expect("a pool");
    let value = |found: endura::Result<Option<u64>>| found.expect("a value");
    assert_eq!(value(open.map::<(), u64>("one").expect("one").get(())), Some(7));
    assert_eq!(open.map::<u64, ()>("set").expect("set").get(7).expect("a value"), Some(()));
    let pair = open.map::<(u64, ()), (u64, ())>("pair").expect("pair");
    assert_eq!(pair.get((7, ())).expect("a value"), Some((8, ())));
    let option = open.map::<u64, Option<()>>("option").expect("option");
    assert_eq!(option.get(7).expect("a value"), Some(Some(())));
    let reverse = open.map::<Reverse<()>, Reverse<()>>("reverse").expect("reverse");
    assert_eq!(reverse.first_key_value().expect("an entry"), Some((Reverse(()), Reverse(()))));
}
