//! Published bugs, planted and found.
//!
//! Each bug of [`table`] is carried into a structure and must be found within the number of crash
//! images that stands beside it; the same structure without the bug must pass the same campaign.
//! They live in small structures written for the purpose, whose flawed lines stand beside the sound
//! ones. Faults at single calls of endura's own trees and pool are those of `mutation`.
//!
//! `cargo test -p endura-sim --test planted -- --nocapture` prints how soon each was found.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod boxed;
mod buckets;
mod chain;
mod chunks;
mod collected;
mod hunt;
mod leaf;
mod passing;
mod radix;
mod spans;
mod table;

use hunt::Hunt;
use table::{Planted, Row, TABLE};

/// The campaign in which a bug must be found; without the bug if not `flawed`.
fn hunt(bug: Planted, flawed: bool) -> Hunt {
    use Planted as P;
    let planted = flawed.then_some(bug);
    match bug {
        P::PublishBeforeInit
        | P::NoFenceBeforePublish
        | P::FlushOfThePointer
        | P::FlushRoundedTo512
        | P::HalfOfTheObjectFlushed
        | P::ConstructorUnflushed
        | P::MagicFirst
        | P::RootInTwoWords
        | P::DirtyRead => boxed::hunt(planted),
        P::FastDeleteFlushesHead
        | P::FastDeleteTailUnflushed
        | P::FastDeleteIgnoresDuplicates
        | P::FastTerminatorFirst
        | P::FastLivenessByValues
        | P::FastCountPersisted
        | P::FastKeyBeforeValue
        | P::FastRelaxedStores
        | P::PopTakesTheNeighbour
        | P::PopBeforeDurable => leaf::hunt(planted),
        P::V8 | P::V9 | P::V10 | P::V11 => chain::hunt(planted),
        P::V12 | P::V13 => passing::hunt(planted),
        P::V16 | P::LeakBeforeLink | P::FreeBeforeUnlinkDurable => chunks::hunt(planted),
        P::CollectWithoutGrace
        | P::CollectForgetsFrees
        | P::CollectForgetsMoves
        | P::CollectNewChunks
        | P::V17 => collected::hunt(planted),
        P::RebuiltCountOffByOne | P::PersistentLatch | P::KeyAndChildApart => radix::hunt(planted),
        P::FreeOfWrongLength | P::SpanBeforeItsRest => spans::hunt(planted),
        P::TokenBeforeData | P::MoveClearsFirst => buckets::hunt(planted),
    }
}

/// What is wrong with a row of the table.
fn complaint(row: &Row) -> Option<String> {
    let Row { bug, source, within } = row;
    let Hunt { failure, tally } = hunt(*bug, true);
    let Some(failure) = failure else {
        return Some(format!("{bug:?} is not found in {} images", tally.images));
    };
    println!("{bug:?}: {} of {within} images; {source}\n{failure}", tally.images);
    if tally.images > *within {
        return Some(format!("{bug:?} is found after {} images only", tally.images));
    }
    let sound = hunt(*bug, false);
    println!("sound: {} images\n", sound.tally.images);
    if sound.tally.images <= tally.images && sound.tally.traces <= tally.traces {
        return Some(format!("{bug:?}: the sound form is not explored any further"));
    }
    sound.failure.map(|failure| format!("{bug:?}, without the bug: {failure}"))
}

#[test]
fn every_bug_is_found_and_its_absence_is_not() {
    assert!(TABLE.iter().enumerate().all(|(i, row)| row.bug as usize == i), "one row for each bug");
    let complaints: Vec<String> = TABLE.iter().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
