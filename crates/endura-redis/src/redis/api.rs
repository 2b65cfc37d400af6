//! The functions and structures of Redis' module API that are used here, as `redismodule.h` of Redis 7.0 declares them.
//!
//! Redis passes one function to a module, which finds the others by name. They are looked up once, in [`load`].

use std::ffi::{c_char, c_int, c_long, c_longlong, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub(crate) struct $name {
            _of_redis: [u8; 0],
        }
    )* };
}

opaque! {
    /// `RedisModuleCtx`.
    RawContext;
    /// `RedisModuleString`.
    RawString;
    /// `RedisModuleKey`.
    RawKey;
    /// `RedisModuleType`.
    RawType;
    /// `RedisModuleIO`.
    RawIo;
    /// `RedisModuleDigest`.
    RawDigest;
    /// `RedisModuleBlockedClient`.
    RawBlocked;
    /// `RedisModuleInfoCtx`.
    RawInfo;
    /// `RedisModuleKeyOptCtx`.
    RawOptions;
    /// `RedisModuleCommand`.
    RawCommand;
    /// `RedisModuleCallReply`.
    RawReply;
    /// `RedisModuleServerInfoData`.
    RawServerInfo;
}

/// The result of a function that can fail: `REDISMODULE_OK` or `REDISMODULE_ERR`. The table in [`super`] says what a
/// failure of each function means.
#[must_use = "the table in `redis/mod.rs` says what to do after a failure"]
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Status(c_int);

impl Status {
    pub(crate) fn is_ok(self) -> bool {
        self.0 == 0
    }
}

/// A command, as Redis calls it.
pub(crate) type CommandFn =
    unsafe extern "C" fn(*mut RawContext, *mut *mut RawString, c_int) -> c_int;

/// An event that a module subscribes to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) version: u64,
}

/// A callback for events of the server.
pub(crate) type EventFn = unsafe extern "C" fn(*mut RawContext, Event, u64, *mut c_void);
/// A callback for events of keys.
pub(crate) type NotificationFn =
    unsafe extern "C" fn(*mut RawContext, c_int, *const c_char, *mut RawString) -> c_int;

/// `RedisModuleTypeMethods`, version 4.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TypeMethods {
    pub(crate) version: u64,
    pub(crate) rdb_load: Option<unsafe extern "C" fn(*mut RawIo, c_int) -> *mut c_void>,
    pub(crate) rdb_save: Option<unsafe extern "C" fn(*mut RawIo, *mut c_void)>,
    pub(crate) aof_rewrite: Option<unsafe extern "C" fn(*mut RawIo, *mut RawString, *mut c_void)>,
    pub(crate) mem_usage: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    pub(crate) digest: Option<unsafe extern "C" fn(*mut RawDigest, *mut c_void)>,
    pub(crate) free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) aux_load: Option<unsafe extern "C" fn(*mut RawIo, c_int, c_int) -> c_int>,
    pub(crate) aux_save: Option<unsafe extern "C" fn(*mut RawIo, c_int)>,
    pub(crate) aux_save_triggers: c_int,
    pub(crate) free_effort: Option<unsafe extern "C" fn(*mut RawString, *const c_void) -> usize>,
    pub(crate) unlink: Option<unsafe extern "C" fn(*mut RawString, *const c_void)>,
    pub(crate) copy:
        Option<unsafe extern "C" fn(*mut RawString, *mut RawString, *const c_void) -> *mut c_void>,
    pub(crate) defrag: Option<unsafe extern "C" fn() -> c_int>,
    pub(crate) mem_usage2:
        Option<unsafe extern "C" fn(*mut RawOptions, *const c_void, usize) -> usize>,
    pub(crate) free_effort2: Option<unsafe extern "C" fn(*mut RawOptions, *const c_void) -> usize>,
    pub(crate) unlink2: Option<unsafe extern "C" fn(*mut RawOptions, *const c_void)>,
    pub(crate) copy2: Option<unsafe extern "C" fn(*mut RawOptions, *const c_void) -> *mut c_void>,
}

/// `RedisModuleCommandInfoVersion`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct InfoVersion {
    pub(crate) version: c_int,
    pub(crate) history_entry: usize,
    pub(crate) key_spec: usize,
    pub(crate) argument: usize,
}

