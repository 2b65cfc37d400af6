//! Two operations at once, one of them stopped before its loads and stores.

use crate::record_races::races;
use crate::world::{Small, Ties};

races! { small: Small; ties: Ties; }
