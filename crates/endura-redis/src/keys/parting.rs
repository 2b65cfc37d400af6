//! Keys that come from the pool are not in the past that Redis knows: the offset in a file that was loaded, or a link that
//! is up while the module is loaded. Who went on from there would miss them, or carry commands out on other keys: so a
//! master parts from its replicas, and a replica from its master, and all keys are sent anew.
//!
//! Nothing is destroyed by that: a replica drops what it has when its master has sent the first of it.

use super::session::Session;
use crate::redis::api::flags;
use crate::redis::{Context, Level, end};
use crate::store::{Failure, Outcome};

impl Session {
    /// Parts, if anybody can go on from anything. `is_turn`: no command is being carried out, and no file loaded. `Err`:
    /// it cannot be done now.
    pub(super) fn part(&self, context: &Context<'_>, is_turn: bool) -> Outcome {
        let fields = [c"repl_backlog_active", c"master_host", c"master_port"];
        let [backlog, host, port] = context.info(c"replication", fields);
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
            // A node of a cluster takes its id for the master's when it looks for that, a little later.
            _ if !context.has(flags::REPLICA) => context.part_from_replicas(),
            _ if context.has(flags::CLUSTER) => {
                let text = "ERR endura: a node that follows its master cannot attach keys: load the module when it starts";
                return Err(Failure::Says(text));
            }
            (Some(host), Some(port)) if is_turn => part_from_master(context, &host, &port),
            _ => {
                // The client of this command may be the master.
                return Err(Failure::Says(
                    "ERR endura: the keys are about to be attached: try again",
                ));
            }
        }
        self.start().has_parted = true;
        Ok(())
    }
}

/// The master is asked for everything: it does not know the id that a server has once it was a master itself.
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
