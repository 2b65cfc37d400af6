//! Whole files: what is written of a map is read as that map, or refused.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use endura::Types;
use endura::dynamic::{Datum, Type};
use proptest::prelude::*;
use proptest::strategy::Union;

use super::lines::BOM;
use super::{FormatName, Sink, Source, Style};
use crate::values::guess::{Chosen, Origin};
use crate::values::map::{Entry, Schema};

/// The entries of a map, as they are stored.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn types(floats: bool) -> impl Strategy<Value = Type> {
    let width = prop::sample::select(vec![1, 2, 4, 8, 16]);
    let mut leaves = vec![
        (width, any::<bool>()).prop_map(|(width, signed)| Type::Int { width, signed }).boxed(),
        Just(Type::Bool).boxed(),
        Just(Type::Char).boxed(),
        Just(Type::Unit).boxed(),
        Just(Type::Str).boxed(),
        Just(Type::Bytes).boxed(),
        (0_usize..10).prop_map(Type::Array).boxed(),
    ];
    if floats {
        leaves
            .push(prop::sample::select(vec![4, 8]).prop_map(|width| Type::Float { width }).boxed());
    }
    Union::new(leaves).prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|kind| Type::Option(Box::new(kind))),
            inner.clone().prop_map(|kind| Type::Reverse(Box::new(kind))),
            prop::collection::vec(inner, 2..5).prop_map(Type::Tuple),
        ]
    })
}

/// Text with everything that a format could mistake for its own syntax.
const TEXT: &str = "[a1,\"\\\\\t\n\r\0 =-\u{85}\u{feff}\u{2028}ü😀]{0,3}|VERSION=3|DATA=END|-?[0-9]{1,22}| 1|\"1\"|0x1|key";

fn value_of(kind: &Type) -> BoxedStrategy<Datum<'static>> {
    match kind {
        &Type::Int { width, signed: true } => {
            any::<i128>().prop_map(move |n| Datum::Signed(n >> (128 - 8 * width))).boxed()
        }
        &Type::Int { width, .. } => {
            any::<u128>().prop_map(move |n| Datum::Unsigned(n >> (128 - 8 * width))).boxed()
        }
        Type::Float { width: 4 } => {
            any::<u32>().prop_map(|bits| Datum::F32(f32::from_bits(bits))).boxed()
        }
        Type::Float { .. } => {
            any::<u64>().prop_map(|bits| Datum::F64(f64::from_bits(bits))).boxed()
        }
        Type::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        Type::Unit => Just(Datum::Unit).boxed(),
        Type::Char => {
            let odd =
                prop::sample::select(vec!['\0', '\t', '\n', '\r', ',', '"', '\\', '\u{feff}']);
            prop_oneof![any::<char>(), odd].prop_map(Datum::Char).boxed()
        }
        Type::Str => TEXT.prop_map(|text| Datum::Str(text.into())).boxed(),
        Type::Bytes => {
            prop_oneof![TEXT.prop_map(|text| Datum::Bytes(text.into_bytes().into())), bytes(0..5)]
                .boxed()
        }
        Type::Array(width) => bytes(*width..*width + 1).boxed(),
        Type::Option(inner) => {
            let some = value_of(inner).prop_map(|value| Datum::Option(Some(Box::new(value))));
            prop_oneof![Just(Datum::Option(None)), some].boxed()
        }
        Type::Reverse(inner) => value_of(inner),
        Type::Tuple(parts) => {
            parts.iter().map(value_of).collect::<Vec<_>>().prop_map(Datum::Tuple).boxed()
        }
        other => unreachable!("{other} is not chosen"),
    }
}

fn bytes(len: std::ops::Range<usize>) -> impl Strategy<Value = Datum<'static>> {
    let byte =
        prop_oneof![any::<u8>(), prop::sample::select(vec![0, b'\n', 0xef, 0xbb, 0xbf, 0xff])];
    prop::collection::vec(byte, len).prop_map(|bytes| Datum::Bytes(bytes.into()))
}

fn encoded(kind: &Type, datum: &Datum<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    kind.encode(datum, &mut out).expect("a value of the type");
    out
}

/// The types of a map, and its entries.
fn maps(floats: bool) -> impl Strategy<Value = (Schema, Entries)> {
    (types(floats), types(floats)).prop_flat_map(|(key, value)| {
        let entries = prop::collection::vec((value_of(&key), value_of(&value)), 1..6);
        entries.prop_map(move |entries| {
            let schema = Schema::of(Types { key: key.to_string(), value: value.to_string() });
            let stored = |(k, v): (Datum<'_>, Datum<'_>)| (encoded(&key, &k), encoded(&value, &v));
            (schema, entries.into_iter().map(stored).collect())
        })
    })
}

