//! The part of the NBD protocol that qemu needs: fixed newstyle negotiation, and simple replies to reads, writes and
//! flushes. <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>

mod handshake;
mod requests;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use server::Server;
