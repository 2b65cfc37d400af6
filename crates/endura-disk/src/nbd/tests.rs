//! A client that asks as qemu does, and one that does not.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::handshake::{
    ABORT, ACK, EXPORT_FLAGS, EXPORT_NAME, FIXED_NEWSTYLE, GO, INFO, INFO_BLOCK_SIZE, INFO_EXPORT,
    IS_INFO, LARGEST, MAGIC, NO_ZEROES, OPTION, REPLY, UNSUPPORTED,
};
use super::requests::{self, DISCONNECT, EINVAL, FLUSH, FUA, READ, REQUEST, WRITE};
use super::server::Server;
use super::wire;
use crate::disk::{Disk, Fuse, Honesty};

const BYTES: u64 = 64 << 10;
const STRUCTURED_REPLY: u32 = 8;
const TRIM: u16 = 4;

/// A server, and a client that is connected.
struct Pair {
    folder: tempfile::TempDir,
    server: Server,
    client: UnixStream,
    fuse: Fuse,
}

impl Pair {
    fn connected() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (image, socket) = (folder.path().join("image"), folder.path().join("socket"));
        std::fs::File::create(&image).unwrap().set_len(BYTES).unwrap();
        let (disk, fuse) = (Disk::open(&image, Honesty::Flushes).unwrap(), Fuse::unarmed());
        let server = Server::start(&socket, disk, fuse.clone()).unwrap();
        let client = UnixStream::connect(&socket).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { folder, server, client, fuse }
    }

    /// After the greeting, with these flags of the client.
    fn greeted(flags: u16) -> Self {
        let mut pair = Self::connected();
        let client = &mut pair.client;
        assert_eq!(&wire::bytes::<8>(client).unwrap(), MAGIC);
        assert_eq!(&wire::bytes::<8>(client).unwrap(), OPTION);
        assert_eq!(wire::u16(client).unwrap(), FIXED_NEWSTYLE | NO_ZEROES);
        client.write_all(&u32::from(flags).to_be_bytes()).unwrap();
        pair
    }

    /// After the negotiation.
    fn ready() -> Self {
        let mut pair = Self::greeted(FIXED_NEWSTYLE | NO_ZEROES);
        pair.option(EXPORT_NAME, b"any");
        assert_eq!(wire::u64(&mut pair.client).unwrap(), BYTES);
        assert_eq!(wire::u16(&mut pair.client).unwrap(), EXPORT_FLAGS);
        pair
    }

    fn option(&mut self, option: u32, data: &[u8]) {
        let mut whole = OPTION.to_vec();
        whole.extend(option.to_be_bytes());
        whole.extend((data.len() as u32).to_be_bytes());
        whole.extend(data);
        self.client.write_all(&whole).unwrap();
    }

    /// The kind and the data of a reply to an option.
    fn reply(&mut self, option: u32) -> (u32, Vec<u8>) {
        let client = &mut self.client;
        assert_eq!((wire::u64(client).unwrap(), wire::u32(client).unwrap()), (REPLY, option));
        let (kind, length) = (wire::u32(client).unwrap(), wire::u32(client).unwrap());
        (kind, wire::payload(client, length).unwrap())
    }

    fn send(&mut self, (kind, flags): (u16, u16), at: u64, length: u32, data: &[u8]) {
        let mut whole = REQUEST.to_be_bytes().to_vec();
        whole.extend([flags, kind].map(u16::to_be_bytes).concat());
        whole.extend((at ^ 0xC00C1E).to_be_bytes());
        whole.extend(at.to_be_bytes());
        whole.extend(length.to_be_bytes());
        whole.extend(data);
        self.client.write_all(&whole).unwrap();
    }

    /// The error of the answer to a request at `at`.
    fn answered(&mut self, at: u64) -> u32 {
        assert_eq!(wire::u32(&mut self.client).unwrap(), requests::REPLY);
        let error = wire::u32(&mut self.client).unwrap();
        assert_eq!(wire::u64(&mut self.client).unwrap(), at ^ 0xC00C1E, "the cookie comes back");
        error
    }

    fn write(&mut self, at: u64, data: &[u8], flags: u16) -> u32 {
        self.send((WRITE, flags), at, data.len() as u32, data);
        self.answered(at)
    }

    fn flush(&mut self) -> u32 {
        self.send((FLUSH, 0), 0, 0, &[]);
        self.answered(0)
    }

    fn read(&mut self, at: u64, length: u32) -> Vec<u8> {
        self.send((READ, 0), at, length, &[]);
        assert_eq!(self.answered(at), 0);
        wire::payload(&mut self.client, length).unwrap()
    }

    /// Whether the server has refused the client, which leaves after what it has sent.
    fn refuses(self) -> bool {
        drop(self.client);
        self.server.stop().is_err()
    }

    /// Cuts the power; what each sector of the image begins with.
    fn cut(self, seed: u64) -> Vec<u8> {
        drop(self.client);
        let mut disk = self.server.stop().unwrap();
        disk.cut(seed).unwrap();
        firsts(&self.folder.path().join("image"))
    }
}

