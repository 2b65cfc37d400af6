use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::*;
use crate::media::Region;
use crate::media::holes::MOST_HOLES;

fn map(file: &File, read_only: bool) -> Result<Mapped> {
    map_in(Domain::PageCache, file, read_only)
}

fn map_in(domain: Domain, file: &File, read_only: bool) -> Result<Mapped> {
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let mapping = Mapping { read_only, direct: false, domain, instruction, notes_pages: false };
    Mapped::new(file.try_clone().unwrap(), Reservation::new(64 << 20).unwrap(), mapping)
}

fn exercise(domain: Domain) {
    let file = tempfile::tempfile().unwrap();
    let medium = map_in(domain, &file, false).unwrap();
    assert_eq!((medium.len(), medium.limit()), (0, 64 << 20));
    medium.grow(1).unwrap();
    let base = medium.base;
    assert_eq!(medium.len(), STEP);
    let region = Region::new(&medium, 4096, 16).unwrap();
    for word in 0..16 {
        assert_eq!(region.load(word, Ordering::Acquire), 0);
        region.store(word, word as u64 + 1, Ordering::Release);
    }
    assert_eq!(region.compare_exchange(0, 7, 8), Err(1));
    assert_eq!(region.compare_exchange(0, 1, 8), Ok(1));
    // A flush whose ends are inside lines, and one of the medium's last word.
    region.flush(3, 11);
    Region::new(&medium, medium.len() - 8, 1).unwrap().flush(0, 1);
    medium.fence();
    region.stream(15, 16);
    medium.drain();
    medium.prefetch(0, 1 << 20);
    medium.prefetch(u64::MAX - 64, 128);
    medium.prefetch(0, u64::MAX);
    medium.prefetch(u64::MAX, u64::MAX);
    medium.grow(20 << 20).unwrap();
    assert_eq!(medium.base, base);
    assert_eq!(region.load(0, Ordering::Acquire), 8);
    medium.sync().unwrap();
    let too_much = medium.grow((64 << 20) + 1).unwrap_err();
    let left = (64 << 20) - medium.len();
    assert!(matches!(too_much, Error::Full { free, .. } if free == left), "{too_much}");
    assert!(matches!(medium.grow(u64::MAX), Err(Error::Full { .. })));
    drop(medium);
    let again = map_in(domain, &file, false).unwrap();
    assert_eq!(Region::new(&again, 4096, 16).unwrap().load(15, Ordering::Acquire), 16);
}

#[test]
fn keeps_what_is_stored_in_every_domain() {
    [Domain::PageCache, Domain::Eadr, Domain::Adr].into_iter().for_each(exercise);
}

#[test]
fn every_instruction_of_this_cpu_runs() {
    use FlushInstruction::{Clflush, ClflushOpt, Clwb, Cvap};
    let file = tempfile::tempfile().unwrap();
    for instruction in [Clwb, ClflushOpt, Clflush, Cvap] {
        let domain = Domain::Adr;
        let mapping =
            Mapping { read_only: false, direct: false, domain, instruction, notes_pages: false };
        let reservation = Reservation::new(2 << 20).unwrap();
        let medium = Mapped::new(file.try_clone().unwrap(), reservation, mapping);
        assert_eq!(medium.is_ok(), instruction.is_available(), "{instruction:?}");
        let Ok(medium) = medium else { continue };
        medium.grow(2 << 20).unwrap();
        let region = Region::new(&medium, 0, 512).unwrap();
        region.store(9, 9, Ordering::Release);
        region.flush(0, 512);
        medium.fence();
        assert_eq!(region.load(9, Ordering::Acquire), 9);
    }
}

/// A file of 4 MiB, and a read-only medium of it.
fn only_read() -> (tempfile::NamedTempFile, Mapped) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(4 << 20).unwrap();
    let medium = map(&File::open(file.path()).unwrap(), true).unwrap();
    (file, medium)
}

#[test]
fn the_processor_refuses_a_store_to_a_read_only_mapping() {
    let (file, medium) = only_read();
    let at = medium.base.as_ptr().wrapping_add(1 << 20).cast::<u64>();
    // SAFETY: the child only stores, and leaves by the signal that it gets or by `_exit`; the parent waits.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            at.write_volatile(7);
            libc::_exit(0);
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        status
    };
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status}");
    assert!(matches!(medium.grow(5 << 20), Err(Error::ReadOnly)));
    assert!(matches!(medium.cut(2 << 20), Err(Error::ReadOnly)));
    medium.sync().unwrap();
    assert!(std::fs::read(file.path()).unwrap().iter().all(|&byte| byte == 0));
}

