//! Files that are no pool, or not one of this build: each is refused by name, and left as it was.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;

use endura::{Error, Pool};
use endura_engine::media::STEP;
use endura_engine::space::PAGE;

use crate::process::*;

/// Where the number of pages in use stands.
const NEXT_PAGE: u64 = 8192;
/// Where the pool says how long it is.
const LENGTH: u64 = 8240;
/// Where the map directory begins.
const DIRECTORY: u64 = 16384;

#[test]
fn empty_and_foreign_files() {
    for folder in folders() {
        let path = folder.path().join("foreign");
        for len in [0, 1, 127, 128, 5000, PAGE as usize, PAGE as usize + 4097] {
            let mut state = 0x9E37_79B9_u64 + len as u64;
            let noise = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            });
            fs::write(&path, noise.take(len).collect::<Vec<_>>()).unwrap();
            let error = refusal(&path);
            assert!(matches!(error, Error::NotAPool { .. }), "{len} bytes: {error}");
            assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
            fs::write(&path, vec![0; len]).unwrap();
            let error = refusal(&path);
            assert!(matches!(error, Error::NotAPool { .. }), "{len} zeros: {error}");
        }
    }
}

#[test]
fn truncated_pools() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let whole = fs::read(&path).unwrap();
        let short = [8, 64, 127, 128, 4095, 4096, 4160, 8191, 8195, 12288, STEP - 1];
        for len in short {
            fs::write(&path, &whole[..len as usize]).unwrap();
            let error = refusal(&path);
            let right =
                matches!(error, Error::Truncated { have, need, .. } if have == len && need == STEP);
            assert!(right, "{len} bytes: {error}");
        }
        // A pool of four pages and a part of the fifth, of which the file has one, two and a half, and nearly all.
        let mut whole = fs::read(closed_pool(&folders()[0])).unwrap();
        whole.resize(5 * PAGE as usize, 0);
        whole[NEXT_PAGE as usize..][..8].copy_from_slice(&5u64.to_le_bytes());
        let length = 4 * PAGE + 3 * STEP;
        whole[LENGTH as usize..][..8].copy_from_slice(&length.to_le_bytes());
        for len in [PAGE, 5 * PAGE / 2, 4 * PAGE + STEP, length - STEP, length - 1] {
            fs::write(&path, &whole[..len as usize]).unwrap();
            let error = refusal(&path);
            let right = matches!(error, Error::Truncated { have, need, .. } if have == len && need == length);
            assert!(right, "{len} bytes: {error}");
        }
    }
}

/// What only the mapped file shows is found before a session begins as well.
#[test]
fn a_damaged_directory() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let pool = Pool::options().open_existing(&path).unwrap();
        pool.map::<u64, u64>("map").unwrap().insert(1, 2).unwrap();
        pool.close().unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&77u64.to_le_bytes(), DIRECTORY).unwrap();
        let error = refusal(&path);
        assert!(matches!(error, Error::Corrupt { offset: DIRECTORY, .. }), "{error}");
    }
}

#[test]
fn an_impossible_number_of_pages() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let file = File::options().write(true).open(&path).unwrap();
        for pages in [0, u64::MAX, 1 << 43] {
            file.write_all_at(&u64::to_le_bytes(pages), NEXT_PAGE).unwrap();
            let error = refusal(&path);
            assert!(matches!(error, Error::Corrupt { offset: NEXT_PAGE, .. }), "{pages}: {error}");
        }
        file.write_all_at(&u64::to_le_bytes(1 << 42), NEXT_PAGE).unwrap();
        let error = refusal(&path);
        assert!(matches!(error, Error::Corrupt { offset: LENGTH, .. }), "{error}");
        file.write_all_at(&u64::to_le_bytes((1 << 42) * PAGE), LENGTH).unwrap();
        assert!(matches!(refusal(&path), Error::Truncated { .. }));
    }
}

