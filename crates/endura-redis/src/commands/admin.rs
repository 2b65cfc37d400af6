//! The commands EN.INFO and EN.CHECKPOINT, and the section of this module in INFO.

use std::ffi::CString;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::workers::on_a_thread;
use crate::keys::{evicts_maps, is_serving, session};
use crate::redis::{Context, InfoSection, Text};
use crate::store::{Failure, Outcome, in_words};

/// A figure of EN.INFO and INFO.
enum Figure {
    Number(u64),
    Text(String),
}

use Figure::{Number, Text as Words};

/// The figures of the pool.
fn figures() -> Outcome<Vec<(&'static str, Figure)>> {
    let session = session();
    let store = &session.store;
    let stats = store.pool.stats()?;
    let mut figures = vec![
        ("pool", Words(store.pool.path().display().to_string())),
        ("keys", Number(store.catalogue.keys())),
        ("file_bytes", Number(stats.file_bytes)),
        ("bytes_in_use", Number(stats.bytes_in_use)),
        ("max_bytes", Number(stats.max_bytes)),
        ("filesystem", Words(stats.filesystem.into())),
        ("survives_power_loss", Words(power_loss(&stats))),
        ("attached", Words(session.refused().unwrap_or_else(|| "yes".into()))),
        ("attach_microseconds", Number(session.attach_micros.load(Ordering::Relaxed))),
        ("attached_keys", Number(session.attached_keys.load(Ordering::Relaxed))),
        ("keys_to_sweep", Number(store.sweeper.pending())),
        ("child_is_saving", Number(is_serving().into())),
    ];
    if let Some(checkpoints) = &stats.checkpoints {
        figures.push(("checkpoint_file", Words(checkpoints.path.display().to_string())));
        figures.push(("checkpoint_bytes", Number(checkpoints.bytes)));
        figures.push(("checkpoint_changed_bytes", Number(checkpoints.changed_bytes)));
        if let Some(age) = age(checkpoints.newest) {
            figures.push(("checkpoint_age_seconds", Number(age)));
        }
        let failures = checkpoints.failures_in_a_row;
        figures.push(("checkpoint_failures_in_a_row", Number(failures.into())));
        if let Some(failure) = checkpoints.last_failure.as_ref().filter(|_| failures > 0) {
            figures.push(("checkpoint_failure", Words(in_words(&failure.reason))));
        }
    }
    if let Some(restored) = store.restored()? {
        figures.push(("restored", Words(restored)));
    }
    let of_pool = (!stats.warnings.is_empty()).then(|| warnings(&stats));
    let warnings: Vec<String> = of_pool.into_iter().chain(evicts_maps()).collect();
    if !warnings.is_empty() {
        // One figure, because clients read the reply into a map.
        figures.push(("warning", Words(warnings.join(" | "))));
    }
    Ok(figures)
}

fn warnings(stats: &endura::Stats) -> String {
    let text = in_words(&stats.warnings.join(" | "));
    match &stats.checkpoints {
        Some(checkpoints) if checkpoints.newest.is_none() => text.replace(
            "an earlier one is kept, and it is tried again",
            "there is none, and it is tried again",
        ),
        _ => text,
    }
}

fn age(newest: Option<SystemTime>) -> Option<u64> {
    Some(SystemTime::now().duration_since(newest?).unwrap_or_default().as_secs())
}

fn power_loss(stats: &endura::Stats) -> String {
    match (&stats.checkpoints, stats.power_safe) {
        (_, true) => "yes".into(),
        (Some(checkpoints), false) if checkpoints.newest.is_some() => {
            "back to the last checkpoint".into()
        }
        _ => "no".into(),
    }
}

/// `EN.INFO [key]`.
pub(crate) fn info(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let figures = match arguments {
        [_] => figures()?,
        [_, name] => of_key(context, name)?,
        _ => return Err(Failure::Arity),
    };
    context.map(figures.len());
    for (name, figure) in figures {
        context.bulk(name.as_bytes());
        match figure {
            Number(number) => context.integer(i64::try_from(number).unwrap_or(i64::MAX)),
            Words(text) => context.bulk(text.as_bytes()),
        }
    }
    Ok(())
}

fn of_key(context: &Context<'_>, name: &Text) -> Outcome<Vec<(&'static str, Figure)>> {
    session().is_ready(context)?;
    let key = context.read(name);
    let value = key.value()?.ok_or(Failure::Says("ERR no such key"))?;
    let mut figures = vec![("id", Number(value.id)), ("kind", Words(value.form.name()))];
    if let Some(entries) = value.count.known().filter(|_| value.own.is_none()) {
        figures.push(("entries", Number(entries.unsigned_abs())));
    }
    Ok(figures)
}

/// `EN.CHECKPOINT`: makes a checkpoint now, and replies once it is on the disk.
pub(crate) fn checkpoint(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_] = arguments else { return Err(Failure::Arity) };
    session().is_ready(context)?;
    on_a_thread(context, |context| {
        session().store.pool.checkpoint()?;
        context.ok();
        Ok(())
    })
}

/// Writes the section of this module in INFO.
pub(super) fn write_section(section: &InfoSection) {
    let Ok(figures) = figures() else { return };
    for (name, figure) in figures {
        let Ok(name) = CString::new(name) else { continue };
        let is_taken = match figure {
            Number(number) => section.number(&name, number),
            Words(text) => section.text(&name, text.replace(['\r', '\n'], " ")),
        };
        if !is_taken {
            return;
        }
    }
}
