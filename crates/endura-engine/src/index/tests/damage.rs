//! Intents of a killed commit that are damaged.

use super::*;
use crate::cpu::crc32c;

/// A pool whose last session was killed in a commit, and the place of its intent.
fn killed() -> (Heap, u64) {
    let world = World::of_pages(4);
    world.commit(&before()).unwrap();
    world.commit_in_part(&changes(), 7);
    let image = world.image(4);
    let at = intent_of(&image);
    (image, at)
}

/// The offset to which the first BATCH word leads.
pub(super) fn intent_of(image: &Heap) -> u64 {
    Region::new(image, 8256, 1).unwrap().load(0, Ordering::Relaxed) & ((1 << 48) - 1)
}

fn words(image: &Heap, at: u64) -> Region<'_, Heap> {
    let bytes = Region::new(image, at, 3).unwrap().load(2, Ordering::Relaxed);
    Region::new(image, at, bytes as usize / 8).unwrap()
}

/// No bit of an intent, or of a BATCH word, may be another one.
#[test]
fn each_flipped_bit_is_noticed() {
    let (image, at) = killed();
    let of_page_0 = Region::new(&image, 8256, 16).unwrap();
    let mut flips = 0;
    for region in [words(&image, at), of_page_0] {
        for i in 0..region.words() {
            let word = region.load(i, Ordering::Relaxed);
            for bit in 0..64 {
                region.store(i, word ^ 1 << bit, Ordering::Relaxed);
                let found = Space::inspect_intents(&image);
                assert!(
                    matches!(found, Err(Error::Corrupt { .. })),
                    "word {i}, bit {bit}: {found:?}"
                );
                flips += 1;
            }
            region.store(i, word, Ordering::Relaxed);
        }
    }
    Space::inspect_intents(&image).unwrap();
    println!("{flips} flips");
}

/// An intent with a true checksum that no program of ours has written is an error or some changes, and never a panic.
#[test]
fn an_intent_that_nobody_has_written_is_no_panic() {
    let rounds = std::env::var("ROUNDS").map_or(150, |rounds| rounds.parse().unwrap());
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let (mut refused, mut made) = (0, 0);
    let world = World::of_pages(4);
    world.commit(&before()).unwrap();
    world.commit_in_part(&changes(), 7);
    for _ in 0..rounds {
        let image = world.image(4);
        let at = intent_of(&image);
        let intent = words(&image, at);
        for _ in 0..1 + below(3) {
            let i = below(intent.words() as u64) as usize;
            let word = intent.load(i, Ordering::Relaxed);
            let new = match below(5) {
                0 => word ^ 1 << below(64),
                1 => intent.load(below(intent.words() as u64) as usize, Ordering::Relaxed),
                2 => word.wrapping_add(below(64)).wrapping_sub(32),
                3 => [0, 1, u64::MAX, at, 8256, 16_384][below(6) as usize],
                _ => below(u64::MAX),
            };
            // The length of the intent says what the checksum is of.
            if ![0, 2, 4].contains(&i) {
                intent.store(i, new, Ordering::Relaxed);
            }
        }
        intent.store(4, 0, Ordering::Relaxed);
        let sum = (0..intent.words()).fold(0, |sum, i| {
            crc32c::append(sum, &intent.load(i, Ordering::Relaxed).to_le_bytes())
        });
        intent.store(4, sum.into(), Ordering::Relaxed);
        let opened =
            Space::inspect_intents(&image).and_then(|()| Space::mount(image, AFTER_A_KILL));
        let Ok(space) = opened.map(Arc::new) else {
            refused += 1;
            continue;
        };
        match replay(&space, false) {
            Ok(_) => made += 1,
            Err(Error::Full { .. }) => panic!("full"),
            Err(_) => refused += 1,
        }
    }
    println!("{made} applied, {refused} refused");
}
