//! Small file systems of a test's own: made in an image, mounted by a loop device, and gone with the test.
//!
//! A test with volumes is two: one that calls [`with_own_mounts`], and the role that this starts, a process whose mounts
//! nobody else sees. However that process ends, the kernel takes its mounts away, and then its loop devices.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustix::fs::{FallocateFlags, fallocate};
use tempfile::TempDir;

use crate::process::*;

/// Held by tests that mount file systems, and alone by those of a pool on an overlay, whose proof that the one below is the same is
/// that none was mounted meanwhile.
static MOUNTING: RwLock<()> = RwLock::new(());

/// To be held while file systems are mounted.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    MOUNTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// To be held while no other test may mount one.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    MOUNTING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the test `role` as a process with mounts of its own. It says that all is as it should be, or calls [`leave_out`].
pub(crate) fn with_own_mounts(role: &str) {
    let _mounting = beside_others();
    run_with_own_mounts(role);
}

/// The same while no other test mounts anything.
pub(crate) fn with_own_mounts_alone(role: &str) {
    let _mounting = alone();
    run_with_own_mounts(role);
}

fn run_with_own_mounts(role: &str) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut process = Process::start(in_own_mounts(&crate::process::role(role, folder.path())));
    let said = process.hear();
    process.finish();
    match said.strip_prefix("left out: ") {
        Some(why) => left_out(&format!("{role}: {why}")),
        None => assert_eq!(said, "as it should be"),
    }
}

/// The same command, in a namespace of mounts that is its own. Who is not root stays in that of all.
pub(crate) fn in_own_mounts(command: &Command) -> Command {
    let mut inside = if is_root() {
        let mut unshare = Command::new("unshare");
        unshare.args(["-m", "--propagation", "private"]).arg(command.get_program());
        unshare
    } else {
        Command::new(command.get_program())
    };
    inside.args(command.get_args());
    let changed = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    inside.envs(changed);
    inside.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::inherit());
    inside
}

/// Tells [`with_own_mounts`] that the role cannot do here what it is for.
pub(crate) fn leave_out(why: &str) {
    say(&format!("left out: {}", why.replace('\n', "; ")));
}

/// A file system that was made for one test, mounted in a folder of its own.
pub(crate) struct Volume {
    kind: String,
    options: String,
    /// Holds the loop device, which goes when nobody has it open and nothing is mounted from it.
    device: Option<(PathBuf, File)>,
    is_mounted: bool,
    folder: TempDir,
}

impl Volume {
    /// A file system of this kind (`ext4`, `xfs`, `tmpfs`) and size, mounted. None after [`leave_out`], where it cannot be
    /// made. XFS needs 300 MB at the least, of which the image holds only what is written.
    pub(crate) fn new(kind: &str, megabytes: u64) -> Option<Self> {
        Self::with(kind, megabytes, "", "")
    }

    /// The same with these arguments for `mkfs`, and these options for `mount`.
    pub(crate) fn with(kind: &str, megabytes: u64, mkfs: &str, options: &str) -> Option<Self> {
        // Below the folder of the role, whose test removes it when the role was killed.
        let above = role_path().expect("a volume is made by a role, which has mounts of its own");
        Self::made(&above, (kind, megabytes), mkfs, options)
    }

