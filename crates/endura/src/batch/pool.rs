//! The methods of a [`Pool`] that begin batches, transactions, and reads of one moment.

use std::time::Duration;

use endura_engine::runtime::calls::Call;

use super::batch::Batch;
use super::transaction::Transaction;
use crate::pool::Pool;
use crate::{Error, Result};

/// The most runs of the closure of a transaction.
const RUNS: u32 = 1 << 16;
/// So many runs follow each other without a pause.
const EAGER: u32 = 4;
/// The longest pause between two runs, in microseconds.
const LONGEST_PAUSE: u64 = 1_000;

/// The pause before a further run: it grows, and differs from that of other threads.
fn pause(run: u32) {
    if run < EAGER {
        std::thread::yield_now();
        return;
    }
    // The address of a local variable differs in each thread.
    let own = std::ptr::from_ref(&run).addr() as u64 >> 12;
    let most = (u64::from(run) * 8).min(LONGEST_PAUSE);
    let mixed = (own ^ u64::from(run)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    std::thread::sleep(Duration::from_micros(mixed % most));
}

impl Pool {
    /// A method holds this while it runs a closure, which can neither close nor verify the pool.
    fn call(&self) -> Call {
        Call::begin(self.session().address())
    }

    fn unless_forked(&self) -> Result<()> {
        match self.session().birthplace().is_elsewhere() {
            true => Err(Error::Forked),
            false => Ok(()),
        }
    }

    /// An empty batch: changes of any maps of this pool, to be made at once.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let stock = pool.map::<str, u64>("stock")?;
    /// let orders = pool.map::<u64, str>("orders")?;
    /// pool.batch().put(&stock, "apple", 99)?.put(&orders, 1, "apple")?.commit()?;
    /// assert_eq!((stock.get("apple")?, orders.get(1)?.as_deref()), (Some(99), Some("apple")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batch(&self) -> Batch {
        Batch::of(self.session())
    }

    /// Runs `run`, which reads and changes keys through the [`Transaction`] that it gets, and makes all changes at once. If
    /// another thread has changed a value that `run` has read, nothing is changed, and `run` runs again.
    ///
    /// So it is as if the transaction had run alone, at one moment, as far as the keys go that it has read and written. It
    /// is durable on return, as a [batch](crate::Batch) is. If `run` returns an error, nothing is changed, and the call
    /// returns that error.
    ///
    /// `run` runs outside of any lock. What it does besides, such as writes to maps that do not go through the
    /// transaction, is done in each run. It takes the time of a batch, and that of `run`.
    ///
    /// # Errors
    ///
    /// Those of `run`; [`Error::Contended`] after 65,536 runs; and those of [`Batch::commit`](crate::Batch::commit).
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let balance = pool.map::<str, u64>("balance")?;
    /// balance.insert("ann", 25)?;
    ///
    /// let pay = || pool.transact(|tx| {
    ///     let left = tx.get(&balance, "ann")?.unwrap_or(0);
    ///     if left < 10 {
    ///         return Ok(false);
    ///     }
    ///     tx.put(&balance, "ann", left - 10)?;
    ///     let had = tx.get(&balance, "bob")?.unwrap_or(0);
    ///     tx.put(&balance, "bob", had + 10)?;
    ///     Ok(true)
    /// });
    /// assert!(pay()? && pay()? && !pay()?);
    /// assert_eq!((balance.get("ann")?, balance.get("bob")?), (Some(5), Some(20)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transact<R>(&self, mut run: impl FnMut(&mut Transaction<'_>) -> Result<R>) -> Result<R> {
        self.transact_moved(|mut transaction| {
            let outcome = run(&mut transaction);
            (transaction, outcome)
        })
    }

    /// [`transact`](Self::transact) for bindings of other languages, whose closures cannot borrow: `run` gets the transaction
    /// itself, and returns it with its outcome. A run in vain is thrown away whatever its outcome is.
    #[doc(hidden)]
    pub fn transact_moved<R, E: From<Error>>(
        &self,
        mut run: impl FnMut(Transaction<'static>) -> (Transaction<'static>, Result<R, E>),
    ) -> Result<R, E> {
        self.unless_forked()?;
        if self.session().is_viewed() {
            return Err(Error::InsideOperation.into());
        }
        let _call = self.call();
        for runs in 1..=RUNS {
            let (transaction, outcome) = run(Transaction::begin(self, runs));
            self.unless_forked()?;
            // A closure may have ignored the error by which a read has said so.
            if !transaction.is_lost() {
                let result = outcome?;
                if transaction.finish()? {
                    return Ok(result);
                }
            }
            pause(runs);
        }
        Err(Error::Contended { runs: RUNS }.into())
    }

    /// Runs `look`, and returns its result, if each [batch](crate::Batch) and each transaction was seen whole or not at all:
    /// by everything that `look` has read in maps of this pool, ranges included. If not, `look` runs again.
    ///
    /// It is no snapshot: *single* writes of other threads may come between two reads of `look`. What several keys have in
    /// common is seen if it is kept by batches and transactions.
    ///
    /// `look` uses the maps as usual. A range has to begin and end inside of it. It must not commit batches of this pool, and
    /// its own writes are not undone before it runs again. Writers do not wait for it; after some runs in vain, commits
    /// do, for a second at most.
    ///
    /// # Errors
    ///
    /// Those of `look`; [`Error::Contended`] after 64 runs; [`Error::WritersStay`] if a commit of another thread waits meanwhile
    /// for a thread that stays inside a write; and those of [`Map`](crate::Map) for methods that read.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let accounts = pool.map::<str, u64>("accounts")?;
    /// let totals = pool.map::<str, u64>("totals")?;
    /// pool.batch().put(&accounts, "ann", 5)?.put(&accounts, "bob", 20)?.put(&totals, "all", 25)?.commit()?;
    ///
    /// // Whatever other threads transfer meanwhile, by batches: the sum is the total.
    /// pool.read(|| {
    ///     let mut sum = 0;
    ///     accounts.iter().visit(|_, amount| sum += amount)?;
    ///     assert_eq!(totals.get("all")?, Some(sum));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read<R>(&self, mut look: impl FnMut() -> Result<R>) -> Result<R> {
        let (mut seen, _call) = (None, self.call());
        self.session().view(&mut || {
            seen = None;
            seen = Some(look()?);
            Ok(())
        })?;
        match seen {
            Some(seen) => Ok(seen),
            None => unreachable!("a run that succeeds has a result"),
        }
    }
}
