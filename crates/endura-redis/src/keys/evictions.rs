//! A warning about a policy that evicts maps.

use super::session::session;
use crate::redis::info;

/// A sentence for the operator if the server may evict any key, and there are maps. An evicted map is lost, and frees hardly
/// any memory, so the server evicts one after the other, for the reply to one long range too.
pub(crate) fn evicts_maps() -> Option<String> {
    let [policy, limit] = info(c"memory", [c"maxmemory_policy", c"maxmemory"]);
    let policy = policy.filter(|policy| policy.starts_with("allkeys"))?;
    let has_limit = limit.is_some_and(|limit| limit != "0");
    (has_limit && session().store.catalogue.keys() > 0).then(|| {
        format!(
            "`maxmemory-policy {policy}` evicts maps, which are lost then and free hardly any memory: set `noeviction` or \
             a `volatile-*` policy"
        )
    })
}
