//! Pools in each state.

use std::fs::Permissions;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use endura::{Checkpoints, Pool};
use endura_engine::space::{FORMAT, Superblock};

pub(crate) const ROLE: &str = "ENDURA_STATES_ROLE";
const EARLY: &str = "ENDURA_STATES_EARLY";
/// The folder for states on a full disk.
pub(crate) const DISK: &str = "ENDURA_STATES_DISK";

/// A state of a pool.
pub(crate) struct State {
    pub(crate) name: &'static str,
    /// What has happened to the pool, in a sentence.
    pub(crate) story: &'static str,
    /// Puts the pool `p` in a folder into the state.
    pub(crate) make: fn(&Path),
    /// Whether another process has the pool open while the commands run.
    pub(crate) is_open: bool,
    pub(crate) around: Around,
    /// Whether Rust, Python and `endura import` also write.
    pub(crate) writes: bool,
}

/// Where the pool is, and who uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// On a disk.
    Plain,
    /// On tmpfs.
    InMemory,
    /// On a disk, used by a user who is bound by permissions, as root is not.
    NoRights,
    /// On a disk without space.
    FullDisk,
}

const fn on_disk(name: &'static str, story: &'static str, make: fn(&Path)) -> State {
    State { name, story, make, is_open: false, around: Around::Plain, writes: false }
}

const fn in_memory(name: &'static str, story: &'static str, make: fn(&Path)) -> State {
    State { around: Around::InMemory, ..on_disk(name, story, make) }
}

const fn without_rights(name: &'static str, story: &'static str, make: fn(&Path)) -> State {
    State { around: Around::NoRights, ..on_disk(name, story, make) }
}

