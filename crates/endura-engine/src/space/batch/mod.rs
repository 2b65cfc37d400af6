//! Several changes at once, in one or more maps of a pool: the words in which a pool and its threads keep them.
//!
//! # Protocol
//!
//! The changes are written to the pool first, sorted, as an [`intent`]. One 8-byte store to a BATCH word commits all of
//! them. Then each is applied by an ordinary operation, and the word is cleared. So no change is in a map before all of them are
//! kept, and no reader sees a value that is taken back. An open makes the words durable as it finds them, and then applies
//! the intents that a killed process has left.
//!
//! Meanwhile other threads go on. No thread takes a lock for a key. Keys are divided into stripes ([`marks`]), and each
//! commit is a [*flight*](flights), of which sixteen can be under way.
//!
//! | step | the thread that commits |
//! | --- | --- |
//! | B0 | sorts the changes; of several for one key, the last counts |
//! | B1 | waits for [reads of one moment](crate::space::commit) that ran too often, a second at most; writes the records and the intent, which has the keys that are only read too, inside a writer's pin; flushes, fences. The pin stays, parked, until the end |
//! | B2 | sets BATCHES in the gate, unless it is set: the *mode*, which lasts for a while after the last commit. It comes before the pin of B1, which has no claim and may last, so that no commit waits for the records of another one |
//! | B3 | takes the [turns](crate::space::directory::turns) of its maps, in the order of their entries, which it shares with other commits unless it has many keys; takes a flight, which then has the intent and is LOCKED |
//! | B4 | marks its stripes in ascending order, and waits for the marks of other flights |
//! | B5 | fence; waits until every claim on its stripes has [changed](crate::runtime::claims) |
//! | B6 | looks up its keys: compares the values that are expected, and sets aside the chunks that the changes may allocate. `Unmet` and `Full` come here, or never. A commit that changes nothing ends here |
//! | B7 | BATCH word = intent; flush, drain. *The changes are kept from here on* |
//! | B8 | counts the commit as begun, in each of its maps; then the flight is COMMITTED. *Readers see all changes from here on* |
//! | B9 | applies each change by an ordinary operation, which is durable by itself; it needs no claim, because the key is marked. Every 4,096 changes the parked pin takes the present epoch |
//! | B10 | BATCH word = 0; flush, drain |
//! | B11 | takes the marks off, then the flight is FREE |
//! | B12 | counts the commit as ended; ends the turns; retires the intent |
//!
//! | step | a thread that writes one key, if BATCHES is in the gate |
//! | --- | --- |
//! | W1 | pins as always |
//! | W2 | claims the stripe of its key; fence |
//! | W3 | looks at the stripe's mark. If there is none, or the flight is its own, or does not have the key: goes on as always |
//! | W4 | else ends the pin, and the claim with it; waits for the flight outside of the pin; W1 |
//! | W5 | a closure of the caller's runs without a claim. Behind it W2 and W3 again; if it would have to wait, its attempt is over, and the next one begins with W1 |
//!
//! | step | a reader of one key, if BATCHES is in the gate |
//! | --- | --- |
//! | R1 | looks at the gate before it pins |
//! | R2 | no mark, or the flight is not COMMITTED, or does not have the key, or only reads it: reads the map |
//! | R3 | else the result is in the intent. It is read under the reader's pin, so that its chunk is not reused |
//!
//! A reader needs no barrier: who has seen anything of the changes has seen the bit of the gate before. A reader that
//! finds no bit, or no mark, may be late, and then finds in the map a value that the key had at that moment or later.
//! State and intent of a flight are one word, which is read once: from two reads a reader would get the state of one
//! commit and the intent of the next.
//!
//! A look at an end of a map waits until as many commits of the map have ended as have begun, and looks again if one has
//! begun meanwhile. Scans look at the map as always: they may see a part of a commit, and nothing that is taken back. A read
//! of one moment compares the same counts of all maps that it has looked at (`commit/view.rs`).
//!
//! # Who waits for whom
//!
//! Turns by map < flights < marks by stripe < claims: who has one of these waits only for later ones. A writer with a
//! claim waits for no flight (W4). A thread in a closure has no claim (W5). A pop has the turn of its map before it looks at
//! its key, so that no flight with the key can be under way. (That a flight has its turns also matters for a mark that was read
//! late: the number in it may be that of a flight by now which has marked nothing yet.) No code of a user runs under
//! marks. So every wait ends, unless an error has poisoned the pool: then the waits end by the gate.
//!
//! A pop waits outside of pins, with its turn, while a verification keeps writers out, and the verification waits for a
//! commit's pin. So a commit that waits for a turn then begins again.
//!
//! # A dropped map
//!
//! A commit checks inside its pin that its maps were not dropped. A drop, whose chunks and entry are reused only when
//! the pins have ended that began before it, waits for that pin; and, because a long commit takes new epochs while it applies
//! its changes, until the commit is counted as ended. Its changes of the dropped map are left out.
//!
//! | file | what |
//! | --- | --- |
//! | [`key`] | keys of both forms, and their stripes |
//! | [`marks`], [`flights`] | the state of commits in DRAM |
//! | [`intent`] | the changes, in the pool |
//! | [`batches`] | all of a pool's state about commits |

pub(crate) mod batches;
pub(crate) mod flights;
pub(crate) mod intent;
pub(crate) mod key;
pub(crate) mod marks;
