//! Equality of JSON texts written by one serializer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Whether two texts are equal, or differ only in the order of fields. Numbers and strings are compared as texts. That
/// is exact for numbers of any width, and enough because a serializer writes each number and string in only one way.
pub(crate) fn are_equal(a: &[u8], b: &[u8]) -> bool {
    // Texts that differ only in the order of fields have equal lengths.
    a.len() == b.len()
        && match (serde_json::from_slice(a), serde_json::from_slice(b)) {
            (Ok(a), Ok(b)) => is_same(a, b),
            _ => false,
        }
}

fn is_same(a: &RawValue, b: &RawValue) -> bool {
    let (a, b) = (a.get(), b.get());
    match (a.as_bytes().first(), b.as_bytes().first()) {
        _ if a == b => true,
        (Some(b'{'), Some(b'{')) => {
            let fields = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>;
            let (Ok(a), Ok(b)) = (fields(a), fields(b)) else { return false };
            a.len() == b.len() && a.iter().zip(&b).all(|((a, x), (b, y))| a == b && is_same(x, y))
        }
        (Some(b'['), Some(b'[')) => {
            let elements = serde_json::from_str::<Vec<&RawValue>>;
            let (Ok(a), Ok(b)) = (elements(a), elements(b)) else { return false };
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| is_same(a, b))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_no_order_and_all_else_has() {
        let same = |a: &str, b: &str| are_equal(a.as_bytes(), b.as_bytes());
        for (a, b) in [
            (r#"{"a":1,"b":[{"c":2,"d":null}]}"#, r#"{"b":[{"d":null,"c":2}],"a":1}"#),
            (r#"{"a\n":"}","b":{}}"#, r#"{"b":{},"a\n":"}"}"#),
        ] {
            assert!(same(a, b) && same(b, a) && same(a, a), "{a} {b}");
        }
        for (a, b) in [
            ("[1,2]", "[2,1]"),
            (r#"{"a":1}"#, r#"{"a":2}"#),
            (r#"{"a":1}"#, r#"{"b":1}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#),
            // These would be equal as floating-point numbers.
            ("340282366920938463463374607431768211454", "340282366920938463463374607431768211455"),
            ("not JSON", "JSON not"),
            ("", ""),
        ] {
            assert!(!same(a, b) || a == b, "{a} {b}");
        }
        assert!(!same("{}", "[]"));
    }
}