/// `RedisModuleCommandArg`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct InfoArgument {
    pub(crate) name: *const c_char,
    pub(crate) kind: c_int,
    pub(crate) key_spec_index: c_int,
    pub(crate) token: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) since: *const c_char,
    pub(crate) flags: c_int,
    pub(crate) deprecated_since: *const c_char,
    pub(crate) arguments: *mut InfoArgument,
    pub(crate) display_text: *const c_char,
}

/// `RedisModuleCommandKeySpec`. In place of each union is the member that this module uses, padded to the size of the
/// largest.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct InfoKeySpec {
    pub(crate) notes: *const c_char,
    pub(crate) flags: u64,
    pub(crate) begin_search: c_int,
    pub(crate) begin: InfoBegin,
    pub(crate) find_keys: c_int,
    pub(crate) find: [c_int; 3],
}

/// Where the search for keys begins: a position. The other member of this union is a keyword and a position.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct InfoBegin {
    /// The position is the low half of this number.
    pub(crate) position: u64,
    pub(crate) unused: u64,
}

/// `RedisModuleCommandInfo`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Info {
    pub(crate) version: *const InfoVersion,
    pub(crate) summary: *const c_char,
    pub(crate) complexity: *const c_char,
    pub(crate) since: *const c_char,
    pub(crate) history: *mut c_void,
    pub(crate) tips: *const c_char,
    pub(crate) arity: c_int,
    pub(crate) key_specs: *mut InfoKeySpec,
    pub(crate) arguments: *mut InfoArgument,
}

/// `RedisModuleFlushInfo` and `RedisModuleSwapDbInfo`: a version and two numbers.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TwoNumbers {
    version: u64,
    pub(crate) first: i32,
    pub(crate) second: i32,
}

pub(crate) const READ: c_int = 1;
pub(crate) const WRITE: c_int = 2;
/// `REDISMODULE_OPEN_KEY_NOTOUCH`, so that opening a key does not count as an access, and
/// `REDISMODULE_OPEN_KEY_NOEXPIRE`, so that opening an expired key does not delete it. Redis 7.0 ignores the latter.
pub(crate) const PEEK: c_int = 1 << 16 | 1 << 19;

pub(crate) mod flags {
    //! The flags that `GetContextFlags` returns.
    use std::ffi::c_int;
    pub(crate) const REPLICA: c_int = 1 << 3;
    pub(crate) const CLUSTER: c_int = 1 << 5;
    pub(crate) const REPLICATED: c_int = 1 << 12;
    pub(crate) const LOADING: c_int = 1 << 13;
    pub(crate) const DENY_BLOCKING: c_int = 1 << 21;
}

pub(crate) mod events {
    //! Events of the server, and their subevents.
    use super::Event;
    pub(crate) const ROLE_CHANGED: Event = Event { id: 0, version: 1 };
    pub(crate) const FLUSH: Event = Event { id: 2, version: 1 };
    pub(crate) const LOADING: Event = Event { id: 3, version: 1 };
    pub(crate) const SHUTDOWN: Event = Event { id: 5, version: 1 };
    pub(crate) const CRON: Event = Event { id: 8, version: 1 };
    pub(crate) const SWAP: Event = Event { id: 11, version: 1 };
    pub(crate) const EVENT_LOOP: Event = Event { id: 15, version: 1 };
    /// `VALKEYMODULE_EVENT_ATOMIC_SLOT_MIGRATION`.
    pub(crate) const SLOT_MIGRATION: Event = Event { id: 19, version: 1 };
    pub(crate) const IMPORT_STARTS: u64 = 0;
    pub(crate) const IMPORT_ABORTED: u64 = 2;
    pub(crate) const IMPORT_COMPLETED: u64 = 4;
    pub(crate) const FLUSH_STARTS: u64 = 0;
    pub(crate) const LOADING_RDB: u64 = 0;
    pub(crate) const LOADING_AOF: u64 = 1;
    pub(crate) const LOADING_RESYNC: u64 = 2;
    pub(crate) const LOADING_ENDS: u64 = 3;
    pub(crate) const LOADING_FAILS: u64 = 4;
    pub(crate) const BEFORE_SLEEP: u64 = 0;
}

