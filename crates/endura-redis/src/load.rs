//! The entry point of the module, which Redis calls when it loads it.

use std::ffi::c_int;
use std::path::PathBuf;

use crate::redis::api::{self, RawContext, RawString};
use crate::redis::{Context, Level, Text};
use crate::store::{Store, sentence};
use crate::{commands, keys, options};

/// The version that MODULE LIST shows: 100 stands for 0.1.
const VERSION: c_int = 100;

/// Redis calls this function once, when it loads the module.
///
/// # Safety
///
/// The arguments are what Redis passes to a module.
#[unsafe(no_mangle)]
#[allow(non_snake_case, unreachable_pub, reason = "the name that Redis looks for")]
pub unsafe extern "C" fn RedisModule_OnLoad(
    raw: *mut RawContext,
    arguments: *mut *mut RawString,
    count: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let loaded = unsafe { api::load(raw) };
    if loaded.is_err() {
        // This cannot be logged, because `Log` is one of the functions that were looked up.
        return 1;
    }
    // SAFETY: the caller's promise.
    let (context, arguments) =
        unsafe { (Context::new(raw), Text::all(arguments, usize::try_from(count).unwrap_or(0))) };
    match load(&context, arguments) {
        Ok(()) => 0,
        Err(text) => {
            context.log(Level::Warning, text);
            1
        }
    }
}

fn load(context: &Context<'_>, arguments: &[Text]) -> Result<(), String> {
    let words: Vec<String> =
        arguments.iter().map(|word| String::from_utf8_lossy(word.bytes()).into_owned()).collect();
    let (path, options) = options::parse(&words)?;
    let options = options.on_event(keys::log_checkpoints);
    if !context.name_module(c"endura", VERSION) {
        return Err("a module called endura is loaded already".into());
    }
    // A relative path says little in a log.
    let shown = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    let refused = |error| format!("the pool {}: {}", shown.display(), sentence(&error));
    let checkpoint = PathBuf::from(format!("{}.checkpoint", path.display()));
    let files = [&path, &checkpoint];
    let is_new = !files.iter().any(|file| file.exists());
    let store = Store::open(&path, options).map_err(|error| {
        if is_new && matches!(error, endura::Error::Full { .. }) {
            // A pool that cannot hold what every pool has: this start has made it, and no later one could use it.
            files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        }
        refused(error)
    })?;
    if let Some(text) = store.restored().map_err(refused)? {
        context.log(Level::Warning, format!("the pool {}: {text}", shown.display()));
    }
    keys::Session::begin(store);
    keys::prepare_for_forks().map_err(|error| format!("handlers of forks: {error}"))?;
    commands::start().map_err(|error| format!("threads: {error}"))?;
    if !keys::register_methods(context) {
        return Err("the server does not take the data type".into());
    }
    commands::register_all(context).map_err(|name| {
        format!("the server does not take the command {}", name.to_string_lossy())
    })?;
    if !keys::subscribe_to_all(context)
        || !context.subscribe_to_info(commands::info_section)
        || !commands::watch_users(context)
    {
        return Err("the server does not take a subscription".into());
    }
    Ok(())
}
