//! Damage that hides entries: no command that reads a whole map ends with 0 and with less. Ten kinds of damage, at places
//! drawn at random in maps of each kind, by the commands that read all of a pool.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::{Place, code, endura, endura_with, json, text};

/// Entries of the map.
const ENTRIES: u64 = 12_000;
/// Places of each kind of damage.
const PLACES: usize = 2;
/// Where the spans begin: what is before describes the pool.
const SPANS: usize = 49_152;
const PAGE: usize = 4096;
const SECTOR: usize = 512;
const LINE: usize = 64;
/// The links of the first map's NBTree: three lines before the end of its directory entry.
const HEADS: usize = 16_384 + 1024 - 3 * LINE;

const KINDS: [&str; 3] = ["fast-fair", "nbtree", "roart"];

/// Damages the bytes of a pool; `false` if there is nothing to damage in this way.
type Damage = fn(&mut Pool) -> bool;

const DAMAGES: [(&str, Damage); 10] = [
    ("a page of zeros", |pool| pool.fill(PAGE, |_| 0)),
    ("a sector of zeros", |pool| pool.fill(SECTOR, |_| 0)),
    ("a line of zeros", |pool| pool.fill(LINE, |_| 0)),
    ("a sector of noise", |pool| pool.fill(SECTOR, |random| random.u8(..))),
    ("a line of noise", |pool| pool.fill(LINE, |random| random.u8(..))),
    ("a word of ones", |pool| pool.fill(8, |_| 0xFF)),
    ("a page from elsewhere", |pool| pool.copy(PAGE)),
    ("a leaf from elsewhere", |pool| pool.copy(2 * SECTOR)),
    ("a link that is cut", |pool| pool.link(|_, _| 0)),
    ("a link that leads further", |pool| pool.link(|pool, link| pool.word(pool.beyond(link)))),
];

/// The bytes of a pool.
struct Pool {
    kind: &'static str,
    bytes: Vec<u8>,
    /// The links between leaves, or, of a ROART, the slots of arrays.
    links: Vec<usize>,
    random: fastrand::Rng,
}

impl Pool {
    fn new(kind: &'static str, bytes: Vec<u8>) -> Self {
        let mut pool = Self { kind, bytes, links: Vec::new(), random: fastrand::Rng::with_seed(7) };
        let words = (SPANS..pool.bytes.len()).step_by(LINE);
        pool.links = match kind {
            // The sibling pointers of leaves, which the magic in their fifth word tells.
            "fast-fair" => words
                .filter(|at| pool.word(at + 32) & !0xFF00 == 0xFA57_FA18 << 32)
                .map(|at| at + 24)
                .collect(),
            "nbtree" => {
                let next = |&at: &usize| Some(pool.word(at) as usize & !3).filter(|&at| at != 0);
                let chain = |head| std::iter::successors(Some(head), next).skip(1);
                (0..8).flat_map(|partition| chain(HEADS + 8 * partition)).collect()
            }
            _ => {
                let capacity = |at: &usize| match pool.word(at + 8) {
                    meta if meta >> 48 == 0xA47A => Some((at + 16, meta)),
                    _ => None,
                };
                let arrays: Vec<_> = words.filter_map(|at| capacity(&at)).collect();
                // Slots end with an offset in the spans, and lie behind the bytes that arrays begin with.
                let is_slot = |at: &usize| {
                    let to = pool.word(*at) as usize & ((1 << 48) - 1);
                    pool.word(*at) >> 48 != 0 && (SPANS..pool.bytes.len()).contains(&to)
                };
                arrays
                    .iter()
                    .flat_map(|(at, _)| (at + 16..at + 240).step_by(8))
                    .filter(is_slot)
                    .collect()
            }
        };
        assert!(pool.links.len() > 20, "{kind}: {}", pool.links.len());
        pool
    }

