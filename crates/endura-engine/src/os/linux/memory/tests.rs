use super::*;

#[test]
fn is_aligned_and_bounded() {
    let range = Reservation::new(3 << 20).unwrap();
    assert_eq!(range.len(), 4 << 20);
    assert_eq!(range.base().as_ptr() as u64 % HUGE_PAGE, 0);
    for refused in [0, Reservation::MAX + 1, 1 << 60, u64::MAX] {
        let error = Reservation::new(refused).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{refused}");
    }
}

/// How many of the addresses are mapped, according to `/proc/self/maps`.
fn mapped_bytes(of: &Range<usize>) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let inside = maps.lines().filter_map(|line| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let [from, to] = [from, to].map(|at| usize::from_str_radix(at, 16).unwrap());
        Some(to.min(of.end).saturating_sub(from.max(of.start)))
    });
    inside.sum()
}

fn addresses(range: &Reservation, bytes: Range<usize>) -> Range<usize> {
    let base = range.base().addr().get();
    base + bytes.start..base + bytes.end
}

/// Files whose mapping the kernel refuses: one before it looks at the address, the others only when it calls the file
/// system.
fn refused() -> Vec<(File, Sharing)> {
    let named = tempfile::NamedTempFile::new().unwrap();
    named.as_file().set_len(4 << 20).unwrap();
    let by_its_mode = File::open(named.path()).unwrap();
    let by_itself = File::open("/proc/version").unwrap();
    let own = tempfile::tempfile().unwrap();
    own.set_len(4 << 20).unwrap();
    vec![
        (by_its_mode, Sharing::Shared),
        (by_itself, Sharing::ReadOnly),
        // No file system on an ordinary disk accepts `MAP_SYNC`.
        (own, Sharing::SharedDax),
    ]
}

#[test]
fn stays_whole_when_a_file_cannot_be_mapped() {
    let range = Reservation::new(16 << 20).unwrap();
    let all = addresses(&range, 0..range.len);
    let good = tempfile::tempfile().unwrap();
    good.set_len(8 << 20).unwrap();
    for (file, sharing) in refused() {
        for from in [0, 4 << 20] {
            // SAFETY: nothing refers to the range, or uses it.
            let outcome =
                unsafe { range.map(&file, from, from + (4 << 20), sharing, Folios::Huge) };
            assert!(outcome.is_err(), "{sharing:?}");
            assert_eq!(mapped_bytes(&all), all.len(), "{sharing:?}: {outcome:?}");
        }
        // SAFETY: as above.
        unsafe { range.map(&good, 0, 8 << 20, Sharing::Shared, Folios::Small) }.unwrap();
    }
    assert_eq!(range.lost.get(), None);
}

/// Runs `work` in a child process, where no other thread can get memory in a gap, and returns its result.
fn alone(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `work`, which neither panics nor prints, and leaves by `_exit`, in ten seconds
    // at most; the parent waits for it.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(10);
            libc::_exit(i32::from(!work()));
        }
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }
}

/// Unmaps a part of the range, as a mapping that fails may.
fn open_gap(range: &Reservation, gap: &Range<usize>) -> *mut u8 {
    let at = range.base.as_ptr().wrapping_add(gap.start);
    // SAFETY: the part is the reservation's, and nothing refers to it.
    unsafe { munmap(at.cast(), gap.len()).unwrap() };
    at
}

#[test]
fn what_somebody_else_got_is_left_alone() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(16 << 20).unwrap();
    let range = Reservation::new(16 << 20).unwrap();
    assert!(alone(move || {
        let gap = 4 << 20..8 << 20;
        let wanted = open_gap(&range, &gap).wrapping_add(1 << 20).cast();
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: plays another thread that was faster: its memory lies in the gap, and nowhere else.
        let theirs = unsafe {
            let theirs = mmap_anonymous(wanted, 1 << 20, protection, flags).unwrap();
            std::slice::from_raw_parts_mut(theirs.cast::<u8>(), 1 << 20)
        };
        theirs.fill(7);
        range.close_gap(gap.clone());
        let is_noted = range.lost.get() == Some(&gap);
        // SAFETY: nothing refers to the requested range.
        let map = |from, to| unsafe { range.map(&file, from, to, Sharing::Shared, Folios::Small) };
        let before = map(0, 4 << 20).is_ok();
        let after = [(0, 6 << 20), (4 << 20, 8 << 20), (8 << 20, 16 << 20)].map(|(from, to)| {
            map(from, to).is_err_and(|error| error.kind() == io::ErrorKind::OutOfMemory)
        });
        let ours = [addresses(&range, 0..4 << 20), addresses(&range, 8 << 20..16 << 20)];
        drop(range);
        is_noted
            && before
            && after == [true; 3]
            && theirs.iter().all(|&byte| byte == 7)
            && ours.iter().all(|part| mapped_bytes(part) < part.len())
    }));
}

#[test]
fn a_gap_that_nobody_took_is_closed() {
    let range = Reservation::new(8 << 20).unwrap();
    let all = addresses(&range, 0..range.len);
    assert!(alone(move || {
        open_gap(&range, &(2 << 20..4 << 20));
        range.close_gap(2 << 20..4 << 20);
        mapped_bytes(&all) == all.len() && range.lost.get().is_none()
    }));
}

#[test]
fn leaves_what_it_was_asked_to() {
    let (part, gap) = (Reservation::MAX / 8, 8);
    // The largest free piece of the 128 TiB of addresses is smaller than that, but there is one of 64 TiB.
    let all: Vec<_> = std::iter::from_fn(|| Reservation::leaving(part, gap).ok()).collect();
    assert!((1..16).contains(&all.len()), "{}", all.len());
    assert!(all.iter().all(|range| range.len() == part));
    // The rest is still free.
    Reservation::leaving(part, 2).unwrap();
    assert_eq!(Reservation::leaving(3 << 20, 3).unwrap().len(), 4 << 20);
}