    /// A file system of this kind (`ext4`, `xfs`) with these options for `mount`, and the disk below it: a `tmpfs`. Filled, it
    /// refuses what the file system writes where nothing was written before.
    ///
    /// A loop device of Linux 6.18 says that a write is done of which its image had room for a part. No store survives
    /// such a disk, and no real one is like that. So all requests are of one page of the image, for which there is room
    /// or not, and the blocks of the file system are as large.
    pub(crate) fn on_disk_that_fills(kind: &str, options: &str) -> Option<(Self, Self)> {
        let (room, megabytes, mkfs) = match kind {
            "xfs" => (420, 320, "-K -b size=4096"),
            _ => (120, 80, "-b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
        };
        let disk = Self::new("tmpfs", room)?;
        let volume = Self::made(&disk.path(), (kind, megabytes), mkfs, options)?;
        let device = volume.device().file_name().unwrap().to_str().unwrap();
        let limit = format!("/sys/block/{device}/queue/max_sectors_kb");
        if let Err(error) = fs::write(&limit, "4") {
            leave_out(&format!("{limit}: {error}"));
            return None;
        }
        Some((volume, disk))
    }

    fn made(folder: &Path, size: (&str, u64), mkfs: &str, options: &str) -> Option<Self> {
        let made = Self::make(folder, size, mkfs, options);
        made.inspect_err(|why| leave_out(&format!("no {} volume: {why}", size.0))).ok()
    }

    /// Has the device take requests of at most 4 KiB, of which the image has one page.
    fn limit_requests(&self) -> Result<(), String> {
        let Some((device, _)) = &self.device else { return Ok(()) };
        let name = device.file_name().unwrap().to_str().unwrap();
        let limit = format!("/sys/block/{name}/queue/max_sectors_kb");
        fs::write(&limit, "4").map_err(|error| format!("{limit}: {error}"))
    }

    fn make(
        above: &Path,
        (kind, megabytes): (&str, u64),
        mkfs: &str,
        options: &str,
    ) -> Result<Self, String> {
        if !is_root() {
            return Err("only the superuser can mount".to_owned());
        }
        let folder = tempfile::tempdir_in(above).unwrap();
        fs::create_dir(folder.path().join("mounted")).unwrap();
        let mut volume = Self {
            kind: kind.to_owned(),
            options: options.to_owned(),
            device: None,
            is_mounted: false,
            folder,
        };
        if kind == "tmpfs" {
            volume.options = format!("size={megabytes}M{}{options}", comma(options));
        } else {
            let image = volume.image();
            File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
            let force = if kind == "ext4" { "-F" } else { "" };
            run(&format!("mkfs.{kind} -q {force} {mkfs} {}", image.display()))?;
            volume.attach()?;
        }
        volume.try_mount()?;
        Ok(volume)
    }

    /// Makes a loop device of the image.
    fn attach(&mut self) -> Result<(), String> {
        let device = run(&format!("losetup -f --show {}", self.image().display()))?;
        let held = File::open(&device).map_err(|error| format!("{device}: {error}"))?;
        // It is in use, so that this only says that its last user takes it away.
        run(&format!("losetup -d {device}"))?;
        self.device = Some((PathBuf::from(device), held));
        Ok(())
    }

    /// A copy of all that its device has now, whoever writes meanwhile: mended as its tools do, and mounted.
    pub(crate) fn copy_of_device(&self) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        fs::create_dir(folder.path().join("mounted")).unwrap();
        // Both are of one number, which XFS wants to be told.
        let options = if self.kind == "xfs" { "nouuid" } else { "" };
        let mut copy = Self {
            kind: self.kind.clone(),
            options: options.to_owned(),
            device: None,
            is_mounted: false,
            folder,
        };
        let (from, to) = (self.device().display(), copy.image());
        run(&format!("dd if={from} of={} bs=1M iflag=direct status=none", to.display()))?;
        copy.attach()?;
        if self.kind == "ext4" {
            // It says by its status that it has mended something.
            let _ = run(&format!("fsck.ext4 -fy {}", copy.device().display()));
        }
        copy.try_mount()?;
        Ok(copy)
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    /// The image, of a volume that is not in memory.
    pub(crate) fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// The loop device, of a volume that is not in memory.
    pub(crate) fn device(&self) -> &Path {
        &self.device.as_ref().expect("a tmpfs has no device").0
    }

    /// Unmounts it, which must work: nothing may have a file of it open.
    pub(crate) fn unmount(&mut self) {
        run(&format!("umount {}", self.path().display())).unwrap();
        self.is_mounted = false;
    }

    /// Mounts it again, from the same device. (Of a tmpfs nothing is left.)
    pub(crate) fn mount(&mut self) {
        self.try_mount().unwrap();
    }

    /// The same with other options, where the kernel knows them.
    pub(crate) fn mount_with(&mut self, options: &str) -> Result<(), String> {
        self.options = options.to_owned();
        self.try_mount()
    }

    fn try_mount(&mut self) -> Result<(), String> {
        let Self { kind, options, device, .. } = self;
        let device = device.as_ref().map_or(Path::new("none"), |(path, _)| path);
        let options = format!("rw{}{options}", comma(options));
        let (device, path) = (device.display(), self.folder.path().join("mounted"));
        run(&format!("mount -t {kind} -o {options} {device} {}", path.display()))?;
        self.is_mounted = true;
        Ok(())
    }

    /// Ends the file system as a fatal error does: what was not written back is lost. XFS and ext4 know the call.
    pub(crate) fn shutdown(&self) {
        const SHUTDOWN: libc::Ioctl = 0x8004_587D;
        /// Without writing the journal.
        const NO_LOG_FLUSH: u32 = 2;
        let (folder, how) = (File::open(self.path()).unwrap(), NO_LOG_FLUSH);
        // SAFETY: the call reads a number. It ends the file system of this test's own.
        let done = unsafe { libc::ioctl(folder.as_raw_fd(), SHUTDOWN, &raw const how) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }

    /// Fills it to the last block, by a file named `filler`.
    pub(crate) fn fill(&self) {
        let path = self.path().join("filler");
        let mut filler = File::options().create(true).append(true).open(path).unwrap();
        let (flags, mut end) = (FallocateFlags::empty(), filler.metadata().unwrap().len());
        for piece in [64 << 20, 1 << 20, 64 << 10, 4096] {
            while fallocate(&filler, flags, end, piece).is_ok() {
                end += piece;
            }
        }
        // What was kept back for the descriptions of these blocks.
        while filler.write_all(&[1; 4096]).is_ok() {}
        let _ = filler.sync_all();
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if self.is_mounted {
            // Also where a file of it is still open, by a test that panics.
            let _ = run(&format!("umount -l {}", self.path().display()));
        }
    }
}

fn is_root() -> bool {
    // SAFETY: the call only answers.
    unsafe { libc::geteuid() == 0 }
}

fn comma(options: &str) -> &'static str {
    if options.is_empty() { "" } else { "," }
}

/// What a command of the shell says, or what it complains of.
pub(crate) fn run(command: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", command]).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{command}: {}", text(&output.stderr))),
    }
}