#[test]
#[cfg(debug_assertions)]
fn each_kind_of_store_to_a_read_only_mapping_names_its_caller() {
    let (_file, medium) = only_read();
    let line = crate::media::Span::<_, 8>::new(&medium, 0).unwrap();
    let word = Region::new(&medium, 0, 1).unwrap();
    let stores: [&dyn Fn(); 4] = [
        &|| word.store(0, 7, Ordering::Release),
        &|| word.stream(0, 7),
        &|| _ = word.compare_exchange(0, 6, 7),
        &|| _ = line.compare_exchange_pair(0, [6, 6], [7, 7]),
    ];
    for store in stores {
        let stored = std::panic::catch_unwind(std::panic::AssertUnwindSafe(store));
        assert!(stored.is_err());
    }
}

#[test]
fn an_odd_rest_of_the_file_stays_out_until_growth_covers_it() {
    let file = tempfile::tempfile().unwrap();
    for whole in [2 << 20, (2 << 20) + STEP, (4 << 20) - STEP] {
        file.set_len(whole + 4097).unwrap();
        let medium = map(&file, false).unwrap();
        assert_eq!(medium.len(), whole);
        assert!(Region::new(&medium, whole, 1).is_err());
        medium.grow(whole + 8).unwrap();
        assert_eq!(medium.len(), whole + STEP);
        let new = Region::new(&medium, whole, STEP as usize / 8).unwrap();
        assert!((0..new.words()).all(|word| new.load(word, Ordering::Acquire) == 0));
    }
}

/// A file in the folder for temporary files, which may be on a disk, and one on tmpfs.
fn both() -> [File; 2] {
    [tempfile::tempfile().unwrap(), in_memory(0, 0)]
}

/// All words of the medium. Tests mark the first word of each 4 KiB.
fn marks(medium: &Mapped) -> Region<'_, Mapped> {
    Region::new(medium, 0, (medium.len() / 8) as usize).unwrap()
}

#[test]
fn a_file_grows_in_steps_and_keeps_what_is_in_it() {
    for file in both() {
        let medium = map(&file, false).unwrap();
        let mut len = 0;
        // Single steps across the ends of two pieces, several steps at once, whole pieces, and a rest.
        let sizes = std::iter::repeat_n(1, 70).chain([3, 32, 64, 5, 27, 32, 33]);
        for steps in sizes {
            medium.grow(len + (steps - 1) * STEP + 1).unwrap();
            let new = len..len + steps * STEP;
            len = new.end;
            assert_eq!((medium.len(), file.metadata().unwrap().len()), (len, len));
            assert!(Region::new(&medium, len - 8, 2).is_err(), "a word behind the end");
            let words = marks(&medium);
            for at in new.step_by(4096) {
                assert_eq!(words.load((at / 8) as usize, Ordering::Acquire), 0);
                words.store((at / 8) as usize, at + 1, Ordering::Release);
            }
            for at in (0..len).step_by(4096) {
                assert_eq!(words.load((at / 8) as usize, Ordering::Acquire), at + 1, "{len}");
            }
        }
        let blocks = file.metadata().unwrap().blocks() * 512;
        assert!(blocks >= len, "{blocks} of {len} bytes have blocks");
        drop(medium);
        for read_only in [false, true] {
            let again = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
            let again = map(if read_only { &again } else { &file }, read_only).unwrap();
            assert_eq!(again.len(), len);
            let words = marks(&again);
            for at in (0..len).step_by(4096) {
                assert_eq!(words.load((at / 8) as usize, Ordering::Acquire), at + 1);
            }
        }
    }
}

/// How many bytes of the medium's first mapping are in huge pages of tmpfs, according to `/proc/self/smaps`.
fn in_huge_pages(medium: &Mapped) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let first = format!("{:x}-", medium.base.addr());
    let mapping = maps.lines().skip_while(|line| !line.starts_with(&first));
    let line = mapping.skip(1).find_map(|line| line.strip_prefix("ShmemPmdMapped:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn on_tmpfs_a_piece_that_is_full_is_a_huge_page() {
    let [at_once, in_steps] = [in_memory(0, 0), in_memory(0, 0)];
    let medium = map(&at_once, false).unwrap();
    medium.grow(HUGE_PAGE).unwrap();
    // 0 where the kernel makes no huge pages.
    let expected = in_huge_pages(&medium);
    let medium = map(&in_steps, false).unwrap();
    for len in (STEP..HUGE_PAGE).step_by(STEP as usize) {
        medium.grow(len).unwrap();
        assert_eq!(
            in_steps.metadata().unwrap().blocks() * 512,
            len,
            "no memory that it may not need"
        );
        let words = marks(&medium);
        (0..words.words()).step_by(512).for_each(|word| words.store(word, 7, Ordering::Release));
    }
    assert_eq!(in_huge_pages(&medium), 0);
    medium.grow(HUGE_PAGE).unwrap();
    assert_eq!(in_huge_pages(&medium), expected);
}

/// Other threads write to a piece while it grows, and while tmpfs moves it into a huge page.
#[test]
fn a_piece_that_is_in_use_grows() {
    for file in both() {
        let medium = map(&file, false).unwrap();
        medium.grow(STEP).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let counts = [0_usize, 1].map(|thread| {
                let (medium, is_over) = (&medium, &is_over);
                scope.spawn(move || {
                    let words = Region::new(medium, 0, STEP as usize / 8).unwrap();
                    let mut count = 0_usize;
                    while !is_over.load(Ordering::Relaxed) {
                        let word = 512 * (count % 16) + thread;
                        let before = words.load(word, Ordering::Acquire);
                        words.store(word, before + 1, Ordering::Release);
                        count += 1;
                    }
                    count
                })
            });
            for steps in 2..=100 {
                medium.grow(steps * STEP).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            for (thread, count) in counts.into_iter().enumerate() {
                let count = count.join().unwrap();
                let words = Region::new(&medium, 0, STEP as usize / 8).unwrap();
                let sum = (0..16).map(|page| words.load(512 * page + thread, Ordering::Acquire));
                assert_eq!(sum.sum::<u64>(), count as u64);
            }
        });
    }
}

