use endura::*;

fn f(m: &Map<str, [u8]>) -> Result<Option<&[u8]>> {
    m.get_with("k", |v| v)
}

fn main() {}
