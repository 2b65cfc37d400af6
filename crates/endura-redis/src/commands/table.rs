//! The table of the commands, with what COMMAND DOCS shows for each.

use std::ffi::{CStr, c_int};

use super::{admin, range, read, write};
use crate::redis::api::{CommandFn, RawContext, RawInfo, RawString};
use crate::redis::{Argument, Command, Context, InfoSection, KeyUse, Kind, enter, register};

/// Wraps a function of this module in one that Redis can call.
macro_rules! entry {
    ($run:path) => {{
        unsafe extern "C" fn call(
            context: *mut RawContext,
            arguments: *mut *mut RawString,
            count: c_int,
        ) -> c_int {
            // SAFETY: Redis calls this function with the context and the arguments of a command.
            unsafe { enter(context, arguments, count, $run) }
        }
        call as CommandFn
    }};
}

const fn argument(name: &'static CStr, kind: Kind) -> Argument {
    Argument { name, kind, is_optional: false, repeats: false }
}

const fn optional(name: &'static CStr, kind: Kind) -> Argument {
    Argument { name, kind, is_optional: true, repeats: false }
}

const fn repeated(name: &'static CStr, kind: Kind) -> Argument {
    Argument { name, kind, is_optional: false, repeats: true }
}

const KEY: Argument = argument(c"key", Kind::Key);
const FIELD: Argument = argument(c"field", Kind::Text);
const VALUE: Argument = argument(c"value", Kind::Text);
const PART: Argument = optional(c"part", Kind::OneOf(&[c"KEYS", c"VALUES"]));
const REV: Argument = optional(c"REV", Kind::Word);
const LIMIT: Argument = optional(c"limit", Kind::Option(c"LIMIT"));
const FAST: &CStr = c"read fast";

