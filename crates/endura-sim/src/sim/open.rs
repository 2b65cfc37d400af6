//! The open lines of a [`Sim`](super::Sim).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::aftermath::Content;
use crate::choose::Chooser;

/// A line of which a crash left several contents, and what was stored to it since.
pub(super) struct Open {
    pub(super) contents: Arc<[Content]>,
    pub(super) written: [Option<u64>; 8],
    /// Words that are the same in all contents, as far as anyone has looked.
    decided: [bool; 8],
}

impl Open {
    fn new(contents: Arc<[Content]>) -> Self {
        Self { contents, written: [None; 8], decided: [false; 8] }
    }

    pub(super) fn value(&self, content: &Content, word: usize) -> u64 {
        self.written[word].unwrap_or(content.words[word])
    }

    /// The word at byte `at`. What it was is chosen, if that was open until now.
    pub(super) fn read(&mut self, at: u64, chooser: &mut Chooser) -> u64 {
        let word = (at / 8 % 8) as usize;
        if let Some(value) = self.written[word] {
            return value;
        }
        if !self.decided[word] {
            self.decided[word] = true;
            self.choose(at / 64, word, chooser);
        }
        self.contents[0].words[word]
    }

    fn choose(&mut self, line: u64, word: usize, chooser: &mut Chooser) {
        let mut values: Vec<u64> = Vec::new();
        for content in self.contents.iter() {
            if !values.contains(&content.words[word]) {
                values.push(content.words[word]);
            }
        }
        if values.len() < 2 {
            return;
        }
        let newest = self.contents[self.contents.len() - 1].words[word];
        let newest = values.iter().position(|&value| value == newest).unwrap_or(0);
        let chosen = values[chooser.choose(line, values.len(), newest)];
        let left = self.contents.iter().copied();
        self.contents = left.filter(|content| content.words[word] == chosen).collect();
    }
}

/// Bits of the filter.
const BITS: u64 = 1024;

/// All of them, by number. Each load of a medium asks whether its line is one.
pub(super) struct OpenLines {
    /// Ascending.
    lines: Vec<(u64, Open)>,
    /// A bit for each remainder of a number: most loads need not look further.
    bits: [u64; BITS as usize / 64],
    /// Where the last one was found.
    recent: usize,
}

impl OpenLines {
    pub(super) fn of(open: &BTreeMap<u64, Arc<[Content]>>) -> Self {
        let mut bits = [0; BITS as usize / 64];
        for line in open.keys() {
            bits[(line % BITS / 64) as usize] |= 1 << (line % 64);
        }
        let lines = open.iter().map(|(&line, contents)| (line, Open::new(contents.clone())));
        Self { lines: lines.collect(), bits, recent: 0 }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, line: u64) -> Option<&mut Open> {
        if self.bits[(line % BITS / 64) as usize] >> (line % 64) & 1 == 0 {
            return None;
        }
        if self.lines.get(self.recent).is_none_or(|recent| recent.0 != line) {
            self.recent = self.lines.binary_search_by_key(&line, |open| open.0).ok()?;
        }
        Some(&mut self.lines[self.recent].1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Open)> {
        self.lines.iter().map(|(line, open)| (*line, open))
    }

    /// Those from number `line` on.
    pub(super) fn from(&mut self, line: u64) -> impl Iterator<Item = &mut Open> {
        let from = self.lines.partition_point(|open| open.0 < line);
        self.lines[from..].iter_mut().map(|(_, open)| open)
    }
}
