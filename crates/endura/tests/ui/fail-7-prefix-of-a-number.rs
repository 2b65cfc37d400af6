use endura::*;

fn f(m: &Map<u64, u64>) {
    m.prefix(7);
}

fn main() {}