pub(crate) const STATES: &[State] = &[
    on_disk("absent", "There is neither a pool nor a checkpoint.", |_| {}),
    on_disk("new", "The pool was made and closed, and has no entries.", |folder| {
        Pool::open(pool(folder)).unwrap().close().unwrap();
    }),
    on_disk("closed", "The last session closed the pool.", closed),
    State {
        is_open: true,
        ..on_disk("open", "Another process has the pool open for writing.", |_| {})
    },
    on_disk(
        "killed",
        "The process was killed while it had the pool open. The machine went on.",
        killed,
    ),
    on_disk("killed early", "As before, but the process had made no checkpoint yet.", |folder| {
        drop(Writer::start_early(&pool(folder)));
    }),
    on_disk("torn", "The machine went down while the pool was open.", torn),
    on_disk(
        "torn, no checkpoints",
        "As before, and the pool was told to make no checkpoints.",
        |folder| {
            write_with(&pool(folder), Checkpoints::off());
            killed_again(folder);
            other_boot(folder);
        },
    ),
    on_disk(
        "torn, moved without its checkpoint",
        "The machine went down, and then the pool alone was moved.",
        |folder| {
            torn(folder);
            fs::remove_file(checkpoint(folder)).unwrap();
        },
    ),
    on_disk(
        "closed, moved without its checkpoint",
        "The pool was closed, and then the pool alone was moved.",
        |folder| {
            closed(folder);
            fs::remove_file(checkpoint(folder)).unwrap();
        },
    ),
    on_disk("removed", "The pool was removed, and its checkpoint was not.", |folder| {
        closed(folder);
        fs::remove_file(pool(folder)).unwrap();
    }),
    on_disk("overwritten", "Another program has written over the pool.", |folder| {
        closed(folder);
        fs::write(pool(folder), "a text\n".repeat(10_000)).unwrap();
    }),
    on_disk("empty", "The file of the pool is empty, as after a copy that failed.", |folder| {
        closed(folder);
        fs::write(pool(folder), "").unwrap();
    }),
    on_disk("cut", "The end of the file is missing, as after a copy that stopped.", |folder| {
        closed(folder);
        File::options().write(true).open(pool(folder)).unwrap().set_len(1 << 16).unwrap();
    }),
    on_disk(
        "closed, foreign checkpoint",
        "The pool is closed; the file beside it is a checkpoint of another pool.",
        |folder| {
            closed(folder);
            foreign(folder);
        },
    ),
    on_disk(
        "torn, foreign checkpoint",
        "The pool is torn; the file beside it is a checkpoint of another pool.",
        |folder| {
            torn(folder);
            foreign(folder);
        },
    ),
    on_disk(
        "closed, older checkpoint",
        "The pool is closed; its checkpoint was restored from a backup.",
        |folder| {
            let old = with_old_checkpoint(folder);
            closed(folder);
            fs::write(checkpoint(folder), old).unwrap();
        },
    ),
    on_disk(
        "torn, older checkpoint",
        "The pool is torn; its checkpoint was restored from a backup.",
        |folder| {
            let old = with_old_checkpoint(folder);
            torn(folder);
            fs::write(checkpoint(folder), old).unwrap();
        },
    ),
    on_disk(
        "closed, newer checkpoint",
        "The pool was restored from a backup; its checkpoint was not.",
        |folder| {
            restored_from_backup(folder);
        },
    ),
    on_disk(
        "torn, newer checkpoint",
        "As before, and the machine went down while the pool of the backup was open.",
        |folder| {
            closed(folder);
            killed_again(folder);
            let old = fs::read(pool(folder)).unwrap();
            closed(folder);
            closed(folder);
            overwrite(&pool(folder), &old);
            other_boot(folder);
        },
    ),
    on_disk(
        "closed, damaged checkpoint",
        "The pool is closed; its checkpoint is damaged.",
        |folder| {
            closed(folder);
            damage(folder);
        },
    ),
    on_disk("torn, damaged checkpoint", "The pool is torn; its checkpoint is damaged.", |folder| {
        torn(folder);
        damage(folder);
    }),
    on_disk(
        "closed, empty checkpoint",
        "The pool is closed; the file of its checkpoint is empty.",
        |folder| {
            closed(folder);
            overwrite(&checkpoint(folder), b"");
        },
    ),
    on_disk(
        "torn, empty checkpoint",
        "The pool is torn; the file of its checkpoint is empty.",
        |folder| {
            torn(folder);
            overwrite(&checkpoint(folder), b"");
        },
    ),
    on_disk(
        "torn, overwritten checkpoint",
        "The pool is torn; another program has written over its checkpoint.",
        |folder| {
            torn(folder);
            overwrite(&checkpoint(folder), "a text\n".repeat(10_000).as_bytes());
        },
    ),
    without_rights("no permission", "The user may not read the pool.", |folder| {
        closed(folder);
        deny(&pool(folder));
    }),
    without_rights(
        "closed, no permission for the checkpoint",
        "The pool is closed; the user may not read its checkpoint.",
        |folder| {
            closed(folder);
            deny(&checkpoint(folder));
        },
    ),
    without_rights(
        "torn, no permission for the checkpoint",
        "The pool is torn; the user may not read its checkpoint.",
        |folder| {
            torn(folder);
            deny(&checkpoint(folder));
        },
    ),
    State {
        around: Around::FullDisk,
        writes: true,
        ..on_disk(
            "full disk",
            "The disk is full. Here Rust, Python and `endura import` also write.",
            |folder| {
                closed(folder);
                fill(folder);
            },
        )
    },
    State {
        writes: true,
        ..on_disk(
            "damaged",
            "Bytes of a map have changed on the disk. Here Rust, Python and `endura import` also write.",
            |folder| {
                closed(folder);
                rot(folder);
            },
        )
    },
    on_disk(
        "poisoned",
        "The disk refused pages of the pool, or a session met damage in it, so that its handle was poisoned.",
        |folder| {
            killed(folder);
            patch(folder, |superblock| superblock.suspect = half(superblock));
        },
    ),
    on_disk("newer format", "A newer version of endura made the pool.", |folder| {
        closed(folder);
        patch(folder, |superblock| superblock.version = FORMAT + 1);
    }),
    on_disk("folder", "The path leads to a folder.", |folder| {
        fs::create_dir(pool(folder)).unwrap();
    }),
    in_memory("closed, on tmpfs", "The pool is in memory, and was closed.", closed),
    in_memory("killed, on tmpfs", "The pool is in memory, and its process was killed.", killed),
    in_memory(
        "on tmpfs, checkpoints on tmpfs",
        "The pool is in memory, and so is its checkpoint.",
        |folder| {
            write_with(&pool(folder), Checkpoints::default());
        },
    ),
];

pub(crate) fn pool(folder: &Path) -> PathBuf {
    folder.join("p")
}

fn checkpoint(folder: &Path) -> PathBuf {
    folder.join("p.checkpoint")
}

/// A folder for a state.
pub(crate) fn place_for(state: &State) -> tempfile::TempDir {
    let folder = match state.around {
        Around::InMemory => "/dev/shm".into(),
        Around::FullDisk => PathBuf::from(std::env::var_os(DISK).unwrap()),
        Around::Plain | Around::NoRights => env!("CARGO_TARGET_TMPDIR").into(),
    };
    tempfile::tempdir_in(folder).unwrap()
}

/// Takes all permissions from a file.
fn deny(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
}

