//! A disk at a socket, for one client.

use std::io::{ErrorKind, Result};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{JoinHandle, spawn};

use super::handshake::negotiate;
use super::requests::serve;
use crate::disk::{Disk, Fuse};

/// A thread that serves a disk to the first client that comes.
pub(crate) struct Server {
    socket: PathBuf,
    thread: JoinHandle<(Disk, Result<()>)>,
}

impl Server {
    pub(crate) fn start(socket: &Path, disk: Disk, fuse: Fuse) -> Result<Self> {
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        let thread = spawn(move || {
            let mut disk = disk;
            let served = listener.accept().and_then(|(stream, _)| client(stream, &mut disk, &fuse));
            (disk, served)
        });
        Ok(Self { socket: socket.to_owned(), thread })
    }

    /// The disk, after the client has gone or was killed. What it had sent completely has been done.
    pub(crate) fn stop(self) -> Result<Disk> {
        // Wakes a server to which no client has come; one that had its client does not look.
        drop(UnixStream::connect(&self.socket));
        let stopped = self.thread.join();
        let (disk, served) = stopped.map_err(|_| std::io::Error::other("the disk panicked"))?;
        match served {
            Err(error) if !is_end(error.kind()) => Err(error),
            _ => Ok(disk),
        }
    }
}

fn client(mut stream: UnixStream, disk: &mut Disk, fuse: &Fuse) -> Result<()> {
    if negotiate(&mut stream, disk.bytes())? {
        serve(&mut stream, disk, fuse)?;
    }
    Ok(())
}

/// Whether the client has gone, which a killed one does anywhere.
fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}
