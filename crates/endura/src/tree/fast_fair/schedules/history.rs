//! Whether what the threads saw can have happened one after the other.

use std::collections::HashSet;

/// One operation on one key, between two moments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) key: u64,
    pub(super) began: u64,
    pub(super) ended: u64,
    /// The value that it found.
    pub(super) saw: Option<u64>,
    /// What it made of it, if it wrote.
    pub(super) left: Option<Option<u64>>,
}

/// Checks each key by itself: a map is linearizable if each of its keys is. All start absent.
pub(super) fn check(events: &mut [Event]) -> Result<(), String> {
    events.sort_by_key(|event| (event.key, event.began));
    for of_key in events.chunk_by(|a, b| a.key == b.key) {
        // Moments at which nothing was under way cut the history: what comes before happened.
        let (mut states, mut from, mut latest) = (HashSet::from([None]), 0, 0);
        for (i, event) in of_key.iter().enumerate() {
            if i > from && event.began > latest {
                states = outcomes(&of_key[from..i], &states);
                from = i;
            }
            latest = latest.max(event.ended);
        }
        if outcomes(&of_key[from..], &states).is_empty() {
            return Err(format!("no order explains {:#?}", &of_key[from.saturating_sub(2)..]));
        }
    }
    Ok(())
}

/// The values that the key can have after these events, tried in every order (Wing and Gong).
fn outcomes(events: &[Event], before: &HashSet<Option<u64>>) -> HashSet<Option<u64>> {
    assert!(events.len() < 128);
    let all = (1u128 << events.len()) - 1;
    let (mut ends, mut seen) = (HashSet::new(), HashSet::new());
    let mut todo: Vec<(u128, Option<u64>)> = before.iter().map(|&value| (0, value)).collect();
    while let Some((done, value)) = todo.pop() {
        if !seen.insert((done, value)) {
            continue;
        }
        if done == all {
            ends.insert(value);
            continue;
        }
        let open = || (0..events.len()).filter(|i| done >> i & 1 == 0);
        let first_end = open().map(|i| events[i].ended).min().unwrap_or(u64::MAX);
        for i in open().filter(|&i| events[i].began <= first_end && events[i].saw == value) {
            todo.push((done | 1 << i, events[i].left.unwrap_or(value)));
            if events[i].left.is_none() {
                // A read that can come now loses nothing by coming now.
                break;
            }
        }
    }
    ends
}