/// Classes of notifications: commands of Redis, expiry, eviction, and keys that are loaded.
pub(crate) const ALL_NOTIFICATIONS: c_int = 0x7FC | 1 << 12;
/// `REDISMODULE_NOTIFY_STRING`.
pub(crate) const NOTIFY_STRING: c_int = 1 << 3;
/// `REDISMODULE_NOTIFY_MODULE`.
pub(crate) const NOTIFY_MODULE: c_int = 1 << 13;
/// `REDISMODULE_NOTIFY_GENERIC`.
pub(crate) const NOTIFY_GENERIC: c_int = 1 << 2;
/// `REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED`.
pub(crate) const NO_IMPLICIT_SIGNAL: c_int = 1 << 1;
/// `REDISMODULE_OPTIONS_HANDLE_IO_ERRORS`.
pub(crate) const HANDLE_IO_ERRORS: c_int = 1;
/// `VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION`.
pub(crate) const HANDLE_SLOT_MIGRATION: c_int = 1 << 5;
/// `REDISMODULE_AUX_BEFORE_RDB`.
pub(crate) const AUX_BEFORE: c_int = 1;
/// `REDISMODULE_NODE_ID_LEN`.
pub(crate) const NODE_ID: usize = 40;
/// `REDISMODULE_NODE_SLAVE`.
pub(crate) const NODE_REPLICA: c_int = 1 << 2;
/// `REDISMODULE_REPLY_STRING`.
pub(crate) const REPLY_STRING: c_int = 0;
/// `REDISMODULE_REPLY_ERROR`.
pub(crate) const REPLY_ERROR: c_int = 1;
/// `REDISMODULE_REPLY_ARRAY`.
pub(crate) const REPLY_ARRAY: c_int = 3;
/// `REDISMODULE_POSTPONED_LEN`.
pub(crate) const POSTPONED: c_long = -1;

macro_rules! functions {
    (
        always { $($name:ident: $type:ty;)* }
        newer { $($new:ident: $new_type:ty;)* }
    ) => {
        /// The functions of the server, as [`load`] found them.
        #[allow(non_snake_case, reason = "the names of Redis")]
        #[derive(Debug)]
        pub(crate) struct Api {
            $(pub(crate) $name: $type,)*
            $(pub(crate) $new: Option<$new_type>,)*
        }

        /// Looks up all functions, once. The error is the name of a function that this server does not have.
        ///
        /// # Safety
        ///
        /// `context` is what Redis passed to `RedisModule_OnLoad`.
        #[allow(non_snake_case, reason = "the names of Redis")]
        pub(crate) unsafe fn load(context: *mut RawContext) -> Result<(), &'static str> {
            // SAFETY: the first word of a context is the function that finds the others.
            let find = unsafe { *context.cast::<FindFn>() };
            $(
                let name = concat!("RedisModule_", stringify!($name), "\0");
                // SAFETY: the type is the one that `redismodule.h` declares for this name.
                let $name = unsafe { found::<$type>(find, name) }.ok_or(stringify!($name))?;
            )*
            $(
                let name = concat!("RedisModule_", stringify!($new), "\0");
                // SAFETY: as above.
                let $new = unsafe { found::<$new_type>(find, name) };
            )*
            let api = Box::leak(Box::new(Api { $($name,)* $($new,)* }));
            // Release pairs with the Acquire of `api`.
            API.store(api, Ordering::Release);
            Ok(())
        }
    };
}

type FindFn = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// Looks up one function. Returns `None` if the server does not have it.
///
/// # Safety
///
/// `F` is a function pointer, of the type of the function that is called `name`. `name` ends with a zero.
unsafe fn found<F>(find: FindFn, name: &str) -> Option<F> {
    let mut function: *mut c_void = ptr::null_mut();
    // SAFETY: the name ends with a zero; `function` has room for a pointer.
    let status = unsafe { find(name.as_ptr().cast(), (&raw mut function).cast()) };
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller promises that `F` is the type of this function; a pointer to a function has the size of any pointer.
    (status == 0 && !function.is_null()).then(|| unsafe { mem::transmute_copy(&function) })
}

static API: AtomicPtr<Api> = AtomicPtr::new(ptr::null_mut());

