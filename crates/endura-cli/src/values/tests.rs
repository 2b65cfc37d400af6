use std::cmp::Reverse;

use endura::dynamic::Type;
use endura::{Newtype, Value};

use proptest::prelude::*;

use super::decimal::Decimal;
use super::guess;
use super::notation::Notation::{self, Binary, Escaped, Json, Plain};
use super::notation::Written;
use super::scalar::Reading::{self, Exact, Lenient};

/// Checks that the command stores a value of `T` as the library does, and reads and writes it as `text` and `json`.
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
            kind.read(notation, &written, Exact).as_ref(),
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
        let error = Type::named(name).read(notation, text.as_bytes(), Lenient).expect_err(text);
        assert!(error.contains(part), "{name} {text}: {error}");
    }
    let shown = Type::named("u64").read(Escaped, b"\x1b[2J", Lenient).expect_err("no number");
    assert!(!shown.contains('\x1b'));
    // Stored encodings that cannot be read.
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
    let stored = json.read(Escaped, text, Exact).expect("JSON");
    assert_eq!(stored, text);
    let mut written = Vec::new();
    json.write(Escaped, b"{\n\t\"a\": 1\n}", &mut written).expect("JSON");
    assert_eq!(written, b"{  \"a\": 1 }");
    let other = Type::named("postcard<User>");
    written.clear();
    other.write(Json, b"\x01\xff", &mut written).expect("bytes");
    assert_eq!(written, br#"{"hex":"01ff","type":"postcard<User>"}"#);
    assert_eq!(other.read(Json, &written, Exact), Ok(vec![1, 0xFF]));
}

#[test]
fn types_of_the_first_entry() {
    let key = |notation: Notation, text: &str| guess::key(notation, text.as_bytes(), false);
    for (text, name) in [
        ("7", "u64"),
        ("-7", "i64"),
        ("007", "str"),
        ("+7", "str"),
        ("18446744073709551616", "u128"),
        ("-9223372036854775809", "i128"),
        ("340282366920938463463374607431768211456", "str"),
        ("1.5", "str"),
        ("0x10", "str"),
        ("1_000", "str"),
        ("-0", "str"),
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
        ("-0", "f64"),
        ("1e23", "f64"),
        ("100000000000000000001", "u128"),
        ("-100000000000000000001", "i128"),
        ("[18446744073709551616,1.5]", "(u128, f64)"),
        ("\"7\"", "str"),
        ("{\"hex\":\"ff\"}", "[u8]"),
        ("[20260101,\"a\"]", "(u64, str)"),
    ] {
        assert_eq!(key(Json, text).as_deref(), Ok(name), "{text}");
    }
    for text in ["{}", "[[1,2],3]", "1e400", "0.10000000000000001", "[1,1e-400]"] {
        assert!(key(Json, text).is_err(), "{text}");
    }
    for (text, name) in [
        ("{}", "json"),
        ("{\"hex\":7}", "json"),
        ("[1,2]", "json"),
        ("null", "json"),
        ("true", "bool"),
        ("\"\"", "str"),
        ("9007199254740993.5", "json"),
        ("1e400", "json"),
        ("340282366920938463463374607431768211456", "json"),
    ] {
        assert_eq!(guess::value(Json, text.as_bytes(), false), name);
    }
    assert_eq!(guess::key(Binary, &[0; 8], true).as_deref(), Ok("u64"));
    assert_eq!(guess::key(Binary, &[0; 4], true).as_deref(), Ok("u32"));
    assert_eq!(guess::value(Binary, &[0; 4], true), "u32");
    assert_eq!(guess::value(Binary, &[0; 8], true), "u64");
    assert_eq!(guess::value(Binary, &[0; 5], true), "[u8]");
    assert_eq!(guess::value(Plain, b"", false), "()");
}

/// The text printed for a stored text; `None` if it was refused.
fn printed(name: &str, notation: Notation, text: &str, reading: Reading) -> Option<String> {
    let kind = Type::named(name);
    let stored = kind.read(notation, text.as_bytes(), reading).ok()?;
    let mut written = Vec::new();
    kind.write(notation, &stored, &mut written).expect("what was stored");
    let again = kind.read(notation, &written, Exact);
    assert_eq!(again.as_ref(), Ok(&stored), "{name} {text}");
    Some(String::from_utf8(written).expect("text"))
}

