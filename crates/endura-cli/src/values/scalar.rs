//! Types that are written as one word: numbers and truth values.
//!
//! Whole numbers are exact or refused. A number with a fraction is rounded to the nearest float, as usual. A number is
//! refused if more than this rounding would change it: whole numbers that the type cannot hold, numbers beyond its range,
//! and numbers so small that they become zero. A NaN with unusual bits is written with them: `NaN(0x7ff8000000000001)`.

use std::fmt::Display;

use endura::dynamic::{Datum, Type};
use endura_console::text::parse_plain_number;

use crate::values::decimal::{Decimal, significant};
use crate::values::escape::shown;

/// Which texts are accepted for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Every text that has a meaning for a type that the user named: `0x1F`, `1_000`, `00501`.
    Lenient,
    /// Only text that is printed as it was read. In a file whose types the user did not name, `00501` may not be a
    /// number.
    Exact,
}

/// The bits of the NaN that is printed as `NaN`, without its bits.
const SINGLE_NAN: u32 = 0x7fc0_0000;
const DOUBLE_NAN: u64 = 0x7ff8_0000_0000_0000;

/// More significant digits than any float has.
const MOST_DIGITS: usize = 800;

/// Parses the text of a scalar; `None` if the type is not a scalar.
pub(crate) fn parse(
    kind: &Type,
    text: &str,
    reading: Reading,
) -> Option<Result<Datum<'static>, String>> {
    let parsed = match *kind {
        Type::Int { width, signed } => int(text, width, signed),
        Type::Float { width } => float(text, width, reading),
        Type::Bool => match text {
            "true" => Ok(Datum::Bool(true)),
            "false" => Ok(Datum::Bool(false)),
            _ => Err(wrong(text, "`true` or `false`")),
        },
        _ => return None,
    };
    Some(match (parsed, reading) {
        (Ok(datum), Reading::Exact) if !is_printed_as(&datum, text) => {
            Err(stored_otherwise(text, &datum))
        }
        (parsed, _) => parsed,
    })
}

/// Whether a value is printed as this text, or as the same float.
fn is_printed_as(datum: &Datum<'_>, text: &str) -> bool {
    let printed = self::text(datum).unwrap_or_default();
    let is_float = matches!(datum, Datum::F32(_) | Datum::F64(_));
    let same = || Decimal::parse(text).is_some_and(|it| Some(it) == Decimal::parse(&printed));
    printed == text || is_float && same()
}

/// The error for a text that is not printed as it was read.
pub(crate) fn stored_otherwise(text: &str, datum: &Datum<'_>) -> String {
    let printed = self::text(datum).unwrap_or_default();
    format!("`{}` would be stored as {printed}", shown(text.as_bytes()))
}

/// The text of a scalar; `None` if the value is not a scalar.
pub(crate) fn text(datum: &Datum<'_>) -> Option<String> {
    Some(match *datum {
        Datum::Unsigned(number) => number.to_string(),
        Datum::Signed(number) => number.to_string(),
        Datum::F32(number) if number.is_nan() && number.to_bits() != SINGLE_NAN => {
            format!("NaN({:#x})", number.to_bits())
        }
        Datum::F64(number) if number.is_nan() && number.to_bits() != DOUBLE_NAN => {
            format!("NaN({:#x})", number.to_bits())
        }
        Datum::F32(number) => format!("{number:?}"),
        Datum::F64(number) => format!("{number:?}"),
        Datum::Bool(value) => value.to_string(),
        _ => return None,
    })
}

/// The sign bit of a number of `width` bytes.
fn sign(width: usize) -> u128 {
    1 << (8 * width - 1)
}

/// The smallest and the largest number of a signed type.
fn signed_range(width: usize) -> (i128, i128) {
    let most = (sign(width) - 1) as i128;
    (-most - 1, most)
}

/// The largest number of an unsigned type.
fn unsigned_most(width: usize) -> u128 {
    u128::MAX >> (128 - 8 * width)
}

fn wrong(text: &str, expected: impl Display) -> String {
    format!("`{}` is not {expected}", shown(text.as_bytes()))
}

