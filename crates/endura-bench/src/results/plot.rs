//! Curves and bars before they are drawn.

use serde::Serialize;

use super::measurement::{Better, Measurement, Parameter, Quantity};

/// What lies along the horizontal axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// Numbers.
    Number {
        /// Of what.
        name: String,
        /// In what; empty if they have no unit.
        unit: String,
        /// Whether each step multiplies.
        log: bool,
    },
    /// Names: points stand at 0, 1, 2 ...
    Groups(Vec<String>),
}

/// Curves or bars with common axes.
#[derive(Debug, Clone, Serialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub across: Across,
    /// What the vertical axis counts.
    pub quantity: String,
    /// In what.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// Whether the bars of a group stand on each other.
    pub stacked: bool,
    /// The curves, or the bars of one colour.
    pub series: Vec<Series>,
}

/// A curve, or the bars of one colour.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Where it goes.
    pub points: Vec<Point>,
}

/// A point with the spread of what it is the median of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up: the median.
    pub y: f64,
    /// Half the distance between the least and the greatest, in percent of the median.
    pub spread_percent: f64,
}

impl Series {
    /// The heights.
    pub fn heights(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.y).collect()
    }

    /// The places.
    pub fn places(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.x).collect()
    }
}

impl Plot {
    /// Its points as measurements of a suite, which another run can be compared with.
    pub fn measurements(&self, suite: &str, entries: u64) -> impl Iterator<Item = Measurement> {
        self.series.iter().flat_map(move |series| {
            let point = move |point| self.measurement(suite, entries, &series.name, point);
            series.points.iter().map(point)
        })
    }

    fn measurement(&self, suite: &str, entries: u64, store: &str, point: &Point) -> Measurement {
        let quantity = Quantity { name: "", unit: "", better: self.better, rounds: vec![point.y] };
        let mut one = Measurement {
            quantity: self.quantity.clone(),
            unit: self.unit.clone(),
            entries,
            ..Measurement::new(suite, &self.title, store, quantity)
        };
        one.median.spread_percent = point.spread_percent;
        match &self.across {
            Across::Groups(names) => {
                let group = names.get(point.x as usize).map_or("", String::as_str);
                one.workload = format!("{}: {group}", self.title);
            }
            Across::Number { name, unit, .. } => {
                let (name, unit) = (name.clone(), unit.clone());
                one.parameter = Some(Parameter { name, unit, value: point.x });
            }
        }
        one
    }
}
