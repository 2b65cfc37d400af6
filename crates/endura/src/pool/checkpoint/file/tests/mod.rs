//! The file of checkpoints on a disk that loses power.

mod damage;
mod disk;
mod losses;
mod model;
mod random;
mod rounds;