    fn word(&self, at: usize) -> u64 {
        self.bytes
            .get(at..at + 8)
            .map_or(0, |word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
    }

    /// Where the link is of the leaf to which this link leads; of a ROART, another slot.
    fn beyond(&self, link: usize) -> usize {
        let to = self.word(link) as usize & ((1 << 48) - 1);
        match self.kind {
            "fast-fair" => to + 24,
            "nbtree" => to & !3,
            _ => self.links[(link / 8) % self.links.len()],
        }
    }

    /// A place of so many bytes in which there is something.
    fn place(&mut self, bytes: usize) -> usize {
        loop {
            let at = self.random.usize(SPANS / bytes..self.bytes.len() / bytes) * bytes;
            if self.bytes[at..at + bytes].iter().any(|&byte| byte != 0) {
                return at;
            }
        }
    }

    fn fill(&mut self, bytes: usize, with: fn(&mut fastrand::Rng) -> u8) -> bool {
        let at = self.place(bytes);
        let random = &mut self.random;
        self.bytes[at..at + bytes].fill_with(|| with(random));
        true
    }

    fn copy(&mut self, bytes: usize) -> bool {
        let (from, to) = (self.place(bytes), self.place(bytes));
        self.bytes.copy_within(from..from + bytes, to);
        from != to
    }

    fn link(&mut self, changed: fn(&Self, usize) -> u64) -> bool {
        let link = self.links[self.random.usize(..self.links.len())];
        let word = changed(self, link);
        let was = self.word(link);
        self.bytes[link..link + 8].copy_from_slice(&word.to_le_bytes());
        was != word
    }
}

fn lines(output: &[u8]) -> BTreeSet<&[u8]> {
    output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect()
}

/// Whether more lines are missing than others came in their place: a key that was changed is another key.
fn is_less(found: &[u8], all: &BTreeSet<&[u8]>) -> bool {
    let found = lines(found);
    all.difference(&found).count() > found.difference(all).count()
}

/// The commands that end with 0 and with less.
fn liars(place: &Place, all: &BTreeSet<&[u8]>) -> Vec<&'static str> {
    let pool = &*place.text("damaged");
    let (folder, copy) = (&*place.text("folder"), &*place.text("copy"));
    let reads = |pool: &str| {
        let output = endura(&["export", pool, "--format", "tsv"]);
        code(&output) == 0 && is_less(&output.stdout, all)
    };
    let copies = |command: &str| {
        let output = endura(&[command, pool, copy]);
        let is_less = code(&output) == 0 && reads(copy);
        let _ = fs::remove_file(copy);
        is_less
    };
    let mut liars = Vec::new();
    let mut note = |name, is_less| {
        if is_less {
            liars.push(name)
        }
    };
    note("export", reads(pool));
    let output = endura(&["export", pool, "--all", folder, "--format", "tsv"]);
    let file = fs::read(Path::new(folder).join("main.tsv")).unwrap_or_default();
    note("export --all", code(&output) == 0 && is_less(&file, all));
    let _ = fs::remove_dir_all(folder);
    for (name, scan) in [("scan", &["scan", pool][..]), ("back", &["scan", pool, "--reverse"])] {
        let output = endura(scan);
        note(name, code(&output) == 0 && is_less(&output.stdout, all));
    }
    let output = endura(&["count", pool, "--verify", "--json"]);
    let is_all = || json(text(&output.stdout))["entries"]["main"] == ENTRIES;
    note("count", code(&output) == 0 && !is_all());
    note("compact", copies("compact"));
    note("backup", copies("backup"));
    let is_sound = code(&endura(&["check", pool])) == 0;
    let output = endura(&["export", pool, "--format", "tsv"]);
    note("check", is_sound && is_less(&output.stdout, all));
    liars
}

#[test]
fn no_command_ends_with_0_and_with_less() {
    let mut cells = 0;
    for kind in KINDS {
        let place = Place::in_memory();
        let pool = &*place.pool();
        let entry = |n: u64| match kind {
            "roart" => format!("key/{}/{n:06}\tvalue {}\n", n % 7, "x".repeat(n as usize % 60)),
            _ => format!("{}\t{}\n", 7 * n, 13 * n),
        };
        let entries: String = (1..=ENTRIES).map(entry).collect();
        let import = ["import", pool, "-", "--format", "tsv", "--no-checkpoints", "--kind", kind];
        assert_eq!(code(&endura_with(&import, entries.as_bytes())), 0);
        let all = lines(entries.as_bytes());
        let whole = fs::read(pool).expect("the pool");
        fs::copy(pool, place.path("damaged")).expect("a copy");
        assert_eq!(liars(&place, &all), [""; 0], "{kind}, undamaged");
        let file = File::options().write(true).open(place.path("damaged")).expect("the copy");
        let mut image = Pool::new(kind, whole.clone());
        for (name, damage) in DAMAGES {
            for round in 0..PLACES {
                image.bytes.copy_from_slice(&whole);
                if !damage(&mut image) {
                    continue;
                }
                file.write_all_at(&image.bytes, 0).expect("the damage");
                assert_eq!(liars(&place, &all), [""; 0], "{kind}, {name}, place {round}");
                cells += 8;
            }
        }
    }
    assert!(cells > 8 * KINDS.len() * DAMAGES.len() * PLACES / 2, "{cells}");
}

/// The first entry of the directory, and its bytes.
const DIRECTORY: usize = 16_384;
const ENTRY: usize = 1024;

/// What hides a map, if that is damaged.
const HIDING: [(&str, std::ops::Range<usize>); 5] = [
    ("the state of the first map", DIRECTORY..DIRECTORY + 8),
    ("the first map", DIRECTORY..DIRECTORY + ENTRY),
    ("the second map", DIRECTORY + ENTRY..DIRECTORY + 2 * ENTRY),
    ("a sector", DIRECTORY + ENTRY..DIRECTORY + ENTRY + SECTOR),
    ("a page", DIRECTORY..DIRECTORY + PAGE),
];

#[test]
fn no_command_ends_with_0_and_without_a_map() {
    let place = Place::in_memory();
    let (pool, damaged) = (&*place.pool(), &*place.text("damaged"));
    let (folder, copy) = (&*place.text("folder"), &*place.text("copy"));
    for map in ["a", "b"] {
        let import = ["import", pool, "-", "--format", "tsv", "--no-checkpoints", "--map", map];
        assert_eq!(code(&endura_with(&import, b"1\t1\n")), 0);
    }
    let whole = fs::read(pool).expect("the pool");
    for (name, zeros) in HIDING {
        let mut bytes = whole.clone();
        bytes[zeros].fill(0);
        fs::write(damaged, &bytes).expect("the damage");
        let commands: [&[&str]; 7] = [
            &["count", damaged],
            &["count", damaged, "--verify"],
            &["check", damaged],
            &["export", damaged, "--all", folder],
            &["compact", damaged, copy],
            &["backup", damaged, copy],
            &["put", damaged, "--map", "a", "2", "2"],
        ];
        for command in commands {
            let output = endura(command);
            // A check answers no.
            let refused = if command[0] == "check" { 1 } else { 3 };
            assert_eq!(code(&output), refused, "{name}: {command:?}: {}", text(&output.stderr));
        }
        assert_eq!(fs::read(damaged).expect("the pool"), bytes, "{name}: it was written to");
        assert!(!Path::new(copy).exists(), "{name}");
    }
}
