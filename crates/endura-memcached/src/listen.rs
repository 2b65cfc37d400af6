//! The addresses of the option `--listen`, and the sockets that listen on them.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use endura_console::outcome::{Failure, Result};

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
