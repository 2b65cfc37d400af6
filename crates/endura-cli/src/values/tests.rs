use std::cmp::Reverse;

use endura::{Newtype, Value};

use super::guess;
use super::notation::Notation::{self, Binary, Escaped, Json, Plain};
use super::types::Type;

/// Holds that the command stores a value of `T` as the library does, and reads and writes it as `text` and `json`.
fn check<T: Value + ?Sized>(value: T::Ref<'_>, text: &str, json: &str) {
    let name = T::type_name();
    let kind = Type::named(&name);
    assert!(!matches!(kind, Type::Unknown(_)), "{name}");
    assert_eq!(kind.width(), T::WIDTH, "{name}");
    let mut stored = Vec::new();
    T::encode(value, &mut stored).expect("an encoding");
    for (notation, expected) in
        [(Escaped, Some(text)), (Json, Some(json)), (Plain, None), (Binary, None)]
    {
        let mut written = Vec::new();
        kind.write(notation, &stored, &mut written).expect("what was stored");
        if let Some(expected) = expected {
            assert_eq!(String::from_utf8_lossy(&written), expected, "{name}");
        }
        assert_eq!(
            kind.read(notation, &written).as_ref(),
            Ok(&stored),
            "{name} {notation:?} {expected:?}"
        );
    }
}

#[derive(Clone, Copy)]
struct UserId(u32);

impl Newtype for UserId {
    type Stored = u32;
    const NAME: Option<&'static str> = Some("UserId");

    fn to_stored(self) -> u32 {
        self.0
    }

    fn from_stored(stored: u32) -> Self {
        Self(stored)
    }
}

#[test]
fn encodings_are_the_librarys() {
    check::<u64>(u64::MAX, "18446744073709551615", "18446744073709551615");
    check::<u8>(200, "200", "200");
    check::<u128>(
        1 << 100,
        "1267650600228229401496703205376",
        "\"1267650600228229401496703205376\"",
    );
    check::<i128>(i128::MIN, &i128::MIN.to_string(), &format!("\"{}\"", i128::MIN));
    check::<i128>(-7, "-7", "-7");
    for number in [i64::MIN, -1, 0, 1, i64::MAX] {
        check::<i64>(number, &number.to_string(), &number.to_string());
    }
    check::<i16>(-300, "-300", "-300");
    check::<f64>(-0.1, "-0.1", "-0.1");
    check::<f64>(1e300, "1e300", "1e300");
    check::<f64>(f64::INFINITY, "inf", "\"inf\"");
    check::<f32>(0.1, "0.1", "0.1");
    check::<f32>(f32::NEG_INFINITY, "-inf", "\"-inf\"");
    check::<f64>(f64::NAN, "NaN", "\"NaN\"");
    check::<bool>(true, "true", "true");
    check::<char>('ß', "ß", "\"ß\"");
    check::<char>('\t', "\\t", "\"\\t\"");
    check::<()>((), "", "null");
    check::<str>("a\tb\\", "a\\tb\\\\", "\"a\\tb\\\\\"");
    check::<[u8]>(b"\xff\0", "\\xff\\x00", "{\"hex\":\"ff00\"}");
    check::<[u8; 3]>(*b"abc", "abc", "\"abc\"");
    check::<UserId>(UserId(7), "7", "7");
    check::<(u32, str)>((7, "a\0b"), "[7,\"a\\u0000b\"]", "[7,\"a\\u0000b\"]");
    check::<(String, i8, [u8])>(
        ("", -1, b"\xff"),
        "[\"\",-1,{\"hex\":\"ff\"}]",
        "[\"\",-1,{\"hex\":\"ff\"}]",
    );
    check::<(UserId, (u8, bool))>((UserId(1), (2, false)), "[1,[2,false]]", "[1,[2,false]]");
    check::<Option<u64>>(Some(3), "3", "3");
    check::<Option<String>>(None, "null", "null");
    check::<Option<Option<u8>>>(Some(None), "[null]", "[null]");
    check::<Reverse<u64>>(Reverse(3), "3", "3");
    check::<Reverse<String>>(Reverse("a\0"), "a\\x00", "\"a\\u0000\"");
    check::<Reverse<(String, u8)>>(Reverse(("a", 1)), "[\"a\",1]", "[\"a\",1]");
    check::<(Reverse<String>, u8)>((Reverse("a"), 1), "[\"a\",1]", "[\"a\",1]");
}

