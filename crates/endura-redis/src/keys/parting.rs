//! Parting: after keys of the pool are attached, replication starts again with all keys.
//!
//! Replication continues from an offset. It is the offset in a file that was loaded, or that of a link which is up
//! while the module is loaded. The history up to that offset does not have the keys of the pool. A server that
//! continued from there would miss these keys, or would apply commands to other keys. So a master parts from its
//! replicas, and a replica from its master, and all keys are sent again.
//!
//! Nothing is lost by that: a replica drops its keys only once its master has started to send the new ones.

use super::session::Session;
use crate::redis::api::flags;
use crate::redis::{Context, Level, end, info};
use crate::store::{Failure, Outcome};

impl Session {
    /// Parts, if this server or another one could continue from an offset. `is_turn` says that no command is being
    /// executed and no file is being loaded. Fails if this server cannot part now.
    pub(super) fn part(&self, context: &Context<'_>, is_turn: bool) -> Outcome {
        let fields = [c"repl_backlog_active", c"master_host", c"master_port"];
        let [backlog, host, port] = info(c"replication", fields);
        let is_known = backlog.as_deref() != Some("0");
        if !context.is_replica() {
            if is_known {
                context.part_from_replicas();
            }
            return Ok(());
        }
        let (has_loaded, has_parted) = {
            let start = self.start();
            (start.has_loaded, start.has_parted)
        };
        if has_parted || !has_loaded && !is_known {
            return Ok(());
        }
        match (host, port) {
            // A node of a cluster that is not linked to its master yet will ask it to continue from the node's own id, so
            // a new id is enough.
            _ if !context.has(flags::REPLICA) => context.part_from_replicas(),
            _ if context.has(flags::CLUSTER) => {
                let text = "ERR endura: a node that follows its master cannot attach keys: load the module when it starts";
                return Err(Failure::Says(text));
            }
            (Some(host), Some(port)) if is_turn => part_from_master(context, &host, &port),
            (Some(_), Some(_)) => {
                // The client of this command may be the master, whose link must not be closed now.
                return Err(Failure::Says(
                    "ERR endura: the keys are about to be attached: try again",
                ));
            }
            _ => {
                return Err(Failure::Says(
                    "ERR endura: INFO replication does not name the master, which has to send all keys again: use REPLICAOF",
                ));
            }
        }
        self.start().has_parted = true;
        Ok(())
    }
}

/// Makes this replica ask its master for all keys. The replica becomes a master for a moment, which gives it a new id
/// that its old master does not know.
fn part_from_master(context: &Context<'_>, host: &str, port: &str) {
    let text =
        "the pool is ahead of what this replica would go on from: it asks its master for all keys";
    context.log(Level::Notice, text);
    if let Err(why) = context.call(c"REPLICAOF", &[b"NO", b"ONE"]) {
        let text =
            format!("the server has no REPLICAOF ({why}): this replica may differ from its master");
        context.log(Level::Warning, text);
        return;
    }
    context.part_from_replicas();
    if let Err(why) = context.call(c"REPLICAOF", &[host.as_bytes(), port.as_bytes()]) {
        end("this replica cannot go back to its master", &why);
    }
}