fn firsts(image: &Path) -> Vec<u8> {
    std::fs::read(image).unwrap().chunks(512).map(|sector| sector[0]).collect()
}

#[test]
fn qemu_is_told_the_disk() {
    let mut pair = Pair::greeted(FIXED_NEWSTYLE | NO_ZEROES);
    pair.option(STRUCTURED_REPLY, &[]);
    assert_eq!(pair.reply(STRUCTURED_REPLY), (UNSUPPORTED, Vec::new()));
    for option in [INFO, GO] {
        pair.option(option, &[0, 0, 0, 0, 0, 1, 0, 3]);
        let export =
            [&INFO_EXPORT.to_be_bytes()[..], &BYTES.to_be_bytes(), &EXPORT_FLAGS.to_be_bytes()];
        assert_eq!(pair.reply(option), (IS_INFO, export.concat()));
        let sizes = [512, 4096, LARGEST].map(u32::to_be_bytes).concat();
        let sizes = [INFO_BLOCK_SIZE.to_be_bytes().to_vec(), sizes].concat();
        assert_eq!(pair.reply(option), (IS_INFO, sizes));
        assert_eq!(pair.reply(option), (ACK, Vec::new()));
    }
    assert_eq!(pair.read(0, 512), [0; 512], "it serves");
}

#[test]
fn an_old_client_gets_its_zeros() {
    let mut pair = Pair::greeted(FIXED_NEWSTYLE);
    pair.option(EXPORT_NAME, b"");
    let mut export = [1; 8 + 2 + 124];
    pair.client.read_exact(&mut export).unwrap();
    assert_eq!(export[10..], [0; 124]);
    assert_eq!(pair.write(0, &[5; 512], 0), 0);
    pair.send((DISCONNECT, 0), 0, 0, &[]);
    assert!(!pair.refuses());
}

#[test]
fn a_client_may_leave_and_a_stranger_refuses() {
    let mut leaves = Pair::greeted(FIXED_NEWSTYLE);
    leaves.option(ABORT, &[]);
    assert_eq!(leaves.reply(ABORT).0, ACK);
    assert!(!leaves.refuses());
    assert!(Pair::greeted(0).refuses());
    let mut strange = Pair::greeted(FIXED_NEWSTYLE);
    strange.client.write_all(&[7; 16]).unwrap();
    assert!(strange.refuses());
    let mut endless = Pair::greeted(FIXED_NEWSTYLE);
    endless.option(GO, &[0; 9 << 10]);
    assert!(endless.refuses());
}

#[test]
fn a_cut_keeps_what_was_flushed_and_any_of_the_rest() {
    let mut seen = [false; 2];
    for seed in 0..50 {
        let mut pair = Pair::ready();
        assert_eq!(pair.write(0, &[1; 1024], 0), 0);
        assert_eq!(pair.flush(), 0);
        assert_eq!(pair.write(512, &[2; 512], 0), 0);
        assert_eq!(pair.write(1024, &[3; 512], FUA), 0);
        assert_eq!(pair.read(0, 2048)[..1536], [[1; 512], [2; 512], [3; 512]].concat());
        let left = pair.cut(seed);
        assert_eq!((left[0], left[2], left[3]), (1, 3, 0));
        assert!([1, 2].contains(&left[1]));
        seen[usize::from(left[1] - 1)] = true;
    }
    assert_eq!(seen, [true; 2], "kept, and lost");
}

#[test]
fn what_cannot_be_done_is_answered_with_an_error() {
    let mut pair = Pair::ready();
    assert_eq!(pair.write(100, &[1; 512], 0), EINVAL);
    assert_eq!(pair.write(BYTES, &[1; 512], 0), EINVAL);
    pair.send((READ, 0), BYTES, 512, &[]);
    assert_eq!(pair.answered(BYTES), EINVAL);
    pair.send((TRIM, 0), 512, 512, &[]);
    assert_eq!(pair.answered(512), EINVAL);
    assert_eq!(pair.write(0, &[9; 512], 0), 0, "the next one is done");
    pair.send((WRITE, 0), 0, LARGEST + 1, &[]);
    assert!(pair.refuses());
}

#[test]
fn a_write_of_which_a_part_has_come_is_not_done() {
    let mut pair = Pair::ready();
    pair.send((WRITE, FUA), 0, 1024, &[1; 512]);
    assert_eq!(pair.cut(0)[..2], [0, 0]);
}

#[test]
fn nothing_is_done_once_the_fuse_has_burnt() {
    let mut pair = Pair::ready();
    pair.fuse.arm(2);
    assert_eq!(pair.write(0, &[1; 512], 0), 0);
    assert_eq!(pair.flush(), 0);
    pair.send((WRITE, FUA), 512, 512, &[2; 512]);
    pair.send((FLUSH, 0), 0, 0, &[]);
    pair.client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(pair.client.read(&mut [0]).is_err(), "no answer");
    assert!(pair.fuse.is_burnt());
    assert_eq!(pair.cut(0)[..2], [1, 0]);
}
