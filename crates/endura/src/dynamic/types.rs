//! Types, parsed from the names that a pool records.

use std::fmt;

use endura_engine::tree::LONGEST_VALUE;

use crate::{BoxError, Error};

/// The deepest nesting of types that is parsed. It is the compiler's own limit, so that no program has deeper types.
const DEEPEST: usize = 128;

/// A type of keys or values that is known only at run time.
///
/// ```
/// use endura::dynamic::Type;
///
/// let day_and_page = Type::named("(u32, str)");
/// assert_eq!(day_and_page, Type::Tuple(vec![Type::Int { width: 4, signed: false }, Type::Str]));
/// assert_eq!(day_and_page.to_string(), "(u32, str)");
/// assert_eq!((day_and_page.width(), Type::named("f64").width()), (None, Some(8)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `u8` to `u128`, `i8` to `i128`.
    Int {
        /// The number of bytes: 1, 2, 4, 8 or 16.
        width: usize,
        /// Whether the type has negative numbers.
        signed: bool,
    },
    /// `f32`, `f64`.
    Float {
        /// The number of bytes: 4 or 8.
        width: usize,
    },
    /// `bool`
    Bool,
    /// `char`
    Char,
    /// `()`
    Unit,
    /// `str`
    Str,
    /// `[u8]`
    Bytes,
    /// `[u8; N]`
    Array(usize),
    /// `Option<T>`
    Option(Box<Type>),
    /// `Reverse<T>`, whose values sort from the largest down.
    Reverse(Box<Type>),
    /// A tuple of two to four fields.
    Tuple(Vec<Type>),
    /// JSON text, whatever type the program decodes it to.
    Json,
    /// Any other name. Only the program that wrote the encodings can decode them.
    Unknown(String),
}

impl Type {
    /// The type with this name. For a newtype (`UserId: u64`) it is the type as which the newtype is stored.
    pub fn named(name: &str) -> Self {
        if name == "json" || name.starts_with("json<") && name.ends_with('>') {
            return Self::Json;
        }
        let mut rest = name;
        match parse(&mut rest, DEEPEST) {
            Some(found) if rest.is_empty() => found,
            _ => Self::Unknown(name.to_owned()),
        }
    }

    /// The number of bytes of an encoding, if all encodings have the same length.
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Int { width, .. } | Self::Float { width } | Self::Array(width) => Some(*width),
            Self::Bool => Some(1),
            Self::Char => Some(4),
            Self::Unit => Some(0),
            Self::Reverse(inner) => inner.width(),
            // In a damaged name the sum of the widths may overflow.
            Self::Tuple(parts) => {
                parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.width()?))
            }
            Self::Str | Self::Bytes | Self::Option(_) | Self::Json | Self::Unknown(_) => None,
        }
    }

    /// Whether an index of words can hold the encodings: whether all have the same length, of at most 8 bytes.
    pub fn is_word(&self) -> bool {
        self.width().is_some_and(|width| width <= 8)
    }

    #[cold]
    pub(super) fn encode_error(&self, source: BoxError) -> Error {
        Error::Encode { type_name: self.to_string(), source }
    }

    /// Whether every byte string of the right length is a valid encoding.
    pub(super) fn is_any_bytes(&self) -> bool {
        match self {
            Self::Int { .. } | Self::Float { .. } | Self::Unit | Self::Array(_) => true,
            Self::Bytes | Self::Unknown(_) => true,
            Self::Reverse(inner) => inner.width().is_some() && inner.is_any_bytes(),
            Self::Tuple(parts) => self.width().is_some() && parts.iter().all(Self::is_any_bytes),
            Self::Bool | Self::Char | Self::Str | Self::Option(_) | Self::Json => false,
        }
    }
}

