use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use super::*;
use crate::media::Region;

fn map(file: &File, read_only: bool) -> Result<Mapped> {
    map_in(Domain::PageCache, file, read_only)
}

fn map_in(domain: Domain, file: &File, read_only: bool) -> Result<Mapped> {
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let mapping = Mapping { read_only, direct: false, domain, instruction };
    Mapped::new(file.try_clone().unwrap(), Reservation::new(64 << 20).unwrap(), mapping)
}

fn exercise(domain: Domain) {
    let file = tempfile::tempfile().unwrap();
    let medium = map_in(domain, &file, false).unwrap();
    assert_eq!((medium.len(), medium.limit()), (0, 64 << 20));
    medium.grow(1).unwrap();
    let base = medium.base;
    assert_eq!(medium.len(), HUGE_PAGE);
    let region = Region::new(&medium, 4096, 16).unwrap();
    for word in 0..16 {
        assert_eq!(region.load(word, Ordering::Acquire), 0);
        region.store(word, word as u64 + 1, Ordering::Release);
    }
    assert_eq!(region.compare_exchange(0, 7, 8), Err(1));
    assert_eq!(region.compare_exchange(0, 1, 8), Ok(1));
    // Both ends inside a line, over the end of the medium's last line too.
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
        let mapping = Mapping { read_only: false, direct: false, domain, instruction };
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

/// A file of 4 MiB, and a medium that only reads it.
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
    file.set_len((2 << 20) + 4097).unwrap();
    let medium = map(&file, false).unwrap();
    assert_eq!(medium.len(), 2 << 20);
    medium.grow((2 << 20) + 8).unwrap();
    let new = Region::new(&medium, 2 << 20, 262_144).unwrap();
    assert!((0..new.words()).all(|word| new.load(word, Ordering::Acquire) == 0));
}

/// A file on tmpfs of so many bytes, all of it one hole.
fn in_memory(flags: libc::c_uint, bytes: u64) -> File {
    // SAFETY: the descriptor was just made, and nobody else has it.
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
    // A hole before each page.
    (1..pages).step_by(2).for_each(|page| file.write_all_at(&[7], 4096 * page).unwrap());
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let domain = Domain::PageCache;
    let mapping = Mapping { read_only: true, direct: false, domain, instruction };
    let outcome = Mapped::new(file, Reservation::new(128 << 20).unwrap(), mapping);
    assert!(matches!(outcome, Err(Error::Unsupported { .. })));
}

/// A sealed file stands in for a disk that is full: it cannot grow, but could be cut.
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
    // What the others added is there, and theirs as well now.
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
