//! Plots as SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::bars::bars;
use super::canvas::{Area, Chart, Drawn, style};
use super::colours::{GRID, INK, MUTED};
use super::curves::{curves, named_at_ends};
use crate::figures::{in_unit, is_time, short};
use crate::results::{Across, Better, Plot, Series};

/// Widths of a plot in the SVG's own units, in one column of the page and in both; the page scales it.
const WIDTH: u32 = 530;
const WIDE: u32 = 1100;

/// How a plot is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look<'a> {
    /// Whether equal steps upwards multiply.
    pub(crate) log_up: bool,
    /// Whether groups are joined by lines, in place of bars.
    pub(crate) joined: bool,
    /// Whether it has the whole width of the page.
    pub(crate) wide: bool,
    /// Moments to mark on the horizontal axis.
    pub(crate) moments: &'a [(f64, &'a str)],
}

/// The plot as an SVG element; nothing where it holds no figure.
pub(crate) fn svg(plot: &Plot, look: Look<'_>) -> Option<String> {
    let any = |series: &Series| series.points.iter().any(|point| point.y.is_finite());
    if !plot.series.iter().any(any) {
        return None;
    }
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(
            &mut text,
            (if look.wide { WIDE } else { WIDTH }, height(plot, look)),
        )
        .into_drawing_area();
        draw(&area, plot, look).ok()?;
        area.present().ok()?;
    }
    // The XML header of a file of its own has no place in a page.
    text.find("<svg").map(|at| text[at..].to_string())
}

fn height(plot: &Plot, look: Look<'_>) -> u32 {
    if rotated(plot, look) { 270 + below(plot) } else { 310 }
}

/// Letters of a rotated name, at most.
const LETTERS: usize = 28;

/// What rotated names take below the axis.
fn below(plot: &Plot) -> u32 {
    let Across::Groups(names) = &plot.across else { return 0 };
    let longest = names.iter().map(|name| name.chars().count().min(LETTERS)).max().unwrap_or(0);
    14 + 8 * longest as u32
}

/// Whether the names of the groups need a slope.
fn rotated(plot: &Plot, look: Look<'_>) -> bool {
    match &plot.across {
        Across::Groups(names) => {
            let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
            longest * names.len() > if look.wide { 165 } else { 76 }
        }
        Across::Number { .. } => false,
    }
}

fn axes(plot: &Plot, look: Look<'_>) -> (Axis, Axis) {
    let places: Vec<f64> = plot.series.iter().flat_map(Series::places).collect();
    let across = match &plot.across {
        Across::Groups(names) => Axis::groups(names.len()),
        Across::Number { log, .. } => Axis::across(&places, *log),
    };
    let tops: Vec<f64> = if plot.stacked {
        let at = |x: f64| {
            plot.series.iter().flat_map(|s| &s.points).filter(move |p| p.x == x).map(|p| p.y).sum()
        };
        places.iter().map(|&x| at(x)).collect()
    } else {
        plot.series
            .iter()
            .flat_map(|s| &s.points)
            .map(|p| p.y * (1.0 + p.spread_percent / 100.0))
            .collect()
    };
    let greatest = tops.into_iter().filter(|top| top.is_finite()).fold(0.0, f64::max);
    let heights = plot.series.iter().flat_map(Series::heights);
    let least = heights.filter(|height| *height > 0.0).fold(f64::MAX, f64::min);
    let up =
        if look.log_up { Axis::up_log(least.min(greatest), greatest) } else { Axis::up(greatest) };
    (across, up)
}

/// Whether a curve goes through orders of magnitude, of which a plain axis shows the first alone.
fn goes_far(plot: &Plot) -> bool {
    let heights = || plot.series.iter().flat_map(Series::heights).filter(|y| y.is_finite());
    let (least, greatest) = (heights().fold(f64::MAX, f64::min), heights().fold(0.0, f64::max));
    matches!(plot.across, Across::Number { .. }) && least > 0.0 && greatest > 50.0 * least
}