/// The name that a pool records for the type. A [`Type`] does not keep the names of newtypes, or of types that are
/// stored as JSON.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int { width, signed } => {
                write!(f, "{}{}", if *signed { 'i' } else { 'u' }, width.saturating_mul(8))
            }
            Self::Float { width } => write!(f, "f{}", width.saturating_mul(8)),
            Self::Bool => f.write_str("bool"),
            Self::Char => f.write_str("char"),
            Self::Unit => f.write_str("()"),
            Self::Str => f.write_str("str"),
            Self::Bytes => f.write_str("[u8]"),
            Self::Array(width) => write!(f, "[u8; {width}]"),
            Self::Option(inner) => write!(f, "Option<{inner}>"),
            Self::Reverse(inner) => write!(f, "Reverse<{inner}>"),
            Self::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if i == 0 { "(" } else { ", " })?;
                }
                f.write_str(")")
            }
            Self::Json => f.write_str("json"),
            Self::Unknown(name) => f.write_str(name),
        }
    }
}

/// Parses the name of a type, nested no deeper than `depth`, and removes it from the front of `rest`.
fn parse(rest: &mut &str, depth: usize) -> Option<Type> {
    let depth = depth.checked_sub(1)?;
    if take(rest, "()") {
        return Some(Type::Unit);
    }
    if take(rest, "(") {
        let mut parts = vec![parse(rest, depth)?];
        while take(rest, ", ") {
            parts.push(parse(rest, depth)?);
        }
        return (take(rest, ")") && (2..=4).contains(&parts.len())).then_some(Type::Tuple(parts));
    }
    for (name, wrap) in [("Option<", Type::Option as fn(_) -> _), ("Reverse<", Type::Reverse)] {
        if take(rest, name) {
            let inner = parse(rest, depth)?;
            return take(rest, ">").then(|| wrap(Box::new(inner)));
        }
    }
    if take(rest, "[u8]") {
        return Some(Type::Bytes);
    }
    if take(rest, "[u8; ") {
        let (digits, behind) = rest.split_once(']')?;
        *rest = behind;
        let width = digits.parse().ok().filter(|&width| width <= LONGEST_VALUE);
        // Only the library's own spelling is accepted: no program can have a map of `[u8; 03]`.
        return width.filter(|width: &usize| width.to_string() == digits).map(Type::Array);
    }
    let end = rest.find([',', ')', '>']).unwrap_or(rest.len());
    if let Some(found) = plain(&rest[..end]) {
        *rest = &rest[end..];
        return Some(found);
    }
    // A newtype: its own name, then the type that it is stored as.
    let (name, stored) = rest.split_once(": ")?;
    if !is_own_name(name) {
        return None;
    }
    *rest = stored;
    parse(rest, depth)
}

/// Whether a program may give a `Newtype` this name. The library does not compile with any other `NAME`.
fn is_own_name(name: &str) -> bool {
    let is_letter =
        |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii() && !c.is_control();
    let is_of_word = |c: char| is_letter(c) || c.is_ascii_digit() || c == '-' || c == '.';
    let is_word = |word: &str| !word.is_empty() && word.chars().all(is_of_word);
    let is_taken = || {
        plain(name).is_some()
            || ["usize", "isize", "json", "postcard", "Option", "Reverse"].contains(&name)
    };
    name.len() <= 100 && name.starts_with(is_letter) && name.split("::").all(is_word) && !is_taken()
}

fn take(rest: &mut &str, token: &str) -> bool {
    let behind = rest.strip_prefix(token);
    *rest = behind.unwrap_or(rest);
    behind.is_some()
}

