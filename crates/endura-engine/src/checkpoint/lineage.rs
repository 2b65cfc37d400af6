//! Which checkpoint belongs to which pool.
//!
//! Each session that may write draws a random number. The superblock records that number, and the number in the
//! checkpoint that the session found (`base`). A checkpoint records the session that made it. So a checkpoint is of the
//! pool's history if the last session made it, or if it is the one that the last session found. If only the pool, or
//! only the checkpoint, is replaced by a backup, the two no longer match.
//!
//! | the pool's last session | the checkpoint | what it is |
//! | --- | --- | --- |
//! | any | of another pool | foreign |
//! | `S`, base `B` | of neither `S` nor `B` | stale |
//! | `S`, closed | of `S`, with the superblock of the close | current: not a byte differs |
//! | `S`, closed | any other of `S` or `B` | it lags: no power loss may take the pool back to before that close |
//! | `S`, not closed | of `S` | the state to which a power loss takes the pool back |
//! | `S`, not closed | of `B` | that state as well, unless the checkpoint lagged already when `S` began |
//!
//! A session makes many checkpoints, and only the last one stands for its close. So a session that finds the pool
//! closed, and the checkpoint of that close, also records when that checkpoint was made: an earlier one of `B` is then
//! stale as well. Otherwise a session does not record that time, because the newest root of a killed session may not be
//! durable, and a power loss leaves the root before it.
//!
//! A close makes its checkpoint before it writes the superblock that says "closed". A power loss between the two leaves
//! a pool that was not closed, and a checkpoint of `S` with all that was in the pool.
//!
//! # Which checkpoint of a session
//!
//! Checkpoints are numbered. The pool records the number `w` of the newest one (`space/file/newest_number.rs`), and
//! whether the next one may exist. A round records that the next one may exist before it writes the root, and writes
//! the new number when the checkpoint is durable and has its name. A session that begins writes the number of the
//! checkpoint that it found. If that checkpoint may not be durable, because a killed session made it, the session
//! records that the newest is the one before it, or this one. So for a pool that was not closed, and a checkpoint of
//! `S` or `B` with the number `n`:
//!
//! | | the process ended | the machine went down |
//! | --- | --- | --- |
//! | `n = w` | nothing has happened since | the same |
//! | `n = w + 1`, a round was running | the process was killed before it wrote the number | the same |
//! | `n > w` otherwise | stale: the pool is from a backup | the page with `w` is old: the pool goes back to this one |
//! | `n < w` | older: the checkpoint is from a backup | older: a durable checkpoint is missing |
//! | `w` is not known | any is accepted | any is accepted |
//!
//! A closed pool is whole, and its checkpoint is current or is not: the numbers do not matter.

use crate::checkpoint::file::root::Moment;
use crate::space::Base;
use crate::space::Newest;
use crate::space::Superblock;

/// How a checkpoint relates to a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The checkpoint is of another pool.
    Foreign,
    /// The checkpoint is of this pool, but the pool's last session neither made it nor found it; or the pool is older
    /// than the checkpoint.
    Stale,
    /// The checkpoint is of the right session, but the pool has made a newer one.
    Older,
    /// The checkpoint is of this pool's history.
    Related {
        /// Whether the pool was closed, and equals the checkpoint.
        is_current: bool,
        /// Whether the pool was closed later, so that the checkpoint lacks what was written before that close.
        lags: bool,
    },
}

/// What a pool records about its checkpoints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'s> {
    pub(crate) last: &'s Superblock,
    /// The newest checkpoint, if it is known.
    pub(crate) newest: Option<Newest>,
    /// Whether pages of the pool may be old, including the page with the number of the newest checkpoint.
    pub(crate) may_be_torn: bool,
}

/// How the next session of this pool names the checkpoint of this moment. `None` unless it is
/// [related](Relation::Related) to the pool.
pub(crate) fn base(said: Said<'_>, moment: &Moment, number: u64) -> Option<Base> {
    let Relation::Related { is_current, lags } = relation(said, moment, number) else {
        return None;
    };
    let last = said.last;
    let Superblock { session, .. } = Superblock::decode(&moment.superblock)?;
    let made = match is_current {
        true => moment.made,
        false if session == last.base => last.base_made,
        false => 0,
    };
    Some(Base { session, made, lags })
}

