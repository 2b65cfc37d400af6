//! States that need other surroundings than those of the test: another process makes and hears them.
//!
//! A full disk is a small file system, which that process mounts where only it sees the mount. A user who may not read a
//! file is root without the right to pass over permissions. Who is not root cannot mount, and needs no such process for the
//! other.

use std::path::Path;
use std::process::Command;

use crate::make::{Around, DISK, STATES, State};
use crate::says;

/// The state that the other process is asked for.
pub(crate) const ASKED: &str = "ENDURA_STATES_ASKED";
/// Stands before what that process has heard.
const HEARD: &str = "HEARD ";

/// Makes a file system of 24 MiB, on which the rest of the arguments run.
const ON_A_SMALL_DISK: &str = r#"
truncate -s 24M image
mkfs.ext4 -q -m 0 image
mkdir disk
mount -o loop image disk
"$@"
"#;

/// What each voice says of a state; `None` where the state cannot be made.
pub(crate) fn all(state: &State) -> Option<Vec<(&'static str, Option<String>)>> {
    let is_root = rustix::process::geteuid().is_root();
    match state.around {
        Around::Plain => Some(says::all(state)),
        Around::InMemory => Path::new("/dev/shm").is_dir().then(|| says::all(state)),
        Around::NoRights if !is_root => Some(says::all(state)),
        Around::FullDisk if !is_root => None,
        Around::NoRights | Around::FullDisk => heard_elsewhere(state),
    }
}

fn heard_elsewhere(state: &State) -> Option<Vec<(&'static str, Option<String>)>> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = match state.around {
        Around::FullDisk => {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private", "sh", "-ec", ON_A_SMALL_DISK]);
            command.arg("sh").env(DISK, folder.path().join("disk"));
            command
        }
        _ => {
            let mut command = Command::new("setpriv");
            command.arg("--bounding-set=-dac_override,-dac_read_search");
            command
        }
    };
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "role_hearer", "--nocapture"]);
    let output = command.env(ASKED, state.name).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| line.split_once(HEARD)).map(|(_, said)| said);
    let errors = String::from_utf8_lossy(&output.stderr);
    if said.is_none() && ["unshare:", "mkfs", "mount:"].iter().any(|what| errors.contains(what)) {
        eprintln!("left out: {}: {errors}", state.name);
        return None;
    }
    let said = said.unwrap_or_else(|| panic!("{}: {text}{errors}", state.name));
    let texts: Vec<Option<String>> = serde_json::from_str(said).unwrap();
    Some(says::voices(state).into_iter().map(|(who, _)| who).zip(texts).collect())
}

/// The other process: hears the state that it was asked for.
pub(crate) fn hear(asked: &str) {
    let state = STATES.iter().find(|state| state.name == asked).unwrap();
    let texts: Vec<_> = says::all(state).into_iter().map(|(_, text)| text).collect();
    println!("\n{HEARD}{}", serde_json::to_string(&texts).unwrap());
}
