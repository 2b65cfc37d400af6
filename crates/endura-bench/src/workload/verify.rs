//! Whether a store holds what it must.

use super::population::Population;
use crate::keys::{key, value};
use crate::store::{Client, Store};
use crate::{Error, Result};

/// Looks for up to `sample` keys that must be in `store` and as many that must not, when no thread is
/// at work.
pub fn verify<S: Store>(store: &S, population: &Population, sample: u64) -> Result<()> {
    let mut client = store.client()?;
    let (mut wrong, mut of) = (0, 0);
    for stripe in 0..population.threads() {
        let window = population.window(stripe);
        let each = sample.div_ceil(population.threads() as u64).max(1);
        let stride = |length: u64| length.div_ceil(each).max(1) as usize;
        for position in window.clone().step_by(stride(window.end - window.start)) {
            let number = population.number(stripe, position);
            let found = client.get(key(number))?;
            wrong += u64::from(found.is_none_or(|found| (found ^ value(number)) << 8 != 0));
            of += 1;
        }
        for position in (0..window.start).step_by(stride(window.start)) {
            wrong += u64::from(client.get(key(population.number(stripe, position)))?.is_some());
            of += 1;
        }
        wrong += u64::from(client.get(key(population.number(stripe, window.end)))?.is_some());
        of += 1;
    }
    match wrong {
        0 => Ok(()),
        wrong => Err(Error::Wrong { store: store.name(), operation: "verify".into(), wrong, of }),
    }
}