/// How the checkpoint of this moment and number relates to a pool that records `said`.
pub(crate) fn relation(said: Said<'_>, moment: &Moment, number: u64) -> Relation {
    let last = said.last;
    let Some(root) = Superblock::decode(&moment.superblock) else { return Relation::Foreign };
    if root.uuid != last.uuid {
        return Relation::Foreign;
    }
    let is_own = root.session == last.session;
    let is_base =
        root.session == last.base && (last.base_made == 0 || moment.made == last.base_made);
    if root.session == [0; 16] || !is_own && !is_base {
        return Relation::Stale;
    }
    match said.newest.filter(|_| !last.clean) {
        Some(newest) if number < newest.number => return Relation::Older,
        Some(newest) if !said.may_be_torn => {
            let ahead = number - newest.number;
            if ahead > u64::from(newest.is_under_way) {
                return Relation::Stale;
            }
        }
        _ => {}
    }
    let is_current = last.clean && is_own && root.clean && root.sequence == last.sequence;
    let lags = if last.clean { !is_current } else { !is_own && last.base_lags };
    Relation::Related { is_current, lags }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_sessions_checkpoint_or_the_one_it_found_is_related() {
        let last = Superblock {
            session: [2; 16],
            base: [1; 16],
            sequence: 7,
            clean: false,
            ..Superblock::of_new_pool([9; 16])
        };
        let closed = Superblock { clean: true, sequence: 8, ..last };
        let of =
            |root: Superblock| Moment { pages: 16, made: 4, superblock: root.encode(), path: 0 };
        let related = |is_current, lags| Relation::Related { is_current, lags };
        let base = Superblock { session: [1; 16], base: [0; 16], sequence: 5, clean: true, ..last };
        let exact = Superblock { base_made: 4, ..last };
        let cases = [
            (Superblock { base_made: 5, ..last }, base, Relation::Stale),
            (exact, base, related(false, false)),
            (exact, last, related(false, false)),
            (last, Superblock { uuid: [8; 16], ..last }, Relation::Foreign),
            (last, Superblock { session: [3; 16], ..last }, Relation::Stale),
            (last, Superblock { session: [0; 16], ..last }, Relation::Stale),
            (Superblock { base: [0; 16], ..last }, base, Relation::Stale),
            (last, last, related(false, false)),
            (last, closed, related(false, false)),
            (last, base, related(false, false)),
            (Superblock { base_lags: true, ..last }, base, related(false, true)),
            (Superblock { base_lags: true, ..last }, last, related(false, false)),
            (closed, closed, related(true, false)),
            (closed, last, related(false, true)),
            (closed, Superblock { sequence: 6, ..closed }, related(false, true)),
            (closed, base, related(false, true)),
        ];
        for (last, root, want) in cases {
            let said = Said { last: &last, newest: None, may_be_torn: false };
            assert_eq!(relation(said, &of(root), 3), want, "{last:?} and {root:?}");
            let named = super::base(said, &of(root), 3);
            let is_named_exactly = named.is_some_and(|base| base.made == 4);
            let is_current = matches!(want, Relation::Related { is_current: true, .. });
            assert_eq!(is_named_exactly, is_current || last.base_made == 4 && root == base);
        }
        let torn = Moment { superblock: [7; 256], ..of(last) };
        let said = Said { last: &last, newest: None, may_be_torn: false };
        assert_eq!(relation(said, &torn, 3), Relation::Foreign);
    }

    /// The table of numbers above.
    #[test]
    fn of_the_right_session_the_newest_one_counts() {
        let last = Superblock {
            session: [2; 16],
            base: [1; 16],
            clean: false,
            ..Superblock::of_new_pool([9; 16])
        };
        let good = Relation::Related { is_current: false, lags: false };
        for session in [last.session, last.base] {
            let superblock = Superblock { session, ..last }.encode();
            let moment = Moment { pages: 16, made: 4, superblock, path: 0 };
            let (idle, in_round) = (Newest::is(7), Newest::is_at_least(7));
            for (newest, number, killed, went_down) in [
                (idle, 6, Relation::Older, Relation::Older),
                (idle, 7, good, good),
                (idle, 8, Relation::Stale, good),
                (in_round, 6, Relation::Older, Relation::Older),
                (in_round, 7, good, good),
                (in_round, 8, good, good),
                (in_round, 9, Relation::Stale, good),
            ] {
                for (may_be_torn, want) in [(false, killed), (true, went_down)] {
                    let said = Said { last: &last, newest: Some(newest), may_be_torn };
                    let found = relation(said, &moment, number);
                    assert_eq!(found, want, "{newest:?}, {number}, {may_be_torn}");
                    let unknown = Said { newest: None, ..said };
                    assert_eq!(relation(unknown, &moment, number), good);
                }
            }
            let closed = Superblock { clean: true, ..last };
            let newest = Some(Newest::is(7));
            let said = Said { last: &closed, newest, may_be_torn: false };
            let lags = Relation::Related { is_current: false, lags: true };
            assert_eq!(relation(said, &moment, 3), lags);
        }
    }
}
