//! Pools: options, copies, reports, events.

use std::ffi::{CStr, c_char, c_void};
use std::fs;
use std::ptr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use endura_c::*;

use crate::support::{
    Opened, Room, c, expect, expect_error, last_error, name, open_at, path, quick, slice, status,
};

fn open(at: &std::path::Path, flags: u32) -> (Status, PoolHandle) {
    let (mut pool, options) = (PoolHandle::NONE, Options { flags, ..Options::DEFAULT });
    (c!(endura_open(path(at).as_ptr(), &options, &mut pool)), pool)
}

#[test]
fn a_pool_keeps_its_maps() {
    let folder = tempfile::tempdir().unwrap();
    let (at, none) = (folder.path().join("pool"), ptr::null());
    let (mut pool, mut map) = (PoolHandle::NONE, MapHandle::NONE);
    expect(c!(endura_open(path(&at).as_ptr(), none, &mut pool)), OK);
    let (u64, ages) = (c"u64".as_ptr(), c"ages".as_ptr());
    expect(c!(endura_map_open(pool, ages, u64, u64, ptr::null(), &mut map)), OK);
    expect(endura_put_u64(map, 7, 70), OK);
    expect(endura_close(pool), OK);
    expect_error(endura_put_u64(map, 7, 71), E_CLOSED, "the map was closed");
    expect_error(endura_close(pool), E_CLOSED, "the pool was closed");
    let pool = open_at(&at, &quick());
    let years = c"years".as_ptr();
    expect(c!(endura_rename(pool, ages, years)), OK);
    expect(c!(endura_rename(pool, ages, years)), status("no_such_map"));
    expect(c!(endura_map_open(pool, years, none.cast(), none.cast(), none.cast(), &mut map)), OK);
    let mut value = 0;
    expect(c!(endura_get_u64(map, 7, &mut value)), OK);
    assert_eq!(value, 70);
    expect(c!(endura_drop(pool, years)), OK);
    expect(c!(endura_drop(pool, years)), ABSENT);
    expect(endura_put_u64(map, 7, 71), status("dropped"));
    expect(endura_recover_leaks(pool), OK);
    expect(endura_close(pool), OK);
}

#[test]
fn options_are_honoured() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("pool");
    let (missing, _) = open(&at, MUST_EXIST);
    expect_error(missing, status("io"), "check");
    assert_eq!(endura_last_errno(), 2);
    let (missing, pool) = open(&at, READ_ONLY);
    expect(missing, status("io"));
    assert_eq!(pool, PoolHandle::NONE);
    let (made, pool) = open(&at, MUST_NOT_EXIST | READ_MOSTLY | ANY_FILESYSTEM);
    expect(made, OK);
    let (locked, _) = open(&at, 0);
    expect_error(locked, status("locked"), "close");
    let waiting = Options { lock_timeout_ms: 300, ..quick() };
    let (begun, mut other) = (Instant::now(), PoolHandle::NONE);
    expect(c!(endura_open(path(&at).as_ptr(), &waiting, &mut other)), status("locked"));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    expect(endura_close(pool), OK);
    let (there, _) = open(&at, MUST_NOT_EXIST);
    expect(there, status("io"));
    assert_eq!(endura_last_errno(), 17);
    let (read_only, pool) = open(&at, READ_ONLY);
    expect(read_only, OK);
    expect(c!(endura_drop(pool, c"x".as_ptr())), status("read_only"));
    expect(endura_close(pool), OK);
    for (flags, text) in [
        (READ_ONLY | MUST_NOT_EXIST, "choose one"),
        (CHECKPOINTS_OFF | CHECKPOINTS_ON_DEMAND, "choose one"),
        (CHECKPOINTS_OFF | CHECKPOINT_MUST_EXIST, "choose one"),
        (1 << 20, "does not know the flags 0x100000"),
    ] {
        expect_error(open(&at, flags).0, E_ARGUMENT, text);
    }
    let (accepted, pool) = open(&at, ACCEPT_UNCLEAN | NO_RESTORE | CHECKPOINT_MUST_EXIST);
    if accepted == OK {
        expect(endura_close(pool), OK);
    }
}

