//! Registrations while the module is loaded: commands with their documentation, the data type, callbacks.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use super::api::{
    self, CommandFn, Event, EventFn, Info, InfoArgument, InfoBegin, InfoKeySpec, InfoVersion,
    TypeMethods, api,
};
use super::context::Context;
use super::{key, slots};

/// What a command does with its key, for `REDISMODULE_CMD_KEY_*`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyUse {
    /// The command has no key.
    None,
    /// Reads the key.
    Reads,
    /// Writes to the key.
    Writes,
    /// Removes something from the key.
    Removes,
    /// Reads and changes the key.
    Changes,
    /// Removes something from the key, and returns it.
    Takes,
    /// Creates the key.
    Makes,
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Key,
    Text,
    Integer,
    /// A keyword.
    Word,
    /// A keyword, followed by an argument.
    Option(&'static CStr),
    /// One of these keywords.
    OneOf(&'static [&'static CStr]),
    /// These arguments, one after the other.
    Block(&'static [Argument]),
}

/// An argument of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) name: &'static CStr,
    pub(crate) kind: Kind,
    pub(crate) is_optional: bool,
    pub(crate) repeats: bool,
}

/// A command, with what COMMAND DOCS shows for it.
pub(crate) struct Command {
    pub(crate) name: &'static CStr,
    pub(crate) run: CommandFn,
    pub(crate) flags: &'static CStr,
    pub(crate) categories: &'static CStr,
    pub(crate) key: KeyUse,
    pub(crate) arity: c_int,
    pub(crate) summary: &'static CStr,
    pub(crate) complexity: &'static CStr,
    pub(crate) arguments: &'static [Argument],
}

static VERSION: InfoVersion = InfoVersion {
    version: 1,
    history_entry: 2 * size_of::<*const c_char>(),
    key_spec: size_of::<InfoKeySpec>(),
    argument: size_of::<InfoArgument>(),
};

/// Registers a command. Returns `false` if the server refuses it.
pub(crate) fn register(context: &Context<'_>, command: &Command) -> bool {
    let name = command.name.as_ptr();
    let (first, last, step) = match command.key {
        KeyUse::None => (0, 0, 0),
        _ => (1, 1, 1),
    };
    // SAFETY: the names are static; Redis copies the documentation.
    unsafe {
        let flags = command.flags.as_ptr();
        let created =
            (api().CreateCommand)(context.raw, name, command.run, flags, first, last, step);
        if !created.is_ok() {
            return false;
        }
        let made = (api().GetCommand)(context.raw, name);
        if made.is_null() {
            return false;
        }
        let set = api().SetCommandACLCategories;
        if set.is_some_and(|set| !set(made, command.categories.as_ptr()).is_ok()) {
            return false;
        }
        with_info(command, |info| (api().SetCommandInfo)(made, info).is_ok())
    }
}

fn with_info<R>(command: &Command, run: impl FnOnce(&Info) -> R) -> R {
    let (reads, changes, inserts, deletes) = (1 << 4, 1 << 5, 1 << 6, 1 << 7);
    let flags = match command.key {
        KeyUse::Reads | KeyUse::None => 1 | reads,
        KeyUse::Writes => 1 << 1 | changes,
        KeyUse::Removes => 1 << 1 | deletes,
        KeyUse::Changes => 1 << 1 | reads | changes,
        KeyUse::Takes => 1 << 1 | reads | deletes,
        KeyUse::Makes => 1 << 2 | inserts,
    };
    // The search for the key begins at position 1, given as an index, and the range found there is this key alone.
    let begin = InfoBegin { position: 1, unused: 0 };
    let key = InfoKeySpec {
        notes: ptr::null(),
        flags,
        begin_search: 2,
        begin,
        find_keys: 2,
        find: [0, 1, 0],
    };
    let end = InfoKeySpec {
        notes: ptr::null(),
        flags: 0,
        begin_search: 0,
        begin: InfoBegin { position: 0, unused: 0 },
        find_keys: 0,
        find: [0; 3],
    };
    let mut specs = match command.key {
        KeyUse::None => vec![end],
        _ => vec![key, end],
    };
    let mut kept = Vec::new();
    let arguments = info_of(command.arguments, &mut kept);
    run(&Info {
        version: &raw const VERSION,
        summary: command.summary.as_ptr(),
        complexity: command.complexity.as_ptr(),
        since: c"0.1.0".as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity: command.arity,
        key_specs: specs.as_mut_ptr(),
        arguments,
    })
}

