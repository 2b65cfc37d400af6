//! One line: the stores to it that are not certainly durable, and the contents that they allow.

use std::collections::HashSet;
use std::sync::Arc;

use crate::aftermath::Content;
use crate::model::InLine;
use crate::site::Site;

/// A store that is not certainly durable.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    /// Byte offset of the word.
    pub at: u64,
    /// What it was given.
    pub value: u64,
    /// The thread.
    pub by: u32,
    /// Everything before it in the line comes first.
    pub release: bool,
    /// The call.
    pub site: Site,
}

impl Pending {
    fn word(&self) -> usize {
        (self.at / 8 % 8) as usize
    }
}

/// Of so many contents that the stores beyond a line's last release allow, each is kept.
const MOST: usize = 1024;

/// The contents that a line may have.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    /// Oldest first, none twice.
    pub(super) all: Arc<[Content]>,
    /// Whether some were left out.
    pub(super) is_partial: bool,
}

/// A line with stores that are not certainly durable, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub(super) pending: Vec<Pending>,
    /// How many of them each thread's last flush covers.
    pub(super) flushed: Vec<(u32, usize)>,
    /// What they allow, once somebody has asked.
    pub(super) contents: Option<Contents>,
}

impl Line {
    pub(super) fn store(&mut self, pending: Pending) {
        self.pending.push(pending);
        self.contents = None;
    }

    /// Everything that is pending now is covered, whoever stored it: what the trace has as a store
    /// before the flush was in the line when it was written back.
    pub(super) fn flush(&mut self, by: u32) {
        self.flushed.retain(|f| f.0 != by);
        self.flushed.push((by, self.pending.len()));
    }

    /// How many of the stores the thread's flushes cover.
    pub(super) fn covered(&self, by: u32) -> usize {
        self.flushed.iter().find(|f| f.0 == by).map_or(0, |f| f.1)
    }

    /// Takes out what the thread's flushes cover: it is durable.
    pub(super) fn settle(&mut self, by: u32) -> Vec<Pending> {
        let covered = self.covered(by);
        self.flushed.retain(|f| f.0 != by);
        if covered == 0 {
            return Vec::new();
        }
        self.flushed.iter_mut().for_each(|f| f.1 = f.1.saturating_sub(covered));
        self.contents = None;
        self.pending.drain(..covered).collect()
    }

    /// Takes stores out that mean nothing any more.
    pub(super) fn forget(&mut self, gone: impl Fn(&Pending) -> bool) {
        let before: Vec<bool> = self.pending.iter().map(&gone).collect();
        for (_, covered) in &mut self.flushed {
            *covered -= before[..*covered].iter().filter(|&&gone| gone).count();
        }
        self.pending.retain(|pending| !gone(pending));
        self.contents = None;
    }

    /// The contents that the line may have over each of several older ones, oldest first, none twice.
    pub(super) fn contents(&mut self, in_line: InLine, older: &[Content]) -> Contents {
        if let Some(contents) = &self.contents {
            return contents.clone();
        }
        let (mut sets, is_partial) = match in_line {
            InLine::Prefix => ((0..=self.pending.len()).map(|n| (0..n).collect()).collect(), false),
            InLine::ReleaseOnly => self.down_closed_sets(),
        };
        sets.sort_by_key(Vec::len);
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for set in sets {
            for base in older {
                let mut content = Content { reached: 0, words: base.words };
                for &i in &set {
                    content.words[self.pending[i].word()] = self.pending[i].value;
                    content.reached |= 1 << i.min(63);
                }
                if known.insert(content.words) {
                    all.push(content);
                }
            }
        }
        // What nothing is lost of comes last, even if another set of stores gives the same words.
        if let Some(newest) = self.newest(older) {
            let at = all.iter().position(|content: &Content| content.words == newest);
            at.into_iter().for_each(|at| all[at..].rotate_left(1));
        }
        self.contents.insert(Contents { all: all.into(), is_partial }).clone()
    }

    fn newest(&self, older: &[Content]) -> Option<[u64; 8]> {
        let mut words = older.last()?.words;
        self.pending.iter().for_each(|pending| words[pending.word()] = pending.value);
        Some(words)
    }

    /// Which of the stores may be durable together if only a release comes after everything before it:
    /// all up to some release, and of the relaxed ones beyond it any, in order for each word.
    fn down_closed_sets(&self) -> (Vec<Vec<usize>>, bool) {
        let (mut sets, mut is_partial) = (Vec::new(), false);
        let releases = (0..self.pending.len()).filter(|&i| self.pending[i].release).map(|i| i + 1);
        for prefix in [0].into_iter().chain(releases) {
            let mut chains: [Vec<usize>; 8] = Default::default();
            let mut closed = [false; 8];
            for (i, pending) in self.pending.iter().enumerate().skip(prefix) {
                // What follows a release in the same word cannot be there without it.
                closed[pending.word()] |= pending.release;
                if !closed[pending.word()] {
                    chains[pending.word()].push(i);
                }
            }
            let count = chains.iter().map(|chain| chain.len() + 1).product::<usize>();
            let few = count <= MOST;
            is_partial |= !few;
            let kept = if few { combinations(&chains) } else { extremes(&chains) };
            sets.extend(kept.into_iter().map(|mut set| {
                set.sort_unstable();
                (0..prefix).chain(set).collect()
            }));
        }
        (sets, is_partial)
    }
}

/// A beginning of each chain, in all combinations.
fn combinations(chains: &[Vec<usize>; 8]) -> Vec<Vec<usize>> {
    let mut sets = vec![Vec::new()];
    for chain in chains.iter().filter(|chain| !chain.is_empty()) {
        sets = (0..=chain.len())
            .flat_map(|n| sets.iter().map(move |set| [&set[..], &chain[..n]].concat()))
            .collect();
    }
    sets
}

/// None, all, the beginnings in the order of the program, each chain alone, and all but each chain.
fn extremes(chains: &[Vec<usize>; 8]) -> Vec<Vec<usize>> {
    let mut all = chains.concat();
    all.sort_unstable();
    let mut sets: Vec<Vec<usize>> = (0..=all.len()).map(|n| all[..n].to_vec()).collect();
    for chain in chains {
        sets.push(chain.clone());
        sets.push(all.iter().copied().filter(|i| !chain.contains(i)).collect());
    }
    sets
}
