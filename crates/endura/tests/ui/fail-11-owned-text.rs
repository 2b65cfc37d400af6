use endura::*;

fn f(m: &Map<str, u64>, name: String) -> Result<()> {
    m.insert(name, 1)?;
    Ok(())
}

fn main() {}
