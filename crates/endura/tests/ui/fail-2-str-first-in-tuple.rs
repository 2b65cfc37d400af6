use endura::*;

fn f(pool: &Pool) -> Result<()> {
    pool.map::<(str, u64), u64>("m")?;
    Ok(())
}

fn main() {}
