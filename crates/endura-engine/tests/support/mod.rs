//! What the tests of the trees share; each tree uses a part of it.
#![allow(dead_code, reason = "not every tree has a test for all of it")]

pub(crate) mod children;
pub(crate) mod clock;
pub(crate) mod crashes;
pub(crate) mod edges;
pub(crate) mod footprint;
pub(crate) mod full;
pub(crate) mod killed;
pub(crate) mod map;
pub(crate) mod model;
pub(crate) mod ops;
pub(crate) mod races;
pub(crate) mod readers;
pub(crate) mod sessions;
pub(crate) mod soak;
pub(crate) mod stage;
pub(crate) mod vectors;
pub(crate) mod world;
