#![deny(unused_must_use)]
use endura::*;

fn f(m: &Map<u64, u64>) -> Result<()> {
    m.compare_exchange(7, None, Some(1))?;
    Ok(())
}

fn main() {}
