//! A goal beside what was measured.

use serde::Serialize;

use crate::figures::Median;
use crate::results::Better;

/// A goal, and what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The race, in words.
    pub race: String,
    /// The goal, in words.
    pub goal: String,
    /// Which way is good.
    pub better: Better,
    /// What it has to reach, or must not exceed.
    pub asked: f64,
    /// What we aim at.
    pub aim: Option<f64>,
    /// What was measured, with its spread between rounds.
    pub measured: Median,
    /// Whether that is as asked.
    pub is_reached: bool,
    /// What is known to stop it, if it is not.
    pub bound: Option<&'static str>,
    /// The part of its rounds, in percent, that ran on a core which somebody else used as well.
    pub shared_percent: f64,
}

impl Judged {
    /// What was measured as a part of what was asked; 1 or more where that is reached.
    pub fn part(&self) -> f64 {
        match self.better {
            Better::Higher => self.measured.median / self.asked,
            Better::Lower => self.asked / self.measured.median,
        }
    }

    /// Whether it falls short by less than what lies between rounds, so that another run may reach it.
    pub fn is_close(&self) -> bool {
        !self.is_reached && self.part() * (1.0 + self.measured.spread_percent / 100.0) >= 1.0
    }

    /// Why it is not reached, as far as is known; none if it is.
    pub fn reason(&self) -> Option<String> {
        let shared = (self.shared_percent >= 10.0).then(|| {
            format!("{:.0} % of its rounds were beside a busy neighbour", self.shared_percent)
        });
        let known: Vec<String> = self.bound.map(String::from).into_iter().chain(shared).collect();
        match known.len() {
            _ if self.is_reached => None,
            0 => Some("why is not known".into()),
            _ => Some(known.join("; ")),
        }
    }

    /// In words.
    pub fn verdict(&self) -> &'static str {
        match (self.is_reached, self.is_close()) {
            (true, _) => "reached",
            (_, true) => "short by less than its spread",
            (_, false) => "falls short",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_run_may_reach_is_not_called_far() {
        let judged = |better, rounds: [f64; 3], is_reached| Judged {
            race: String::new(),
            goal: String::new(),
            better,
            asked: 2.0,
            aim: None,
            measured: Median::of(rounds.to_vec()),
            is_reached,
            bound: None,
            shared_percent: 0.0,
        };
        let higher = |rounds, is_reached| judged(Better::Higher, rounds, is_reached).verdict();
        assert_eq!(higher([2.0, 2.1, 2.2], true), "reached");
        assert_eq!(higher([1.8, 1.9, 2.1], false), "short by less than its spread");
        assert_eq!(higher([1.0, 1.01, 1.02], false), "falls short");
        let lower = |rounds| judged(Better::Lower, rounds, false);
        assert_eq!(lower([1.8, 2.2, 2.6]).verdict(), "short by less than its spread");
        assert_eq!(lower([3.9, 4.0, 4.1]).verdict(), "falls short");
        assert_eq!(lower([4.0; 3]).part(), 0.5);
        assert_eq!(judged(Better::Higher, [2.0; 3], true).reason(), None);
        assert_eq!(lower([4.0; 3]).reason().as_deref(), Some("why is not known"));
        let known = Judged { bound: Some("memory"), shared_percent: 40.0, ..lower([4.0; 3]) };
        let reason = known.reason().expect("two of them");
        assert_eq!(reason, "memory; 40 % of its rounds were beside a busy neighbour");
    }
}
