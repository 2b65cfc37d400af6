//! Which file a pool is: copies that come in its place are refused, and the pool itself is found again wherever its
//! file system is mounted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use endura::Error;

use crate::mounts::{alone, beside_others};
use crate::process::*;

#[test]
fn role_insert_and_stay() {
    let Some(path) = role_path() else { return };
    let pool = endura::Pool::options().open_existing(path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let last = map.iter().next_back().map_or(0, |entry| entry.unwrap().0);
    for key in last..last + 1000 {
        map.insert(key, !key).unwrap();
    }
    say("inserted");
    wait_to_be_killed();
}

/// A writer that is inside the pool.
pub(crate) fn writer_of(path: &Path) -> Process {
    let mut writer = Process::start(role("role_insert_and_stay", path));
    assert_eq!(writer.hear(), "inserted");
    writer
}

fn opens(path: &Path) -> bool {
    let reading = outcome(&plain().read_only(true).open_existing(path));
    let writing = plain().open_existing(path);
    let said = outcome(&writing);
    assert_eq!(reading, said);
    writing.map(|pool| pool.close().unwrap()).is_ok()
}

fn is_refused(path: &Path) -> bool {
    matches!(refusal(path), Error::NeedsRestore { .. })
}

/// Whether the tool is there and worked.
fn run(command: &str) -> bool {
    let output = Command::new("sh").args(["-ec", command]).output().unwrap();
    if !output.status.success() {
        println!("left out: {command}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    output.status.success()
}

/// The inode of a deleted file is given to the next one on many file systems. Whether it was, in one of the rounds.
fn put_back_a_live_copy(folder: &Path) -> bool {
    let (path, copy) = (folder.join("pool"), folder.join("copy"));
    let mut is_reused = false;
    for _ in 0..5 {
        let _ = fs::remove_file(&path);
        plain().create_new(&path).unwrap().close().unwrap();
        let writer = writer_of(&path);
        fs::copy(&path, &copy).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        writer.kill();
        fs::remove_file(&path).unwrap();
        fs::copy(&copy, &path).unwrap();
        is_reused |= fs::metadata(&path).unwrap().ino() == inode;
        assert!(is_refused(&path));
        fs::remove_file(&copy).unwrap();
    }
    is_reused
}

#[test]
fn a_live_copy_that_is_put_back_is_refused() {
    for folder in folders() {
        let is_reused = put_back_a_live_copy(folder.path());
        println!("{}: inode given again: {is_reused}", folder.path().display());
    }
}

/// Sets or removes the mark of a file. Whether that worked.
fn mark(path: &Path, numbers: Option<[[u8; 16]; 2]>) -> bool {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let name = c"user.endura.session".as_ptr();
    let done = match numbers.map(|numbers| numbers.concat()) {
        // SAFETY: both names end with a zero, and the value has as many bytes as is said.
        Some(value) => unsafe {
            libc::setxattr(path.as_ptr(), name, value.as_ptr().cast(), value.len(), 0)
        },
        // SAFETY: both names end with a zero.
        None => unsafe { libc::removexattr(path.as_ptr(), name) },
    };
    done == 0
}

/// Whether files in the folder can be marked.
fn has_attributes(folder: &Path) -> bool {
    let path = folder.join("attribute");
    fs::write(&path, "").unwrap();
    mark(&path, Some([[1; 16]; 2]))
}

/// Superblock and mark are two writes: what a kill between them leaves opens, and nothing else does.
#[test]
fn a_kill_between_the_superblock_and_the_mark() {
    for folder in folders() {
        let path = closed_pool(&folder);
        if !has_attributes(folder.path()) {
            left_out("no extended attributes");
            continue;
        }
        assert!(!mark(&path, None), "a closed pool is not marked");
        unchanged(&path, || plain().read_only(true).open_existing(&path).unwrap());
        assert!(!mark(&path, None), "a reader marks nothing");
        writer_of(&path).kill();
        let (none, other) = ([0; 16], [7; 16]);
        let mut last = superblock(&path).session;
        let mut open_with = |clean, is_marked, numbers: Option<[[u8; 16]; 2]>| {
            patch(&path, |superblock| {
                (superblock.clean, superblock.is_marked) = (clean, is_marked)
            });
            assert!(mark(&path, numbers) || numbers.is_none());
            let reading = plain().read_only(true);
            let opened = outcome(&reading.open_existing(&path)) == "opened";
            if opened {
                writer_of(&path).kill();
                let now = superblock(&path);
                assert!(now.is_marked && now.session != last);
                last = now.session;
            }
            opened
        };
        let session = |path: &Path| superblock(path).session;
        // Killed before the superblock was written, after a session that was killed or closed.
        assert!(open_with(false, true, Some([other, session(&path)])));
        assert!(open_with(true, true, Some([other, none])));
        // After it, and before the number of the last session was removed.
        assert!(open_with(false, true, Some([session(&path), other])));
        assert!(open_with(false, true, Some([session(&path), none])));
        // Between the end and the removal of the mark; before the mark could be written.
        assert!(open_with(true, true, Some([session(&path), none])));
        assert!(open_with(true, true, None));
        // A session whose mark could not be written, with what an earlier one left.
        assert!(open_with(false, false, Some([other, none])));
        assert!(open_with(false, false, None));
        assert!(!open_with(false, true, Some([other, none])));
        assert!(!open_with(false, true, Some([none, none])));
        assert!(!open_with(false, true, None));
    }
}

/// Written over the same file, a copy has its birth and its inode. The mark of the file tells it, unless the copy
/// is of the last session, which ended without a close.
#[test]
fn a_copy_of_another_session_over_the_same_file() {
    for folder in folders() {
        let path = closed_pool(&folder);
        if !has_attributes(folder.path()) {
            left_out("no extended attributes");
            continue;
        }
        let copy = folder.path().join("copy");
        let writer = writer_of(&path);
        fs::copy(&path, &copy).unwrap();
        writer.kill();
        // What nothing tells: the copy is of the last session.
        fs::copy(&copy, &path).unwrap();
        assert!(opens(&path));
        // The session has been closed since, and another one begun and killed.
        fs::copy(&copy, &path).unwrap();
        assert!(is_refused(&path), "closed since");
        fs::remove_file(&path).unwrap();
        plain().create_new(&path).unwrap().close().unwrap();
        for _ in 0..2 {
            let writer = writer_of(&path);
            fs::copy(&path, &copy).unwrap();
            writer.kill();
            writer_of(&path).kill();
            let whole = folder.path().join("whole");
            fs::copy(&path, &whole).unwrap();
            fs::copy(&copy, &path).unwrap();
            assert!(is_refused(&path), "of the session before");
            // The right contents are accepted.
            fs::copy(&whole, &path).unwrap();
            assert!(opens(&path));
        }
        // Over a running writer, which is killed then.
        let writer = writer_of(&path);
        fs::copy(&copy, &path).unwrap();
        writer.kill();
        assert!(is_refused(&path), "of an earlier session, over a running one");
    }
}

#[test]
fn tools_that_copy_and_tools_that_move() {
    for folder in folders() {
        let path = closed_pool(&folder);
        fs::create_dir(folder.path().join("other")).unwrap();
        let inside = |name: &str| folder.path().join(name);
        let (dir, other) = (folder.path().display(), inside("other/pool"));
        let writer = writer_of(&path);
        for copy in [
            "cp pool other/pool",
            "cp -a pool other/pool",
            "cp --reflink=auto pool other/pool",
            "rsync --inplace pool other/pool",
            "rsync -aX pool other/pool",
            "tar cf archive pool; tar xf archive -C other",
            "tar --xattrs -cf archive pool; tar --xattrs -xf archive -C other",
        ] {
            if run(&format!("cd {dir}; {copy}")) {
                assert!(is_refused(&other), "{copy}");
                fs::remove_file(&other).unwrap();
            }
        }
        writer.kill();
        // Other names of the same file.
        for step in ["mv pool other/pool", "mv other/pool pool", "ln pool other/pool", "rm pool"] {
            assert!(run(&format!("cd {dir}; {step}")));
            let path = if path.exists() { &path } else { &other };
            writer_of(path).kill();
        }
        assert!(opens(&other));
    }
}

/// A namespace of mounts for this process and its children.
fn may_mount() -> bool {
    // SAFETY: changes which mounts this process sees, and nothing else.
    let own = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0;
    let may = own && run("mount --make-rprivate /");
    if !may {
        say("skipped: only the superuser can mount");
    }
    may
}

/// Runs a role that mounts, and hears how it went.
fn mounting(test: &str, path: &Path) {
    let mut process = Process::start(role(test, path));
    let said = process.hear();
    println!("{test}: {said}");
    process.finish();
    if said.starts_with("skipped") {
        left_out(&said);
    }
}

/// Makes and mounts a file system, and gives where.
fn mounted(folder: &Path, make: &str) -> Option<PathBuf> {
    let at = folder.join("at");
    fs::create_dir_all(&at).unwrap();
    let image = folder.join("image");
    let (image, at_text) = (image.display(), at.display());
    let made =
        run(&format!("truncate -s 320M {image}; {make} {image}; mount -o loop {image} {at_text}"));
    made.then_some(at)
}

#[test]
fn role_mount_anew() {
    let Some(folder) = role_path() else { return };
    if !may_mount() {
        return;
    }
    let mut tried = 0;
    for make in [
        "mkfs.ext4 -q -F",
        "mkfs.ext4 -q -F -I 128",
        "mkfs.ext4 -q -F -O ^ext_attr",
        "mkfs.xfs -q -f",
        "mkfs.btrfs -q -f",
    ] {
        let Some(at) = mounted(&folder, make) else { continue };
        tried += 1;
        let is_reused = put_back_a_live_copy(&at);
        println!("{make}: inode given again: {is_reused}");
        let path = at.join("pool");
        fs::remove_file(&path).unwrap();
        plain().create_new(&path).unwrap().close().unwrap();
        let bound = folder.join("bound");
        fs::create_dir_all(&bound).unwrap();
        let (image, at_text) = (folder.join("image").display().to_string(), at.display());
        writer_of(&path).kill();
        assert!(run(&format!("mount --bind {at_text} {}", bound.display())));
        writer_of(&bound.join("pool")).kill();
        assert!(run(&format!("umount {}", bound.display())));
        // A snapshot of a subvolume has the inodes and births of its origin.
        if make.contains("btrfs") && run(&format!("btrfs subvolume snapshot {at_text} {at_text}/s"))
        {
            assert!(is_refused(&at.join("s/pool")), "a snapshot");
        }
        // Behind another loop device.
        let device = || fs::metadata(&at).unwrap().dev();
        let before = device();
        let other = folder.join("other");
        assert!(run(&format!(
            "umount {at_text}; truncate -s 1M {0}; losetup -f {0}",
            other.display()
        )));
        assert!(run(&format!("mount -o loop {image} {at_text}")));
        println!("{make}: device {before:#x}, then {:#x}", device());
        // It is the same file, and what had not been written back may be lost.
        let error = refusal(&path);
        let is_told =
            matches!(error, Error::NeedsRestore { reason, .. } if reason.contains("mounted again"));
        assert!(is_told, "{make}: {error}");
        assert!(plain().accept_unclean(true).open_existing(&path).is_ok(), "{make}");
        assert!(run(&format!(
            "umount {at_text}; losetup -j {0} -O NAME -n | xargs losetup -d",
            other.display()
        )));
    }
    say(&format!("as it should be on {tried} kinds of file systems"));
    assert!(tried > 0);
}

#[test]
fn a_killed_writer_and_a_file_system_that_is_mounted_anew() {
    let _mounting = beside_others();
    mounting("role_mount_anew", folders()[0].path());
}

#[test]
fn role_restart_a_container() {
    let Some(folder) = role_path() else { return };
    if !may_mount() {
        return;
    }
    let dir = folder.display();
    // As a container has it: what the image holds below, what it wrote itself above.
    let layers = format!("lowerdir={dir}/lower,upperdir={dir}/upper,workdir={dir}/work");
    assert!(run(&format!("cd {dir}; mkdir lower upper work merged")));
    let path = folder.join("merged/pool");
    let below = folder.join("lower/pool");
    plain().create_new(&below).unwrap().close().unwrap();
    for round in 0..3 {
        if !run(&format!("mount -t overlay overlay -o {layers} {dir}/merged")) {
            say("skipped: no overlayfs");
            return;
        }
        assert!(opens(&path), "round {round}");
        let inner = folder.join("merged/inner");
        if round == 0 {
            plain().create_new(&inner).unwrap().close().unwrap();
        }
        assert!(opens(&inner), "round {round}");
        writer_of(&path).kill();
        writer_of(&inner).kill();
        // Another mount takes the number of the device.
        let taken = format!("{dir}/taken{round}");
        assert!(run(&format!("umount {dir}/merged; mkdir {taken}; mount -t tmpfs none {taken}")));
    }
    say("as it should be");
}

#[test]
fn a_container_that_is_restarted_after_a_kill() {
    let _mounting = alone();
    mounting("role_restart_a_container", folders()[0].path());
}

#[test]
fn role_without_proc() {
    let Some(folder) = role_path() else { return };
    if !may_mount() {
        return;
    }
    let killed = folder.join("killed");
    // Found while `/proc` says which program this is.
    let writer = role("role_open_and_stay", &folder.join("new"));
    for hide in ["mount -t proc -o subset=pid proc /proc", "mount -t tmpfs none /proc"] {
        if !run(hide) {
            continue;
        }
        assert!(fs::metadata("/proc/sys/kernel").is_err());
        let path = folder.join("new");
        let _ = fs::remove_file(&path);
        let pool = plain().create_new(&path).unwrap();
        pool.map::<u64, u64>("map").unwrap().insert(1, 2).unwrap();
        pool.close().unwrap();
        assert!(opens(&path), "{hide}");
        // The kernel tells the boot by its own memory as well.
        unchanged(&killed, || plain().read_only(true).open_existing(&killed).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else stays");
    }
    let mut writer = Process::start(writer);
    let _ = writer.hear();
    writer.kill();
    say("as it should be");
}

/// A container with `subset=pid`, a `chroot`.
#[test]
fn without_proc_a_killed_pool_is_whole() {
    let folder = &folders()[0];
    let killed = folder.path().join("killed");
    plain().create_new(&killed).unwrap().close().unwrap();
    writer_of(&killed).kill();
    mounting("role_without_proc", folder.path());
    assert!(opens(&killed), "where the number is known");
    let left = folder.path().join("new");
    assert!(!left.exists() || opens(&left), "killed where there is no /proc");
}
