use endura::*;

fn f(m: &Map<str, u64>) {
    m.range(7..);
}

fn main() {}