fn draw(area: &Area<'_>, plot: &Plot, look: Look<'_>) -> Drawn {
    let look = Look { log_up: look.log_up || goes_far(plot), ..look };
    let (across, up) = axes(plot, look);
    let lines = look.joined || matches!(plot.across, Across::Number { .. });
    let right = if lines { named_at_ends(plot).map_or(24, |longest| 18 + 8 * longest) } else { 8 };
    let bottom = match &plot.across {
        Across::Number { .. } => 50,
        Across::Groups(_) if rotated(plot, look) => below(plot),
        Across::Groups(_) => 30,
    };
    let arrow = match plot.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let steps = if up.log { "; log scale" } else { "" };
    // A time has its unit at each mark.
    let unit = if is_time(&plot.unit) { String::new() } else { format!(" ({})", plot.unit) };
    area.draw_text(
        &format!("{}{unit}, {arrow}{steps}", plot.quantity),
        &style(16, MUTED, HPos::Left, VPos::Top),
        (8, 6),
    )?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(34)
        .margin_right(right)
        .margin_left(4)
        .x_label_area_size(bottom)
        .y_label_area_size(56)
        .build_cartesian_2d(across.from..across.to, up.from..up.to)?;
    mark_up(area, &mut chart, &plot.unit, (&across, &up))?;
    mark_across(area, &chart, plot, (&across, &up), rotated(plot, look))?;
    moments(area, &mut chart, look.moments, &across, &up)?;
    if lines {
        curves(area, &mut chart, plot, &across, &up)
    } else {
        bars(area, &mut chart, plot, &up)
    }
}

/// Lines across at the marks of the vertical axis, and its figures.
fn mark_up(
    area: &Area<'_>,
    chart: &mut Chart<'_, '_>,
    unit: &str,
    (across, up): (&Axis, &Axis),
) -> Drawn {
    for &mark in &up.marks {
        let y = up.place_up(mark);
        let colour = if y == up.from { MUTED } else { GRID };
        chart.draw_series([PathElement::new([(across.from, y), (across.to, y)], colour)])?;
        let at = chart.backend_coord(&(across.from, y));
        area.draw_text(
            &in_unit(mark, unit),
            &style(16, MUTED, HPos::Right, VPos::Center),
            (at.0 - 8, at.1),
        )?;
    }
    Ok(())
}

/// What stands below the horizontal axis.
fn mark_across(
    area: &Area<'_>,
    chart: &Chart<'_, '_>,
    plot: &Plot,
    (across, up): (&Axis, &Axis),
    sloped: bool,
) -> Drawn {
    let at = |value: f64| chart.backend_coord(&(across.place_across(value), up.from));
    for &mark in &across.marks {
        let (x, y) = at(mark);
        match &plot.across {
            Across::Number { .. } => {
                area.draw_text(
                    &short(mark),
                    &style(16, MUTED, HPos::Center, VPos::Top),
                    (x, y + 8),
                )?;
            }
            Across::Groups(names) if sloped => {
                let name = names.get(mark as usize).map_or("", String::as_str);
                // Upwards from below, so that a name ends at its group.
                let style =
                    style(15, INK, HPos::Left, VPos::Center).transform(FontTransform::Rotate90);
                area.draw_text(&clip(name, LETTERS), &style, (x, y + 8))?;
            }
            Across::Groups(names) => {
                let name = names.get(mark as usize).map_or("", String::as_str);
                area.draw_text(name, &style(16, INK, HPos::Center, VPos::Top), (x, y + 8))?;
            }
        }
    }
    if let Across::Number { name, unit, .. } = &plot.across {
        let title = if unit.is_empty() { name.clone() } else { format!("{name} ({unit})") };
        let middle = chart.backend_coord(&(f64::midpoint(across.from, across.to), up.from));
        area.draw_text(
            &title,
            &style(16, MUTED, HPos::Center, VPos::Top),
            (middle.0, middle.1 + 27),
        )?;
    }
    Ok(())
}

