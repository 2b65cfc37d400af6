//! The negotiation, at the end of which the client knows the size of the disk and that it takes flushes.

use std::io::{Error, ErrorKind, Read, Result, Write};

use super::wire;
use crate::disk::SECTOR;

pub(super) const MAGIC: &[u8; 8] = b"NBDMAGIC";
pub(super) const OPTION: &[u8; 8] = b"IHAVEOPT";
pub(super) const REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of the server and of the client: fixed newstyle, and no 124 zeros behind an export.
pub(super) const FIXED_NEWSTYLE: u16 = 1;
pub(super) const NO_ZEROES: u16 = 2;

/// The export has flags, flushes, and force unit access.
pub(super) const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3;

/// Options of the client.
pub(super) const EXPORT_NAME: u32 = 1;
pub(super) const ABORT: u32 = 2;
pub(super) const INFO: u32 = 6;
pub(super) const GO: u32 = 7;

/// Replies to them.
pub(super) const ACK: u32 = 1;
pub(super) const IS_INFO: u32 = 3;
pub(super) const UNSUPPORTED: u32 = 1 << 31 | 1;

/// What [`IS_INFO`] tells: the export, or its sizes of blocks.
pub(super) const INFO_EXPORT: u16 = 0;
pub(super) const INFO_BLOCK_SIZE: u16 = 3;

/// The largest request that qemu sends.
pub(super) const LARGEST: u32 = 32 << 20;

/// The longest option that is read: a name, and what the client wants to know.
const LONGEST_OPTION: u32 = 8 << 10;

/// Negotiates about a disk of so many bytes; `false` if the client leaves after that.
pub(super) fn negotiate(stream: &mut (impl Read + Write), bytes: u64) -> Result<bool> {
    stream.write_all(MAGIC)?;
    stream.write_all(OPTION)?;
    stream.write_all(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes())?;
    let client = wire::u32(stream)?;
    if client & u32::from(FIXED_NEWSTYLE) == 0 {
        return Err(refused("a client that does not know fixed newstyle negotiation"));
    }
    loop {
        if wire::bytes(stream)? != *OPTION {
            return Err(refused("no option where one had to be"));
        }
        let (option, length) = (wire::u32(stream)?, wire::u32(stream)?);
        if length > LONGEST_OPTION {
            return Err(refused("an option that is too long"));
        }
        wire::payload(stream, length)?;
        match option {
            EXPORT_NAME => {
                stream.write_all(&bytes.to_be_bytes())?;
                stream.write_all(&EXPORT_FLAGS.to_be_bytes())?;
                if client & u32::from(NO_ZEROES) == 0 {
                    stream.write_all(&[0; 124])?;
                }
                return Ok(true);
            }
            GO | INFO => {
                describe(stream, option, bytes)?;
                if option == GO {
                    return Ok(true);
                }
            }
            ABORT => {
                reply(stream, option, ACK, &[])?;
                return Ok(false);
            }
            _ => reply(stream, option, UNSUPPORTED, &[])?,
        }
    }
}

/// There is one export, whatever its name.
fn describe(stream: &mut impl Write, option: u32, bytes: u64) -> Result<()> {
    let mut export = INFO_EXPORT.to_be_bytes().to_vec();
    export.extend(bytes.to_be_bytes());
    export.extend(EXPORT_FLAGS.to_be_bytes());
    reply(stream, option, IS_INFO, &export)?;
    let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
    [SECTOR as u32, 4096, LARGEST].iter().for_each(|size| sizes.extend(size.to_be_bytes()));
    reply(stream, option, IS_INFO, &sizes)?;
    reply(stream, option, ACK, &[])
}

fn reply(stream: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> Result<()> {
    let mut whole = REPLY.to_be_bytes().to_vec();
    [option, kind, data.len() as u32].iter().for_each(|word| whole.extend(word.to_be_bytes()));
    whole.extend(data);
    stream.write_all(&whole)
}

fn refused(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
