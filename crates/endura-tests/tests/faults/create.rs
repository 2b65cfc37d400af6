//! Making pools: a name is taken by a whole pool or not at all.

use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use endura::Error;

use crate::process::*;

fn kind(error: &Error) -> Option<ErrorKind> {
    match error {
        Error::Io { source, .. } => Some(source.kind()),
        _ => None,
    }
}

#[test]
fn nothing_is_replaced() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let error = unchanged(&path, || plain().create_new(&path).unwrap_err());
        assert_eq!(kind(&error), Some(ErrorKind::AlreadyExists), "{error}");
        let text = folder.path().join("text");
        fs::write(&text, "not a pool").unwrap();
        let error = unchanged(&text, || plain().create_new(&text).unwrap_err());
        assert_eq!(kind(&error), Some(ErrorKind::AlreadyExists), "{error}");
        let error = unchanged(&text, || plain().open(&text).unwrap_err());
        assert!(matches!(error, Error::NotAPool { .. }), "{error}");
        for missing in ["no/folder", "text/file"] {
            let error = plain().open(folder.path().join(missing)).unwrap_err();
            assert!(kind(&error).is_some(), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn role_create_one() {
    let Some(path) = role_path() else { return };
    say("now");
    let pool = plain().create_new(path).unwrap();
    say("made");
    pool.close().unwrap();
}

#[test]
fn killed_while_creating() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let begun = Instant::now();
        let mut process = Process::start(role("role_create_one", &path));
        assert_eq!((process.hear().as_str(), process.hear().as_str()), ("now", "made"));
        process.finish();
        let whole = begun.elapsed();
        fs::remove_file(&path).unwrap();

        let (mut none, mut some) = (0, 0);
        for i in 0..60 {
            let mut process = Process::start(role("role_create_one", &path));
            process.hear();
            // From "at once" to "certainly too late", most of them early.
            std::thread::sleep(
                whole.mul_f64(f64::from(i * i) / 3600.0).min(Duration::from_millis(80)),
            );
            process.kill();
            match plain().open_existing(&path) {
                Ok(pool) => {
                    some += 1;
                    pool.map::<u64, u64>("map").unwrap().insert(1, 2).unwrap();
                    pool.close().unwrap();
                    fs::remove_file(&path).unwrap();
                }
                Err(error) => {
                    none += 1;
                    assert_eq!(kind(&error), Some(ErrorKind::NotFound), "{error}");
                }
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
        }
        println!("killed before the name was given: {none}, after: {some}");
        assert!(some > 0);
    }
}

#[test]
fn role_open_or_create() {
    let Some(path) = role_path() else { return };
    let mut opened = 0;
    for _ in 0..20 {
        match plain().open(&path) {
            Ok(pool) => {
                opened += 1;
                pool.close().unwrap();
            }
            Err(Error::Locked) => {}
            Err(error) => panic!("{error}"),
        }
    }
    say(&opened.to_string());
}

/// Whoever comes first makes the pool; nobody makes it twice or meets a half of it.
#[test]
fn many_create_at_once() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let mut processes: Vec<_> =
            (0..4).map(|_| Process::start(role("role_open_or_create", &path))).collect();
        let opens: u64 = processes.iter_mut().map(|p| p.hear().parse::<u64>().unwrap()).sum();
        processes.into_iter().for_each(Process::finish);
        let last = superblock(&path);
        assert_eq!((last.generation, last.clean), (opens, true));
        assert!(opens > 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn pools_are_told_apart() {
    let folder = &folders()[0];
    let uuids: Vec<_> = ["a", "b"]
        .map(|name| plain().create_new(folder.path().join(name)).unwrap().stats().unwrap().uuid)
        .into();
    assert_ne!(uuids[0], uuids[1]);
}
