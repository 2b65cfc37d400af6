//! The operations of `instructions.c` in Rust, for `.ci/c --instructions`: instructions OPERATION COUNT
#![allow(clippy::unwrap_used, reason = "a measurement that fails ends")]
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;

use endura::{Checkpoints, Map, Pool};

const LOADED: u64 = 10_000;
const VALUE: &str = "0123456789abcdef01234567";

fn scattered(i: u64) -> u64 {
    i.wrapping_mul(11_400_714_819_323_198_393)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, operation, count] = &arguments[..] else {
        panic!("an operation and a count: `.ci/c --instructions` gives them")
    };
    let n: u64 = count.parse().unwrap();
    let options = Pool::options().max_size(1 << 30).checkpoints(Checkpoints::off());
    let pool = options.open("instructions.endura").unwrap();
    let numbers: Map<u64, u64> = pool.map("numbers").unwrap();
    let texts: Map<str, str> = pool.map("texts").unwrap();
    let mut key = String::new();
    for i in 0..LOADED {
        numbers.put(scattered(i), i).unwrap();
        key = format!("user:{:012}", scattered(i) >> 24);
        texts.put(&key, VALUE).unwrap();
    }
    let letter = operation.as_bytes()[0];
    for i in 0..n {
        match letter {
            b'g' => _ = black_box(numbers.get(scattered(i % LOADED)).unwrap()),
            b'p' => _ = numbers.put(scattered(i % LOADED), i).unwrap(),
            b'G' => _ = black_box(texts.get_with(&key, str::len).unwrap()),
            b'P' => _ = texts.put(&key, VALUE).unwrap(),
            _ => _ = black_box(i),
        }
    }
    pool.close().unwrap();
}