/// Whether there is a loop device of this image. (A device's number may be another volume's by then.)
fn has_device(image: &Path) -> bool {
    run("losetup -l -n -O BACK-FILE").unwrap().contains(&image.display().to_string())
}

#[test]
fn role_with_volumes() {
    if role_path().is_none() {
        return;
    }
    for (kind, megabytes) in [("tmpfs", 4), ("ext4", 16), ("xfs", 320)] {
        let Some(mut volume) = Volume::new(kind, megabytes) else { return };
        let file = volume.path().join("file");
        fs::write(&file, "synced").unwrap();
        File::open(&file).unwrap().sync_all().unwrap();
        volume.unmount();
        assert!(!file.exists());
        volume.mount();
        if kind != "tmpfs" {
            assert_eq!(fs::read(&file).unwrap(), b"synced");
            fs::write(volume.path().join("other"), "never written back").unwrap();
            volume.shutdown();
            assert!(fs::write(&file, "refused").is_err());
            volume.unmount();
            volume.mount();
            assert_eq!(fs::read(&file).unwrap(), b"synced");
            assert!(!volume.path().join("other").exists());
            assert!(has_device(&volume.image()));
        }
        volume.fill();
        assert!(fs::write(volume.path().join("more"), [1; 4096]).is_err());
        let image = volume.image();
        drop(volume);
        assert!(!has_device(&image));
    }
    say("as it should be");
}

#[test]
fn role_device_without_room() {
    if role_path().is_none() {
        return;
    }
    for kind in ["ext4", "xfs"] {
        let Some((mut volume, disk)) = Volume::on_disk_that_fills(kind, "") else { return };
        volume.unmount();
        disk.fill();
        let filler = File::options().write(true).open(disk.path().join("filler")).unwrap();
        filler.set_len(filler.metadata().unwrap().len() - (256 << 10)).unwrap();
        // There is room for a half of it. The device has nothing there yet.
        let write =
            "dd if=/dev/urandom iflag=fullblock oflag=direct status=none bs=512K count=1 seek=60";
        let written = run(&format!("{write} of={}", volume.device().display()));
        assert!(written.is_err(), "{kind}");
    }
    say("as it should be");
}

#[test]
fn a_device_without_room_for_all_of_a_write_refuses_it() {
    with_own_mounts("role_device_without_room");
}

#[test]
fn volumes_are_made_and_leave_nothing() {
    with_own_mounts("role_with_volumes");
}
