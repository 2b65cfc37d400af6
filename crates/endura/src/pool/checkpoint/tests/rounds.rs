//! Rounds, one after the other.

/// Each round leaves one page in sixteen of those that the one before has written: gaps that are too short for long pieces.
#[test]
fn pages_that_stay_do_not_make_the_file_grow_without_end() {
    let disk = Losing::ending_at(u64::MAX);
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
    let all = 1_600_u32;
    let mut changing: Vec<u32> = (0..all).collect();
    for n in 0..60 {
        let bytes = vec![1 + n as u8; changing.len() * SLOT];
        file.write(moment(all, n), &changing, &bytes).unwrap();
        let stays: Vec<u32> = changing.iter().copied().step_by(16).collect();
        changing.retain(|page| !stays.contains(page));
    }
    let slots = file.file.length().unwrap() / SLOT as u64;
    assert!(slots < 4 * u64::from(all), "{slots} slots for {all} pages");
}

/// A round that asked for more than the disk has does not keep smaller ones from finding room.
#[test]
fn a_round_that_is_too_large_leaves_room_for_others() {
    let disk = Losing::ending_at(u64::MAX);
    disk.0.lock().room = Some(128 * SLOT);
    let mut file = CheckpointFile::open(disk).unwrap();
    let mut write = |pages: u32, n: u64| {
        let (numbers, bytes): (Vec<u32>, _) =
            ((0..pages).collect(), vec![7; pages as usize * SLOT]);
        file.write(moment(400, n), &numbers, &bytes)
    };
    write(30, 1).unwrap();
    assert!(matches!(write(300, 2), Err(Failure::Io(_))));
    write(30, 3).unwrap();
}

#[test]
fn many_rounds_take_little_more_than_twice_the_pool() {
    let (mut random, disk) = (Random(3), Losing::ending_at(u64::MAX));
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
    let pages = 400;
    let mut model = Model { pages, ..Model::default() };
    for _ in 0..600 {
        model.round += 1;
        let mut changed: Vec<u32> = (0..20).map(|_| random.below(pages.into()) as u32).collect();
        changed.sort_unstable();
        changed.dedup();
        for &page in &changed {
            model.bytes.insert(page, 1 + random.below(200) as u8);
        }
        model.write(&mut file, &changed).unwrap();
    }
    assert!(model.is_in(&file) && model.is_in(&CheckpointFile::open(disk).unwrap()));
    let slots = file.file.length().unwrap() / SLOT as u64;
    assert!(slots < 2 * u64::from(pages) + 200, "{slots} slots for {pages} pages");
}

