//! Several threads: the same generic structures under many schedules, with crashes on top.
//!
//! [`run()`] runs threads as coroutines of one thread of the operating system (shuttle), in an ordinary
//! build. The turn may change before every load, store, flush and fence of a medium, at every
//! numbered step, and where a thread would wait for a lock. Who goes on is a [`Strategy`]: at random,
//! by priorities (PCT), stopped at a named step, or every schedule of so many preemptions. What a
//! [`Plan`] and a seed say is all that a schedule depends on.
//!
//! [`Campaign`] runs plans over a map and looks at what came out of each: what every thread was told
//! must be linearizable key by key ([`endura_linear`]), the structure sound, and after a crash
//! at any moment there must be what some order explains of all that was told and any of what was under
//! way. [`PoolCampaign`] does the same for pools with several maps, as one object, with batches, transactions and reads
//! of one moment.
//!
//! All is sequentially consistent, but for campaigns
//! [with weak visibility](Campaign::with_weak_visibility): there a load may give a store that is not
//! the last one, as far as the orders of stores and loads allow. Not explored here: the volatile words
//! of endura (epochs, caches of threads) change only between two moves of a medium. Those words and
//! their orders are checked under loom, in endura itself.

mod campaign;
mod history;
mod map;
mod plan;
mod pool_plan;
mod pools;
mod run;
mod turns;

pub use campaign::{Campaign, Cut, Figures, Unsound};
pub use history::{History, Scribe};
pub use map::{Task, Way};
pub use plan::{Family, Plan};
pub use pool_plan::{BEFORE, KEYS, Meeting, PoolPlan};
pub use pools::{PoolCampaign, UnsoundPool};
pub use run::{Ran, Thread, pause, run};
pub use turns::{Place, Strategy};
