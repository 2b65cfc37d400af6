use std::time::Duration;

use super::*;

fn sample() -> Superblock {
    Superblock {
        compatible: 1 << 63,
        generation: 0x0102_0304_0506_0708,
        boot: Boot { id: [7; 16], memory: 1 << 63 },
        mounted: Mounted { folder: Folder::Own(u64::MAX), number: 1 << 62 },
        file: FileIdentity {
            device: 0xfe00,
            inode: 4711,
            volume: Volume::Uuid(*b"fedcba9876543210"),
            birth: Some(-1),
            generation: Some(u32::MAX),
        },
        session: [9; 16],
        is_marked: true,
        sequence: 9,
        dirty_shutdowns: Some(3),
        clean: false,
        domain: Domain::Eadr,
        power_safe: true,
        base: [4; 16],
        base_lags: true,
        base_made: 0x2122_2324_2526_2728,
        schedule: Schedule {
            is_on: true,
            every: Some(Duration::from_millis(1_500)),
            after_bytes: Some(1 << 40),
            is_elsewhere: true,
            is_chosen: true,
        },
        suspect: 0x3132_3334_3536_3738,
        has_end_mark: true,
        ..Superblock::of_new_pool(*b"0123456789abcdef")
    }
}

#[test]
fn survives_encoding() {
    let domains = [Domain::Adr, Domain::Eadr, Domain::PageCache];
    for (clean, domain) in [false, true].into_iter().flat_map(|c| domains.map(|d| (c, d))) {
        let superblock = Superblock { clean, domain, power_safe: clean, ..sample() };
        assert_eq!(Superblock::decode(&superblock.encode()), Some(superblock));
    }
    let unknown = Superblock { dirty_shutdowns: None, ..sample() };
    assert_eq!(Superblock::decode(&unknown.encode()), Some(unknown));
    let volumes = [Volume::Unknown, Volume::Number([1 << 63, 5]), sample().file.volume];
    let births = [(None, None), (Some(0), None), (None, Some(0)), (Some(1 << 60), Some(3))];
    for (volume, (birth, generation)) in
        volumes.into_iter().flat_map(|volume| births.map(|birth| (volume, birth)))
    {
        let file = FileIdentity { volume, birth, generation, ..sample().file };
        let superblock = Superblock { file, is_marked: birth.is_some(), ..sample() };
        assert_eq!(Superblock::decode(&superblock.encode()), Some(superblock));
    }
}

/// A build that knows neither the other fields of a pool nor their checksum still reads its version.
#[test]
fn another_version_is_read_by_the_first_checksum() {
    let mut bytes = Superblock { version: FORMAT + 1, ..sample() }.encode();
    bytes[128..].fill(0xEE);
    assert_eq!(Superblock::decode(&bytes).unwrap().version, FORMAT + 1);
    let mut torn = sample().encode();
    torn[..128].copy_from_slice(&Superblock { generation: 1, ..sample() }.encode()[..128]);
    assert_eq!(Superblock::decode(&torn), None, "two halves of different copies");
}

#[test]
fn every_flipped_bit_of_one_copy_is_survived_and_of_both_is_noticed() {
    let whole = sample().encode();
    for bit in 0..8 * BYTES {
        let mut flipped = whole;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Superblock::newer_of(&flipped, &whole).unwrap(), sample(), "A, bit {bit}");
        assert_eq!(Superblock::newer_of(&whole, &flipped).unwrap(), sample(), "B, bit {bit}");
        let both = Superblock::newer_of(&flipped, &flipped).unwrap_err();
        if bit < 64 {
            assert!(matches!(both, Error::NotAPool { .. }), "bit {bit}: {both:?}");
        } else {
            assert!(matches!(both, Error::Corrupt { .. }), "bit {bit}: {both:?}");
        }
    }
}

#[test]
fn a_torn_write_leaves_the_old_or_the_new() {
    let old = sample();
    let new = Superblock { sequence: 10, clean: true, generation: 1 << 40, ..old };
    let (old_bytes, new_bytes) = (old.encode(), new.encode());
    for cut in 0..=BYTES {
        let mut torn = old_bytes;
        torn[..cut].copy_from_slice(&new_bytes[..cut]);
        for swap in [false, true] {
            let read = |a, b| {
                let copies = if swap { (b, a) } else { (a, b) };
                Superblock::newer_of(copies.0, copies.1).unwrap()
            };
            // While the first copy is being written, the second is old; afterwards the first is new.
            let early = read(&torn, &old_bytes);
            assert!(early == old || early == new && cut == BYTES, "cut at {cut}");
            assert_eq!(read(&new_bytes, &torn), new, "cut at {cut}");
        }
    }
}

/// Nothing waits for the second copy, so it may never have reached the disk. The next write must not begin with the
/// first.
#[test]
fn the_copy_that_is_not_written_is_the_durable_one() {
    let mut superblock = sample();
    let file = tempfile::tempfile().unwrap();
    let (_, mut not_waited_for) = superblock.order();
    for _ in 0..4 {
        superblock.write(&file).unwrap();
        assert_eq!(Superblock::read(&file).unwrap(), superblock);
        let (first, second) = superblock.order();
        assert_eq!(first, not_waited_for);
        not_waited_for = second;
    }
}

#[test]
fn what_this_build_cannot_know_is_refused() {
    let good = sample();
    good.check(false).unwrap();
    let refuse = |superblock: Superblock, read_only| superblock.check(read_only).unwrap_err();
    for other in [FORMAT - 1, FORMAT + 1] {
        let other = refuse(Superblock { version: other, ..good }, true);
        assert!(matches!(other, Error::Version { want: FORMAT, .. }));
    }
    for bit in 0..64 {
        let foreign = Superblock { incompatible: 1 << bit, ..good };
        match 1 << bit {
            WITH_INTENTS => foreign.check(false).unwrap(),
            bits => {
                let refused = refuse(foreign, true);
                assert!(matches!(refused, Error::UnknownFeatures { bits: found } if found == bits));
            }
        }
        let read_only = Superblock { writable_with: 1 << bit, ..good };
        read_only.check(true).unwrap();
        if 1 << bit == WITH_CHECKPOINTS {
            read_only.check(false).unwrap();
            continue;
        }
        assert!(matches!(refuse(read_only, false), Error::UnknownFeatures { .. }));
    }
    assert!(matches!(
        refuse(Superblock { page_bytes: 1, ..good }, true),
        Error::Unsupported { .. }
    ));
    assert!(matches!(
        refuse(Superblock { line_bytes: 128, ..good }, true),
        Error::Unsupported { .. }
    ));
}
