//! A median with its spread.

/// A median over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Median {
    /// The median.
    pub median: f64,
    /// Half the distance between the least and the greatest, in percent of the median.
    pub spread_percent: f64,
}

impl Median {
    /// Of values that are not NaN; zero if there are none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (Some(&least), Some(&greatest)) = (values.first(), values.last()) else {
            return Self { median: 0.0, spread_percent: 0.0 };
        };
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(values[half - 1], values[half])
        };
        let spread = if median == 0.0 { 0.0 } else { 50.0 * (greatest - least) / median };
        Self { median, spread_percent: spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(Median::of(vec![3.0, 1.0, 2.0]), Median { median: 2.0, spread_percent: 50.0 });
        assert_eq!(Median::of(vec![4.0, 2.0]).median, 3.0);
        assert_eq!(Median::of(vec![]).median, 0.0);
    }
}
