//! How plots are made.

use super::measurement::Better;
use super::plot::{Across, Plot, Point, Series};
use crate::figures::Median;

/// Points from pairs.
pub(crate) fn series(
    name: impl Into<String>,
    points: impl IntoIterator<Item = (f64, Median)>,
) -> Series {
    let point = |(x, y): (f64, Median)| Point { x, y: y.median, spread_percent: y.spread_percent };
    Series { name: name.into(), points: points.into_iter().map(point).collect() }
}

/// A figure that is not a median of several.
pub(crate) fn exact(value: f64) -> Median {
    Median { median: value, spread_percent: 0.0 }
}

/// Numbers across.
pub(crate) fn number(name: &str, unit: &str, log: bool) -> Across {
    Across::Number { name: name.into(), unit: unit.into(), log }
}

/// Names across.
pub(crate) fn groups<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Across {
    Across::Groups(names.into_iter().map(Into::into).collect())
}

/// Time: less is better.
pub(crate) fn times(title: &str, across: Across, series: Vec<Series>) -> Plot {
    costs(title, across, "time per operation", "ns", series)
}

/// Any quantity of which less is better.
pub(crate) fn costs(
    title: &str,
    across: Across,
    quantity: &str,
    unit: &str,
    series: Vec<Series>,
) -> Plot {
    let (title, quantity, unit) = (title.into(), quantity.into(), unit.into());
    Plot { title, across, quantity, unit, better: Better::Lower, stacked: false, series }
}

/// Throughput: more is better.
pub(crate) fn rates(title: &str, across: Across, series: Vec<Series>) -> Plot {
    let plot = costs(title, across, "throughput", "Mop/s", series);
    Plot { better: Better::Higher, ..plot }
}

/// The heights of the series of that name.
pub(crate) fn heights(plot: &Plot, name: &str) -> Vec<f64> {
    plot.series.iter().find(|series| series.name == name).map(Series::heights).unwrap_or_default()
}