#[test]
fn versions_and_features_to_come() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let now = superblock(&path);
        patch(&path, |superblock| superblock.version += 1);
        let error = refusal(&path);
        assert!(
            matches!(error, Error::Version { found, want } if found == want + 1 && want == now.version),
            "{error}"
        );
        for bit in [1, 17, 63] {
            patch(&path, |superblock| {
                (superblock.version, superblock.incompatible) = (now.version, 1 << bit);
            });
            let error = refusal(&path);
            assert!(
                matches!(error, Error::UnknownFeatures { bits } if bits == 1 << bit),
                "{error}"
            );
        }
        patch(&path, |superblock| (superblock.incompatible, superblock.writable_with) = (0, 4));
        let error = unchanged(&path, || Pool::options().open_existing(&path).unwrap_err());
        assert!(matches!(error, Error::UnknownFeatures { bits: 4 }), "{error}");
        Pool::options().read_only(true).open_existing(&path).unwrap();

        patch(&path, |superblock| (superblock.writable_with, superblock.compatible) = (0, !0));
        Pool::options().open_existing(&path).unwrap().close().unwrap();
        assert_eq!(superblock(&path).compatible, !0, "what is not known is kept");
        for change in [|s: &mut _| patch_page(s, 1 << 12), |s: &mut _| patch_line(s, 128)] {
            patch(&path, change);
            assert!(matches!(refusal(&path), Error::Unsupported { .. }));
        }
    }
}

fn patch_page(superblock: &mut endura_engine::space::superblock::Superblock, bytes: u32) {
    superblock.page_bytes = bytes;
}

fn patch_line(superblock: &mut endura_engine::space::superblock::Superblock, bytes: u32) {
    (superblock.page_bytes, superblock.line_bytes) = (PAGE as u32, bytes);
}

/// The codec's tests flip every bit; here a few go through the whole open.
#[test]
fn flipped_bits_in_the_superblocks() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let flip = |at: u64| {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        };
        for byte in [0, 8, 9, 20, 48, 66, 75, 104, 120, 124, 127] {
            for copy in [0, 4096] {
                flip(copy + byte);
                let pool = Pool::options().open_existing(&path).unwrap();
                assert!(pool.stats().unwrap().clean_open);
                pool.close().unwrap();
                assert_eq!(fs::read(&path).unwrap()[..128], fs::read(&path).unwrap()[4096..4224]);
            }
            flip(byte);
            flip(4096 + byte);
            let error = refusal(&path);
            match byte {
                0 => assert!(matches!(error, Error::NotAPool { .. }), "byte {byte}: {error}"),
                _ => assert!(matches!(error, Error::Corrupt { offset: 0, .. }), "{byte}: {error}"),
            }
            flip(byte);
            flip(4096 + byte);
        }
    }
}

#[test]
fn things_that_are_no_files() {
    for folder in folders() {
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name is a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let folder = folder.path().to_owned();
        for path in [folder.clone(), pipe, socket, "/dev/null".into(), "/dev/zero".into()] {
            for read_only in [false, true] {
                let error = Pool::options().read_only(read_only).open_existing(&path).unwrap_err();
                assert!(matches!(error, Error::NotAPool { .. }), "{}: {error}", path.display());
            }
            let error = Pool::options().create_new(&path).unwrap_err();
            let exists = matches!(&error, Error::Io { source, .. }
                if source.kind() == std::io::ErrorKind::AlreadyExists);
            let refused = path.starts_with("/dev") && !path.starts_with("/dev/shm");
            assert!(exists || refused, "{}: {error}", path.display());
        }
        assert!(fs::metadata(&folder).unwrap().is_dir());
    }
}

