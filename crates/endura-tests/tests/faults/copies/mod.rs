//! Copies of maps, and of pools that are in use.

mod of_checkpoints;
mod of_maps;
