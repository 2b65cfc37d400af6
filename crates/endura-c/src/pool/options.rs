//! The options of `endura_open`.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use endura::{Checkpoints, Pool, PoolOptions};

use super::events::{Listen, Listener};
use crate::failure::{Failure, Outcome};
use crate::memory::{path_or_none, text, text_or_none};

/// `endura_options`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// `sizeof(endura_options)` of the header that the program was compiled with.
    pub size: usize,
    /// The largest size; 0 for the default.
    pub max_size: u64,
    /// Flags, of those below.
    pub flags: u32,
    /// How long to wait for a pool that is open elsewhere.
    pub lock_timeout_ms: u32,
    /// The interval between checkpoints; 0 to leave it as it is.
    pub checkpoint_ms: u32,
    /// The number of threads of the leak recovery; 0 for the default.
    pub recovery_threads: u32,
    /// The file of the checkpoint; NULL to leave it as it is.
    pub checkpoint_file: *const c_char,
    /// Names and values of further settings in turn, and then NULL; NULL for none.
    pub settings: *const *const c_char,
    /// Called with events; NULL for none.
    pub on_event: Option<Listen>,
    /// Passed to `on_event`.
    pub event_context: *mut c_void,
}

impl Options {
    /// `ENDURA_OPTIONS`
    pub const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        max_size: 0,
        flags: 0,
        lock_timeout_ms: 0,
        checkpoint_ms: 0,
        recovery_threads: 0,
        checkpoint_file: std::ptr::null(),
        settings: std::ptr::null(),
        on_event: None,
        event_context: std::ptr::null_mut(),
    };
}

/// The pool is not written.
pub const READ_ONLY: u32 = 1;
/// No pool is created.
pub const MUST_EXIST: u32 = 2;
/// A pool is created, or the call fails.
pub const MUST_NOT_EXIST: u32 = 4;
/// A pool of which a power loss may have torn parts is opened all the same.
pub const ACCEPT_UNCLEAN: u32 = 8;
/// A torn pool is not restored from its checkpoint.
pub const NO_RESTORE: u32 = 16;
/// The pool may be on a file system where it is not safe.
pub const ANY_FILESYSTEM: u32 = 32;
/// The pool is read far more often than written.
pub const READ_MOSTLY: u32 = 64;
/// No checkpoints are made.
pub const CHECKPOINTS_OFF: u32 = 128;
/// Checkpoints are made on request and at each close.
pub const CHECKPOINTS_ON_DEMAND: u32 = 256;
/// The file of the checkpoint must be there.
pub const CHECKPOINT_MUST_EXIST: u32 = 512;
const ALL_FLAGS: u32 = 1023;

/// `size` and `max_size`, which every version of the structure has.
const LEAST_SIZE: usize = 16;
/// No version of the structure will be larger.
const MOST_SIZE: usize = 4096;
/// The most settings that are looked at: a list without its NULL ends somewhere.
const MOST_SETTINGS: usize = 256;

/// The options as this library knows them. An older program has fewer. Those that only a newer program has must be 0.
pub(super) fn read(given: *const Options) -> Outcome<Options> {
    let mut options = Options::DEFAULT;
    if given.is_null() {
        return Ok(options);
    }
    if !given.is_aligned() {
        return Err(Failure::argument("`options` is not aligned: declare it as endura_options"));
    }
    // SAFETY: the program promises that this is the structure, which begins with its size in every version.
    let size = unsafe { (*given).size };
    if !(LEAST_SIZE..=MOST_SIZE).contains(&size) {
        let text = "`size` of the options is wrong: set them to ENDURA_OPTIONS first";
        return Err(Failure::argument(text));
    }
    // SAFETY: the program promises that the structure has this size.
    let bytes = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), size) };
    let known = size.min(size_of::<Options>());
    if bytes[known..].iter().any(|&byte| byte != 0) {
        let text = "an option is set that this version of endura does not know: use a newer one";
        return Err(Failure::argument(text));
    }
    // SAFETY: both are that long, and the program promises that its bytes are values of the fields.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut options).cast(), known) };
    match options.flags & !ALL_FLAGS {
        0 => Ok(options),
        unknown => Err(Failure::argument(format!(
            "this version of endura does not know the flags {unknown:#x}: use a newer one"
        ))),
    }
}