#[test]
fn settings_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("pool");
    let settings = [c"max-size".as_ptr(), c"64M".as_ptr(), ptr::null()];
    let options = Options { settings: settings.as_ptr(), recovery_threads: 2, ..quick() };
    let pool = open_at(&at, &options);
    let mut stats = Room::new();
    expect(c!(endura_stats_json(pool, stats.at())), OK);
    assert!(stats.text().contains("\"max_bytes\":67108864"), "{}", stats.text());
    expect(endura_close(pool), OK);
    let pool = open_at(&at, &Options { max_size: 32 << 20, ..quick() });
    expect(c!(endura_stats_json(pool, stats.at())), OK);
    assert!(stats.text().contains("\"max_bytes\":33554432"), "{}", stats.text());
    expect(endura_close(pool), OK);
    let wrong = [c"max-sizes".as_ptr(), c"64M".as_ptr(), ptr::null()];
    let mut pool = PoolHandle::NONE;
    let options = Options { settings: wrong.as_ptr(), ..quick() };
    let opened = c!(endura_open(path(&at).as_ptr(), &options, &mut pool));
    expect_error(opened, E_ARGUMENT, "`max-sizes` is no option");
    let half = [c"max-size".as_ptr(), ptr::null()];
    let options = Options { settings: half.as_ptr(), ..quick() };
    expect(c!(endura_open(path(&at).as_ptr(), &options, &mut pool)), E_ARGUMENT);
    let options = Options { recovery_threads: 1 << 20, ..quick() };
    expect(c!(endura_open(path(&at).as_ptr(), &options, &mut pool)), E_ARGUMENT);
}

/// A program that was compiled with an older header has fewer options, one with a newer header may have more.
#[test]
fn options_of_other_versions_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = path(&folder.path().join("pool"));
    let mut pool = PoolHandle::NONE;
    let old = Options { size: 32, checkpoint_ms: u32::MAX, ..quick() };
    expect(c!(endura_open(at.as_ptr(), &old, &mut pool)), E_ARGUMENT);
    let old = Options { size: 24, checkpoint_ms: u32::MAX, ..quick() };
    expect(c!(endura_open(at.as_ptr(), &old, &mut pool)), OK);
    expect(endura_close(pool), OK);
    #[repr(C)]
    struct Newer {
        options: Options,
        more: u64,
    }
    let size = size_of::<Newer>();
    let mut newer = Newer { options: Options { size, ..quick() }, more: 0 };
    expect(c!(endura_open(at.as_ptr(), (&raw const newer).cast(), &mut pool)), OK);
    expect(endura_close(pool), OK);
    newer.more = 1;
    let opened = c!(endura_open(at.as_ptr(), (&raw const newer).cast(), &mut pool));
    expect_error(opened, E_ARGUMENT, "use a newer one");
    for size in [0, 8, 1 << 20, usize::MAX] {
        newer.options.size = size;
        let opened = c!(endura_open(at.as_ptr(), (&raw const newer).cast(), &mut pool));
        expect_error(opened, E_ARGUMENT, "ENDURA_OPTIONS");
    }
}

#[test]
fn a_pool_is_copied_and_restored() {
    let opened = Opened::with(&Options { flags: CHECKPOINTS_ON_DEMAND, ..Options::DEFAULT });
    let at = path(&opened.beside("pool"));
    let map = opened.map("ages", "str", "u64", None);
    let put = |key: &str| {
        expect(c!(endura_incr(map, slice(key.as_bytes()), 1, 0, ptr::null_mut())), OK);
    };
    put("ada");
    expect(endura_checkpoint(opened.pool), OK);
    put("eve");
    let to = |name: &str| path(&opened.beside(name));
    let (backup, last, small) = (to("backup"), to("last"), to("small"));
    expect(c!(endura_backup_of_checkpoint(at.as_ptr(), ptr::null(), last.as_ptr())), OK);
    expect(c!(endura_backup(opened.pool, backup.as_ptr())), OK);
    expect(c!(endura_backup(opened.pool, backup.as_ptr())), status("io"));
    assert_eq!(endura_last_errno(), 17);
    expect(c!(endura_compact(opened.pool, small.as_ptr())), OK);
    let keys = |name: &str| {
        let pool = open_at(&opened.beside(name), &quick());
        let (mut map, mut len, none) = (MapHandle::NONE, 0, ptr::null());
        expect(c!(endura_map_open(pool, c"ages".as_ptr(), none, none, none, &mut map)), OK);
        expect(c!(endura_len(map, &mut len)), OK);
        expect(c!(endura_verify(pool, ptr::null_mut())), OK);
        expect(endura_close(pool), OK);
        len
    };
    assert_eq!((keys("last"), keys("backup"), keys("small")), (1, 2, 2));
    opened.close();
    // An intact pool is not taken back.
    let bad = status("bad_checkpoint");
    expect(c!(endura_restore(at.as_ptr(), ptr::null(), 0)), bad);
    fs::remove_file(opened.beside("pool")).unwrap();
    expect(c!(endura_restore(at.as_ptr(), ptr::null(), 1)), OK);
    assert_eq!(keys("pool"), 2);
    let nothing = to("nothing");
    expect(c!(endura_restore(nothing.as_ptr(), ptr::null(), 0)), status("io"));
}