fn plain(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "char" => Type::Char,
        "str" => Type::Str,
        "f32" => Type::Float { width: 4 },
        "f64" => Type::Float { width: 8 },
        _ => {
            let signed = name.starts_with('i');
            let bits = name.strip_prefix(if signed { 'i' } else { 'u' })?;
            let width = [8, 16, 32, 64, 128].iter().position(|width| width.to_string() == bits)?;
            Type::Int { width: 1 << width, signed }
        }
    })
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use std::cmp::Reverse;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[test]
    fn names_of_types() {
        let int = |width, signed| Type::Int { width, signed };
        for (name, found, width) in [
            ("u64", int(8, false), Some(8)),
            ("i128", int(16, true), Some(16)),
            ("()", Type::Unit, Some(0)),
            ("[u8; 32]", Type::Array(32), Some(32)),
            ("UserId: u32", int(4, false), Some(4)),
            ("datetime.date: i32", int(4, true), Some(4)),
            ("uuid.UUID: [u8; 16]", Type::Array(16), Some(16)),
            ("(u32, u16)", Type::Tuple(vec![int(4, false), int(2, false)]), Some(6)),
            ("(Day: u32, str)", Type::Tuple(vec![int(4, false), Type::Str]), None),
            ("Reverse<i64>", Type::Reverse(Box::new(int(8, true))), Some(8)),
            (
                "Option<(str, [u8])>",
                { Type::Option(Box::new(Type::Tuple(vec![Type::Str, Type::Bytes]))) },
                None,
            ),
            ("json<User>", Type::Json, None),
        ] {
            assert_eq!(Type::named(name), found, "{name}");
            assert_eq!(found.width(), width, "{name}");
        }
        let deep = format!("{}u8{}", "Option<".repeat(127), ">".repeat(127));
        assert!(matches!(Type::named(&deep), Type::Option(_)));
        let deeper = format!("{}u8{}", "Reverse<".repeat(100_000), ">".repeat(100_000));
        for name in [
            "postcard<User>",
            "postcard<(u32, i32)>",
            "postcard<Page<u32>>",
            "u7",
            "(u64)",
            "(u64, ",
            "",
            "[u8; x]",
            "[u8; 03]",
            "[u8; +3]",
            "[u8; 18446744073709551615]",
            "i64x",
            "bytes",
            "Option<json>",
            "(json, u8)",
            "(u8, u8, u8, u8, u8)",
            &deeper,
            // A `NAME` that a newtype cannot have.
            ": u64",
            "u64: u64",
            "a b: u64",
            "a\nb: u64",
            "json: u64",
            "7: u64",
            "a:: u64",
        ] {
            assert_eq!(Type::named(name), Type::Unknown(name.to_owned()), "{name}");
        }
        for name in ["UserId: u64", "my::Id: u64", "Größe: u64", "v1.2-b: u64"] {
            assert_eq!(Type::named(name), int(8, false), "{name}");
        }
    }

    /// A type has the width that the library gives it.
    #[test]
    fn widths_are_those_of_the_library() {
        fn check<K: crate::Key + ?Sized>() {
            let name = K::type_name();
            let found = Type::named(&name);
            assert_ne!(found, Type::Unknown(name.clone().into_owned()));
            assert_eq!(found.width(), K::WIDTH, "{name}");
        }
        macro_rules! check_all { ($($type:ty;)*) => { $( check::<$type>(); )* } }
        check_all! {
            u8; u128; i64; f32; bool; char; (); str; [u8]; [u8; 0]; [u8; 32];
            Option<()>; Option<u32>; Option<Option<()>>; Reverse<()>; Reverse<String>; Reverse<u64>;
            (u64, ()); ((), ()); ((), str); (u8, (), Reverse<((), i16)>); (u32, u32, u32, [u8]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        /// A name that is understood is spelled as the library records it: under another spelling no program would find
        /// its map. (Names of newtypes are left out: they may be any text.)
        #[test]
        fn only_names_of_the_library_are_understood(tokens in vec(select(TOKENS), 1..9)) {
            let name = tokens.concat();
            let found = Type::named(&name);
            if found != Type::Unknown(name.clone()) {
                prop_assert_eq!(found.to_string(), name);
            }
        }
    }

    const TOKENS: &[&str] = &[
        "u8", "i128", "f32", "bool", "char", "str", "[u8]", "[u8; ", "4", "04", "]", "()", "(",
        ")", ", ", ",", "Option<", "Reverse<", ">", " ", "json",
    ];
}