/// How a pool is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existence {
    Either,
    Must,
    MustNot,
}

impl Options {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn existence(&self) -> Outcome<Existence> {
        match (self.has(MUST_EXIST) || self.has(READ_ONLY), self.has(MUST_NOT_EXIST)) {
            (true, true) => Err(Failure::argument(
                "a pool that must exist (or is only read) and must not exist: choose one",
            )),
            (true, false) => Ok(Existence::Must),
            (false, true) => Ok(Existence::MustNot),
            (false, false) => Ok(Existence::Either),
        }
    }

    fn checkpoints(&self) -> Outcome<Option<Checkpoints>> {
        let flags = (self.has(CHECKPOINTS_OFF), self.has(CHECKPOINTS_ON_DEMAND));
        let mut chosen = match (flags, self.checkpoint_ms) {
            ((false, false), 0) => None,
            ((true, false), 0) => Some(Checkpoints::off()),
            ((false, true), 0) => Some(Checkpoints::on_demand()),
            ((false, false), ms) => Some(Checkpoints::every(Duration::from_millis(ms.into()))),
            _ => {
                let text = "two options say when checkpoints are made: choose one";
                return Err(Failure::argument(text));
            }
        };
        let file = path_or_none(self.checkpoint_file, "checkpoint_file")?;
        if flags.0 && (file.is_some() || self.has(CHECKPOINT_MUST_EXIST)) {
            let text = "a file for checkpoints that are off: choose one";
            return Err(Failure::argument(text));
        }
        if let Some(file) = file {
            chosen = Some(chosen.unwrap_or_else(Checkpoints::as_left).in_file(file));
        }
        if self.has(CHECKPOINT_MUST_EXIST) {
            chosen = Some(chosen.unwrap_or_else(Checkpoints::as_left).must_exist());
        }
        Ok(chosen)
    }

    /// Adds the settings that are given by name.
    fn with_settings(&self, mut options: PoolOptions) -> Outcome<PoolOptions> {
        if self.settings.is_null() {
            return Ok(options);
        }
        for at in 0..MOST_SETTINGS {
            // SAFETY: the program promises that a NULL ends the list, which was not met before.
            let [name, value] = unsafe {
                let pair = self.settings.add(2 * at);
                let name = *pair;
                [name, if name.is_null() { name } else { *pair.add(1) }]
            };
            let Some(name) = text_or_none(name, "settings")? else { return Ok(options) };
            let set = options.set(name, text(value, "settings")?);
            options = set.map_err(Failure::argument)?;
        }
        Err(Failure::argument(format!("more than {MOST_SETTINGS} settings: end them with NULL")))
    }

    /// The options of the library, and the listener.
    pub(super) fn of_library(&self) -> Outcome<(PoolOptions, Option<Arc<Listener>>)> {
        let mut options = Pool::options()
            .read_only(self.has(READ_ONLY))
            .accept_unclean(self.has(ACCEPT_UNCLEAN))
            .restore(!self.has(NO_RESTORE))
            .allow_any_filesystem(self.has(ANY_FILESYSTEM))
            .read_mostly(self.has(READ_MOSTLY))
            .lock_timeout(Duration::from_millis(self.lock_timeout_ms.into()));
        if self.max_size != 0 {
            options = options.max_size(self.max_size);
        }
        if self.recovery_threads != 0 {
            let threads = self.recovery_threads.to_string();
            options = options.set("recovery-threads", &threads).map_err(Failure::argument)?;
        }
        if let Some(checkpoints) = self.checkpoints()? {
            options = options.checkpoints(checkpoints);
        }
        options = self.with_settings(options)?;
        let Some(listen) = self.on_event else { return Ok((options, None)) };
        let listener = Arc::new(Listener::new(listen, self.event_context));
        let own = Arc::clone(&listener);
        Ok((options.on_event(move |event| own.hear(event)), Some(listener)))
    }
}
