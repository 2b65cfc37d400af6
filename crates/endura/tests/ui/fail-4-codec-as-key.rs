use endura::*;

fn f(pool: &Pool) -> Result<()> {
    pool.map::<Postcard<String>, u64>("m")?;
    Ok(())
}

fn main() {}
