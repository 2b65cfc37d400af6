//! Numbers and tables for people.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

pub use endura::settings::{
    number as parse_number, plain_number as parse_plain_number, size as parse_size,
};

/// `text` for a terminal: control characters are escaped. Line feeds stay if `lines`.
pub fn printable(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' if lines => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Direction marks reverse the text after them.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.extend(c.escape_unicode());
            }
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// `1,000,000`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.3 MiB`
pub fn bytes(number: u64) -> String {
    let mut scaled = number as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if scaled < 1024.0 {
            return if unit == "B" { format!("{number} B") } else { format!("{scaled:.1} {unit}") };
        }
        scaled /= 1024.0;
    }
    format!("{scaled:.1} TiB")
}

/// `1.23 ms`
pub fn duration(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    match nanos {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} us", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

/// `1 key`, `2 keys`, `2 entries`
pub fn counted(number: u64, noun: &str) -> String {
    let number = if number == 1 { return format!("1 {noun}") } else { grouped(number) };
    match noun.strip_suffix("ry") {
        Some(stem) => format!("{number} {stem}ries"),
        None => format!("{number} {noun}s"),
    }
}

/// The columns of a line of `stream`: those of its terminal, or else of the variable `COLUMNS`, or else 80.
pub fn columns(stream: impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    size.filter(|&columns| columns > 0).or_else(named).unwrap_or(80)
}

/// Whether standard output is a terminal that wants colours.
pub fn colourful() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// `text`, bold on a terminal.
pub fn bold(text: &str) -> String {
    if colourful() { format!("\x1b[1m{text}\x1b[0m") } else { text.into() }
}

/// `text`, green or red on a terminal.
pub fn verdict(text: &str, good: bool) -> String {
    let colour = if good { 32 } else { 31 };
    if colourful() { format!("\x1b[1;{colour}m{text}\x1b[0m") } else { text.into() }
}

/// The lines of `text`, broken between words. A line has at most `wide` characters, unless a single word has more.
pub fn wrapped(text: &str, wide: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if last.chars().count() + 1 + word.chars().count() <= wide => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Rows of cells, aligned in columns: the first columns to the left, the others to the right.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// A table whose first `left` columns are aligned to the left.
    pub fn new(left: usize, header: &[&str]) -> Self {
        let rows = if header.is_empty() {
            Vec::new()
        } else {
            vec![header.iter().map(ToString::to_string).collect()]
        };
        Self { rows, left }
    }

    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes all rows.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |i: usize| {
            self.rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|i| width_of(i).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line.push(' ');
                if i < self.left {
                    line.push_str(&format!("{cell:<width$}"));
                } else {
                    line.push_str(&format!("{cell:>width$}"));
                }
                line.push(' ');
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(parse_number("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_number("0xff"), Ok(255));
        assert_eq!(parse_number("0XfF"), Ok(255));
        assert_eq!(parse_number("1,000,000"), Ok(1_000_000));
        assert_eq!(parse_number("1_00_0"), Ok(1000));
        for bad in [
            "1,5",
            "1,,,2",
            ",1",
            "1,",
            "1_000,000",
            "_1_",
            "1__2",
            "0x",
            "0x+5",
            "+5",
            "1234,567",
            "0x1,000",
        ] {
            assert!(parse_number(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_plain_number("1,000"), None);
        assert_eq!(parse_plain_number("0xffffffff_ffffffff_ffffffff_ffffffff"), Some(u128::MAX));
        assert_eq!(parse_plain_number("340282366920938463463374607431768211456"), None);
        assert!(parse_number("18446744073709551616").is_err());
        assert!(parse_number("-1").is_err());
        assert!(parse_number("").is_err());
        assert_eq!(parse_size("2M"), Ok(2 << 20));
        assert!(parse_size("99999999999T").is_err());
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("abcdef g", 3), ["abcdef", "g"]);
        assert_eq!(wrapped("", 3), [""]);
    }

    #[test]
    fn texts() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(printable("a\x1b[2J\u{85}\nb", true), "a\\x1b[2J\\xc2\\x85\nb");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(duration(Duration::from_micros(1500)), "1.50 ms");
        assert_eq!(counted(1, "key"), "1 key");
        assert_eq!(counted(2000, "key"), "2,000 keys");
        assert_eq!(counted(0, "entry"), "0 entries");
    }
}
