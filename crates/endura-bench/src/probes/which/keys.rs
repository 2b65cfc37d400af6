//! The keys that people have.

use std::collections::HashSet;
use std::io::Write;

/// A set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum KeySet {
    /// Numbers of 64 bits, at random: keys of the type `u64`.
    Numbers,
    /// Eight random bytes.
    Bytes8,
    /// `user` and twenty digits, at random.
    Random24,
    /// A hundred bytes: sixteen random digits behind 84 that are the same in one of 64 groups.
    Bytes100,
    /// `user:` and twelve digits.
    Users,
    /// Addresses of pages; a few of 3,000 domains have most of them.
    Urls,
    /// Paths of files in 1,400 folders.
    Paths,
    /// Words of two to seven syllables.
    Words,
    /// As the module for Redis keeps hashes: eight bytes of the hash's number, one of a thousand, and `field:` with digits.
    Redis,
}

impl KeySet {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Numbers,
        Self::Bytes8,
        Self::Random24,
        Self::Bytes100,
        Self::Users,
        Self::Urls,
        Self::Paths,
        Self::Words,
        Self::Redis,
    ];

    /// The name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Numbers => "u64",
            Self::Bytes8 => "8-bytes",
            Self::Random24 => "24-bytes",
            Self::Bytes100 => "100-bytes",
            Self::Users => "users",
            Self::Urls => "urls",
            Self::Paths => "paths",
            Self::Words => "words",
            Self::Redis => "redis",
        }
    }

    /// The bytes of the part of a key that a prefix scan gives.
    pub(super) fn prefix_of(self, key: &[u8]) -> &[u8] {
        let behind = match self {
            Self::Numbers | Self::Bytes8 => 2,
            Self::Random24 => 7,
            Self::Bytes100 => 86,
            Self::Users => 8,
            // The domain, the folder.
            Self::Urls => key.iter().skip(8).position(|&byte| byte == b'/').map_or(0, |at| at + 9),
            Self::Paths => key.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1),
            Self::Words => 4,
            Self::Redis => 8,
        };
        &key[..behind.min(key.len())]
    }

    /// Appends the `i`-th key. Two numbers may have the same one.
    fn spell(self, i: u64, out: &mut Vec<u8>) {
        let mixed = mixed(i);
        let spelled = match self {
            Self::Numbers | Self::Bytes8 => out.write_all(&mixed.to_be_bytes()),
            Self::Random24 => write!(out, "user{mixed:020}"),
            Self::Bytes100 => write!(out, "group-{:02}-{:-<75}{mixed:016x}", i % 64, ""),
            Self::Users => write!(out, "user:{:012}", mixed % 900_000_000_000),
            Self::Urls => {
                let skewed = (f64::from(mixed as u32) / f64::from(u32::MAX)).powi(4) * 3000.0;
                write!(out, "https://www.site{}.org/{:x}", skewed as u64, mixed >> 24)
            }
            Self::Paths => {
                let [user, folder, part] = [mixed % 5, (mixed >> 8) % 7, (mixed >> 16) % 40];
                let file = mixed >> 30;
                write!(out, "/home/user{user}/project/source/{folder:02}/part{part:03}/{file:x}")
            }
            Self::Words => {
                // Short words are used up soon.
                let syllables = (2 + mixed % 6).max(2 + u64::from(i.max(1).ilog10()) / 2);
                let mut left = mixed >> 3;
                for _ in 0..syllables {
                    out.push(b"bcdfghjklmnprstvwz"[(left % 18) as usize]);
                    out.push(b"aeiou"[(left / 18 % 5) as usize]);
                    left = left / 90 + (left % 7) * 0x2545_F491;
                }
                Ok(())
            }
            Self::Redis => {
                out.extend((mixed % 1000).to_be_bytes());
                write!(out, "field:{}", mixed >> 34)
            }
        };
        spelled.unwrap_or_else(|_| unreachable!("a vector takes everything"));
    }
}

/// Numbers that look random, a different one for each number.
fn mixed(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Keys in the order in which they are used, in one piece of memory.
#[derive(Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// `count` different keys, none of them one of `taken`, spelled from the numbers from `from` on. Returns as well the
    /// number behind the last that was used.
    pub(super) fn different(
        set: KeySet,
        count: usize,
        from: u64,
        taken: &mut HashSet<u64>,
    ) -> (Self, u64) {
        let (mut keys, mut next) = (Self::default(), from);
        while keys.len() < count {
            let start = keys.bytes.len();
            set.spell(next, &mut keys.bytes);
            next += 1;
            // Of keys that agree in 64 bits of their hash, one is left out: there are enough others.
            match taken.insert(hash(&keys.bytes[start..])) {
                true => keys.ends.push(keys.bytes.len()),
                false => keys.bytes.truncate(start),
            }
        }
        (keys, next)
    }

    /// `count` of these keys, at random.
    pub(super) fn pick(&self, count: usize, seed: u64) -> Self {
        let mut keys = Self::default();
        for i in 0..count as u64 {
            let at = (mixed(i ^ seed << 32) % self.len() as u64) as usize;
            keys.bytes.extend_from_slice(self.get(at));
            keys.ends.push(keys.bytes.len());
        }
        keys
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

fn hash(key: &[u8]) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_different_and_begin_with_their_prefix() {
        for set in KeySet::ALL {
            let mut taken = HashSet::new();
            let (keys, next) = Keys::different(set, 5_000, 0, &mut taken);
            let (others, _) = Keys::different(set, 500, next, &mut taken);
            let all: HashSet<&[u8]> = keys.iter().chain(others.iter()).collect();
            assert_eq!(all.len(), 5_500, "{set:?}");
            let shared = |key: &[u8]| {
                let prefix = set.prefix_of(key);
                keys.iter().filter(|other| other.starts_with(prefix)).count()
            };
            assert!((1..2_000).contains(&shared(keys.get(17))), "{set:?}");
            let picked = keys.pick(100, 1);
            assert!(picked.len() == 100 && picked.iter().all(|key| all.contains(key)));
        }
        assert_eq!(
            Keys::different(KeySet::Bytes100, 1, 0, &mut HashSet::new()).0.get(0).len(),
            100
        );
    }
}
