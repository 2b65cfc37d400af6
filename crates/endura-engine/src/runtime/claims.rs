//! Claims: what a writer may write, published in its slot while several changes at once are about.
//!
//! Keys are divided into *stripes*. A writer publishes the stripe of its key, issues a full fence, and looks at the
//! stripe's mark. A thread that makes several changes at once marks their stripes, issues a full fence, and looks at the
//! claims. So of the two, one sees the other.
//!
//! | step | writer W | thread B with several changes |
//! | --- | --- | --- |
//! | 1 | pins, reads the gate | sets the bit of the gate, heavy barrier, waits until no slot is WRITER and not CAREFUL |
//! | 2 | `claim = stripe`, then `word` has CAREFUL (Release) | marks its stripes |
//! | 3 | full fence | full fence |
//! | 4 | looks at the mark (Acquire) | looks at the claims (Acquire); waits until each of its stripes has *changed* |
//! | 5 | no mark: writes, unpins | |
//!
//! A claim is a stripe and a number that no other claim of the slot has. B waits until a claim has changed, and not until
//! there is none: each later claim was followed by a fence, so its writer has seen the mark. A thread that writes again
//! and again to another key of the stripe does not hold B up.
//!
//! The bit CAREFUL ends with the pin: the store that ends a pin clears it, and so costs nothing. A closure of the caller
//! runs without a claim ([`Slot::park`]).

use super::epoch::{CAREFUL, Slot, WRITER};
use crate::sync::{Ordering, fence};

/// The bits of a claim below its number.
const STRIPE_BITS: u32 = 16;

/// A claim on a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim(u64);

impl Claim {
    /// The claimed stripe.
    pub(crate) fn stripe(self) -> u16 {
        self.0 as u16
    }
}

impl<T> Slot<T> {
    /// Publishes the stripe of the key that the owner is about to write, inside a writer's pin. A full fence follows:
    /// marks that the owner does not see from now on are those of threads that see the claim. Returns how many claims
    /// the owner has made.
    pub(crate) fn claim(&self, stripe: u16) -> u64 {
        let number = (self.claim.load(Ordering::Relaxed) >> STRIPE_BITS).wrapping_add(1);
        // Release: a thread that finds this claim in place of an earlier one sees what the operation before has stored.
        self.claim.store(number << STRIPE_BITS | u64::from(stripe), Ordering::Release);
        self.claimed_at.store(self.writers(), Ordering::Relaxed);
        let word = self.word.load(Ordering::Relaxed);
        // Release: pairs with the Acquire of `claimed`, which then finds this claim or a later one.
        self.word.store(word | CAREFUL, Ordering::Release);
        // Pairs with the fence between the marks of a thread and its look at the claims.
        fence(Ordering::SeqCst);
        number
    }

    /// The owner begins, or ends, to apply the changes of a commit, whose keys no other thread writes.
    pub(crate) fn set_applies(&self, applies: bool) {
        self.applies.store(applies.into(), Ordering::Relaxed);
    }

    /// Whether the owner applies the changes of its commit; meaningful to the owner.
    pub(crate) fn applies(&self) -> bool {
        self.applies.load(Ordering::Relaxed) != 0
    }

    /// Counts a look of the owner at the marks, and returns how many there were.
    pub(crate) fn note_look(&self) -> u64 {
        let looks = self.looks.load(Ordering::Relaxed).wrapping_add(1);
        self.looks.store(looks, Ordering::Relaxed);
        looks
    }

    /// The owner's claim, if it may be writing.
    pub(crate) fn claimed(&self) -> Option<Claim> {
        // Acquire: pairs with the Release of `unpin`, `park` and `claim`. If there is no claim, what was stored under an
        // earlier one is visible to the caller.
        let word = self.word.load(Ordering::Acquire);
        let is_claimed = word & (WRITER | CAREFUL) == WRITER | CAREFUL;
        is_claimed.then(|| Claim(self.claim.load(Ordering::Acquire)))
    }

    /// Whether the owner may be writing without a claim.
    pub(crate) fn is_careless(&self) -> bool {
        // Acquire, as in `claimed`.
        self.word.load(Ordering::Acquire) & (WRITER | CAREFUL) == WRITER
    }
}
