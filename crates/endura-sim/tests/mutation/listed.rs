//! Faults that the campaign does not find. Each is shown to be none; the list must not grow.

/// Why nobody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// What it leads to is allowed.
    Harmless,
    /// What it leads to is allowed, and takes longer.
    Costs,
    /// The campaign does not come so far.
    Unreached,
}

/// A mutant by its name, and why nobody notices it.
pub(crate) const LISTED: &[(&str, Why, &str)] = &[];
