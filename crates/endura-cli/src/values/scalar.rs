//! Types of a fixed width that text writes as one word: numbers, truth values, characters.

use endura_console::text::parse_plain_number;

use crate::values::escape::shown;
use crate::values::types::Type;

/// The encoding of the text of a scalar; `None` if the type is none.
pub(crate) fn parse(kind: &Type, text: &str) -> Option<Result<Vec<u8>, String>> {
    Some(match *kind {
        Type::Int { width, signed } => int(text, width, signed),
        Type::Float { width: 4 } => {
            let parsed = text.parse::<f32>().map(|number| flipped(number.to_bits().into(), 4));
            parsed.map_err(|_| wrong(text, "a number"))
        }
        Type::Float { .. } => {
            let parsed = text.parse::<f64>().map(|number| flipped(number.to_bits(), 8));
            parsed.map_err(|_| wrong(text, "a number"))
        }
        Type::Bool => match text {
            "true" => Ok(vec![1]),
            "false" => Ok(vec![0]),
            _ => Err(wrong(text, "`true` or `false`")),
        },
        _ => return None,
    })
}

/// The text of an encoding; `None` if the type is no scalar. Bytes are as many as the type is wide.
pub(crate) fn text(kind: &Type, bytes: &[u8]) -> Option<Result<String, String>> {
    let bits = bytes.iter().fold(0, |bits: u128, &byte| bits << 8 | u128::from(byte));
    Some(match *kind {
        Type::Int { signed: false, .. } => Ok(bits.to_string()),
        Type::Int { width, .. } => {
            let unused = 128 - 8 * width;
            Ok((((bits ^ sign(width)) << unused) as i128 >> unused).to_string())
        }
        Type::Float { width: 4 } => Ok(format!("{:?}", f32::from_bits(unflipped(bits, 4) as u32))),
        Type::Float { .. } => Ok(format!("{:?}", f64::from_bits(unflipped(bits, 8)))),
        Type::Bool => match bits {
            0 => Ok("false".into()),
            1 => Ok("true".into()),
            _ => Err("neither true nor false".into()),
        },
        _ => return None,
    })
}

fn wrong(text: &str, expected: &str) -> String {
    format!("`{}` is not {expected}", shown(text.as_bytes()))
}

/// The bit that tells negative numbers.
fn sign(width: usize) -> u128 {
    1 << (8 * width - 1)
}

fn int(text: &str, width: usize, signed: bool) -> Result<Vec<u8>, String> {
    let plain = text.replace('_', "");
    let bits = match (signed, plain.strip_prefix('-')) {
        (false, _) => magnitude(text).filter(|&number| number <= (sign(width) - 1) * 2 + 1),
        (true, None) => magnitude(text)
            .filter(|&number| number < sign(width))
            .map(|number| number | sign(width)),
        (true, Some(digits)) => magnitude(digits)
            .filter(|&number| number <= sign(width))
            .map(|number| sign(width) - number),
    };
    let Some(bits) = bits else {
        let (least, most) = match signed {
            true => (-((sign(width) - 1) as i128) - 1, sign(width) - 1),
            false => (0, (sign(width) - 1) * 2 + 1),
        };
        return Err(wrong(text, &format!("a number between {least} and {most}")));
    };
    Ok(bits.to_be_bytes()[16 - width..].to_vec())
}

/// A number without a sign, in decimal or behind `0x`.
fn magnitude(text: &str) -> Option<u128> {
    match parse_plain_number(text) {
        Ok(number) => Some(number.into()),
        // Of more than 64 bits.
        Err(_) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Err(_) => None,
    }
}

/// The bits of a float as they are stored: in the order of the numbers.
fn flipped(bits: u64, width: usize) -> Vec<u8> {
    let sign = sign(width) as u64;
    let bits = if bits & sign == 0 { bits | sign } else { !bits };
    bits.to_be_bytes()[8 - width..].to_vec()
}

fn unflipped(bits: u128, width: usize) -> u64 {
    let (bits, sign) = (bits as u64, sign(width) as u64);
    if bits & sign == 0 { !bits } else { bits & !sign }
}
