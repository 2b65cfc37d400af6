//! Figures as text.

/// 1,234,567.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 thread`, `2 threads`.
pub(crate) fn threads(n: usize) -> String {
    format!("{n} thread{}", if n == 1 { "" } else { "s" })
}

/// A figure as short as it can be read: `1.25`, `12.5`, `850`, `12.5k`, `3M`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.995 || v == 0.0 => 2,
        // As many zeros as there are, and three digits.
        v => (2 - v.log10().floor() as i32).min(9) as usize,
    };
    let text = format!("{scaled:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// The nanoseconds of a unit of time, none of other units.
fn nanoseconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    }
}

/// Whether [`in_unit`] writes the unit beside each figure.
pub(crate) fn is_time(unit: &str) -> bool {
    nanoseconds(unit).is_some()
}

/// A figure as short as it can be read. A time has the unit in which it is shortest: `850 ns`, `12.5 µs`, `3 s`.
/// Other figures are as [`short`] writes them, without their unit.
pub(crate) fn in_unit(value: f64, unit: &str) -> String {
    let Some(one) = nanoseconds(unit) else { return short(value) };
    let ns = value * one;
    let (scaled, unit) = match ns.abs() {
        0.0 => return short(0.0),
        v if v >= 999.5e6 => (ns / 1e9, "s"),
        v if v >= 999.5e3 => (ns / 1e6, "ms"),
        v if v >= 999.5 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    format!("{} {unit}", short(scaled))
}

/// Figures as text: `1.20, 3.40`.
pub(crate) fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|&value| figure(value)).collect();
    texts.join(", ")
}

/// Three digits, more before the point.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let cases = [
            (0.0, "0"),
            (1.5, "1.5"),
            (0.123_4, "0.123"),
            (1e-4, "0.0001"),
            (12.34, "12.3"),
            (850.4, "850"),
        ];
        for (value, text) in
            cases.into_iter().chain([(12_500.0, "12.5k"), (3e6, "3M"), (1000.0, "1000")])
        {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn times_have_the_unit_in_which_they_are_short() {
        let cases = [
            (0.0, "ns", "0"),
            (850.0, "ns", "850 ns"),
            (999.7, "ns", "1 µs"),
            (12_500.0, "ns", "12.5 µs"),
            (100e6, "ns", "100 ms"),
            (0.25, "ms", "250 µs"),
            (20_000.0, "ms", "20 s"),
            (3e6, "B/key", "3M"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(in_unit(value, unit), text);
        }
        assert!(is_time("µs") && !is_time("Mop/s"));
    }

    #[test]
    fn long_numbers_are_grouped_and_others_have_three_digits() {
        assert_eq!((grouped(1_234_567).as_str(), grouped(12).as_str()), ("1,234,567", "12"));
        assert_eq!(list(&[1.234, 12.34, 123.4]), "1.23, 12.3, 123");
    }
}