fn int(text: &str, width: usize, signed: bool) -> Result<Datum<'static>, String> {
    let number = match (signed, text.strip_prefix('-')) {
        (false, _) => parse_plain_number(text)
            .filter(|&number| number <= unsigned_most(width))
            .map(Datum::Unsigned),
        (true, None) => parse_plain_number(text)
            .filter(|&number| number < sign(width))
            .map(|number| Datum::Signed(number as i128)),
        // The smallest number of 128 bits has no positive counterpart.
        (true, Some(digits)) => parse_plain_number(digits)
            .filter(|&number| number <= sign(width))
            .map(|number| Datum::Signed(0_i128.wrapping_sub_unsigned(number))),
    };
    number.ok_or_else(|| match signed {
        true => {
            let (least, most) = signed_range(width);
            wrong(text, format_args!("a number between {least} and {most}"))
        }
        false => wrong(text, format_args!("a number between 0 and {}", unsigned_most(width))),
    })
}

fn float(text: &str, width: usize, reading: Reading) -> Result<Datum<'static>, String> {
    if let Some(number) = nan(text, width) {
        return number;
    }
    let name = if width == 4 { "f32" } else { "f64" };
    let parsed = match width {
        4 => text.parse().ok().map(Datum::F32),
        _ => text.parse().ok().map(Datum::F64),
    };
    let datum = parsed.ok_or_else(|| wrong(text, "a number"))?;
    let printed = self::text(&datum).unwrap_or_default();
    if printed == text {
        return Ok(datum);
    }
    let Some(written) = Decimal::parse(text) else { return Ok(datum) };
    match Decimal::parse(&printed) {
        None => {
            let most = match width {
                4 => format!("{:?}", f32::MAX),
                _ => format!("{:?}", f64::MAX),
            };
            Err(wrong(text, format_args!("a number between -{most} and {most}")))
        }
        Some(number) if number.is_zero() && !written.is_zero() => {
            Err(wrong(text, format_args!("a number that {name} tells from zero")))
        }
        Some(number) if number != written && reading == Reading::Lenient => {
            // A float written by printf has more digits than are printed here, and is the same float.
            let with_digits = || Decimal::parse(&rounded(&datum, significant(text)));
            if !written.is_whole() || with_digits().is_some_and(|number| number == written) {
                return Ok(datum);
            }
            Err(wrong(text, format_args!("a number that {name} holds; the nearest is {printed}")))
        }
        Some(_) => Ok(datum),
    }
}

/// The exact value of a float, rounded to `digits` significant digits.
fn rounded(datum: &Datum<'_>, digits: usize) -> String {
    let behind_point = digits.clamp(1, MOST_DIGITS) - 1;
    match datum {
        Datum::F32(number) => format!("{number:.behind_point$e}"),
        Datum::F64(number) => format!("{number:.behind_point$e}"),
        _ => String::new(),
    }
}

/// The NaN of a text, with or without its bits; `None` if it is not a NaN.
fn nan(text: &str, width: usize) -> Option<Result<Datum<'static>, String>> {
    let bits = match text.strip_prefix("NaN(0x") {
        Some(rest) => rest
            .strip_suffix(')')
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u64::from_str_radix(digits, 16).ok()),
        None => {
            let is_negative = text.starts_with('-');
            let name = text.strip_prefix(['-', '+']).unwrap_or(text);
            if !name.eq_ignore_ascii_case("nan") {
                return None;
            }
            let usual = if width == 4 { SINGLE_NAN.into() } else { DOUBLE_NAN };
            Some(if is_negative { usual | sign(width) as u64 } else { usual })
        }
    };
    let datum = bits.and_then(|bits| match width {
        4 => u32::try_from(bits).ok().map(f32::from_bits).filter(|n| n.is_nan()).map(Datum::F32),
        _ => Some(f64::from_bits(bits)).filter(|n| n.is_nan()).map(Datum::F64),
    });
    let name = if width == 4 { "f32" } else { "f64" };
    Some(datum.ok_or_else(|| wrong(text, format_args!("the bits of a NaN of {name}"))))
}
