use endura::*;

fn f(pool: &Pool) -> Result<()> {
    pool.map::<u64, Vec<String>>("m")?;
    Ok(())
}

fn main() {}
