//! Faults that nothing can find, with the reason. The list must not grow.

/// A mutant by its name, and why nobody notices it.
pub(crate) const LISTED: &[(&str, &str)] = &[];
