//! Several changes at once, in pools on disks: beside readers and writers, in closures, and across opens.

mod closures;
mod crowd;
mod opens;
mod readers;
mod refusals;
mod replays;
mod staged;
mod world;
