use endura::*;

fn f(pool: &Pool) -> Result<()> {
    pool.map::<&str, u64>("m")?;
    Ok(())
}

fn main() {}
