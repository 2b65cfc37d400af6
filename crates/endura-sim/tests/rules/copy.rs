//! A copy of the workspace into which all faults are built.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::table::{By, Fault};

/// What a rule is asked with.
const VARIABLE: &str = "ENDURA_PLANTED";
/// A test that takes longer hangs.
const HANGS: Duration = Duration::from_secs(300);

/// Whether the rule that the environment names is this one.
const PLANTED: &str = "//! Which rule is left out.

use std::sync::OnceLock;

/// Whether it is this one.
pub(crate) fn is(rule: &str) -> bool {
    static NAMED: OnceLock<Option<String>> = OnceLock::new();
    NAMED.get_or_init(|| std::env::var(\"ENDURA_PLANTED\").ok()).as_deref() == Some(rule)
}
";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of a file below the engine's `src`.
pub(crate) fn engine_source(file: &str) -> String {
    fs::read_to_string(workspace().join("crates/endura-engine/src").join(file)).unwrap()
}

/// Copies a folder, without what was built. A file that is the same already stays, so that it is not compiled again.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        let target = to.join(&name);
        match entry.file_type().unwrap() {
            kind if kind.is_dir() && name != "target" && name != ".git" => copy(&path, &target),
            kind if kind.is_file() => write(&target, &fs::read(&path).unwrap()),
            _ => {}
        }
    }
}

fn write(path: &Path, contents: &[u8]) {
    if fs::read(path).ok().as_deref() != Some(contents) {
        fs::write(path, contents).unwrap();
    }
}

/// The copy, with the programs of its tests.
pub(crate) struct Copied {
    folder: PathBuf,
    /// By how cargo is told which it is, and whether it is for loom.
    programs: BTreeMap<(&'static str, bool), PathBuf>,
}

impl Copied {
    /// A copy with these faults.
    pub(crate) fn with(faults: &[Fault]) -> Self {
        let workspace = workspace();
        let folder = workspace.join("target/rules/source");
        let engine = Path::new("crates/endura-engine/src");
        for part in ["crates", "docs"] {
            copy_unpatched(&workspace.join(part), &folder.join(part), faults);
        }
        for file in ["Cargo.toml", "Cargo.lock", "README.md", "clippy.toml", "CHANGELOG.md"] {
            write(&folder.join(file), &fs::read(workspace.join(file)).unwrap());
        }
        for file in patched_files(faults) {
            let mut source = engine_source(file);
            for fault in faults.iter().filter(|fault| fault.file == file) {
                let is_this = format!("crate::planted::is({:?})", fault.rule);
                let is_other = "crate::planted::is(\"R2 loads state and intent at once\")";
                let new = fault.new.replace("PLANTED", &is_this).replace("LOADED_TWICE", is_other);
                source = source.replacen(fault.text, &new, 1);
            }
            write(&folder.join(engine).join(file), source.as_bytes());
        }
        write(&folder.join(engine).join("planted.rs"), PLANTED.as_bytes());
        let library =
            engine_source("lib.rs").replacen("\nmod numbered;", "\nmod numbered;\nmod planted;", 1);
        write(&folder.join(engine).join("lib.rs"), library.as_bytes());
        Self { folder, programs: BTreeMap::new() }
    }

    /// Builds the program of a test, unless it is built.
    pub(crate) fn build(&mut self, by: By) {
        let (package, test) = by.program();
        let is_loom = matches!(by, By::Loom(_));
        if self.programs.contains_key(&(test, is_loom)) {
            return;
        }
        let target = self.folder.join(if is_loom { "../loom" } else { "../built" });
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", &target);
        if is_loom {
            command.env("RUSTFLAGS", "--cfg loom");
        }
        command.args(["test", "--offline", "--locked", "--no-run", "-p", package]);
        command.args(test.split(' '));
        let built = command.output().unwrap();
        let told = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "the copy does not compile: {told}");
        let program = told.lines().find_map(|line| {
            let (_, path) = line.trim().strip_prefix("Executable ")?.rsplit_once('(')?;
            Some(self.folder.join(path.trim_end_matches(')')))
        });
        self.programs.insert((test, is_loom), program.expect("cargo names the program"));
    }

    /// Runs a test with a rule left out, or with all rules.
    ///
    /// # Errors
    ///
    /// What it found.
    pub(crate) fn run(&self, by: By, rule: Option<&str>) -> Result<(), String> {
        let (package, test) = by.program();
        let mut command = Command::new(&self.programs[&(test, matches!(by, By::Loom(_)))]);
        command.current_dir(self.folder.join("crates").join(package));
        command.args([by.test(), "--test-threads", "2"]);
        match rule {
            Some(rule) => command.env(VARIABLE, rule),
            None => command.env_remove(VARIABLE),
        };
        outcome(command)
    }
}

fn patched_files(faults: &[Fault]) -> Vec<&str> {
    let mut files: Vec<&str> = faults.iter().map(|fault| fault.file).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Copies all but what is written with faults in it.
fn copy_unpatched(from: &Path, to: &Path, faults: &[Fault]) {
    let engine = to.join("endura-engine/src");
    let mut files: Vec<PathBuf> =
        patched_files(faults).into_iter().map(|file| engine.join(file)).collect();
    files.push(engine.join("lib.rs"));
    let kept: Vec<_> =
        files.iter().map(|file| (file, fs::read(file).ok(), modified(file))).collect();
    copy(from, to);
    for (file, contents, time) in kept {
        if let (Some(contents), Some(time)) = (contents, time) {
            fs::write(file, contents).unwrap();
            fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
        }
    }
}

fn modified(file: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

/// Runs a test. It found something if it fails, or does not end.
fn outcome(mut command: Command) -> Result<(), String> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it was built");
    let mut out = child.stdout.take().unwrap();
    let text = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err("does not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = text.join().unwrap().unwrap_or_default();
    if status.success() {
        assert!(!text.contains("running 0 tests\n\ntest result"), "no test ran: {text}");
        return Ok(());
    }
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at"));
    Err(lines.nth(1).unwrap_or("fails").chars().take(160).collect())
}
