use endura::*;

fn f(m: &Map<str, u64>) -> Result<()> {
    m.get(7)?;
    Ok(())
}

fn main() {}
