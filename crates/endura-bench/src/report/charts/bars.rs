//! Bars, with their figures where these have room.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::canvas::{Area, Chart, Drawn, style};
use super::colours::{COLOURS, INK, MUTED, colours};
use crate::figures::in_unit;
use crate::results::Plot;

/// Whether a figure on each bar has room, on bars so far apart.
fn has_room(plot: &Plot, apart: f64) -> bool {
    let points = plot.series.iter().flat_map(|series| &series.points);
    let letters =
        points.filter(|p| p.y.is_finite()).map(|p| in_unit(p.y, &plot.unit).chars().count()).max();
    !plot.stacked && 7.5 * letters.unwrap_or(0) as f64 <= apart
}

/// Draws the bars of a plot, group by group or on each other.
pub(super) fn bars(area: &Area<'_>, chart: &mut Chart<'_, '_>, plot: &Plot, up: &Axis) -> Drawn {
    let count = if plot.stacked { 1 } else { plot.series.len().max(1) };
    let width = 0.78 / count as f64;
    let groups = plot
        .series
        .iter()
        .flat_map(|s| s.points.iter())
        .map(|p| p.x as usize + 1)
        .max()
        .unwrap_or(1);
    let apart = f64::from(chart.plotting_area().dim_in_pixel().0) * width / groups as f64;
    let labelled = has_room(plot, apart);
    let mut base = vec![0.0; groups];
    for ((number, series), colour) in plot.series.iter().enumerate().zip(colours(plot)) {
        let colour = &COLOURS[colour];
        for point in series.points.iter().filter(|p| p.y.is_finite()) {
            let slot = if plot.stacked { 0.0 } else { number as f64 };
            let left = point.x - 0.39 + width * slot;
            let (from, to) = match plot.stacked {
                true => {
                    let from = base[point.x as usize];
                    base[point.x as usize] += point.y;
                    (from, from + point.y)
                }
                false => (if up.log { up.from } else { 0.0 }, up.place_up(point.y)),
            };
            let gap = width * 0.08;
            let corners = [(left + gap, from), (left + width - gap, to)];
            chart.draw_series([Rectangle::new(corners, colour.filled())])?;
            let middle = left + width / 2.0;
            let mut top = to;
            if !plot.stacked && point.spread_percent > 0.5 {
                let reach =
                    |sign: f64| up.place_up(point.y * (1.0 + sign * point.spread_percent / 100.0));
                top = reach(1.0);
                chart
                    .draw_series([PathElement::new([(middle, reach(-1.0)), (middle, top)], INK)])?;
            }
            if labelled {
                let (x, y) = chart.backend_coord(&(middle, top));
                area.draw_text(
                    &in_unit(point.y, &plot.unit),
                    &style(14, MUTED, HPos::Center, VPos::Bottom),
                    (x, y - 2),
                )?;
            }
        }
    }
    Ok(())
}
