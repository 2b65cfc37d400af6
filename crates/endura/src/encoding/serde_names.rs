//! The names of types in serde, which the pool records.

use std::fmt;

use serde::de::{self, DeserializeOwned, Expected, Visitor};
use serde::forward_to_deserialize_any;

#[cfg(feature = "postcard")]
use endura_engine::cpu::crc32c;

/// What a type requests of a deserializer.
enum Asked {
    /// Any value.
    Anything,
    /// A struct or enum with this name, which is that of the type or of `#[serde(rename)]`.
    Named(String),
    /// A type that its name describes completely, such as a number.
    Plain(&'static str),
    /// A type that holds values of other types.
    #[cfg_attr(not(feature = "json"), allow(dead_code, reason = "JSON alone records it"))]
    Holder(&'static str),
}

/// The name of a type in serde, without its arguments.
#[cfg(feature = "json")]
pub(crate) fn name_of<T: DeserializeOwned>() -> Option<String> {
    match asked::<T>(true) {
        Asked::Anything => None,
        Asked::Named(name) => Some(name),
        Asked::Plain(name) | Asked::Holder(name) => Some(name.to_owned()),
    }
}

/// The name of a type in serde, with its arguments. For a type without such a name, its Rust name without paths.
#[cfg(feature = "postcard")]
pub(crate) fn full_name_of<T: DeserializeOwned>() -> String {
    match asked::<T>(false) {
        Asked::Plain(name) => name.to_owned(),
        Asked::Named(name) => {
            let full = without_paths(std::any::type_name::<T>());
            format!("{name}{}", arguments(&full))
        }
        Asked::Anything | Asked::Holder(_) => without_paths(std::any::type_name::<T>()),
    }
}

/// Finds out what `T` requests. `is_text` says whether the format is human-readable: an `IpAddr` is a string in such a
/// format, and an enum in others.
fn asked<T: DeserializeOwned>(is_text: bool) -> Asked {
    let mut asked = Asked::Anything;
    let _ = T::deserialize(Asks { asked: &mut asked, is_text });
    asked
}

/// A Rust name without the paths of its parts, and without lifetimes, which only some compilers print:
/// `my::Page<alloc::string::String>` becomes `Page<String>`.
#[cfg(feature = "postcard")]
fn without_paths(full: &str) -> String {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut short, mut word) = (String::with_capacity(full.len()), 0);
    let mut rest = full;
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("::") {
            short.truncate(word);
            rest = behind;
        } else if let Some(length) = char_literal(rest) {
            short.push_str(&rest[..length]);
            rest = &rest[length..];
            word = short.len();
        } else if let Some(lifetime) = rest.strip_prefix('\'') {
            let behind = lifetime.trim_start_matches(is_of_word);
            rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
        } else {
            short.push(first);
            rest = &rest[first.len_utf8()..];
            if !is_of_word(first) {
                word = short.len();
            }
        }
    }
    let short = short.replace("<>", "");
    match short.len() {
        ..=LONGEST => short,
        // The pool records at most 255 bytes. A longer name is replaced by its checksum, which still distinguishes
        // types.
        _ => format!("#{:08x}", crc32c::append(0, short.as_bytes())),
    }
}

/// The length in bytes of the character literal with which `rest` begins, as in the arguments of a type: `'x'`, `'\''`.
/// `None` if it does not begin with one.
#[cfg(feature = "postcard")]
fn char_literal(rest: &str) -> Option<usize> {
    let mut chars = rest.strip_prefix('\'')?.chars();
    if chars.next()? == '\\' {
        // The character after the backslash may be a quote itself.
        chars.next()?;
        chars = chars.as_str()[chars.as_str().find('\'')?..].chars();
    }
    let behind = chars.as_str().strip_prefix('\'')?;
    Some(rest.len() - behind.len())
}

/// The longest name that is recorded in full.
#[cfg(feature = "postcard")]
const LONGEST: usize = 120;

/// Types that hold one value of another type, and are stored as that value.
#[cfg(feature = "postcard")]
const TRANSPARENT: [&str; 10] = [
    "Box<",
    "Rc<",
    "Arc<",
    "Cow<",
    "Cell<",
    "RefCell<",
    "Mutex<",
    "RwLock<",
    "Reverse<",
    "Wrapping<",
];

/// The arguments of a type: `<u32>`. For a name that was too long, its checksum.
#[cfg(feature = "postcard")]
fn arguments(short: &str) -> &str {
    let mut name = short;
    while let Some(inner) = TRANSPARENT.iter().find_map(|holder| name.strip_prefix(holder)) {
        name = inner.strip_suffix('>').unwrap_or(inner);
    }
    match name.find('<') {
        Some(from) => &name[from..],
        None if name.starts_with('#') => name,
        None => "",
    }
}

