use endura::*;

fn f(m: &Map<u64, u64>, k: &u64) -> Result<()> {
    m.get(&7)?;
    m.get(k)?;
    Ok(())
}

fn main() {}