/// Fills the disk.
fn fill(folder: &Path) {
    let mut filler = File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
}

/// A file that is there if a voice has to write.
pub(crate) fn to_write(folder: &Path) -> PathBuf {
    folder.join("writes")
}

/// Opens the pool, writes, and closes it. A second call makes another session.
fn closed(folder: &Path) {
    let pool = Pool::open(pool(folder)).unwrap();
    let map = pool.map::<u64, u64>("main").unwrap();
    let next = map.len().unwrap() as u64;
    for key in next..next + 3 {
        map.put(key, key).unwrap();
    }
    drop(map);
    pool.close().unwrap();
}

fn write_with(path: &Path, how: Checkpoints) {
    let pool = Pool::options().checkpoints(how).open(path).unwrap();
    pool.map::<u64, u64>("main").unwrap().put(7, 7).unwrap();
    pool.close().unwrap();
}

/// What the other process does: it writes, makes a checkpoint, writes once more, and waits to be killed.
pub(crate) fn write(path: &Path) {
    let is_early = std::env::var_os(EARLY).is_some();
    let options = match is_early {
        true => Pool::options().checkpoints(Checkpoints::on_demand()),
        false => Pool::options(),
    };
    let pool = options.open(path).unwrap();
    let map = pool.map::<u64, u64>("main").unwrap();
    for key in 10..13 {
        map.put(key, key).unwrap();
    }
    if !is_early && pool.stats().unwrap().checkpoints.is_some() {
        pool.checkpoint().unwrap();
    }
    map.put(13, 13).unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

/// Another process that has the pool open.
pub(crate) struct Writer(Child);

impl Writer {
    pub(crate) fn start(path: &Path) -> Self {
        Self::of(Command::new(std::env::current_exe().unwrap()), path)
    }

    /// A process that makes no checkpoint.
    fn start_early(path: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(EARLY, "1");
        Self::of(command, path)
    }

    fn of(mut command: Command, path: &Path) -> Self {
        command.args(["--exact", "role_writer", "--nocapture"]).env(ROLE, path);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let writer = Self(child);
        let is_ready = |line: String| line.contains("ready");
        assert!(BufReader::new(out).lines().map_while(Result::ok).any(is_ready));
        writer
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn killed(folder: &Path) {
    closed(folder);
    killed_again(folder);
}

fn killed_again(folder: &Path) {
    drop(Writer::start(&pool(folder)));
}

/// What a power loss leaves: the superblock of an earlier boot.
fn torn(folder: &Path) {
    killed(folder);
    other_boot(folder);
}

fn other_boot(folder: &Path) {
    patch(folder, |superblock| superblock.boot.id = [0xEE; 16]);
}

fn patch(folder: &Path, change: impl FnOnce(&mut Superblock)) {
    let file = File::options().read(true).write(true).open(pool(folder)).unwrap();
    let mut superblock = Superblock::read(&file).unwrap();
    change(&mut superblock);
    superblock.write(&file).unwrap();
}

fn half(superblock: &Superblock) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| superblock.session[i]))
}

fn foreign(folder: &Path) {
    let other = folder.join("other");
    fs::create_dir(&other).unwrap();
    closed(&other);
    fs::rename(checkpoint(&other), checkpoint(folder)).unwrap();
    fs::remove_dir_all(other).unwrap();
}

/// The checkpoint of a session some sessions ago.
fn with_old_checkpoint(folder: &Path) -> Vec<u8> {
    closed(folder);
    let old = fs::read(checkpoint(folder)).unwrap();
    closed(folder);
    closed(folder);
    old
}

fn restored_from_backup(folder: &Path) {
    closed(folder);
    let old = fs::read(pool(folder)).unwrap();
    closed(folder);
    closed(folder);
    overwrite(&pool(folder), &old);
}

/// Writes other contents into the same file.
fn overwrite(path: &Path, bytes: &[u8]) {
    let mut file = File::options().write(true).truncate(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Changes the bytes of the map's only leaf.
fn rot(folder: &Path) {
    const LEAF: u64 = 65_536;
    let file = File::options().read(true).write(true).open(pool(folder)).unwrap();
    let mut bytes = [0; 1024];
    file.read_exact_at(&mut bytes, LEAF).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
    file.write_all_at(&bytes, LEAF).unwrap();
}

fn damage(folder: &Path) {
    let path = checkpoint(folder);
    let mut bytes = fs::read(&path).unwrap();
    bytes.iter_mut().take(8192).skip(8).for_each(|byte| *byte ^= 0x55);
    overwrite(&path, &bytes);
}