pub(super) static COMMANDS: [Command; 14] = [
    Command {
        name: c"en.set",
        run: entry!(write::set),
        flags: c"write deny-oom fast",
        categories: c"write fast",
        key: KeyUse::Writes,
        arity: -4,
        summary: c"Gives fields of an ordered persistent map their values.",
        complexity: c"O(log n) for each field",
        arguments: &[
            KEY,
            repeated(c"data", Kind::Block(&[FIELD, VALUE])),
            optional(c"condition", Kind::OneOf(&[c"NX", c"XX"])),
            optional(c"GET", Kind::Word),
        ],
    },
    Command {
        name: c"en.get",
        run: entry!(read::get),
        flags: c"readonly fast",
        categories: FAST,
        key: KeyUse::Reads,
        arity: 3,
        summary: c"The value of a field.",
        complexity: c"O(log n)",
        arguments: &[KEY, FIELD],
    },
    Command {
        name: c"en.mget",
        run: entry!(read::mget),
        flags: c"readonly fast",
        categories: FAST,
        key: KeyUse::Reads,
        arity: -3,
        summary: c"The values of fields.",
        complexity: c"O(log n) for each field",
        arguments: &[KEY, repeated(c"field", Kind::Text)],
    },
    Command {
        name: c"en.del",
        run: entry!(write::del),
        flags: c"write fast",
        categories: c"write fast",
        key: KeyUse::Removes,
        arity: -3,
        summary: c"Removes fields.",
        complexity: c"O(log n) for each field",
        arguments: &[KEY, repeated(c"field", Kind::Text)],
    },
    Command {
        name: c"en.incrby",
        run: entry!(write::incrby),
        flags: c"write deny-oom fast",
        categories: c"write fast",
        key: KeyUse::Changes,
        arity: 4,
        summary: c"Adds to the integer that is the value of a field.",
        complexity: c"O(log n)",
        arguments: &[KEY, FIELD, argument(c"increment", Kind::Integer)],
    },
    Command {
        name: c"en.cas",
        run: entry!(write::cas),
        flags: c"write deny-oom fast",
        categories: c"write fast",
        key: KeyUse::Changes,
        arity: 5,
        summary: c"Gives a field a new value if it has the old one.",
        complexity: c"O(log n)",
        arguments: &[KEY, FIELD, argument(c"old", Kind::Text), argument(c"new", Kind::Text)],
    },
    Command {
        name: c"en.range",
        run: entry!(range::range),
        flags: c"readonly",
        categories: c"read slow",
        key: KeyUse::Reads,
        arity: -4,
        summary: c"The entries between two fields, in their order.",
        complexity: c"O(log n + m) for m entries",
        arguments: &[
            KEY,
            argument(c"min", Kind::Text),
            argument(c"max", Kind::Text),
            REV,
            LIMIT,
            PART,
        ],
    },
    Command {
        name: c"en.prefix",
        run: entry!(range::prefix),
        flags: c"readonly",
        categories: c"read slow",
        key: KeyUse::Reads,
        arity: -3,
        summary: c"The entries whose fields start with a prefix, in their order.",
        complexity: c"O(log n + m) for m entries",
        arguments: &[KEY, argument(c"prefix", Kind::Text), REV, LIMIT, PART],
    },
    Command {
        name: c"en.scan",
        run: entry!(read::scan),
        flags: c"readonly",
        categories: c"read slow",
        key: KeyUse::Reads,
        arity: -3,
        summary: c"A page of entries, and the cursor of the next page.",
        complexity: c"O(log n + m) for m entries",
        arguments: &[
            KEY,
            argument(c"cursor", Kind::Text),
            optional(c"count", Kind::Option(c"COUNT")),
        ],
    },
    Command {
        name: c"en.pop",
        run: entry!(write::pop),
        flags: c"write fast",
        categories: c"write fast",
        key: KeyUse::Takes,
        arity: -3,
        summary: c"Removes the lowest or the highest entries, and returns them.",
        complexity: c"O(m log n) for m entries",
        arguments: &[
            KEY,
            argument(c"end", Kind::OneOf(&[c"MIN", c"MAX"])),
            optional(c"count", Kind::Integer),
        ],
    },
    Command {
        name: c"en.count",
        run: entry!(read::count),
        flags: c"readonly",
        categories: c"read slow",
        key: KeyUse::Reads,
        arity: 2,
        summary: c"The number of entries.",
        complexity: c"O(1); O(n) once after a restart",
        arguments: &[KEY],
    },
    Command {
        name: c"en.create",
        run: entry!(write::create),
        flags: c"write deny-oom",
        categories: c"write slow",
        key: KeyUse::Makes,
        arity: 4,
        summary: c"Makes a map of integers with an index of its own.",
        complexity: c"O(1)",
        arguments: &[
            KEY,
            argument(c"KIND", Kind::Word),
            argument(c"kind", Kind::OneOf(&[c"nbtree", c"fastfair"])),
        ],
    },
    Command {
        name: c"en.info",
        run: entry!(admin::info),
        flags: c"readonly",
        categories: c"read slow",
        key: KeyUse::Reads,
        arity: -1,
        summary: c"Figures of the pool, or of a key.",
        complexity: c"O(1)",
        arguments: &[optional(c"key", Kind::Key)],
    },
    Command {
        name: c"en.checkpoint",
        run: entry!(admin::checkpoint),
        flags: c"admin",
        categories: c"admin slow",
        key: KeyUse::None,
        arity: 1,
        summary: c"Makes a checkpoint; replies when it is on the disk.",
        complexity: c"O(m) for m changed pages",
        arguments: &[],
    },
];

/// Registers all commands. The error is the name of the first one that the server refuses.
pub(crate) fn register_all(context: &Context<'_>) -> Result<(), &'static CStr> {
    match COMMANDS.iter().find(|command| !register(context, command)) {
        Some(command) => Err(command.name),
        None => Ok(()),
    }
}

/// Adds the section of this module to INFO.
pub(crate) unsafe extern "C" fn info_section(raw: *mut RawInfo, is_crash: c_int) {
    // SAFETY: Redis calls this callback with an INFO that is being made.
    let Some(section) = (unsafe { InfoSection::new(raw) }) else { return };
    // A crash report gets no section: the thread that crashed may hold a lock of the pool.
    if is_crash == 0 {
        admin::write_section(&section);
    }
}
