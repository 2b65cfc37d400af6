use endura::*;

struct User {
    name: String,
}

fn f(pool: &Pool) -> Result<()> {
    pool.map::<str, User>("m")?;
    Ok(())
}

fn main() {}