#[test]
fn numbers_that_a_type_does_not_hold_are_refused() {
    let most = &*u128::MAX.to_string();
    for (name, text, expected) in [
        ("f64", "9007199254740992", Some("9007199254740992.0")),
        ("f64", "9007199254740993", None),
        ("f64", "-9007199254740993.0", None),
        ("f64", "9.007199254740993e15", None),
        ("f64", "123456789012345678901234567890", None),
        ("f64", "1e23", Some("1e23")),
        ("f64", "100000000000000000000000", Some("1e23")),
        // 1e23 as printf writes it: its exact value, with 19 digits and with all.
        ("f64", "9.999999999999999161e+22", Some("1e23")),
        ("f64", "99999999999999991611392", Some("1e23")),
        ("f64", "99999999999999991611393", None),
        ("f64", "1.7976931348623157e308", Some("1.7976931348623157e308")),
        ("f64", "1e309", None),
        ("f64", "-1e400", None),
        ("f64", "1e-400", None),
        ("f64", "0e-400", Some("0.0")),
        ("f64", "-0", Some("-0.0")),
        ("f64", "5e-324", Some("5e-324")),
        ("f64", "0.10000000000000001", Some("0.1")),
        ("f64", "3.14159265358979323846", Some("3.141592653589793")),
        ("f32", "16777217", None),
        ("f32", "1e39", None),
        ("f32", "1e-46", None),
        ("f32", "0.1", Some("0.1")),
        ("u128", most, Some(most)),
        ("u128", "340282366920938463463374607431768211456", None),
        ("i128", "-170141183460469231731687303715884105729", None),
        ("u64", "1e3", None),
        ("u64", "1.0", None),
        ("i64", "1__0", None),
        ("i64", "-1__0", None),
    ] {
        assert_eq!(printed(name, Escaped, text, Lenient).as_deref(), expected, "{name} {text}");
        let tuple = printed(&format!("({name}, str)"), Json, &format!("[{text},\"\"]"), Lenient);
        let quoted = name.ends_with("128");
        let expected = expected.map(|text| match quoted {
            true => format!("[\"{text}\",\"\"]"),
            false => format!("[{text},\"\"]"),
        });
        let is_json = !text.contains('_');
        assert!(!is_json || tuple == expected, "{name} {text}: {tuple:?}");
        let option = printed(&format!("Option<{name}>"), Escaped, text, Lenient);
        assert_eq!(option.is_some(), is_json && expected.is_some(), "{name} {text}");
    }
    let wide = "0xffff_ffff_ffff_ffff_ffff";
    assert_eq!(
        printed("u128", Escaped, wide, Lenient).as_deref(),
        Some("1208925819614629174706175")
    );
    let refused = Type::named("f64").read(Plain, b"9007199254740993", Lenient);
    assert!(refused.is_err_and(|what| what.contains("the nearest is 9007199254740992.0")));
}

/// For types that the user did not name.
#[test]
fn what_would_be_printed_as_another_text_is_no_number() {
    for (name, notation, text) in [
        ("u64", Escaped, "00501"),
        ("u64", Plain, "1_000"),
        ("u64", Plain, "0x3e8"),
        ("u64", Plain, " 7"),
        ("u64", Plain, "\"7\""),
        ("i64", Escaped, "-0"),
        ("u128", Json, "\"0x10\""),
        ("u128", Json, "\"7\""),
        ("f64", Json, "0.10000000000000001"),
        ("f64", Json, "\"1.5\""),
        ("f64", Json, "\"infinity\""),
        ("f64", Plain, "NaN(0x7ff8000000000000)"),
        ("(f64, str)", Plain, "[\"NaN(0x7ff8000000000000)\",\"\"]"),
        ("Option<u128>", Json, "\"7\""),
        ("Reverse<u64>", Plain, "007"),
    ] {
        let kind = Type::named(name);
        let refused = kind.read(notation, text.as_bytes(), Exact);
        assert!(refused.is_err_and(|what| what.contains("stored as")), "{name} {text}");
        assert!(kind.read(notation, text.as_bytes(), Lenient).is_ok(), "{name} {text}");
    }
    let four = Type::named("u64").read(Binary, &[7, 0, 0, 0], Exact);
    assert!(four.is_err_and(|what| what.contains("4 bytes, where others have 8")));
    assert!(Type::named("u64").read(Binary, &[7, 0, 0, 0], Lenient).is_ok());
    for text in ["2", "2.0", "20e-1", "\"inf\"", "\"NaN(0x7ff8000000000001)\""] {
        assert!(Type::named("f64").read(Json, text.as_bytes(), Exact).is_ok(), "{text}");
    }
}

