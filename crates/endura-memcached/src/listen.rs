//! The options `--listen` and `--unix-socket`, and the sockets that listen there.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use endura_console::outcome::{Failure, Result};
use rustix::fs::Mode;
use rustix::process::umask;

/// Listens on all addresses of `hosts`, which are addresses and names separated by commas, once on each. A name may have
/// addresses that this machine cannot use, such as those of IPv6 where the kernel has none: one that can be used is enough.
pub(crate) fn on(hosts: &str, port: u16) -> Result<Vec<TcpListener>> {
    let (mut listeners, mut seen) = (Vec::new(), BTreeSet::new());
    for host in hosts.split(',').map(str::trim) {
        let (mut is_usable, mut unusable) = (false, None);
        for mut address in addresses(host, port)? {
            if !seen.insert(address) {
                is_usable = true;
                continue;
            }
            if port == 0 {
                address.set_port(port_of(&listeners));
            }
            match TcpListener::bind(address) {
                Ok(listener) => {
                    listeners.push(listener);
                    is_usable = true;
                }
                Err(error) if is_of_no_use(&error) => unusable = Some(error),
                Err(error) => return Err(failure(&address, &error)),
            }
        }
        if let Some(error) = unusable.filter(|_| !is_usable) {
            return Err(failure(&format!("{host}, port {port}"), &error));
        }
    }
    Ok(listeners)
}

/// Listens on a Unix socket, to which the users have access that `mask` allows. A socket that an earlier server has left is
/// removed. This is called before there are other threads, because the mask of new files is that of the process.
pub(crate) fn at(path: &Path, mask: u32) -> Result<UnixListener> {
    let failed = |error: &io::Error, advice: &str| {
        Failure::Message(format!("listening on {}: {error}{advice}", path.display()))
    };
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket {
        if UnixStream::connect(path).is_ok() {
            return Err(failed(
                &ErrorKind::AddrInUse.into(),
                "; another server listens there: choose another --unix-socket",
            ));
        }
        std::fs::remove_file(path).map_err(|error| failed(&error, ""))?;
    }
    let before = umask(Mode::from_bits_truncate(!mask & 0o777));
    let listener = UnixListener::bind(path);
    umask(before);
    listener.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => "; a file is there that is no socket: remove it",
            ErrorKind::InvalidInput => "; give a --unix-socket of at most 107 bytes",
            _ => "",
        };
        failed(&error, advice)
    })
}

/// The port that the system has chosen for the first listener; 0 if there is none yet.
fn port_of(listeners: &[TcpListener]) -> u16 {
    let first = listeners.first().and_then(|listener| listener.local_addr().ok());
    first.map_or(0, |address| address.port())
}

/// The addresses of a name, each once.
fn addresses(host: &str, port: u16) -> Result<BTreeSet<SocketAddr>> {
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let found = (host, port).to_socket_addrs().map(BTreeSet::from_iter);
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unknown(host, "it has no address")),
        Err(error) => Err(unknown(host, &error.to_string())),
    }
}

fn unknown(host: &str, why: &str) -> Failure {
    let text = format!(
        "listening on {host}: {why}; give an address of this machine, or a name that has one, with --listen"
    );
    Failure::Message(text)
}

/// Whether this machine has no such address.
fn is_of_no_use(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

/// The failure to listen, with advice.
fn failure(place: &dyn std::fmt::Display, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::AddrInUse => "; choose another port with --port",
        ErrorKind::PermissionDenied => "; choose a --port from 1024 on",
        ErrorKind::AddrNotAvailable => "; give an address of this machine with --listen",
        _ => "",
    };
    Failure::Message(format!("listening on {place}: {error}{advice}"))
}
