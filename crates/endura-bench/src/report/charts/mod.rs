//! Plots as SVG.

mod axis;
mod bars;
mod canvas;
mod chart;
mod colours;
mod curves;

pub(super) use chart::{Look, svg};
pub(super) use colours::colours;