#[test]
fn every_nan_has_a_text_of_its_own() {
    let usual = f64::from_bits(0x7ff8_0000_0000_0000);
    check::<f64>(usual, "NaN", "\"NaN\"");
    check::<f32>(f32::from_bits(0x7fc0_0000), "NaN", "\"NaN\"");
    for (bits, text) in [
        (0x7ff8_0000_0000_0001, "NaN(0x7ff8000000000001)"),
        (0xfff8_0000_0000_0000, "NaN(0xfff8000000000000)"),
        // A signalling NaN.
        (0x7ff0_0000_0000_0001, "NaN(0x7ff0000000000001)"),
    ] {
        let nan = f64::from_bits(bits);
        check::<f64>(nan, text, &format!("\"{text}\""));
        check::<(f64, u8)>((nan, 1), &format!("[\"{text}\",1]"), &format!("[\"{text}\",1]"));
        check::<Reverse<f64>>(Reverse(nan), text, &format!("\"{text}\""));
    }
    check::<f32>(f32::from_bits(0xff80_0001), "NaN(0xff800001)", "\"NaN(0xff800001)\"");
    check::<Option<f32>>(
        Some(f32::from_bits(0x7fc0_0001)),
        "\"NaN(0x7fc00001)\"",
        "\"NaN(0x7fc00001)\"",
    );
    for (name, text) in [
        ("f64", "NaN(0x3ff0000000000000)"),
        ("f64", "NaN(0x7ff8000000000001"),
        ("f64", "NaN(0x)"),
        ("f64", "NaN(0x1ffffffffffffffff)"),
        ("f32", "NaN(0x7ff8000000000001)"),
        ("f32", "NaN(0x+7fc0001)"),
    ] {
        let refused = Type::named(name).read(Escaped, text.as_bytes(), Lenient);
        assert!(refused.is_err_and(|what| what.contains("bits of a NaN")), "{name} {text}");
    }
    assert_eq!(printed("f64", Escaped, "nan", Lenient).as_deref(), Some("NaN"));
    assert_eq!(printed("f32", Escaped, "-nan", Lenient).as_deref(), Some("NaN(0xffc00000)"));
}

/// Whole numbers, fractions and powers of ten, of any length.
fn number_texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,45})",
        "-?(0|[1-9][0-9]{0,25})\\.[0-9]{1,25}",
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,20})?[eE][+-]?[0-9]{1,3}",
        any::<f64>().prop_map(|number| format!("{number:?}")),
        any::<f64>().prop_map(|number| format!("{number:.16e}")),
        any::<f32>().prop_map(|number| format!("{number:?}")),
        any::<i128>().prop_map(|number| number.to_string()),
        (any::<u128>(), 0..128_u32).prop_map(|(number, shift)| (number >> shift).to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Every accepted number is printed as the same number: in all notations, as a field and in an option.
    #[test]
    fn numbers_come_back_as_they_are(text in number_texts()) {
        let number = Decimal::parse(&text).expect("a number");
        for name in ["u8", "u64", "u128", "i16", "i64", "i128", "f32", "f64"] {
            let is_float = name.starts_with('f');
            for reading in [Exact, Lenient] {
                let shown = printed(name, Escaped, &text, reading);
                let field = printed(&format!("(str, {name})"), Json, &format!("[\"\",{text}]"), reading);
                let option = printed(&format!("Option<{name}>"), Escaped, &text, reading);
                prop_assert_eq!(shown.is_some(), field.is_some());
                prop_assert_eq!(shown.is_some(), option.is_some());
                let Some(shown) = shown else { continue };
                let found = Decimal::parse(&shown).expect("a number");
                let bare = field.expect("a tuple").trim_matches(['[', ']', '"', ',']).to_owned();
                prop_assert_eq!(Decimal::parse(&bare), Some(found.clone()));
                if !is_float || reading == Exact {
                    // For whole numbers -0 is 0.
                    prop_assert!(found == number || !is_float && number.is_zero(), "{} {}", text, shown);
                } else {
                    // The nearest float: as the standard library reads it.
                    let same = match name {
                        "f32" => shown.parse::<f32>().ok() == text.parse().ok(),
                        _ => shown.parse::<f64>().ok() == text.parse().ok(),
                    };
                    prop_assert!(same && found.is_zero() == number.is_zero(), "{} {}", text, shown);
                }
            }
        }
    }

    /// A text from which a type was guessed is printed as it was written.
    #[test]
    fn guessed_types_print_what_they_were_guessed_from(text in number_texts()) {
        for notation in [Escaped, Plain, Json] {
            let name = guess::value(notation, text.as_bytes(), false);
            let shown = printed(&name, notation, &text, Exact).expect("its own type");
            let shown = shown.trim_matches('"');
            let same = shown == text || Decimal::parse(shown) == Decimal::parse(&text);
            prop_assert!(same, "{} as {}: {}", text, name, shown);
        }
    }

    /// All bits of all floats survive text and JSON.
    #[test]
    fn floats_come_back_bit_by_bit(bits in any::<u64>()) {
        for (name, stored) in [
            ("f64", bits.to_be_bytes().to_vec()),
            ("f32", bits.to_be_bytes()[4..].to_vec()),
            ("(f32, f32)", bits.to_be_bytes().to_vec()),
        ] {
            let kind = Type::named(name);
            for notation in [Escaped, Plain, Json, Binary] {
                let mut written = Vec::new();
                kind.write(notation, &stored, &mut written).expect("a float");
                prop_assert_eq!(kind.read(notation, &written, Exact), Ok(stored.clone()));
            }
        }
    }
}