/// The file of a map; `None` if the format refuses it.
fn written(style: Style, header: bool, schema: &Schema, entries: &Entries) -> Option<Vec<u8>> {
    let mut sink = Sink::new(style, schema);
    let mut file = sink.begin(header, 4096).to_vec();
    for (key, value) in entries {
        file.extend_from_slice(sink.line(&(key.clone(), value.clone())).ok()?);
    }
    file.extend_from_slice(sink.end());
    Some(file)
}

/// Reads a file as `import` does, with the given types, or with those of its first entry. Returns the types and the entries.
fn read(
    name: FormatName,
    header: bool,
    file: &[u8],
    given: Option<(&Types, Origin)>,
) -> Result<(Schema, Vec<Entry>), String> {
    let input = Box::new(Cursor::new(file.to_vec()));
    let told = |flaw: super::Flaw| format!("{flaw:?}");
    let source = Source::new(input, Path::new("-"), name, header);
    let mut source = source.map_err(|(_, flaw)| told(flaw))?;
    let chosen = match given {
        Some((types, origin)) => Chosen { types: types.clone(), key: origin, value: origin },
        None => {
            let types = source.first_types().map_err(told)?.ok_or("no entry")?;
            Chosen { types, key: Origin::Guessed, value: Origin::Guessed }
        }
    };
    let schema = source.expect(chosen)?;
    let mut all = Vec::new();
    while let Some(entry) = source.next().map_err(told)? {
        all.push(entry);
    }
    Ok((schema, all))
}

const FORMATS: [(FormatName, Style); 7] = [
    (FormatName::Auto, Style::Tsv),
    (FormatName::Tsv, Style::Tsv),
    (FormatName::Csv, Style::Csv),
    (FormatName::Json, Style::Json),
    (FormatName::Mdb, Style::Dump { print: false }),
    (FormatName::MdbPrint, Style::Dump { print: true }),
    (FormatName::Lines, Style::Lines),
];

/// The lines of a file, sorted by their bytes, because another type sorts keys in another way. A byte order mark that was
/// added at the start, so that the first key keeps its own, is left out.
fn lines(file: &[u8]) -> Vec<&[u8]> {
    let file = file.strip_prefix(BOM).filter(|file| file.starts_with(BOM)).unwrap_or(file);
    let mut lines: Vec<_> = file.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

/// A line of blanks is not an entry, unless there is a tab among them.
#[test]
fn an_empty_key_with_an_empty_value_is_an_entry() {
    for name in [FormatName::Auto, FormatName::Tsv] {
        for (file, count) in [
            ("\t\na\tb\n", 2),
            (" \t\n", 1),
            ("\n \n\r\na\tb\n", 1),
            ("\t\r\n", 1),
            ("1\t2\n \n", 1),
        ] {
            let (schema, found) = read(name, false, file.as_bytes(), None).expect(file);
            assert_eq!(found.len(), count, "{file:?} {schema:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    /// A map of the same types gets the same entries.
    #[test]
    fn files_are_read_as_the_map_that_they_are_of((schema, entries) in maps(true), header in any::<bool>()) {
        for (name, style) in FORMATS {
            let header = header && style.has_columns();
            let Some(file) = written(style, header, &schema, &entries) else {
                prop_assert_eq!(style, Style::Lines);
                continue;
            };
            for origin in [Origin::Named, Origin::Recorded] {
                if style == Style::Lines && schema.value != Type::Unit {
                    continue;
                }
                let found = read(name, header, &file, Some((&schema.types, origin)));
                let (_, found) = found.map_err(|what| TestCaseError::fail(format!("{name:?} {origin:?}: {what}")))?;
                prop_assert_eq!(found.len(), entries.len(), "{:?} {:?}", name, file.escape_ascii().to_string());
                let found: Entries = found.into_iter().collect();
                prop_assert_eq!(&found, &entries, "{:?} {:?}", name, file.escape_ascii().to_string());
            }
        }
    }

    /// A map of guessed types is written as the same file, or the import fails: no entry is left out or changed.
    #[test]
    fn files_of_guessed_types_are_the_same_or_refused((schema, entries) in maps(false)) {
        for (name, style) in FORMATS {
            let Some(file) = written(style, false, &schema, &entries) else { continue };
            let Ok((guessed, found)) = read(name, false, &file, None) else { continue };
            let count = found.len();
            let found: Entries = found.into_iter().collect();
            let again = written(style, false, &guessed, &found);
            let again = again.ok_or_else(|| TestCaseError::fail(format!("{name:?} {guessed:?}")))?;
            prop_assert_eq!((count, found.len()), (entries.len(), entries.len()), "{:?} {:?}", name, guessed);
            prop_assert_eq!(lines(&again), lines(&file), "{:?} {:?}", name, guessed);
        }
    }
}
