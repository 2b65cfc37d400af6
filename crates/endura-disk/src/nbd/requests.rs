//! Requests after the negotiation, one after the other.

use std::io::{Error, ErrorKind, Read, Result, Write};

use super::handshake::LARGEST;
use super::wire;
use crate::disk::{Disk, Fuse};

pub(super) const REQUEST: u32 = 0x2560_9513;
pub(super) const REPLY: u32 = 0x6744_6698;

pub(super) const READ: u16 = 0;
pub(super) const WRITE: u16 = 1;
pub(super) const DISCONNECT: u16 = 2;
pub(super) const FLUSH: u16 = 3;

/// A write that is durable when it is answered.
pub(super) const FUA: u16 = 1;

/// Errors in answers, which are those of Linux.
pub(super) const EIO: u32 = 5;
pub(super) const EINVAL: u32 = 22;

struct Request {
    flags: u16,
    kind: u16,
    cookie: u64,
    at: u64,
    length: u32,
}

impl Request {
    fn read(from: &mut impl Read) -> Result<Self> {
        if wire::u32(from)? != REQUEST {
            return Err(Error::new(ErrorKind::InvalidData, "no request where one had to be"));
        }
        let (flags, kind, cookie) = (wire::u16(from)?, wire::u16(from)?, wire::u64(from)?);
        let (at, length) = (wire::u64(from)?, wire::u32(from)?);
        Ok(Self { flags, kind, cookie, at, length })
    }
}

/// Serves a client until it leaves. A request of which only a part has come is none. Once the fuse has burnt, nothing is done
/// or answered any more.
pub(super) fn serve(stream: &mut (impl Read + Write), disk: &mut Disk, fuse: &Fuse) -> Result<()> {
    loop {
        let request = Request::read(stream)?;
        if request.length > LARGEST && matches!(request.kind, READ | WRITE) {
            return Err(Error::new(ErrorKind::InvalidData, "a request that is too large"));
        }
        let changes = matches!(request.kind, WRITE | FLUSH);
        if changes && !fuse.passes() {
            return std::io::copy(stream, &mut std::io::sink()).map(drop);
        }
        let mut read = Vec::new();
        let done = match request.kind {
            READ => {
                read.resize(request.length as usize, 0);
                disk.read(request.at, &mut read)
            }
            WRITE => {
                let data = wire::payload(stream, request.length)?;
                disk.write(request.at, &data, request.flags & FUA != 0)
            }
            FLUSH => disk.flush(),
            DISCONNECT => return Ok(()),
            _ => Err(ErrorKind::InvalidInput.into()),
        };
        answer(stream, request.cookie, done.map(|()| read))?;
    }
}

fn answer(stream: &mut impl Write, cookie: u64, done: Result<Vec<u8>>) -> Result<()> {
    let error = match &done {
        Ok(_) => 0,
        Err(error) if error.kind() == ErrorKind::InvalidInput => EINVAL,
        Err(_) => EIO,
    };
    let mut whole = REPLY.to_be_bytes().to_vec();
    whole.extend(error.to_be_bytes());
    whole.extend(cookie.to_be_bytes());
    whole.extend(done.unwrap_or_default());
    stream.write_all(&whole)
}
