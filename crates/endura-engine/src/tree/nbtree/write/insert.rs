//! Inserts: claim a slot, write it, and agree with all other inserts of the same key.
//!
//! | step | what | why in this order |
//! | --- | --- | --- |
//! | I2 | claim a slot by the control word | a slot has one owner for ever |
//! | I3 | fingerprint, value, then the word: EMPTY to PENDING | a thread that sees the word finds the value; an insert of the same key finds the fingerprint |
//! | | check for an [announced pop](crate::space::MapState::pops) that has to come first | a pop announced later finds the PENDING slot |
//! | I4 | look at all slots with the same fingerprint | of two slots that are PENDING with the same key, the owner of at least one sees the other |
//! | I5 | PENDING to LIVE, flush, drain | the entry is there, and it is durable |
//!
//! In I4 the lowest PENDING slot of a key wins. A thread that finds a higher PENDING slot kills it. A thread that finds
//! a lower PENDING slot first completes that insert, as its owner would. A thread that finds an entry of the key kills
//! its own insert, which starts over and then meets the entry. No slot returns to an earlier state, so that each of
//! these exchanges succeeds once, whichever thread makes it.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::sync::{Ordering, fence, fence_behind_exchange};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::{Hash, Local};
use crate::tree::nbtree::keys::word::{State, Word};
use crate::tree::nbtree::metadata::leaf::{Flight, slots};
use crate::tree::nbtree::read::lookup::{CurrentLeaf, Sought};
use crate::tree::nbtree::tree::Tree;

/// The outcome of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The insert became an entry, perhaps through another thread. The entry may have been removed since.
    Won,
    /// Another entry of the same key was present.
    Lost,
    /// The block was frozen before the insert was decided.
    Frozen,
}

/// The outcome of an insert whose slot was once `pending` and now has `word`.
fn verdict(word: Word, pending: Word) -> Verdict {
    match word.thawed() {
        Word::KILLED => Verdict::Lost,
        word if word == pending => Verdict::Frozen,
        // LIVE, or DEAD: a DEAD slot was LIVE before.
        _ => Verdict::Won,
    }
}