#[test]
fn a_cut_gives_back_the_end_of_the_file() {
    for file in both() {
        let medium = map(&file, false).unwrap();
        medium.grow(9 << 20).unwrap();
        (0..9_u64 << 20).step_by(4096).for_each(|at| {
            marks(&medium).store((at / 8) as usize, at + 1, Ordering::Release);
        });
        let before = file.metadata().unwrap().blocks();
        let old = [3 << 20, (9 << 20) - STEP].map(|at| Region::new(&medium, at, 1).unwrap());
        medium.cut(10 << 20).unwrap();
        medium.cut(u64::MAX).unwrap();
        assert_eq!((medium.len(), file.metadata().unwrap().len()), (9 << 20, 9 << 20));
        medium.cut((3 << 20) - STEP + 1).unwrap();
        assert_eq!((medium.len(), file.metadata().unwrap().len()), (3 << 20, 3 << 20));
        assert!(file.metadata().unwrap().blocks() < before);
        // A late access through an old region raises no signal, and a new region is refused.
        assert_eq!(old.map(|word| word.load(0, Ordering::Acquire)), [0, 0]);
        for at in [3 << 20, (4 << 20) - 8, 8 << 20] {
            assert!(Region::new(&medium, at, 1).is_err());
        }
        (0..3_u64 << 20).step_by(4096).for_each(|at| {
            assert_eq!(marks(&medium).load((at / 8) as usize, Ordering::Acquire), at + 1);
        });
        assert!(matches!(medium.grow(4 << 20), Err(Error::Closed { .. })));
        medium.cut(1 << 20).unwrap();
        assert_eq!((medium.len(), file.metadata().unwrap().len()), (1 << 20, 1 << 20));
        drop(medium);
        let again = map(&file, false).unwrap();
        assert_eq!(marks(&again).load(512, Ordering::Acquire), 4097);
        again.grow((1 << 20) + 1).unwrap();
        let new = Region::new(&again, 1 << 20, STEP as usize / 8).unwrap();
        assert!((0..new.words()).all(|word| new.load(word, Ordering::Acquire) == 0));
    }
}

#[test]
fn a_release_leaves_nothing_of_the_file() {
    for file in both() {
        let medium = map(&file, false).unwrap();
        medium.grow(9 << 20).unwrap();
        // A growth that is refused leaves the mapping as it was.
        assert!(matches!(medium.grow(65 << 20), Err(Error::Full { .. })));
        marks(&medium).store(0, 7, Ordering::Release);
        let old = [0, (9 << 20) - STEP].map(|at| Region::new(&medium, at, 1).unwrap());
        let inode = file.metadata().unwrap().ino();
        let is_mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().any(|line| line.split_whitespace().nth(4) == Some(&inode.to_string()))
        };
        assert!(is_mapped());
        medium.release();
        assert!(!is_mapped());
        assert!(matches!(medium.file(), Err(Error::Closed { .. })));
        // As after a cut, except that the file keeps its length.
        assert_eq!((medium.len(), file.metadata().unwrap().len()), (0, 9 << 20));
        assert_eq!(old.map(|word| word.load(0, Ordering::Acquire)), [0, 0]);
        assert!(Region::new(&medium, 0, 1).is_err());
        assert!(matches!(medium.grow(10 << 20), Err(Error::Closed { .. })));
        medium.release();
        drop(medium);
        assert_eq!(marks(&map(&file, false).unwrap()).load(0, Ordering::Acquire), 7);
    }
}

