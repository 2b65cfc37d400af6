//! The same bytes to Debian's memcached and to this server: the same answers, except where `docs/memcached.md` says so.
//!
//! | module | what |
//! | --- | --- |
//! | [`answers`] | answers in a form that can be compared |
//! | [`dialogues`] | the classic commands |
//! | [`meta`] | the meta protocol |
//! | [`limits`] | long keys, long lines, long values; the differences of the page |
//! | [`random`] | random commands in random packets |

mod answers;
mod dialogues;
mod limits;
mod meta;
mod random;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use answers::{are_equal, comparable};

use crate::support::{Client, Running};

const PROGRAM: &str = "/usr/bin/memcached";

/// memcached as a child.
pub(crate) struct Memcached {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Memcached {
    /// None if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Without threads that tend to items. Such a thread holds an item for a moment, and an `incr` in that moment makes
    /// another item in its place, which has lost its marks.
    fn start_alone() -> Option<Self> {
        Self::start_with(&["-o", "no_lru_maintainer,no_lru_crawler"])
    }

    fn start_with(more: &[&str]) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            eprintln!("not compared: {PROGRAM} is not installed");
            return None;
        }
        // It has no way to say which port it has chosen.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(PROGRAM)
            .args(["-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", &address.port().to_string()])
            .args(more)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let memcached = Self { child, address };
        for _ in 0..500 {
            if Client::connect(address).is_ok() {
                return Some(memcached);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("memcached does not answer");
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server answers to these bytes on a connection of their own, in a form that can be compared.
fn answer(address: SocketAddr, said: &[u8]) -> Vec<String> {
    let mut client = Client::connect(address).unwrap();
    // A server that has closed the connection does not read the rest.
    let _ = client.say(said);
    let all = client.rest().unwrap_or_else(|| panic!("no end of {}", shown(said)));
    comparable(&all)
}

/// Starts this server, and has it note which items are fetched. It does so once a client has asked for that.
pub(crate) fn start(pool: &Path) -> Running {
    let server = Running::start(pool, &[]);
    assert_eq!(server.connect().ask("mg none h\r\n").unwrap(), "EN");
    server
}

fn shown(bytes: &[u8]) -> String {
    let text = bytes.escape_ascii().to_string();
    if text.len() > 5_000 { format!("{}… ({} bytes)", &text[..2_000], bytes.len()) } else { text }
}

/// Replaces `{cas KEY}` by the number of the item's store, and `{cas KEY+1}` by a greater one.
fn with_numbers(address: SocketAddr, said: &str) -> String {
    let Some((before, rest)) = said.split_once("{cas ") else { return said.to_owned() };
    let (key, after) = rest.split_once('}').unwrap();
    let (key, more) = key.split_once('+').unwrap_or((key, "0"));
    let (key, less) = key.split_once('-').unwrap_or((key, "0"));
    let line = Client::connect(address).unwrap().ask(format!("mg {key} u c\r\n")).unwrap();
    let cas: u64 = line.strip_prefix("HD c").unwrap().split(' ').next().unwrap().parse().unwrap();
    let (more, less): (u64, u64) = (more.parse().unwrap(), less.parse().unwrap());
    format!("{before}{}{}", cas + more - less, with_numbers(address, after))
}

/// Says the same dialogues to memcached and to this server. Each dialogue has keys of its own, for which `%` stands; each
/// step has a connection of its own.
fn compare(dialogues: &[&[&str]]) {
    let Some(memcached) = Memcached::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("pool"));
    let mut differences = Vec::new();
    for (number, dialogue) in dialogues.iter().enumerate() {
        for step in *dialogue {
            let said = step.replace('%', &format!("{number}_"));
            let [theirs, ours] = [memcached.address, server.address].map(|address| {
                let answer = answer(address, with_numbers(address, &said).as_bytes());
                answer.into_iter().filter(|line| !line.starts_with("VERSION")).collect::<Vec<_>>()
            });
            if !are_equal(&theirs, &ours) {
                let said = shown(said.as_bytes());
                differences.push(format!("{said}\n  memcached {theirs:?}\n  endura    {ours:?}"));
            }
        }
    }
    server.terminate();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
