//! Files in a map: written where they will lie, read without a copy.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};

use endura::Pool;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let pool = Pool::open(folder.path().join("blobs.endura"))?;
    let blobs = pool.map::<str, [u8]>("blobs")?;

    // A file of 8 MiB, in pieces.
    let source = folder.path().join("source");
    std::fs::write(&source, vec![7; 8 << 20])?;
    let len = std::fs::metadata(&source)?.len() as usize;
    blobs.insert_from("source", len, |out| io::copy(&mut File::open(&source)?, out).map(drop))?;

    // Small ones.
    blobs.insert("hello", b"world")?;
    blobs.insert("empty", b"")?;
    blobs.insert_from("two", 10, |out| {
        out.write_all(b"01234")?;
        write!(out, "{:05}", 42)
    })?;
    assert_eq!(blobs.get("two")?.as_deref(), Some(&b"0123400042"[..]));

    // Too little and too much are errors, and change nothing.
    let short = blobs.insert_from("two", 10, |out| out.write_all(b"abc"));
    println!("{}", short.unwrap_err());
    let long = blobs.insert_from("two", 2, |out| out.write_all(b"abc"));
    println!("{}", long.unwrap_err());
    assert_eq!(blobs.get_with("two", |bytes| bytes.len())?, Some(10));

    // Out again, in pieces: no second copy of 8 MiB anywhere.
    let target = folder.path().join("target");
    let mut file = File::create(&target)?;
    let written = blobs.read_with("source", |bytes| io::copy(&mut bytes.reader(), &mut file))?;
    assert_eq!(written.transpose()?, Some(8 << 20));
    assert_eq!(std::fs::read(&target)?, std::fs::read(&source)?);

    // Only the head.
    let mut head = [0; 16];
    blobs.read_with("source", |bytes| bytes.reader().read_exact(&mut head))?.unwrap()?;
    assert_eq!(head, [7; 16]);

    let mut total = 0;
    blobs.range_with(.., |name, bytes| {
        println!("{:>9} {name}", bytes.len());
        total += bytes.len();
    })?;
    assert_eq!(total, (8 << 20) + 15);
    pool.close()?;
    Ok(())
}
