//! The reply to `stats`.

use std::fmt::Display;

use super::command::ERROR;
use super::context::Context;
use crate::store::Counter;
use crate::wording::in_words;

/// The reply to `version`. Some clients choose their commands by the version of memcached, so the reply names the version
/// whose meta protocol this server has.
pub(super) const VERSION: &str = concat!("1.6.18-endura-", env!("CARGO_PKG_VERSION"));

/// Writes the figures that `what` requests, or replies as memcached does if there are none.
pub(super) fn stats(what: &[u8], context: &Context, output: &mut Vec<u8>) {
    let mut line = |text: &str| {
        output.extend_from_slice(text.as_bytes());
        output.extend_from_slice(b"\r\n");
    };
    match what {
        b"" => general(context, &mut |name, value| line(&format!("STAT {name} {value}"))),
        b"reset" => {
            context.facts.reset();
            return line("RESET");
        }
        // memcached's figures of its memory, options and connections. This server has none of them.
        b"settings" | b"items" | b"slabs" | b"sizes" | b"conns" => {}
        _ => return line(ERROR),
    }
    line("END");
}

fn general(context: &Context, stat: &mut dyn FnMut(&str, &dyn Display)) {
    let facts = &context.facts;
    stat("pid", &std::process::id());
    stat("uptime", &facts.since.elapsed().as_secs());
    stat("time", &context.now);
    stat("version", &VERSION);
    stat("pointer_size", &usize::BITS);
    stat("max_connections", &facts.max_connections);
    stat("curr_connections", &facts.open());
    stat("threads", &facts.threads);
    for counter in Counter::ALL {
        stat(counter.name(), &facts.sum(counter));
    }
    // If the pool fails, the replies of other commands say so.
    if let Ok(count) = facts.store.count() {
        stat("curr_items", &count);
    }
    if let Ok(pool) = facts.store.pool().stats() {
        stat("bytes", &pool.bytes_in_use);
        stat("limit_maxbytes", &pool.max_bytes);
        if let Some(checkpoints) = &pool.checkpoints {
            if let Some(age) = checkpoints.newest.and_then(|newest| newest.elapsed().ok()) {
                stat("checkpoint_age", &age.as_secs());
            }
            stat("checkpoint_failures", &checkpoints.failures_in_a_row);
            let failure = checkpoints.last_failure.as_ref();
            if let Some(failure) = failure.filter(|_| checkpoints.failures_in_a_row > 0) {
                stat("checkpoint_failure", &in_words(&failure.reason).replace(['\r', '\n'], " "));
            }
        }
        if !pool.warnings.is_empty() {
            // One figure, because clients read the reply into a map.
            stat("warning", &in_words(&pool.warnings.join(" | ")));
        }
    }
}
