//! Space: on the disk, in the file, in memory.

mod disk_writes;
mod drops;
mod kills;
mod many_maps;
mod memory;
mod refill;
mod small;