/// A file on tmpfs of `bytes` bytes, all of them one hole.
fn in_memory(flags: libc::c_uint, bytes: u64) -> File {
    // SAFETY: the descriptor was just made, and no other value owns it.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"pool".as_ptr(), flags)) };
    file.set_len(bytes).unwrap();
    file
}

#[test]
fn a_reader_reads_holes_and_fills_none() {
    let file = in_memory(0, 8 << 20);
    let written = [0, 1 << 20, (1 << 20) + 4096, (3 << 20) + 8192, (8 << 20) - 4096];
    for skipped in 0..written.len() {
        file.set_len(0).unwrap();
        file.set_len(8 << 20).unwrap();
        let written = written.into_iter().enumerate().filter(|&(i, _)| i != skipped);
        let written: Vec<u64> = written.map(|(_, at)| at).collect();
        written.iter().for_each(|&at| file.write_all_at(&[7; 4096], at).unwrap());
        let before = file.metadata().unwrap().blocks();
        let reading = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let medium = map(&reading, true).unwrap();
        let words = Region::new(&medium, 0, (8 << 20) / 8).unwrap();
        for word in 0..words.words() {
            let is_written = written.iter().any(|&at| (at..at + 4096).contains(&(8 * word as u64)));
            let expected = if is_written { u64::from_le_bytes([7; 8]) } else { 0 };
            assert_eq!(words.load(word, Ordering::Acquire), expected, "{skipped}, {word}");
        }
        assert_eq!(file.metadata().unwrap().blocks(), before);
    }
}

#[test]
fn a_reader_refuses_more_holes_than_a_process_has_mappings_for() {
    let pages = 2 * (MOST_HOLES as u64 + 1);
    let file = in_memory(0, (4096 * pages).next_multiple_of(HUGE_PAGE));
    // Every second page is a hole.
    (1..pages).step_by(2).for_each(|page| file.write_all_at(&[7], 4096 * page).unwrap());
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let domain = Domain::PageCache;
    let mapping =
        Mapping { read_only: true, direct: false, domain, instruction, notes_pages: false };
    let outcome = Mapped::new(file, Reservation::new(128 << 20).unwrap(), mapping);
    assert!(matches!(outcome, Err(Error::Unsupported { .. })));
}

/// A sealed file replaces a full disk: it cannot grow, but could be shortened.
#[test]
fn a_growth_that_fails_leaves_what_others_added() {
    let file = in_memory(libc::MFD_ALLOW_SEALING, 0);
    let [first, second] = [(), ()].map(|()| map(&file, false).unwrap());
    first.grow(8 << 20).unwrap();
    let word = Region::new(&first, 6 << 20, 1).unwrap();
    word.store(0, 7, Ordering::Release);
    // SAFETY: the descriptor is open.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_GROW) };
    assert_eq!(sealed, 0);
    let error = second.grow(16 << 20).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert_eq!((file.metadata().unwrap().len(), second.len()), (8 << 20, 0));
    // The growth of the first medium is kept, and the second one can now map it.
    second.grow(8 << 20).unwrap();
    let seen = Region::new(&second, 6 << 20, 1).unwrap();
    assert_eq!([&word, &seen].map(|word| word.load(0, Ordering::Acquire)), [7, 7]);
}

#[test]
fn a_file_beyond_the_reservation_is_refused() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(66 << 20).unwrap();
    assert!(matches!(map(&file, false), Err(Error::Full { .. })));
}

/// In each domain flushed pages are noted, also pages of a growth; pages that were only stored to are not.
#[test]
fn flushed_pages_are_noted() {
    for domain in [Domain::PageCache, Domain::Eadr, Domain::Adr] {
        let file = tempfile::tempfile().unwrap();
        file.set_len(STEP).unwrap();
        let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
        let noting =
            Mapping { read_only: false, direct: false, domain, instruction, notes_pages: true };
        let media = Mapped::new(file, Reservation::new(1 << 30).unwrap(), noting).unwrap();
        media.grow(3 * STEP).unwrap();
        let pages = media.dirty_pages().unwrap();
        let word = |at| Region::new(&media, at, 1).unwrap();
        word(0).store(0, 1, Ordering::Release);
        assert_eq!(pages.count(media.len()), 0, "a store alone");
        for at in [0, 4096, 4104, 2 * STEP + 8] {
            word(at).store(0, 1, Ordering::Release);
            word(at).flush(0, 1);
        }
        word(2 * STEP + 4096).stream(0, 7);
        assert_eq!(pages.take(media.len()), [0, 1, 32, 33], "{domain:?}");
        assert!(pages.barrier());
        assert_eq!(pages.count(media.len()), 0);
    }
    let file = tempfile::tempfile().unwrap();
    file.set_len(STEP).unwrap();
    let media = map_in(Domain::PageCache, &file, false).unwrap();
    assert!(media.dirty_pages().is_none());
}