fn clip(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_string();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

/// Lines upwards at moments, in their order; names that would meet stand on the far sides of their lines.
fn moments(
    area: &Area<'_>,
    chart: &mut Chart<'_, '_>,
    moments: &[(f64, &str)],
    across: &Axis,
    up: &Axis,
) -> Drawn {
    let places: Vec<(i32, i32)> = moments
        .iter()
        .map(|&(at, _)| chart.backend_coord(&(across.place_across(at), up.to)))
        .collect();
    let meet = |a: usize, b: usize| {
        let letters = moments[a].1.chars().count() + moments[b].1.chars().count();
        (places[b].0 - places[a].0) < 4 * letters as i32 + 6
    };
    for (n, &(at, what)) in moments.iter().enumerate() {
        let x = across.place_across(at);
        chart.draw_series([PathElement::new([(x, up.from), (x, up.to)], MUTED)])?;
        let (px, py) = places[n];
        let (side, px) = match (n > 0 && meet(n - 1, n), n + 1 < moments.len() && meet(n, n + 1)) {
            (true, _) => (HPos::Left, px - 2),
            (_, true) => (HPos::Right, px + 2),
            _ => (HPos::Center, px),
        };
        area.draw_text(what, &style(15, MUTED, side, VPos::Bottom), (px, py - 1))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Better;
    use crate::results::Point;

    fn plot(across: Across, stacked: bool) -> Plot {
        let points = |times: f64| {
            (0..3)
                .map(|x| Point {
                    x: f64::from(x),
                    y: times * f64::from(x + 1),
                    spread_percent: 5.0,
                })
                .collect()
        };
        Plot {
            title: "a title".into(),
            across,
            quantity: "time".into(),
            unit: "ns".into(),
            better: Better::Lower,
            stacked,
            series: vec![
                Series { name: "first <&>".into(), points: points(1.0) },
                Series { name: "second".into(), points: points(2.5) },
            ],
        }
    }

    #[test]
    fn every_kind_of_plot_has_its_axes_units_and_names() {
        let number = Across::Number { name: "size".into(), unit: "bytes".into(), log: false };
        let groups = Across::Groups(["one", "two", "three"].map(String::from).to_vec());
        for (across, stacked) in [(number, false), (groups.clone(), false), (groups, true)] {
            let plot = plot(across, stacked);
            let svg =
                svg(&plot, Look { moments: &[(1.0, "now")], ..Look::default() }).expect("an SVG");
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(svg.contains("time, lower is better") && svg.contains("now"));
            assert!(svg.contains(" ns"), "a mark without its unit: {svg}");
            match plot.across {
                Across::Number { .. } => {
                    assert!(svg.contains("size (bytes)") && svg.contains("first &lt;&amp;&gt;"));
                }
                Across::Groups(_) => assert!(svg.contains("three")),
            }
            // The first colour of a series, which the page's style sheet replaces.
            assert!(svg.contains("#2563EB"), "{svg}");
        }
    }

    #[test]
    fn bars_carry_figures_only_where_these_have_room() {
        let groups = |n: usize| Across::Groups((0..n).map(|n| n.to_string()).collect());
        let mut plot = plot(groups(3), false);
        let figures = |plot: &Plot| svg(plot, Look::default()).expect("an SVG").contains("1.23 ns");
        plot.series[0].points[0].y = 1.234;
        assert!(figures(&plot));
        let series = plot.series[0].clone();
        plot.series.extend((0..6).map(|_| series.clone()));
        assert!(!figures(&plot));
    }

    #[test]
    fn marks_of_times_have_units_that_keep_them_short() {
        let mut plot = plot(Across::Groups(["one", "two"].map(String::from).to_vec()), false);
        plot.series.iter_mut().flat_map(|s| &mut s.points).for_each(|p| p.y *= 1e7);
        plot.series[0].points[0].y = 800.0;
        let look = Look { log_up: true, joined: true, ..Look::default() };
        let svg = svg(&plot, look).expect("an SVG");
        for mark in ["100 ns", "1 µs", "100 µs", "10 ms", "100 ms", "log scale"] {
            assert!(svg.contains(mark), "{mark}: {svg}");
        }
        assert!(!svg.contains("100M"), "{svg}");
    }

    #[test]
    fn a_plot_without_figures_is_none() {
        let mut plot = plot(Across::Groups(vec!["one".into()]), false);
        plot.series.iter_mut().for_each(|series| series.points.clear());
        assert!(svg(&plot, Look::default()).is_none());
    }
}
