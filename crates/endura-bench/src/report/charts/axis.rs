//! Axes: where their marks stand, and what is written there.

/// A scale: values to places along an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) log: bool,
    /// Places, not values.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Values with a mark.
    pub(super) marks: Vec<f64>,
}

impl Axis {
    /// From zero to somewhat above the greatest value.
    pub(super) fn up(greatest: f64) -> Self {
        let greatest = if greatest > 0.0 && greatest.is_finite() { greatest } else { 1.0 };
        let step = nice_step(greatest / 5.0);
        let top = (greatest / step).ceil() * step;
        let count = (top / step).round() as u32;
        let marks = (0..=count).map(|n| f64::from(n) * step).collect();
        Self { log: false, from: 0.0, to: top.max(greatest * 1.04), marks }
    }

    /// Powers of ten around the values.
    pub(super) fn up_log(least: f64, greatest: f64) -> Self {
        let from = least.max(1e-9).log10().floor();
        let to = greatest.max(least).max(1e-9).log10().ceil().max(from + 1.0);
        let marks = (from as i32..=to as i32).map(|power| 10_f64.powi(power)).collect();
        Self { log: true, from, to, marks }
    }

    /// Across: a mark at each value that was measured, as far as there is room.
    pub(super) fn across(values: &[f64], log: bool) -> Self {
        let mut marks: Vec<f64> = values.iter().copied().filter(|v| !log || *v > 0.0).collect();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let place = |value: f64| if log { value.log2() } else { value };
        let (from, to) = match (marks.first(), marks.last()) {
            (Some(&first), Some(&last)) if last > first => (place(first), place(last)),
            (Some(&first), _) => (place(first) - 0.5, place(first) + 0.5),
            _ => (0.0, 1.0),
        };
        if marks.len() > 12 {
            // A time: round numbers in place of steps.
            let step = nice_step((to - from) / 8.0);
            let count = ((to - from) / step).floor() as u32;
            marks =
                (0..=count).map(|n| (from / step).ceil() * step + f64::from(n) * step).collect();
            marks.retain(|&mark| mark <= to);
        } else {
            thin(&mut marks, |mark| (place(mark) - from) / (to - from).max(1e-12));
        }
        let margin = (to - from) * 0.03;
        Self { log, from: from - margin, to: to + margin, marks }
    }

    /// One place per group.
    pub(super) fn groups(count: usize) -> Self {
        let marks = (0..count).map(|n| n as f64).collect();
        Self { log: false, from: -0.5, to: count as f64 - 0.5, marks }
    }

    /// Where a value stands; the two kinds of logarithm are those of [`up_log`](Self::up_log) (10) and
    /// [`across`](Self::across) (2).
    pub(super) fn place_up(&self, value: f64) -> f64 {
        if self.log { value.max(1e-9).log10().clamp(self.from, self.to) } else { value }
    }

    pub(super) fn place_across(&self, value: f64) -> f64 {
        if self.log { value.max(1e-9).log2() } else { value }
    }
}

/// Leaves marks out that would stand on their neighbours' labels.
fn thin(marks: &mut Vec<f64>, place: impl Fn(f64) -> f64) {
    let mut last = f64::NEG_INFINITY;
    marks.retain(|&mark| {
        let keep = place(mark) - last >= 0.075;
        if keep {
            last = place(mark);
        }
        keep
    });
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1e-12).log10().floor());
    let leading = least / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|&nice| leading <= nice * 1.0001);
    nice.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_numbers_that_reach_the_greatest_value() {
        let axis = Axis::up(4.3);
        assert_eq!(axis.marks, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(axis.from == 0.0 && axis.to >= 4.3);
        assert_eq!(Axis::up(0.0).marks.first(), Some(&0.0));
        assert_eq!(Axis::up_log(30.0, 4000.0).marks, [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(Axis::up_log(100.0, 100.0).marks, [100.0, 1000.0]);
    }

    #[test]
    fn what_was_measured_is_marked_unless_it_is_too_much() {
        assert_eq!(Axis::across(&[4.0, 1.0, 2.0, 1.0], true).marks, [1.0, 2.0, 4.0]);
        assert!(Axis::across(&[0.0, 25.0, 26.0, 100.0], false).marks.len() == 3);
        let times: Vec<f64> = (0..80).map(|n| f64::from(n) / 20.0).collect();
        assert_eq!(Axis::across(&times, false).marks[..3], [0.0, 0.5, 1.0]);
        let one = Axis::across(&[2.0], true);
        assert!(one.from < 1.0 && one.to > 1.0);
    }
}
