//! How the contents of open lines are chosen when somebody reads them.

use endura_variants::random::splitmix;

/// Numbers that look random; the same seed gives the same ones.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Numbers from a seed.
    pub fn new(seed: u64) -> Self {
        // Seeds that differ in one bit must not give numbers that look alike (SplitMix64).
        // Zero is the one state that a xorshift never leaves.
        Self(splitmix(seed).max(1))
    }

    /// A number below `n` (0 if `n` is 0).
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if n == 0 { 0 } else { (self.0 >> 16) % n }
    }

    /// Other numbers, given by the next one.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(self.below(u64::MAX))
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }
}

/// How to choose among the values that a word of an open line may have, oldest first.
#[derive(Debug, Clone)]
pub enum Chooser {
    /// By a script: choice number `i` is `script[i]`, and 0 beyond its end. What was chosen, and out
    /// of how many, is kept: that is how all scripts are gone through.
    Script {
        /// What to choose.
        script: Vec<u32>,
        /// What was chosen, and out of how many.
        made: Vec<(u32, u32)>,
    },
    /// Everything that can be lost is lost.
    AllOld,
    /// Nothing is lost.
    AllNew,
    /// Only this line is lost: finds missing flushes.
    OneOld(u64),
    /// Only this line is kept: finds missing order.
    OneNew(u64),
    /// At random, the oldest and the newest more often than those between.
    Sample(Random),
}

impl Chooser {
    /// The script that makes the first choice everywhere.
    pub fn first() -> Self {
        Self::Script { script: Vec::new(), made: Vec::new() }
    }

    /// Which of `count` values a word of line `line` has. Number 0 is the oldest; `newest` is the one
    /// that it has if nothing was lost.
    pub(crate) fn choose(&mut self, line: u64, count: usize, newest: usize) -> usize {
        match self {
            Self::Script { script, made } => {
                let chosen = script.get(made.len()).copied().unwrap_or(0);
                assert!((chosen as usize) < count, "the same recovery reads different words");
                made.push((chosen, count as u32));
                chosen as usize
            }
            Self::AllOld => 0,
            Self::AllNew => newest,
            Self::OneOld(old) if *old == line => 0,
            Self::OneOld(_) => newest,
            Self::OneNew(new) if *new == line => newest,
            Self::OneNew(_) => 0,
            Self::Sample(random) => match random.below(10) {
                0..3 => 0,
                3..6 => newest,
                _ => random.below(count as u64) as usize,
            },
        }
    }

    /// After a run by a script: the script that comes next in depth-first order, if any is left.
    pub(crate) fn next_script(self) -> Option<Self> {
        let Self::Script { mut made, .. } = self else { return None };
        while let Some((chosen, count)) = made.pop() {
            if chosen + 1 < count {
                let mut script: Vec<u32> = made.iter().map(|m| m.0).collect();
                script.push(chosen + 1);
                return Some(Self::Script { script, made: Vec::new() });
            }
        }
        None
    }
}
