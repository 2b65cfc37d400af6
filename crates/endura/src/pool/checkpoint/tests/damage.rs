//! Files that no round wrote.

/// A file whose hashes are right, but whose contents no round wrote.
#[test]
fn a_file_that_no_round_wrote_is_refused() {
    let entry = |page, slot| Entry { page, place: Place { slot, hash: 0 } };
    let run = |slot, entries: &[Entry]| {
        let (bytes, hash) = encode(entries);
        (Run { slot, entries: entries.len() as u32, hash }, bytes)
    };
    let open = |pages, sequence, runs: &[(Run, Vec<u8>)], slots: usize| {
        let runs_of = runs.iter().map(|(run, _)| *run).collect();
        let root = Root { moment: moment(pages, 1), sequence, runs: runs_of };
        let mut bytes = vec![0; slots * SLOT];
        let at = sequence as usize % 2 * SLOT;
        bytes[at..at + SLOT].copy_from_slice(&root.encode());
        for (run, entries) in runs {
            let at = run.slot as usize * SLOT;
            if let Some(place) = bytes.get_mut(at..at + entries.len()) {
                place.copy_from_slice(entries);
            }
        }
        let disk = Losing::default();
        disk.0.lock().now = bytes;
        CheckpointFile::open_within(disk, 1_000).err().map(|failure| format!("{failure:?}"))
    };
    assert_eq!(open(9, 3, &[run(2, &[entry(8, 3)])], 8), None);
    let refused = [
        ("pages without number", open(u32::MAX, 3, &[], 8)),
        ("a number that has no next", open(9, u64::MAX, &[], 8)),
        ("no number", open(9, 0, &[], 8)),
        ("a page behind the last", open(9, 3, &[run(2, &[entry(9, 3)])], 8)),
        ("a page in a root", open(9, 3, &[run(2, &[entry(8, 1)])], 8)),
        ("a page in a run", open(9, 3, &[run(2, &[entry(8, 2)])], 8)),
        ("a page behind the file", open(9, 3, &[run(2, &[entry(8, 8)])], 8)),
        ("two pages in one place", open(9, 3, &[run(2, &[entry(8, 3), entry(7, 3)])], 8)),
        ("two runs in one place", open(9, 3, &[run(2, &[entry(8, 3)]), run(2, &[entry(8, 3)])], 8)),
        ("a run in a root", open(9, 3, &[run(0, &[entry(8, 3)])], 8)),
        ("more entries than pages", open(9, 3, &[run(2, &[entry(8, 3); 11])], 8)),
        ("a run behind the file", open(9, 3, &[run(8, &[entry(8, 3)])], 8)),
    ];
    for (what, found) in refused {
        assert!(found.is_some(), "{what}");
    }
    // The roots change places, or the end is missing.
    let disk = Losing::ending_at(u64::MAX);
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
    file.write(moment(9, 1), &[1], &[7; SLOT]).unwrap();
    for damage in [(|bytes| bytes.copy_within(SLOT..2 * SLOT, 0)) as fn(&mut Vec<u8>), |bytes| {
        bytes.copy_within(SLOT..2 * SLOT, 0);
        bytes.truncate(SLOT + 5);
    }] {
        let broken = Losing::default();
        broken.0.lock().now = disk.0.lock().now.clone();
        damage(&mut broken.0.lock().now);
        assert!(matches!(CheckpointFile::open(broken), Err(Failure::Damaged(_))));
    }
}

#[test]
fn no_damaged_file_makes_it_panic_or_read_another_page() {
    let (mut random, disk) = (Random(5), Losing::ending_at(u64::MAX));
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
    let mut model = Model::default();
    for _ in 0..30 {
        let changed = model.change(&mut random);
        model.write(&mut file, &changed).unwrap();
    }
    let good = disk.0.lock().now.clone();
    for _ in 0..2_000 {
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        let broken = Losing::default();
        broken.0.lock().now = bytes;
        let Ok(found) = CheckpointFile::open(broken) else { continue };
        for page in 0..model.pages {
            let mut bytes = [9; SLOT];
            if found.read(page, &mut bytes).is_ok() && found.newest() == file.newest() {
                let byte = model.bytes.get(&page).copied().unwrap_or(0);
                assert_eq!(bytes, page_of(byte, page));
            }
        }
    }
}
