//! Who ran: whose a store is, what it promises, how it is set up.

use serde::{Deserialize, Serialize};

/// A store that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// The name that measurements have.
    pub name: String,
    /// Whose it is.
    pub role: Role,
    /// What a write that returned survives.
    pub promise: Promise,
    /// The settings that matter for a comparison, in a sentence.
    pub setting: String,
}

/// Whose a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An index of endura.
    Ours,
    /// A store that people would use instead.
    Peer,
    /// A map in DRAM: what a persistent one can hope for.
    VolatileBound,
    /// An index of endura's lab, that shows what one choice of the product is worth.
    Variant,
}

/// What a write that returned survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Nothing.
    Volatile,
    /// SIGKILL of the process.
    Sigkill,
    /// It promises SIGKILL, and lost acknowledged operations under `endura bench kills`.
    Broken,
}