/// A deserializer without data, which records what the type requests.
struct Asks<'a> {
    asked: &'a mut Asked,
    is_text: bool,
}

#[derive(Debug)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Nothing {}

impl de::Error for Nothing {
    fn custom<M: fmt::Display>(_: M) -> Self {
        Self
    }
}

macro_rules! named {
    ($($method:ident($($more:ident: $type:ty),*);)*) => { $(
        fn $method<V: Visitor<'de>>(self, name: &'static str, $($more: $type,)* _: V) -> Result<V::Value, Nothing> {
            *self.asked = Asked::Named(name.to_owned());
            $(let _ = $more;)*
            Err(Nothing)
        }
    )* };
}

macro_rules! unnamed {
    ($asked:ident: $($method:ident $name:literal)*) => { $(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
            *self.asked = Asked::$asked($name);
            Err(Nothing)
        }
    )* };
}

impl<'de> de::Deserializer<'de> for Asks<'_> {
    type Error = Nothing;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        Err(Nothing)
    }

    named! {
        deserialize_unit_struct();
        deserialize_newtype_struct();
        deserialize_tuple_struct(len: usize);
        deserialize_struct(fields: &'static [&'static str]);
        deserialize_enum(variants: &'static [&'static str]);
    }

    unnamed! { Plain:
        deserialize_str "str" deserialize_string "str" deserialize_bool "bool" deserialize_char "char"
        deserialize_u8 "u8" deserialize_u16 "u16" deserialize_u32 "u32" deserialize_u64 "u64"
        deserialize_i8 "i8" deserialize_i16 "i16" deserialize_i32 "i32" deserialize_i64 "i64"
        deserialize_f32 "f32" deserialize_f64 "f64"
    }

    unnamed! { Holder: deserialize_seq "seq" }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Nothing> {
        *self.asked = Asked::Holder("tuple");
        Err(Nothing)
    }

    /// A struct with `#[serde(flatten)]` requests a map as well, but says that it expects a struct.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        let expected = (&visitor as &dyn Expected).to_string();
        *self.asked = match expected.strip_prefix("struct ") {
            Some(name) => Asked::Named(name.to_owned()),
            None => Asked::Holder("map"),
        };
        Err(Nothing)
    }

    fn is_human_readable(&self) -> bool {
        self.is_text
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf option unit identifier ignored_any }
}

#[cfg(all(test, feature = "postcard"))]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn paths_and_lifetimes_are_left_out() {
        for (full, short) in [
            ("u32", "u32"),
            ("(u32, i32)", "(u32, i32)"),
            (
                "alloc::vec::Vec<core::option::Option<my_app::v2::Page<u32>>>",
                "Vec<Option<Page<u32>>>",
            ),
            ("my::Text<'_>", "Text"),
            ("my::Text<'_, alloc::string::String>", "Text<String>"),
            ("alloc::borrow::Cow<'static, str>", "Cow<str>"),
            ("&'static str", "&str"),
            ("&str", "&str"),
            ("[my::Größe; 4]", "[Größe; 4]"),
            ("my::Grid<3, true>", "Grid<3, true>"),
            ("my::Of<'a'>", "Of<'a'>"),
            ("my::Of<'\\'', my::T<'_>>", "Of<'\\'', T>"),
            ("my::Of<'\\u{85}', my::T>", "Of<'\\u{85}', T>"),
        ] {
            assert_eq!(without_paths(full), short, "{full}");
        }
    }

    #[test]
    fn names_of_types() {
        assert_eq!(full_name_of::<Vec<Option<u32>>>(), "Vec<Option<u32>>");
        assert_eq!(full_name_of::<BTreeMap<String, (u8, i8)>>(), "BTreeMap<String, (u8, i8)>");
        assert_eq!(full_name_of::<Box<u32>>(), "u32");
        assert_eq!(full_name_of::<String>(), "str");
        assert_eq!(full_name_of::<Option<u8>>(), "Option<u8>");
        assert_eq!(full_name_of::<i128>(), "i128");
        // These are strings in human-readable formats, but not in postcard.
        assert_eq!(full_name_of::<std::net::IpAddr>(), "IpAddr");
        assert_eq!(full_name_of::<std::net::Ipv4Addr>(), "Ipv4Addr");
    }

    type Long<T> = (Vec<Vec<Vec<Vec<T>>>>, Vec<Vec<Vec<Vec<T>>>>, Vec<Vec<Vec<Vec<T>>>>);

    #[test]
    fn long_names_are_short_and_differ() {
        let names = [
            full_name_of::<(Long<String>, Long<u8>, Long<u8>)>(),
            full_name_of::<(Long<String>, Long<u8>, Long<i8>)>(),
        ];
        assert!(names.iter().all(|name| name.len() == 9) && names[0] != names[1], "{names:?}");
    }
}