#[test]
fn a_close_without_a_checkpoint_says_so() {
    // On tmpfs, where `/tmp` may be, it is a failure: see `Pool::close`.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let own = folder.path().join("checkpoints");
    fs::create_dir(&own).unwrap();
    let file = path(&own.join("file"));
    let flags = CHECKPOINTS_ON_DEMAND;
    let options = Options { flags, checkpoint_file: file.as_ptr(), ..Options::DEFAULT };
    let pool = open_at(&folder.path().join("pool"), &options);
    let (mut map, u64) = (MapHandle::NONE, c"u64".as_ptr());
    expect(c!(endura_map_open(pool, c"a".as_ptr(), u64, u64, ptr::null(), &mut map)), OK);
    expect(endura_put_u64(map, 1, 1), OK);
    expect(endura_checkpoint(pool), OK);
    expect(endura_put_u64(map, 2, 2), OK);
    fs::remove_dir_all(&own).unwrap();
    expect(endura_close(pool), NO_CHECKPOINT);
    assert!(!last_error().is_empty());
    expect(endura_close(pool), E_CLOSED);
}

#[test]
fn reports_are_json() {
    let opened = Opened::new();
    opened.map("a \"quoted\" name", "str", "u64", None);
    let (mut json, mut maps) = (Room::new(), Room::new());
    expect(c!(endura_maps_json(opened.pool, maps.at())), OK);
    assert_eq!(
        maps.text(),
        r#"{"a \"quoted\" name":{"entries":0,"key_type":"str","kind":"Roart","value_type":"u64"}}"#
    );
    expect(c!(endura_verify(opened.pool, json.at())), OK);
    assert!(json.text().starts_with(r#"{"a \"quoted\" name":{"entries":0,"#), "{}", json.text());
    expect(c!(endura_stats_json(opened.pool, json.at())), OK);
    for part in ["\"file_bytes\":", "\"uuid\":\"", "\"checkpoints\":null", "\"warnings\":["] {
        assert!(json.text().contains(part), "{}", json.text());
    }
}

/// The names of events, each with its facts.
static HEARD: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

unsafe extern "C" fn hear(context: *mut c_void, event: *const c_char, json: *const c_char) {
    assert_eq!(context.addr(), 7);
    // SAFETY: the library lends both texts.
    let [event, json] =
        [event, json].map(|text| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned());
    HEARD.lock().unwrap().push((event, json));
}

#[test]
fn events_are_heard() {
    let event_context = ptr::without_provenance_mut(7);
    let options = Options {
        flags: CHECKPOINTS_ON_DEMAND,
        on_event: Some(hear),
        event_context,
        ..Options::DEFAULT
    };
    let opened = Opened::with(&options);
    let map = opened.map("a", "u64", "u64", None);
    expect(endura_put_u64(map, 1, 1), OK);
    expect(endura_checkpoint(opened.pool), OK);
    opened.close();
    let heard = HEARD.lock().unwrap().clone();
    let of = |name: &str| heard.iter().find(|(event, _)| event == name).map(|(_, json)| json);
    assert!(of("grew").unwrap().starts_with("{\"file_bytes\":"), "{heard:?}");
    assert!(of("checkpoint_ended").unwrap().contains("\"written_bytes\":"), "{heard:?}");
}

#[test]
fn names_and_versions_are_told() {
    assert_eq!(
        (name(OK), name(E_HANDLE), name(-16), name(1000)),
        ("ok", "handle", "corrupt", "unknown")
    );
    assert_eq!(endura_version(), 0x100);
    assert!(endura_format() > 0);
}
