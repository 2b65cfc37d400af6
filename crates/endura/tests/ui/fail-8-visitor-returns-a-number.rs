use endura::*;

fn f(m: &Map<u64, u64>) -> Result<()> {
    m.range_with(.., |_, v| v + 1)?;
    Ok(())
}

fn main() {}