/// A key that is being inserted, and its image in the leaf.
type Imaged<'k, D> = (Sought<'k, D>, Local);

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Inserts a key that was absent. `None` if the caller has to search for the key again.
    #[inline(always)]
    pub(crate) fn insert(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &CurrentLeaf<'_, '_, M, W, D>,
        key: Sought<'_, D>,
        value: u64,
    ) -> Result<Option<Option<u64>>> {
        let hash = D::Keys::hash(key);
        let image = D::Keys::image(|| place.leaf.extent(), key);
        let Some(slot) = claim(place, hash) else {
            self.change(guard, partition, place.number)?;
            return Ok(None);
        };
        let (leaf, block) = (place.leaf, place.block);
        guard.media().mark(Mark::Step("insert.I2"));
        leaf.fingerprints.set(slot, Block::<M, W, D::Keys>::fingerprint(hash, slot));
        // equivalent mutant, relaxed: not seen: pairs with a cursor without a pin that still reads this slot for a leaf
        // of two epochs before, which takes late visibility of the epoch, in DRAM.
        block.set_value(slot, value);
        guard.media().mark(Mark::Step("insert.I3"));
        let exchanged = block.exchange(slot, Word::EMPTY, Word::pending(image));
        guard.media().mark(Mark::Step("insert.pending"));
        let verdict = match exchanged {
            // The slot is PENDING, so that a pop that is announced later finds it. `admit` is called before any thread
            // makes an entry of the slot: a thread that completes it for its owner has seen it PENDING, and calls
            // `admit` as well.
            Ok(()) if self.open.map().pops().admit(&D::Keys::new_key(partition, key)) => {
                self.arbitrate(guard, partition, place, slot, (key, image))
            }
            // An announced pop has to come before this insert.
            Ok(()) => match self.give_up(place, slot, image) {
                Verdict::Won => self.counted(self.won(place, slot)),
                Verdict::Lost | Verdict::Frozen => return Ok(None),
            },
            Err(_) => {
                // The slot was frozen, and stays empty for ever.
                leaf.note_gone(1);
                self.change(guard, partition, place.number)?;
                return Ok(None);
            }
        };
        let verdict = match verdict {
            Verdict::Frozen => match self.change(guard, partition, place.number) {
                // On return the block is frozen: what the slot holds is final.
                Ok(()) => self.counted(self::verdict(block.word(slot), Word::pending(image))),
                // Perhaps only the slot of a rival was frozen. Then a helping thread could still make an entry of the
                // slot of this insert.
                Err(error) => match self.give_up(place, slot, image) {
                    Verdict::Won => self.counted(self.won(place, slot)),
                    Verdict::Lost | Verdict::Frozen => return Err(error),
                },
            },
            decided => decided,
        };
        Ok((verdict == Verdict::Won).then_some(None))
    }

    /// Counts this thread's insert, which another thread completed, if it won.
    fn counted(&self, verdict: Verdict) -> Verdict {
        if verdict == Verdict::Won {
            self.open.map().add(1);
            // Elsewhere the exchange of `commit` follows the count. There is none on this path, so a full fence takes its
            // place: a thread that reads the count after this insert has returned finds the insert counted.
            fence(Ordering::SeqCst);
        }
        verdict
    }

    /// I4 and I5. Counts the insert if it won.
    #[inline(always)]
    fn arbitrate(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &CurrentLeaf<'_, '_, M, W, D>,
        own: usize,
        (key, image): Imaged<'_, D>,
    ) -> Verdict {
        // This fence follows the exchange that made the word PENDING. It pairs with the same fence of another insert of
        // the key: one of the two inserts sees the other.
        fence_behind_exchange();
        guard.media().mark(Mark::Step("insert.I4"));
        match self.look_at_rivals(place, own, own, (key, image)) {
            Rivals::None { dead } => {
                // Counted before the exchange, which is the operation's last locked instruction.
                self.open.map().add(1);
                let word = self.commit(guard, place, own, image, dead);
                let verdict = verdict(word, Word::pending(image));
                if verdict != Verdict::Won {
                    self.open.map().add(-1);
                }
                verdict
            }
            found => {
                let key = (key, image);
                self.counted(self.arbitrate_among(guard, partition, place, found, own, key))
            }
        }
    }

    /// As [`arbitrate`](Self::arbitrate), with the rivals that its look found.
    #[cold]
    #[inline(never)]
    fn arbitrate_among(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &CurrentLeaf<'_, '_, M, W, D>,
        mut found: Rivals,
        own: usize,
        (key, image): Imaged<'_, D>,
    ) -> Verdict {
        let (block, pending) = (place.block, Word::pending(image));
        let mut candidate = own;
        loop {
            let dead = match found {
                Rivals::None { dead } => dead,
                Rivals::Lower(slot) => {
                    candidate = slot;
                    found = self.look_at_rivals(place, candidate, own, (key, image));
                    continue;
                }
                Rivals::Decided(Verdict::Won) => return self.won(place, own),
                Rivals::Decided(verdict) => return verdict,
            };
            // This thread's own insert has been killed in favour of the candidate, so that a pop announced meanwhile
            // may have found neither of the two PENDING. (The load that saw a rival PENDING orders the call of `admit`
            // as an exchange would.)
            let new_key = D::Keys::new_key(partition, key);
            if candidate != own && !self.open.map().pops().admit(&new_key) {
                return match self.give_up(place, own, image) {
                    Verdict::Won => self.won(place, own),
                    verdict => verdict,
                };
            }
            let word = self.commit(guard, place, candidate, image, dead);
            if candidate == own {
                return verdict(word, pending);
            }
            if word.thawed() == pending {
                return Verdict::Frozen;
            }
            let word = block.word(own);
            match verdict(word, pending) {
                // The own insert is still undecided, and the rival is gone.
                Verdict::Frozen if !word.is_frozen() => candidate = own,
                Verdict::Won => return self.won(place, own),
                verdict => return verdict,
            }
            found = self.look_at_rivals(place, candidate, own, (key, image));
        }
    }

    /// Decides all inserts that are PENDING in a block, as their owners would. A pop calls this, because these inserts
    /// may not have seen its announcement. Later inserts see it.
    pub(crate) fn decide_inserts(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &CurrentLeaf<'_, '_, M, W, D>,
    ) -> Result<()> {
        let (block, images) = (&place.block, D::Keys::images(place.leaf.extent()));
        let mut buffer = Vec::new();
        for slot in Block::<M, W, D::Keys>::FIRST..Block::<M, W, D::Keys>::SLOTS {
            let word = block.word(slot);
            let State::Pending(image) = word.state() else { continue };
            let value = || block.value(slot);
            // A frozen insert can no longer become an entry. An insert that a crash left has no fingerprint, and no
            // thread decides it.
            let hash = D::Keys::hash_of_entry(image, value);
            let tagged = place.leaf.fingerprints.matching(hash, Block::<M, W, D::Keys>::home(hash));
            if !word.is_frozen() && images.contains(&image) && tagged >> slot & 1 == 1 {
                buffer.clear();
                let key = D::Keys::key_of(guard.media(), (image, value()), &mut buffer)?;
                // The fence is between the load of the word and the look at the other slots, as in `arbitrate`.
                fence(Ordering::SeqCst);
                let found = self.look_at_rivals(place, slot, slot, (key, image));
                self.arbitrate_among(guard, partition, place, found, slot, (key, image));
            }
        }
        Ok(())
    }

    /// Called if another thread has completed this thread's own insert, perhaps without having made it durable yet. (If
    /// caches are durable, the insert is durable: the exchanges of both threads have drained their store buffers.)
    fn won(&self, place: &CurrentLeaf<'_, '_, M, W, D>, own: usize) -> Verdict {
        place.block.help_flush_slot(own);
        Verdict::Won
    }

    /// Looks at every slot that may hold the key of `candidate`.
    #[inline(always)]
    fn look_at_rivals(
        &self,
        place: &CurrentLeaf<'_, '_, M, W, D>,
        candidate: usize,
        own: usize,
        (key, image): Imaged<'_, D>,
    ) -> Rivals {
        let (block, pending, live) = (place.block, Word::pending(image), Word::live(image));
        let mut dead = 0;
        for slot in slots(place.matching(key)).filter(|&slot| slot != candidate) {
            loop {
                let word = block.word(slot);
                match word.thawed() {
                    // The own insert may be one of them, while the candidate is another.
                    word if (word == live || word == pending)
                        && !self.is_of_key(&block, slot, key) =>
                    {
                        break;
                    }
                    word if word == live => {
                        if slot == own {
                            return Rivals::Decided(Verdict::Won);
                        }
                        return Rivals::Decided(self.give_up(place, own, image));
                    }
                    word if word == pending && slot < candidate => return Rivals::Lower(slot),
                    thawed if thawed == pending => {
                        if word.is_frozen() {
                            return Rivals::Decided(Verdict::Frozen);
                        }
                        if block.exchange(slot, pending, Word::KILLED).is_ok() {
                            place.leaf.note_gone(1);
                        }
                    }
                    Word::DEAD => {
                        dead |= 1 << slot;
                        break;
                    }
                    _ => break,
                }
            }
        }
        Rivals::None { dead }
    }

    /// Whether a slot that is LIVE or PENDING, and has the image of `key`, is of `key`.
    #[inline(always)]
    fn is_of_key(&self, block: &Block<'_, M, W, D::Keys>, slot: usize, key: Sought<'_, D>) -> bool {
        // The value is loaded after the word. If the record cannot be read, the entry is of no key.
        let is_of_key = D::Keys::is_key_of(block.media(), || block.value(slot), key);
        is_of_key.unwrap_or_else(|error| {
            self.open.space().noted(error);
            false
        })
    }

    /// Kills this thread's own insert, which must not become an entry: there is another entry of the key, a pop has to
    /// come first, or there is no space.
    fn give_up(&self, place: &CurrentLeaf<'_, '_, M, W, D>, own: usize, image: Local) -> Verdict {
        let pending = Word::pending(image);
        match place.block.exchange(own, pending, Word::KILLED) {
            Ok(()) => {
                place.leaf.note_gone(1);
                Verdict::Lost
            }
            Err(found) => verdict(found, pending),
        }
    }

    /// Makes an entry of the PENDING insert in a slot, durably; returns the word that the slot then has. `dead` are
    /// slots from which the same key may have been removed.
    #[inline(always)]
    fn commit(
        &self,
        guard: &Guard<'_, M>,
        place: &CurrentLeaf<'_, '_, M, W, D>,
        slot: usize,
        image: Local,
        dead: u64,
    ) -> Word {
        let (media, block) = (guard.media(), place.block);
        let live = Word::live(image);
        let flight = media.needs_flush().then(|| Flight::begin(place.leaf));
        if let Some((_, true)) = flight
            && dead != 0
        {
            // A crash could undo a remove that is visible but not durable. The removed entry would then reappear beside
            // the new one.
            slots(dead).for_each(|slot| block.help_flush_slot(slot));
        }
        media.mark(Mark::Step("insert.I5"));
        let word = match block.exchange(slot, Word::pending(image), live) {
            Ok(()) => live,
            Err(found) => found,
        };
        if verdict(word, Word::pending(image)) == Verdict::Won {
            media.mark(Mark::Step("insert.durable"));
            block.flush_slot(slot);
            // The drain is before the operation returns, and before the flight ends, after which readers no longer
            // help.
            media.drain();
        }
        drop(flight);
        word
    }
}

/// The rivals of a candidate: other slots with the same key.
enum Rivals {
    /// No rival keeps the candidate from becoming an entry. `dead`: slots from which the same key may have been
    /// removed.
    None { dead: u64 },
    /// A PENDING insert in a lower slot, which comes first.
    Lower(usize),
    /// The outcome of the own insert is decided.
    Decided(Verdict),
}

/// Claims a slot of an open leaf, in the key's home line if a slot is free there.
#[inline(always)]
fn claim<M: Media, const W: usize, D: Design>(
    place: &CurrentLeaf<'_, '_, M, W, D>,
    hash: Hash,
) -> Option<usize> {
    let home = Block::<M, W, D::Keys>::home(hash);
    loop {
        let control = place.leaf.control();
        let (claimed, slot) = control.with_claim(home, Block::<M, W, D::Keys>::SLOTS)?;
        // The slot need not be in the line that was prefetched. So the line of the slot is fetched while the claim is
        // made.
        place.block.prefetch_slot(slot);
        if place.leaf.exchange_control(control, claimed) {
            return Some(slot);
        }
    }
}
