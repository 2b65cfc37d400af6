use endura::*;

fn total<K: Key>(m: &Map<K, u64>) -> Result<u64> {
    m.values().sum()
}

fn f(m: &Map<str, u64>) -> Result<u64> {
    total(m)
}

fn main() {}
