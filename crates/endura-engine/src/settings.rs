//! Settings as texts, as command lines, configuration files and bindings for other languages have them.
//!
//! There is one parser for each setting, so that a text means the same everywhere, and is refused with the same
//! sentence. [`Kind`](crate::Kind), [`MediaChoice`](crate::MediaChoice) and [`Checkpoints`](crate::Checkpoints)
//! implement [`FromStr`](std::str::FromStr), and `PoolOptions::set` parses an option by its
//! name. Numbers and switches are parsed here.
//!
//! Each error says in words what is wrong with the text, and does not repeat the text.

use std::time::Duration;

/// A whole number in decimal, or in hexadecimal after `0x`. Digits may be grouped by `_`, anywhere between two of them.
/// Decimal digits may instead be grouped in threes by `,`.
///
/// ```
/// use endura::settings::number;
/// assert_eq!((number("1,000"), number("0xff"), number("1_0")), (Ok(1000), Ok(255), Ok(10)));
/// assert!(number("1,0").is_err() && number("-1").is_err());
/// ```
///
/// # Errors
///
/// The text is not such a number, or the number has more than 64 bits.
pub fn number(text: &str) -> Result<u64, String> {
    let grouped = text.contains(',');
    let fits = |(i, part): (usize, &str)| match i {
        0 => (1..=3).contains(&part.len()),
        _ => part.len() == 3,
    };
    let in_threes = text.split(',').enumerate().all(fits);
    if grouped && (!in_threes || text.contains(['_', 'x', 'X'])) {
        return Err(NO_NUMBER.into());
    }
    let number = plain_number(&text.replace(',', ""));
    number.and_then(|number| number.try_into().ok()).ok_or_else(|| NO_NUMBER.into())
}

/// A whole number without a sign, as for [`number`], but without commas: in some texts a comma separates two numbers.
/// `None` if the text is not such a number, or if the number has more than 128 bits.
pub fn plain_number(text: &str) -> Option<u128> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |hex| (hex, 16));
    let group = |group: &str| !group.is_empty() && group.chars().all(|c| c.is_digit(radix));
    if !digits.split('_').all(group) {
        return None;
    }
    u128::from_str_radix(&digits.replace('_', ""), radix).ok()
}

const NO_NUMBER: &str = "not a number between 0 and 18446744073709551615";

/// A number of bytes: `4096`, `64K`, `16M`, `64G`, `1T` (powers of 1024).
///
/// ```
/// use endura::settings::size;
/// assert_eq!((size("64K"), size("1g")), (Ok(65_536), Ok(1 << 30)));
/// ```
///
/// # Errors
///
/// The text is not such a number, or the number has more than 64 bits.
pub fn size(text: &str) -> Result<u64, String> {
    let shift = match text.chars().last() {
        Some('K' | 'k') => 10,
        Some('M' | 'm') => 20,
        Some('G' | 'g') => 30,
        Some('T' | 't') => 40,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number = number(digits).map_err(|_| "not a size such as 512M or 4G")?;
    number.checked_mul(1 << shift).ok_or_else(|| "more bytes than there can be".into())
}

/// A time in seconds: `5`, `0.25`.
///
/// # Errors
///
/// The text is not a number, or the number is negative or greater than [`Duration::MAX`].
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "not a number of seconds".into())
}

/// A choice between yes (`yes`, `true`, `on`, `1`) and no (`no`, `false`, `off`, `0`), in letters of either case.
///
/// # Errors
///
/// The text is none of these.
pub fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "on" | "1" => Ok(true),
        "no" | "false" | "off" | "0" => Ok(false),
        _ => Err("neither yes nor no".into()),
    }
}