/// The arguments in Redis' form: an array that ends with an empty argument. `kept` owns the arrays.
fn info_of(arguments: &[Argument], kept: &mut Vec<Box<[InfoArgument]>>) -> *mut InfoArgument {
    if arguments.is_empty() {
        return ptr::null_mut();
    }
    let mut made: Vec<InfoArgument> =
        arguments.iter().map(|argument| argument_info(argument, kept)).collect();
    made.push(blank(ptr::null(), 0));
    kept.push(made.into_boxed_slice());
    kept.last_mut().map_or(ptr::null_mut(), |made| made.as_mut_ptr())
}

fn blank(name: *const c_char, kind: c_int) -> InfoArgument {
    InfoArgument {
        name,
        kind,
        key_spec_index: -1,
        token: ptr::null(),
        summary: ptr::null(),
        since: ptr::null(),
        flags: 0,
        deprecated_since: ptr::null(),
        arguments: ptr::null_mut(),
        display_text: ptr::null(),
    }
}

fn argument_info(argument: &Argument, kept: &mut Vec<Box<[InfoArgument]>>) -> InfoArgument {
    let name = argument.name.as_ptr();
    let mut info = match argument.kind {
        Kind::Text => blank(name, 0),
        Kind::Integer => blank(name, 1),
        Kind::Key => InfoArgument { key_spec_index: 0, ..blank(name, 3) },
        Kind::Word => InfoArgument { token: name, ..blank(name, 6) },
        Kind::Option(token) => InfoArgument { token: token.as_ptr(), ..blank(name, 1) },
        Kind::OneOf(words) => {
            let words: Vec<InfoArgument> = words
                .iter()
                .map(|word| InfoArgument { token: word.as_ptr(), ..blank(word.as_ptr(), 6) })
                .chain([blank(ptr::null(), 0)])
                .collect();
            kept.push(words.into_boxed_slice());
            let arguments = kept.last_mut().map_or(ptr::null_mut(), |words| words.as_mut_ptr());
            InfoArgument { arguments, ..blank(name, 7) }
        }
        Kind::Block(parts) => InfoArgument { arguments: info_of(parts, kept), ..blank(name, 8) },
    };
    info.flags = c_int::from(argument.is_optional) | c_int::from(argument.repeats) << 1;
    info
}

/// Registers the data type. Returns `false` if the server refuses it.
pub(crate) fn register_type(
    context: &Context<'_>,
    name: &CStr,
    version: c_int,
    methods: &mut TypeMethods,
) -> bool {
    // SAFETY: Redis copies the methods; the name has nine letters.
    let made = unsafe { (api().CreateDataType)(context.raw, name.as_ptr(), version, methods) };
    key::set_type(made);
    !made.is_null()
}

/// Whether a module can declare the categories of its commands to this server: Redis 7.2 and later.
pub(crate) fn knows_categories() -> bool {
    api().SetCommandACLCategories.is_some()
}

/// Subscribes to an event of the server. Returns `false` if the server refuses it.
pub(crate) fn subscribe(context: &Context<'_>, event: Event, call: EventFn) -> bool {
    // SAFETY: the callback stays valid, because the module is never unloaded.
    unsafe { (api().SubscribeToServerEvent)(context.raw, event, call).is_ok() }
}

impl Context<'_> {
    /// Subscribes to events of keys. Returns `false` if the server refuses it.
    pub(crate) fn subscribe_to_keys(&self, call: api::NotificationFn) -> bool {
        // SAFETY: as above.
        unsafe { (api().SubscribeToKeyspaceEvents)(self.raw, api::ALL_NOTIFICATIONS, call).is_ok() }
    }

    /// Adds a section to INFO. Returns `false` if the server refuses it.
    pub(crate) fn subscribe_to_info(
        &self,
        call: unsafe extern "C" fn(*mut api::RawInfo, c_int),
    ) -> bool {
        // SAFETY: as above.
        unsafe { (api().RegisterInfoFunc)(self.raw, call).is_ok() }
    }

    /// Names the module. Returns `false` if the server has another module of this name.
    pub(crate) fn name_module(&self, name: &CStr, version: c_int) -> bool {
        // SAFETY: Redis copies the name.
        unsafe {
            if (api().IsModuleNameBusy)(name.as_ptr()) != 0 {
                return false;
            }
            (api().SetModuleAttribs)(self.raw, name.as_ptr(), version, 1);
            let options = api::HANDLE_IO_ERRORS | api::NO_IMPLICIT_SIGNAL;
            let of_slots = if slots::are_handled() { api::HANDLE_SLOT_MIGRATION } else { 0 };
            (api().SetModuleOptions)(self.raw, options | of_slots);
        }
        true
    }
}
