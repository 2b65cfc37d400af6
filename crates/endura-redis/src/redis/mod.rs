//! The module API of Redis behind safe functions. This is the only folder with `unsafe`, besides the callbacks that Redis
//! calls.
//!
//! For every function of the API that is used, the table says what a failure of the function means, and what the module
//! does then. A [`Status`](api::Status) that a function returns is not ignored unnoticed, because it is `must_use`.
//!
//! | functions | a failure means | what is done |
//! | --- | --- | --- |
//! | `CreateCommand`, `GetCommand`, `SetCommandInfo`, `SetCommandACLCategories`, `CreateDataType`, `SubscribeToKeyspaceEvents`, `SubscribeToServerEvent`, `RegisterInfoFunc` | the server does not take the command, the type or the subscription | the module is not loaded, with the reason in the log |
//! | `IsModuleNameBusy` | another module has the name | the module is not loaded, with the reason in the log |
//! | `SetModuleAttribs`, `SetModuleOptions` | they cannot fail | |
//! | `WrongArity`, `ReplyWithLongLong`, `ReplyWithError`, `ReplyWithSimpleString`, `ReplyWithArray`, `ReplyWithMap`, `ReplySetArrayLength`, `ReplyWithStringBuffer`, `ReplyWithNull` | they cannot fail: a client that is gone gets no reply | |
//! | `GetSelectedDb`, `GetContextFlags` | they cannot fail | |
//! | `SelectDb` | the server has no such database | [`NoDatabase`](context::NoDatabase): no key of the pool is attached if one of them is in such a database; a record that waits to be written is dropped, for no key can be there; COPY fails; an empty key of a file that cannot be deleted is logged |
//! | `OpenKey` | null: the key was opened for reading, and does not exist | [`Key`](key::Key) has no value; a write to it fails as below |
//! | `KeyType`, `ModuleTypeGetType`, `ModuleTypeGetValue` | 0, null: no key, another type | the command replies as for a missing key, or WRONGTYPE |
//! | `ModuleTypeSetValue`, `SetAbsExpire`, `DeleteKey` | the key is not open for writing, or does not exist | the value is taken back and the command fails; in an attach the server is ended: some keys have been created, and the pool has all of them |
//! | `GetDbIdFromModuleKey` | it cannot fail for an open key | |
//! | `GetAbsExpire` | negative: the key does not expire | that is recorded |
//! | `CloseKey`, `CreateString`, `FreeString`, `StringPtrLen`, `Free`, `Log` | they cannot fail: without memory the server ends | |
//! | `SignalModifiedKey` | it cannot fail | |
//! | `NotifyKeyspaceEvent` | the context has no client | a line in the log: listeners were not notified |
//! | `GetMyClusterID`, `GetClusterNodeInfo` | null, failure: no cluster, or no such node (an id has no zero at its end) | the role is the one that `GetContextFlags` returns |
//! | `Replicate` | the server has no such command: DEL may have been renamed | UNLINK is sent in its place; if that is missing too, all replicas get all keys again; a command for the append-only file alone is only logged |
//! | `Call` | null: the server has no such command | the caller gets a text, as for a reply whose `CallReplyType` is an error |
//! | `CallReplyStringPtr`, `CallReplyArrayElement` | null: the reply is of another type, or shorter | the text is empty |
//! | `FreeCallReply`, `CallReplyType`, `CallReplyLength` | they cannot fail for a reply that is not null | |
//! | `GetServerInfo`, `FreeServerInfo` | they cannot fail | |
//! | `ServerInfoGetFieldC` | null: INFO has no such field | without `repl_backlog_active` a backlog is assumed; a replica without the address of its master cannot attach keys that it would have to part for |
//! | `EmitAOF`, `SaveUnsigned`, `SaveStringBuffer` | the failure is kept | the server checks for it after the callback, and discards the file |
//! | `LoadUnsigned`, `LoadStringBuffer` | 0 and `IsIOError`; null | the key, and with it the file, cannot be loaded |
//! | `IsIOError` | it cannot fail | |
//! | `GetKeyNameFromIO`, `GetDbIdFromIO` | null, -1: not known | the empty key of a map that is left out could not be deleted later, so the file cannot be loaded; a map that is taken over needs neither |
//! | `GetToKeyNameFromOptCtx`, `GetToDbIdFromOptCtx` | they cannot fail in the callback of COPY | |
//! | `DigestAddStringBuffer`, `DigestEndSequence` | they cannot fail | |
//! | `BlockClient` | null: the client cannot wait | the command replies at once |
//! | `SetDisconnectCallback` | it cannot fail | |
//! | `UnblockClient` | the client waits for keys, as none of this module does | a line in the log |
//! | `GetThreadSafeContext`, `FreeThreadSafeContext` | they cannot fail | |
//! | `InfoAddSection`, `InfoAddFieldCString`, `InfoAddFieldLongLong` | the section was not requested | nothing, or nothing further, is added |

pub(crate) mod api;
mod blocked;
mod call;
mod context;
mod file;
mod key;
mod register;
mod replication;
mod slots;
mod text;

pub(crate) use call::info;
pub(crate) use context::{Context, Level, NoDatabase, end, end_replica, enter, log};
pub(crate) use file::{Aof, Digest, InfoSection, Rdb};
pub(crate) use key::{Key, NotWritten, from_raw, into_raw, lent};
pub(crate) use register::{
    Argument, Command, KeyUse, Kind, knows_categories, register, register_type, subscribe,
};
pub(crate) use slots::{SlotMigration, are_handled as slots_are_handled};
pub(crate) use text::{OwnText, Text};
