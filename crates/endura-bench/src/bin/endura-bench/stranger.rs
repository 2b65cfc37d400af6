//! A crate outside of the workspace, whose program is this one.
//!
//! The workspace compiles the library in one codegen unit, and a program that uses it does not: where a method of a
//! map is not inlined, or is, depends on that. A crate of its own has the profile that `cargo new` gives.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use endura_console::outcome::{Answer, Failure, Result};

/// Writes the crate; returns its folder.
pub(crate) fn generate(folder: Option<PathBuf>) -> Result<PathBuf> {
    let repository = repository()?;
    let folder = folder.unwrap_or_else(|| repository.join("target/readme"));
    let failure = |source| Failure::at_path("cannot write", &folder, &source);
    fs::create_dir_all(&folder).map_err(failure)?;
    fs::write(folder.join("Cargo.toml"), manifest(&repository)).map_err(failure)?;
    // The same versions as in the repository. Cargo removes what this crate does not need.
    fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failure)?;
    Ok(folder)
}

/// The clone that this program was compiled in.
fn repository() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().map_err(|source| {
        Failure::at_path("the sources of this program are needed, but not found in", &root, &source)
    })
}

fn manifest(repository: &Path) -> String {
    let crates = repository.join("crates");
    let path = |name: &str| toml_text(&crates.join(name));
    let rocksdb = if Path::new("/usr/include/rocksdb/c.h").exists() { ", \"rocksdb\"" } else { "" };
    format!(
        "[package]\n\
         name = \"readme-figures\"\n\
         version = \"{version}\"\n\
         edition = \"2024\"\n\
         publish = false\n\
         \n\
         [workspace]\n\
         \n\
         [[bin]]\n\
         name = \"endura-bench\"\n\
         path = {main}\n\
         \n\
         [dependencies]\n\
         clap = {{ version = \"4\", features = [\"derive\", \"wrap_help\"] }}\n\
         endura = {{ path = {endura} }}\n\
         endura-bench = {{ path = {bench}, features = [\"fjall\", \"redb\"{rocksdb}] }}\n\
         endura-console = {{ path = {console} }}\n\
         endura-engine = {{ path = {engine} }}\n\
         fastrand = \"2\"\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\n\
         tempfile = \"3\"\n",
        version = env!("CARGO_PKG_VERSION"),
        main = toml_text(&crates.join("endura-bench/src/bin/endura-bench/main.rs")),
        endura = path("endura"),
        bench = path("endura-bench"),
        console = path("endura-console"),
        engine = path("endura-engine"),
    )
}

/// A path as a string of TOML.
fn toml_text(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// Compiles the crate; returns its program.
fn build(folder: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    eprintln!("compiling {} in the default release profile", folder.display());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--target-dir", "target"]).current_dir(folder);
    // Flags of the caller's are not those of a stranger.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.contains("RUSTFLAGS") || text.starts_with("CARGO_PROFILE_") {
            build.env_remove(&name);
        }
    }
    run(build.stdout(Stdio::null()), "cargo")?;
    Ok(folder.join("target/release/endura-bench"))
}

/// The compiler that [`build`] uses, with the profile, for people.
pub(crate) fn compiler() -> String {
    let rustc = Command::new("rustc").arg("-V").output();
    let compiler = match rustc {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_string(),
        Err(_) => "rustc".into(),
    };
    format!("{compiler}, default release profile")
}

/// Compiles the crate, and has its program measure.
pub(crate) fn build_and_run(
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result {
    let program = build(folder)?;
    run(Command::new(program).args(arguments), "the generated program")?;
    Ok(Answer::Yes)
}

fn run(command: &mut Command, name: &str) -> Result<()> {
    let status =
        command.status().map_err(|error| Failure::io(format!("cannot start {name}"), &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Message(format!("{name} failed: {status}; what it says is above")))
    }
}