#[test]
fn links_lead_to_pools() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let pool = Pool::options().open_existing(&link).unwrap();
        assert!(matches!(Pool::options().open_existing(&path), Err(Error::Locked)));
        drop(pool);
        fs::remove_file(&path).unwrap();
        let error = Pool::options().open(&link).unwrap_err();
        let missing = matches!(&error, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound);
        assert!(missing, "{error}");
        let created = Pool::options().create_new(&link).unwrap_err();
        let exists = matches!(&created, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::AlreadyExists);
        assert!(exists, "{created}");
        for text in [error.to_string(), created.to_string()] {
            let names_both = text.contains(&*link.to_string_lossy())
                && text.contains(&format!("a symbolic link to {}", path.display()));
            assert!(names_both, "{text}");
        }
        assert!(!path.exists(), "nothing is made through a link that leads nowhere");
    }
}

#[test]
fn role_open_as_it_may() {
    let Some(path) = role_path() else { return };
    let denied = |opened: endura::Result<Pool>| {
        matches!(opened, Err(Error::Io { source, .. })
            if source.kind() == std::io::ErrorKind::PermissionDenied)
    };
    assert!(denied(Pool::options().open_existing(&path)));
    assert!(denied(Pool::options().open(&path)));
    let pool = Pool::options().read_only(true).open_existing(&path).unwrap();
    assert!(pool.stats().unwrap().read_only);
    say("as it should be");
}

#[test]
fn a_file_that_may_only_be_read() {
    for folder in folders() {
        let path = closed_pool(&folder);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        // The superuser may write to it all the same: try as nobody, who must reach the folder.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // SAFETY: asks who we are.
        let superuser = unsafe { libc::geteuid() } == 0;
        let mut command = role("role_open_as_it_may", &path);
        if superuser {
            command.uid(65534);
        }
        unchanged(&path, || match command.spawn() {
            Err(error) => left_out(&format!("nobody cannot run this test program: {error}")),
            Ok(child) => {
                let output = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success() && said.contains("<as it should be>"), "{said}");
            }
        });
    }
}

#[test]
fn a_read_only_open_writes_nothing() {
    for folder in folders() {
        let path = closed_pool(&folder);
        unchanged(&path, || {
            let first = Pool::options().read_only(true).open_existing(&path).unwrap();
            let second = Pool::options().read_only(true).open_existing(&path).unwrap();
            assert_eq!(first.stats().unwrap().generation, 2);
            assert_eq!(second.stats().unwrap().generation, 2);
            first.close().unwrap();
            assert!(matches!(first.stats(), Err(Error::Closed { .. })));
            assert!(matches!(first.close(), Err(Error::Closed { .. })));
            for error in [first.stats().unwrap_err(), first.maps().unwrap_err()] {
                assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
            }
        });
        let missing = folder.path().join("missing");
        assert!(Pool::options().read_only(true).open(&missing).is_err());
        assert!(matches!(
            Pool::options().read_only(true).create_new(&missing),
            Err(Error::ReadOnly)
        ));
        assert!(!missing.exists());
    }
}

#[test]
fn generations_count_the_opens() {
    for folder in folders() {
        let path = closed_pool(&folder);
        for generation in 2..6 {
            let pool = Pool::options().open_existing(&path).unwrap();
            let stats = pool.stats().unwrap();
            assert_eq!((stats.generation, stats.clean_open), (generation, true));
            // The last handle closes.
            let other = pool.clone();
            drop(pool);
            assert!(!superblock(&path).clean);
            drop(other);
            assert!(superblock(&path).clean);
        }
    }
}

#[test]
fn a_generation_that_looks_like_an_old_one() {
    for folder in folders() {
        let path = closed_pool(&folder);
        patch(&path, |superblock| superblock.generation = (1 << 20) - 1);
        let read_only = Pool::options().read_only(true);
        let error = unchanged(&path, || read_only.open_existing(&path).unwrap_err());
        assert!(matches!(error, Error::NeedsRecovery), "{error}");
        Pool::options().open_existing(&path).unwrap().close().unwrap();
        assert_eq!(superblock(&path).generation, 1 << 20);
        read_only.open_existing(&path).unwrap();
    }
}
