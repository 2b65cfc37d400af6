//! Curves, with their names at their ends.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::canvas::{Area, Chart, Drawn, style};
use super::colours::{COLOURS, colours};
use crate::results::{Plot, Point};

/// Names at the ends of curves, where they are short enough to leave room for the curves.
pub(super) fn named_at_ends(plot: &Plot) -> Option<u32> {
    let names = plot.series.iter().map(|series| series.name.chars().count());
    names.max().filter(|&longest| longest <= 18).map(|longest| longest as u32)
}

pub(super) fn curves(
    area: &Area<'_>,
    chart: &mut Chart<'_, '_>,
    plot: &Plot,
    across: &Axis,
    up: &Axis,
) -> Drawn {
    let mut ends = Vec::new();
    for (series, colour) in plot.series.iter().zip(colours(plot)) {
        let colour = &COLOURS[colour];
        let place = |p: &Point| (across.place_across(p.x), up.place_up(p.y));
        let points: Vec<_> = series.points.iter().filter(|p| p.y.is_finite()).collect();
        chart.draw_series(LineSeries::new(
            points.iter().map(|p| place(p)),
            colour.stroke_width(2),
        ))?;
        // A timeline has too many points for marks.
        if points.len() <= 24 {
            chart.draw_series(points.iter().map(|p| Circle::new(place(p), 3, colour.filled())))?;
            for p in points.iter().filter(|p| p.spread_percent > 0.0) {
                let reach = |sign: f64| {
                    (
                        across.place_across(p.x),
                        up.place_up(p.y * (1.0 + sign * p.spread_percent / 100.0)),
                    )
                };
                chart.draw_series([PathElement::new(
                    [reach(-1.0), reach(1.0)],
                    colour.stroke_width(1),
                )])?;
            }
        }
        if let Some(last) = points.last() {
            let (x, y) = chart.backend_coord(&place(last));
            ends.push((x, y, series.name.as_str(), *colour));
        }
    }
    if named_at_ends(plot).is_none() {
        return Ok(());
    }
    let floor = chart.backend_coord(&(across.from, up.from)).1 - 5;
    ends.sort_by_key(|end| end.1);
    move_apart(ends.iter_mut().map(|end| &mut end.1), floor);
    for (x, y, name, colour) in ends {
        area.draw_text(name, &style(16, colour, HPos::Left, VPos::Center), (x + 8, y))?;
    }
    Ok(())
}

/// Moves lines of text apart that would overlap, from the first, which is the highest; none ends below
/// `floor`.
fn move_apart<'a>(heights: impl DoubleEndedIterator<Item = &'a mut i32>, floor: i32) {
    const LINE: i32 = 15;
    let mut heights: Vec<&mut i32> = heights.collect();
    let mut above = i32::MIN;
    for y in &mut heights {
        **y = (**y).max(above.saturating_add(LINE));
        above = **y;
    }
    let mut limit = floor;
    for y in heights.iter_mut().rev() {
        **y = (**y).min(limit);
        limit = **y - LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_overlap_are_moved_apart_and_none_leaves_the_plot() {
        let mut heights = [40, 42, 196, 199, 200];
        move_apart(heights.iter_mut(), 200);
        assert_eq!(heights, [40, 55, 170, 185, 200]);
    }
}
