//! What the other programs say of a state: the servers, and Python. They are asked where the environment names them.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::says::Voice;

/// Set, and not empty: the servers lie beside this test, as a build of their packages leaves them.
const SERVERS: &str = "ENDURA_STATES_SERVERS";
/// The interpreter that has the package `endura`.
const PYTHON: &str = "ENDURA_STATES_PYTHON";

/// How long a program may say nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// All of them, in the order of the page; those that are not asked have no function.
pub(crate) fn voices() -> [(&'static str, Option<Voice>); 3] {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let (servers, with_python) = (is_set(SERVERS), is_set(PYTHON));
    [
        ("Python", with_python.then_some(python as Voice)),
        ("memcached", servers.then_some(memcached as Voice)),
        ("Redis", servers.then_some(redis as Voice)),
    ]
}

/// The newest file of this name beside the test's own program.
fn built(name: &str) -> PathBuf {
    let program = env::current_exe().unwrap();
    let folders = program.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).filter_map(|path| {
        let made = path.metadata().and_then(|meta| meta.modified()).ok()?;
        Some((made, path))
    });
    found.max().unwrap_or_else(|| panic!("{name} was not built beside this test")).1
}

fn python(folder: &Path) -> String {
    const PROGRAM: &str = "
import endura, os
try:
    pool = endura.open('p', create=False)
except Exception as error:
    print(f'`{type(error).__name__}`: {error}')
else:
    with pool:
        restored = pool.restored
        done = ', taken back to the checkpoint' if restored and restored['reason'] else ', made anew from the checkpoint'
        warnings = ''.join(f'; warning: {warning}' for warning in pool.stats()['warnings'])
        written = ''
        if os.path.exists('writes'):
            try:
                pool.map('main').update((key, key) for key in range(1_000_000))
            except endura.Error as error:
                written = f'; a write: `{type(error).__name__}`: {error}'
        print('opens' + (done if restored else '') + warnings + written)
        try:
            pool.close()
        except endura.Error:
            assert written
";
    let python = env::var_os(PYTHON).unwrap();
    let output = Command::new(python).args(["-c", PROGRAM]).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The lines of a program up to its end, or to the one that has one of `last`; then the program is ended.
fn lines_until(mut command: Command, last: &[&str], is_error: bool) -> Vec<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out: Box<dyn Read + Send> = match is_error {
        true => Box::new(child.stderr.take().unwrap()),
        false => Box::new(child.stdout.take().unwrap()),
    };
    let (said, hears) = channel();
    let reader = thread::spawn(move || {
        BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
    });
    let mut lines: Vec<String> = Vec::new();
    let ended = loop {
        match hears.recv_timeout(PATIENCE) {
            Ok(line) => lines.push(line),
            Err(end) => break end == RecvTimeoutError::Disconnected,
        }
        if lines.last().is_some_and(|line| last.iter().any(|last| line.contains(last))) {
            break true;
        }
    };
    let _ = child.kill();
    child.wait().unwrap();
    drop(hears);
    let _ = reader.join();
    assert!(ended, "the program neither ended nor served: {lines:#?}");
    lines
}

fn memcached(folder: &Path) -> String {
    let mut command = Command::new(built("endura-memcached"));
    command.args(["p", "--port", "0", "--memory", "64M"]).current_dir(folder);
    let lines = lines_until(command, &["ready on "], true).into_iter().map(|line| {
        let text = line.strip_prefix("endura-memcached: ").unwrap_or(&line);
        if text.contains("ready on ") { "serves".to_owned() } else { text.to_owned() }
    });
    lines.collect::<Vec<_>>().join(" / ")
}

fn redis(folder: &Path) -> String {
    // The module's last line of a start, after the server's own.
    const SERVES: &str = " attached in ";
    const SERVES_NOT: &str = "no key of the pool is served";
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--unixsocket", "socket", "--save", "", "--loadmodule"]);
    command.arg(built("libendura_redis.so")).arg("p").current_dir(folder);
    let lines = lines_until(command, &[SERVES, SERVES_NOT], false);
    let own = lines.iter().filter_map(|line| line.split_once("<endura> "));
    let own = own.map(|(_, text)| if text.contains(SERVES) { "serves" } else { text });
    own.collect::<Vec<_>>().join(" / ")
}