#[test]
fn what_is_no_such_value_is_an_error() {
    for (name, notation, text, part) in [
        ("u64", Escaped, "-1", "between 0 and 18446744073709551615"),
        ("u64", Escaped, "1.5", "is not a number"),
        ("u64", Escaped, "1,000", "is not a number"),
        ("u8", Escaped, "256", "between 0 and 255"),
        ("i8", Escaped, "-129", "between -128 and 127"),
        ("i8", Escaped, "128", "between -128 and 127"),
        ("u128", Escaped, "340282366920938463463374607431768211456", "between 0 and"),
        ("u64", Json, "\"7\"", "a number is expected"),
        ("u64", Json, "-1", "is not a number"),
        ("[u8]", Json, "7", "write \"7\""),
        ("str", Json, "7", "a string is expected"),
        ("str", Escaped, "\\xff", "is not UTF-8"),
        ("()", Escaped, "x", "nothing is expected"),
        ("char", Escaped, "ab", "not one character"),
        ("[u8; 4]", Escaped, "abc", "3 bytes in place of 4"),
        ("(u32, str)", Escaped, "[1]", "an array of 2"),
        ("(u32, str)", Escaped, "1", "an array of 2"),
        ("json", Escaped, "{\"a\":", "is no JSON"),
        ("bool", Escaped, "yes", "`true` or `false`"),
        ("[u8]", Json, "{\"hex\":\"f\"}", "an even number"),
        ("[u8]", Json, "{\"hex\":\"ff\",\"text\":\"\"}", "a string is expected"),
    ] {
        let error = Type::named(name).read(notation, text.as_bytes()).expect_err(text);
        assert!(error.contains(part), "{name} {text}: {error}");
    }
    let shown = Type::named("u64").read(Escaped, b"\x1b[2J").expect_err("no number");
    assert!(!shown.contains('\x1b'));
    // What is stored and cannot be read.
    for (name, stored) in [
        ("str", &b"\xff"[..]),
        ("bool", b"\x02"),
        ("u64", b"1"),
        ("(u8, str)", b"\x01a"),
        ("json", b"{"),
    ] {
        assert!(Type::named(name).write(Json, stored, &mut Vec::new()).is_err(), "{name}");
        assert!(Type::named(name).write(Escaped, stored, &mut Vec::new()).is_err(), "{name}");
    }
}

#[test]
fn json_and_unknown_types_pass_as_they_are() {
    let text = br#"{"n":123456789012345678901234567890, "s":"a\tb"}"#;
    let json = Type::named("json<User>");
    let stored = json.read(Escaped, text).expect("JSON");
    assert_eq!(stored, text);
    let mut written = Vec::new();
    json.write(Escaped, b"{\n\t\"a\": 1\n}", &mut written).expect("JSON");
    assert_eq!(written, b"{  \"a\": 1 }");
    let other = Type::named("postcard<User>");
    written.clear();
    other.write(Json, b"\x01\xff", &mut written).expect("bytes");
    assert_eq!(written, br#"{"hex":"01ff","type":"postcard<User>"}"#);
    assert_eq!(other.read(Json, &written), Ok(vec![1, 0xFF]));
}

#[test]
fn types_of_the_first_entry() {
    let key = |notation: Notation, text: &str| guess::key(notation, text.as_bytes(), false);
    for (text, name) in [
        ("7", "u64"),
        ("-7", "i64"),
        ("007", "str"),
        ("+7", "str"),
        ("user:1", "str"),
        ("\\xff", "[u8]"),
        ("", "str"),
    ] {
        assert_eq!(key(Escaped, text).as_deref(), Ok(name), "{text}");
        assert_eq!(guess::value(Escaped, text.as_bytes(), false), name, "{text}");
    }
    for (text, name) in [
        ("7", "u64"),
        ("-7", "i64"),
        ("1.5", "f64"),
        ("\"7\"", "str"),
        ("{\"hex\":\"ff\"}", "[u8]"),
        ("[20260101,\"a\"]", "(u64, str)"),
    ] {
        assert_eq!(key(Json, text).as_deref(), Ok(name), "{text}");
    }
    assert!(key(Json, "{}").is_err() && key(Json, "[[1,2],3]").is_err());
    for (text, name) in
        [("{}", "json"), ("[1,2]", "json"), ("null", "json"), ("true", "bool"), ("\"\"", "str")]
    {
        assert_eq!(guess::value(Json, text.as_bytes(), false), name);
    }
    assert_eq!(guess::key(Binary, &[0; 8], true).as_deref(), Ok("u64"));
    assert_eq!(guess::value(Binary, &[0; 4], true), "u64");
    assert_eq!(guess::value(Binary, &[0; 5], true), "[u8]");
    assert_eq!(guess::value(Plain, b"", false), "()");
}
