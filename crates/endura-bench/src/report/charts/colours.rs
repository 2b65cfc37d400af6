//! Colours of plots. In an SVG they are names: the page's style sheet gives them their light and dark values.

use plotters::style::RGBColor;

use crate::contender::Contender;
use crate::results::{Plot, Series};

/// What the style sheet knows as `--ink`, `--muted` and `--grid`.
pub(super) const INK: RGBColor = RGBColor(0x1a, 0x1a, 0x2e);
pub(super) const MUTED: RGBColor = RGBColor(0x6b, 0x70, 0x80);
pub(super) const GRID: RGBColor = RGBColor(0xe3, 0xe5, 0xea);

/// What it knows as `--c0` to `--c9`: colours that people who see few of them can tell apart, the last but
/// one pale, for a map in DRAM.
pub(super) const COLOURS: [RGBColor; 10] = [
    RGBColor(0x25, 0x63, 0xeb),
    RGBColor(0xd9, 0x77, 0x06),
    RGBColor(0x05, 0x96, 0x69),
    RGBColor(0xc0, 0x26, 0xd3),
    RGBColor(0xdc, 0x26, 0x26),
    RGBColor(0x47, 0x55, 0x69),
    RGBColor(0x08, 0x91, 0xb2),
    RGBColor(0x85, 0x4d, 0x0e),
    RGBColor(0x87, 0x95, 0xab),
    RGBColor(0x4d, 0x7c, 0x0f),
];

/// Which colour each series has: a store has one and the same in every plot, others take what is left.
pub(crate) fn colours(plot: &Plot) -> Vec<usize> {
    let known = |name: &str| {
        let named = Contender::ALL.into_iter().find(|contender| contender.name() == name);
        named.map(Contender::colour)
    };
    let mut taken: Vec<usize> = plot.series.iter().filter_map(|s| known(&s.name)).collect();
    let mut of = |series: &Series| {
        known(&series.name).unwrap_or_else(|| {
            let free = (0..COLOURS.len()).find(|colour| !taken.contains(colour));
            let colour = free.unwrap_or(taken.len() % COLOURS.len());
            taken.push(colour);
            colour
        })
    };
    plot.series.iter().map(&mut of).collect()
}

#[cfg(test)]
mod tests {
    use crate::results::Across;
    use crate::results::Better;

    use super::*;

    fn of(names: &[&str]) -> Vec<usize> {
        let series = |name: &&str| Series { name: name.to_string(), points: Vec::new() };
        colours(&Plot {
            title: String::new(),
            across: Across::Groups(Vec::new()),
            quantity: String::new(),
            unit: String::new(),
            better: Better::Lower,
            stacked: false,
            series: names.iter().map(series).collect(),
        })
    }

    #[test]
    fn a_store_has_one_colour_everywhere_and_shares_it_with_nobody() {
        assert_eq!(of(&["first", "LMDB"]), [0, 3]);
        assert_eq!(of(&["LMDB", "first"]), [3, 0]);
        assert_eq!(of(&["LMDB", "NbTree"]), [3, 1]);
        let mut all = of(&Contender::ALL.map(Contender::name));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..COLOURS.len()));
    }

    /// The style sheet gives each its light and dark value.
    #[test]
    fn the_page_knows_every_colour() {
        let sheet = include_str!("../style.css");
        for (colour, number) in COLOURS.iter().zip(0..) {
            let name = format!("{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
            let rule = format!(
                "svg [fill=\"#{name}\"]{{fill:var(--c{number})}}svg [stroke=\"#{name}\"]{{stroke:var(--c{number})}}\
                 .legend .k{number}{{background:var(--c{number})}}"
            );
            assert!(sheet.contains(&rule), "{rule}");
            assert_eq!(sheet.matches(&format!("--c{number}:#")).count(), 2, "{number}");
        }
    }
}
