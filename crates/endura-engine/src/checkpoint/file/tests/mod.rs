//! The file of checkpoints on a disk that loses power.

mod damage;
pub(crate) mod disk;
mod losses;
mod model;
pub(crate) mod random;
mod rounds;

use crate::os::door::DiskFile;
use crate::sync::Mutex;
