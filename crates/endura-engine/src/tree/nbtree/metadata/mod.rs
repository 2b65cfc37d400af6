//! The part in DRAM: leaves and inner nodes.

pub(crate) mod body;
pub(crate) mod control;
pub(crate) mod descend;
pub(crate) mod fingerprints;
pub(crate) mod key_order;
pub(crate) mod leaf;
pub(crate) mod links;
pub(crate) mod rank;
pub(crate) mod reroute;
pub(crate) mod shared;
