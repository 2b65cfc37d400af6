//! What a crash leaves: certain words, and lines of which several contents are possible.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::image::Image;

/// Whether a word of a line (its offset, and the line) means nothing after a crash.
pub type IsVolatile<'a> = &'a dyn Fn(u64, &[u64; 8]) -> bool;

/// One content that a line may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Content {
    /// Which of the line's open stores reached it, oldest in bit 0; bit 63 stands for all beyond.
    pub reached: u64,
    /// The words.
    pub words: [u64; 8],
}

impl Content {
    /// Whether the `i`-th of the line's open stores, oldest first, reached it.
    pub fn has(&self, i: usize) -> bool {
        self.reached >> i.min(63) & 1 == 1
    }
}

/// What a crash leaves.
#[derive(Debug, Clone, Default)]
pub struct Aftermath {
    /// The words of all lines that are not open.
    pub image: Image,
    /// Lines of which several contents are possible, independently of each other. First the oldest, of
    /// which everything that could be lost is lost; last the newest, with nothing lost.
    pub open: BTreeMap<u64, Arc<[Content]>>,
    /// Whether some line had so many possible contents that not all of them are in `open`.
    pub is_partial: bool,
    /// eADR: how many of its buffered stores each thread got rid of in time.
    pub drained: Vec<(u32, usize)>,
}

impl Aftermath {
    /// A medium of which everything is certain.
    pub fn certain(image: Image) -> Self {
        Self { image, ..Self::default() }
    }

    /// How many images it stands for.
    pub fn images(&self) -> u64 {
        self.open.values().fold(1, |all, contents| all.saturating_mul(contents.len() as u64))
    }

    /// Equal aftermaths have equal hashes.
    pub fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.image.hash().hash(&mut hasher);
        for (line, contents) in &self.open {
            line.hash(&mut hasher);
            contents.iter().for_each(|content| content.words.hash(&mut hasher));
        }
        hasher.finish()
    }

    /// Each image, up to `most` of them: every open line with each of its contents.
    pub fn eager(&self, most: usize) -> impl Iterator<Item = Image> + '_ {
        let count = self.images().min(most as u64);
        (0..count).map(|mut number| {
            let mut image = self.image.clone();
            for (&line, contents) in &self.open {
                let choice = number % contents.len() as u64;
                number /= contents.len() as u64;
                image.set_line(line, &contents[choice as usize].words);
            }
            image
        })
    }

    /// Of contents of a line that differ only in words which mean nothing after a crash the oldest, in
    /// all lines; and the newest. `None` if there are no such contents.
    pub(crate) fn tied(&self, is_volatile: IsVolatile<'_>) -> Option<[Self; 2]> {
        let (mut oldest, mut newest) = (self.clone(), self.clone());
        let mut differ = false;
        for (&line, contents) in &self.open {
            let meanings: Vec<[u64; 8]> =
                contents.iter().map(|content| meaning(line, content, is_volatile)).collect();
            let is_first = |i: &usize| !meanings[..*i].contains(&meanings[*i]);
            let is_last = |i: &usize| !meanings[*i + 1..].contains(&meanings[*i]);
            let old: Vec<Content> =
                (0..contents.len()).filter(is_first).map(|i| contents[i]).collect();
            if old.len() < contents.len() {
                differ = true;
                let new = (0..contents.len()).filter(is_last).map(|i| contents[i]);
                newest.put(line, new.collect::<Vec<_>>());
                oldest.put(line, old);
            }
        }
        differ.then_some([oldest, newest])
    }

    /// Writes a word, whichever of its contents the line has.
    pub(crate) fn write(&mut self, at: u64, value: u64) {
        let (line, word) = (at / 64, (at / 8 % 8) as usize);
        let Some(contents) = self.open.get_mut(&line) else { return self.image.set(at, value) };
        let mut fewer: Vec<Content> = Vec::new();
        for content in contents.iter() {
            let mut content = *content;
            content.words[word] = value;
            if !fewer.iter().any(|known| known.words == content.words) {
                fewer.push(content);
            }
        }
        self.put(line, fewer);
    }

    /// Gives a line its possible contents: at least one, none twice.
    pub(crate) fn put(&mut self, line: u64, contents: impl Into<Arc<[Content]>>) {
        let contents = contents.into();
        if let [only] = &contents[..] {
            self.open.remove(&line);
            self.image.set_line(line, &only.words);
        } else {
            self.open.insert(line, contents);
        }
    }
}

/// The words of a line without those that mean nothing after a crash.
pub(crate) fn meaning(line: u64, content: &Content, is_volatile: IsVolatile<'_>) -> [u64; 8] {
    let mut words = content.words;
    for (i, word) in words.iter_mut().enumerate() {
        if is_volatile(line * 64 + 8 * i as u64, &content.words) {
            *word = 0;
        }
    }
    words
}
