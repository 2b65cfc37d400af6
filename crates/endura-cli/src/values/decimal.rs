//! Decimal numbers as text, of any length, to compare written numbers with stored ones.

/// The number `0.DIGITS` times ten to the power of `exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// The digits have no zeros at either end, so that equal numbers have equal digits.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Parses a text like `-12.5e3`; `None` if it has another form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let negative = text.starts_with('-');
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            // With an exponent beyond 64 bits a number is zero or infinite as a float, whatever its digits; and 0 stays
            // 0.
            Some((mantissa, power)) => (mantissa, saturated(power)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        while digits.pop_if(|digit| *digit == b'0').is_some() {}
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..zeros);
        let exponent = match digits[..] {
            [] => 0,
            _ => power.saturating_add(whole.len() as i64).saturating_sub(zeros as i64),
        };
        Some(Self { negative, digits, exponent })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether the number has no fraction.
    pub(crate) fn is_whole(&self) -> bool {
        self.digits.len() as i64 <= self.exponent
    }
}

/// The number of digits of a text from the first nonzero one, without those of its exponent.
pub(crate) fn significant(text: &str) -> usize {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    digits.skip_while(|&digit| digit == b'0').count()
}

/// A power of ten, or the nearest that fits into 64 bits.
fn saturated(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nearest = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(text.parse().unwrap_or(nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_however_they_are_written() {
        let number = |text: &str| Decimal::parse(text).expect(text);
        for (a, b) in [
            ("1", "1.0"),
            ("1", "0.1e1"),
            ("1e23", "100000000000000000000000"),
            ("-0.00120", "-12e-4"),
            ("0", "0.000e99999999999999999999"),
            ("+5.", "005"),
            (".5", "5e-1"),
        ] {
            assert_eq!(number(a), number(b), "{a} {b}");
        }
        for (a, b) in [("1", "-1"), ("0", "-0"), ("12", "1.2"), ("1e9", "1e10")] {
            assert_ne!(number(a), number(b), "{a} {b}");
        }
        for text in ["", "-", ".", "e5", "1e", "1e+", "inf", "NaN", "1_0", "0x1", "1.2.3", "--1"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert!(number("0").is_whole() && number("12e1").is_whole() && !number("12e-1").is_whole());
        assert!(number("-0.0").is_zero() && !number("1e-400").is_zero());
        assert_eq!(["1", "0.012", "-100", "9.50e7", "0"].map(significant), [1, 2, 3, 3, 0]);
    }
}
