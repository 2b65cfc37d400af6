//! What curves look like: pure functions, so that a verdict rests on nothing but its figures.

use crate::figures::Median;

/// Whether no step falls by more than `slack` (0.1 = a tenth), and the last is above the first by more.
pub fn rises(heights: &[f64], slack: f64) -> bool {
    let step = |pair: &[f64]| pair[1] >= pair[0] * (1.0 - slack);
    match (heights.first(), heights.last()) {
        (Some(first), Some(last)) if heights.len() > 1 => {
            heights.windows(2).all(step) && *last > first * (1.0 + slack)
        }
        _ => false,
    }
}

/// Whether a curve lies below another, or above it by no more than `slack`, at each point.
pub fn nowhere_above(a: &[f64], b: &[f64], slack: f64) -> bool {
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| *a <= b * (1.0 + slack))
}

/// The last height over the first.
pub fn growth(heights: &[f64]) -> f64 {
    match (heights.first(), heights.last()) {
        (Some(first), Some(last)) if *first > 0.0 => last / first,
        _ => f64::NAN,
    }
}

/// Whether the curve grows, but by a smaller factor than what lies across.
pub fn less_than_proportional(places: &[f64], heights: &[f64]) -> bool {
    let (across, up) = (growth(places), growth(heights));
    up > 1.0 && up < across
}

/// Where the least height is.
pub fn least(heights: &[f64]) -> Option<usize> {
    (0..heights.len()).min_by(|&a, &b| heights[a].total_cmp(&heights[b]))
}

/// Whether `heights[of]` is the least, or within `slack` of it.
pub fn is_least(heights: &[f64], of: usize, slack: f64) -> bool {
    least(heights).is_some_and(|at| heights[of] <= heights[at] * (1.0 + slack))
}

/// Whether `ours` lies within `slack` of `theirs`.
pub fn about(ours: f64, theirs: f64, slack: f64) -> bool {
    (ours - theirs).abs() <= slack * theirs.abs()
}

/// How many times `b` is `a`, point by point.
pub fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| b / a).collect()
}

/// The median; NaN of nothing.
pub fn middle(values: &[f64]) -> f64 {
    if values.is_empty() { f64::NAN } else { Median::of(values.to_vec()).median }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_if_it_does_so_beyond_the_noise() {
        assert!(rises(&[1.0, 0.95, 1.5], 0.1));
        assert!(!rises(&[1.0, 0.8, 1.5], 0.1), "a step falls");
        assert!(!rises(&[1.0, 1.05], 0.1), "no more than noise");
        assert!(!rises(&[1.0], 0.1) && !rises(&[], 0.1));
    }

    #[test]
    fn growth_is_compared_with_what_lies_across() {
        assert!(less_than_proportional(&[300.0, 900.0], &[1000.0, 2000.0]));
        assert!(!less_than_proportional(&[300.0, 900.0], &[1000.0, 3100.0]));
        assert!(!less_than_proportional(&[300.0, 900.0], &[1000.0, 900.0]), "it does not grow");
        assert!(growth(&[]).is_nan() && growth(&[0.0, 1.0]).is_nan());
    }

    #[test]
    fn curves_are_compared_point_by_point() {
        assert!(nowhere_above(&[1.0, 2.0], &[1.0, 1.9], 0.1));
        assert!(!nowhere_above(&[1.0, 2.2], &[1.0, 1.9], 0.1));
        assert!(!nowhere_above(&[1.0], &[1.0, 2.0], 0.1) && !nowhere_above(&[], &[], 0.1));
        assert_eq!(ratios(&[1.0, 2.0], &[2.0, 3.0]), [2.0, 1.5]);
    }

    #[test]
    fn the_least_is_found_and_ties_are_ties() {
        assert_eq!(least(&[3.0, 1.0, 2.0]), Some(1));
        assert_eq!(least(&[]), None);
        assert!(is_least(&[1.05, 1.0], 0, 0.1) && !is_least(&[1.2, 1.0], 0, 0.1));
        assert!(about(4.4, 4.2, 0.1) && !about(4.2, 1.0, 0.5));
        assert_eq!(middle(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(middle(&[1.0, 2.0]), 1.5);
        assert!(middle(&[]).is_nan());
    }
}