/// The functions of the server.
pub(crate) fn api() -> &'static Api {
    // SAFETY: Redis calls `RedisModule_OnLoad` first, and `load` stores a leaked box there, once. All other code that calls
    // the server runs after that.
    unsafe { &*API.load(Ordering::Acquire) }
}

type Ctx = *mut RawContext;
type Text = *mut RawString;

functions! {
    always {
        CreateCommand: unsafe extern "C" fn(Ctx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> Status;
        GetCommand: unsafe extern "C" fn(Ctx, *const c_char) -> *mut RawCommand;
        SetCommandInfo: unsafe extern "C" fn(*mut RawCommand, *const Info) -> Status;
        SetModuleAttribs: unsafe extern "C" fn(Ctx, *const c_char, c_int, c_int);
        SetModuleOptions: unsafe extern "C" fn(Ctx, c_int);
        IsModuleNameBusy: unsafe extern "C" fn(*const c_char) -> c_int;
        WrongArity: unsafe extern "C" fn(Ctx) -> c_int;
        ReplyWithLongLong: unsafe extern "C" fn(Ctx, c_longlong) -> c_int;
        ReplyWithError: unsafe extern "C" fn(Ctx, *const c_char) -> c_int;
        ReplyWithSimpleString: unsafe extern "C" fn(Ctx, *const c_char) -> c_int;
        ReplyWithArray: unsafe extern "C" fn(Ctx, c_long) -> c_int;
        ReplyWithMap: unsafe extern "C" fn(Ctx, c_long) -> c_int;
        ReplySetArrayLength: unsafe extern "C" fn(Ctx, c_long);
        ReplyWithStringBuffer: unsafe extern "C" fn(Ctx, *const c_char, usize) -> c_int;
        ReplyWithNull: unsafe extern "C" fn(Ctx) -> c_int;
        GetSelectedDb: unsafe extern "C" fn(Ctx) -> c_int;
        SelectDb: unsafe extern "C" fn(Ctx, c_int) -> Status;
        OpenKey: unsafe extern "C" fn(Ctx, Text, c_int) -> *mut RawKey;
        CloseKey: unsafe extern "C" fn(*mut RawKey);
        KeyType: unsafe extern "C" fn(*mut RawKey) -> c_int;
        DeleteKey: unsafe extern "C" fn(*mut RawKey) -> Status;
        GetDbIdFromModuleKey: unsafe extern "C" fn(*mut RawKey) -> c_int;
        GetAbsExpire: unsafe extern "C" fn(*mut RawKey) -> c_longlong;
        SetAbsExpire: unsafe extern "C" fn(*mut RawKey, c_longlong) -> Status;
        ModuleTypeSetValue: unsafe extern "C" fn(*mut RawKey, *mut RawType, *mut c_void) -> Status;
        ModuleTypeGetType: unsafe extern "C" fn(*mut RawKey) -> *mut RawType;
        ModuleTypeGetValue: unsafe extern "C" fn(*mut RawKey) -> *mut c_void;
        CreateDataType: unsafe extern "C" fn(Ctx, *const c_char, c_int, *mut TypeMethods) -> *mut RawType;
        CreateString: unsafe extern "C" fn(Ctx, *const c_char, usize) -> Text;
        FreeString: unsafe extern "C" fn(Ctx, Text);
        StringPtrLen: unsafe extern "C" fn(*const RawString, *mut usize) -> *const c_char;
        SignalModifiedKey: unsafe extern "C" fn(Ctx, Text) -> c_int;
        NotifyKeyspaceEvent: unsafe extern "C" fn(Ctx, c_int, *const c_char, Text) -> Status;
        SubscribeToKeyspaceEvents: unsafe extern "C" fn(Ctx, c_int, NotificationFn) -> Status;
        SubscribeToServerEvent: unsafe extern "C" fn(Ctx, Event, EventFn) -> Status;
        GetContextFlags: unsafe extern "C" fn(Ctx) -> c_int;
        GetMyClusterID: unsafe extern "C" fn() -> *const c_char;
        GetClusterNodeInfo: unsafe extern "C" fn(Ctx, *const c_char, *mut c_char, *mut c_char, *mut c_int, *mut c_int) -> Status;
        Replicate: unsafe extern "C" fn(Ctx, *const c_char, *const c_char, ...) -> Status;
        Call: unsafe extern "C" fn(Ctx, *const c_char, *const c_char, ...) -> *mut RawReply;
        FreeCallReply: unsafe extern "C" fn(*mut RawReply);
        CallReplyType: unsafe extern "C" fn(*mut RawReply) -> c_int;
        CallReplyStringPtr: unsafe extern "C" fn(*mut RawReply, *mut usize) -> *const c_char;
        CallReplyLength: unsafe extern "C" fn(*mut RawReply) -> usize;
        CallReplyArrayElement: unsafe extern "C" fn(*mut RawReply, usize) -> *mut RawReply;
        GetServerInfo: unsafe extern "C" fn(Ctx, *const c_char) -> *mut RawServerInfo;
        ServerInfoGetFieldC: unsafe extern "C" fn(*mut RawServerInfo, *const c_char) -> *const c_char;
        FreeServerInfo: unsafe extern "C" fn(Ctx, *mut RawServerInfo);
        Log: unsafe extern "C" fn(Ctx, *const c_char, *const c_char, ...);
        EmitAOF: unsafe extern "C" fn(*mut RawIo, *const c_char, *const c_char, ...);
        SaveUnsigned: unsafe extern "C" fn(*mut RawIo, u64);
        LoadUnsigned: unsafe extern "C" fn(*mut RawIo) -> u64;
        SaveStringBuffer: unsafe extern "C" fn(*mut RawIo, *const c_char, usize);
        LoadStringBuffer: unsafe extern "C" fn(*mut RawIo, *mut usize) -> *mut c_char;
        IsIOError: unsafe extern "C" fn(*mut RawIo) -> c_int;
        GetKeyNameFromIO: unsafe extern "C" fn(*mut RawIo) -> *const RawString;
        GetDbIdFromIO: unsafe extern "C" fn(*mut RawIo) -> c_int;
        GetToKeyNameFromOptCtx: unsafe extern "C" fn(*mut RawOptions) -> *const RawString;
        GetToDbIdFromOptCtx: unsafe extern "C" fn(*mut RawOptions) -> c_int;
        Free: unsafe extern "C" fn(*mut c_void);
        DigestAddStringBuffer: unsafe extern "C" fn(*mut RawDigest, *const c_char, usize);
        DigestEndSequence: unsafe extern "C" fn(*mut RawDigest);
        BlockClient: unsafe extern "C" fn(Ctx, Option<CommandFn>, Option<CommandFn>, Option<unsafe extern "C" fn(Ctx, *mut c_void)>, c_longlong) -> *mut RawBlocked;
        UnblockClient: unsafe extern "C" fn(*mut RawBlocked, *mut c_void) -> Status;
        SetDisconnectCallback: unsafe extern "C" fn(*mut RawBlocked, unsafe extern "C" fn(Ctx, *mut RawBlocked));
        GetThreadSafeContext: unsafe extern "C" fn(*mut RawBlocked) -> Ctx;
        FreeThreadSafeContext: unsafe extern "C" fn(Ctx);
        RegisterInfoFunc: unsafe extern "C" fn(Ctx, unsafe extern "C" fn(*mut RawInfo, c_int)) -> Status;
        InfoAddSection: unsafe extern "C" fn(*mut RawInfo, *const c_char) -> Status;
        InfoAddFieldCString: unsafe extern "C" fn(*mut RawInfo, *const c_char, *const c_char) -> Status;
        InfoAddFieldLongLong: unsafe extern "C" fn(*mut RawInfo, *const c_char, c_longlong) -> Status;
    }
    newer {
        SetCommandACLCategories: unsafe extern "C" fn(*mut RawCommand, *const c_char) -> Status;
    }
}

#[cfg(test)]
mod tests {
    /// Every function of the API has to be in the table of failures.
    #[test]
    fn every_function_is_in_the_table() {
        let (api, table) = (include_str!("api.rs"), include_str!("mod.rs"));
        let table: String = table.lines().filter(|line| line.starts_with("//! |")).collect();
        let functions = api.lines().filter_map(|line| line.trim().split_once(": unsafe extern"));
        let names: Vec<&str> = functions
            .map(|(name, _)| name)
            .filter(|name| name.starts_with(char::is_uppercase))
            .collect();
        assert!(names.len() > 60, "{names:?}");
        let missing: Vec<_> =
            names.iter().filter(|name| !table.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
