//! Warnings about users whose ACL rules do not reach the commands of this module.
//!
//! Before Redis 7.2 a module cannot declare the categories of its commands, so `+@all -@write` leaves EN.SET allowed. The
//! log names each user with such a rule, and the rules that deny these commands.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::table::COMMANDS;
use crate::redis::api::{Event, RawContext, events};
use crate::redis::{Context, Level, knows_categories, subscribe};

/// The time between two looks at the users. Redis has no event for a new or changed user.
const EACH: Duration = Duration::from_secs(10);

/// Starts to watch the users if this server does not let a module declare the categories of its commands. Returns
/// `false` if the server refuses the subscription.
pub(crate) fn watch_users(context: &Context<'_>) -> bool {
    knows_categories() || subscribe(context, events::CRON, on_cron)
}

/// When the rules of the users were last read (`None` if never), and the rules that have been logged.
static SEEN: Mutex<(Option<Instant>, BTreeSet<String>)> = Mutex::new((None, BTreeSet::new()));

unsafe extern "C" fn on_cron(raw: *mut RawContext, _event: Event, _which: u64, _data: *mut c_void) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.0.is_some_and(|last| last.elapsed() < EACH) {
        return;
    }
    seen.0 = Some(Instant::now());
    // SAFETY: Redis calls this callback with a context that lasts as long as the call.
    let context = unsafe { Context::new(raw) };
    // If the server's ACL command has been renamed, the call fails, and no rules are looked at.
    let rules = context.call(c"ACL", &[b"LIST"]).unwrap_or_default();
    seen.1.retain(|old| rules.contains(old));
    for rule in rules {
        let allowed = allowed_beside(&rule);
        if allowed.is_empty() || !seen.1.insert(rule.clone()) {
            continue;
        }
        let user = rule.split(' ').nth(1).unwrap_or_default();
        let denied: Vec<String> = allowed.iter().map(|name| format!("-{name}")).collect();
        let text = format!(
            "the categories in the rules of user {user} do not reach commands of this module before Redis 7.2; to deny them: \
             ACL SETUSER {user} {}",
            denied.join(" ")
        );
        context.log(Level::Warning, text);
    }
}

/// The commands that `rule` still allows although it takes their category away, because it starts from `+@all`.
fn allowed_beside(rule: &str) -> Vec<&'static str> {
    let mut allowed = BTreeSet::new();
    // A selector, in parentheses, is a separate list of rules.
    for rules in rule.split(['(', ')']) {
        let (mut has_all, mut here) = (false, BTreeSet::new());
        for word in rules.split_whitespace() {
            match word {
                "+@all" => (has_all, here) = (true, BTreeSet::new()),
                "-@all" => (has_all, here) = (false, BTreeSet::new()),
                _ => {
                    if let Some(category) = word.strip_prefix("-@").filter(|_| has_all) {
                        here.extend(names(|of| of.split(' ').any(|other| other == category)));
                    } else if let Some(name) = word.strip_prefix(['-', '+']) {
                        // A rule that names the command is intended, whether it allows or denies it.
                        here.remove(name);
                    }
                }
            }
        }
        allowed.extend(here);
    }
    allowed.into_iter().collect()
}

fn names(is_in: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter_map(move |command| {
        let categories = command.categories.to_str().ok()?;
        is_in(categories).then(|| command.name.to_str().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::allowed_beside;

    #[test]
    fn what_a_category_does_not_reach_is_named() {
        let of = |rule: &str| allowed_beside(&format!("user u on nopass ~* &* {rule}")).join(" ");
        let writes = "en.cas en.create en.del en.incrby en.pop en.set";
        assert_eq!(of("+@all -@write"), writes);
        assert_eq!(of("+@all -@write -en.set -en.del"), "en.cas en.create en.incrby en.pop");
        assert_eq!(of("+@all -@admin -@dangerous"), "en.checkpoint");
        assert_eq!(of("-@all +@all -@write"), writes);
        assert_eq!(of("-@all +get (%R~x +@all -@write)"), writes);
        for rule in ["+@all", "-@all +@read", "-@all +@read -@write", "+@all -@string -get"] {
            assert_eq!(of(rule), "", "{rule}");
        }
    }
}
