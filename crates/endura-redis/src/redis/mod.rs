//! The module API of Redis, as safe as it gets: the only folder with `unsafe` besides the callbacks that Redis runs.
//!
//! What each function of the API may answer besides what was asked for, and what is done then. Those that answer a
//! [`Status`](api::Status) cannot be called without a look at it.
//!
//! | functions | a failure means | what is done |
//! | --- | --- | --- |
//! | `CreateCommand`, `GetCommand`, `SetCommandInfo`, `SetCommandACLCategories`, `CreateDataType`, `SubscribeToKeyspaceEvents`, `SubscribeToServerEvent`, `RegisterInfoFunc` | the server does not take the command, the type or the subscription | the module is not loaded, with the reason in the log |
//! | `IsModuleNameBusy` | another module has the name | the same |
//! | `SetModuleAttribs`, `SetModuleOptions` | they cannot fail | |
//! | `WrongArity`, `ReplyWithLongLong`, `ReplyWithError`, `ReplyWithSimpleString`, `ReplyWithArray`, `ReplyWithMap`, `ReplySetArrayLength`, `ReplyWithStringBuffer`, `ReplyWithNull` | they cannot: a client that is gone has no answer | |
//! | `GetSelectedDb`, `GetContextFlags` | they cannot | |
//! | `SelectDb` | the server has no such database | [`NoDatabase`](context::NoDatabase): no key of the pool is attached if one is in such a database; a record that waits to be written waits on; a key of a file that is left out is said in the log |
//! | `OpenKey` | null: there is no such key, and it was opened to be read | the key is empty ([`Key`](key::Key)); a write to it fails as below |
//! | `KeyType`, `ModuleTypeGetType`, `ModuleTypeGetValue` | 0, null: no key, another type | the command answers as for a missing key, or WRONGTYPE |
//! | `ModuleTypeSetValue`, `SetAbsExpire`, `DeleteKey` | the key is not open for writing, or not there | the value is taken back and the command fails; at an attach the server ends: some keys are made, and the pool has all |
//! | `GetAbsExpire` | negative: no time | that is recorded |
//! | `CloseKey`, `CreateString`, `FreeString`, `StringPtrLen`, `Free`, `Log` | they cannot: without memory the server ends | |
//! | `SignalModifiedKey` | it cannot | |
//! | `NotifyKeyspaceEvent` | the context has no client | a line in the log: listeners were not told |
//! | `GetMyClusterID`, `GetClusterNodeInfo` | null, failure: no cluster, or no such node (an id has no zero at its end) | what `GetContextFlags` says of the role counts |
//! | `Replicate` | the server has no such command: DEL can be renamed | UNLINK in its place; without that all replicas get all keys anew; a line in the log where it is of the append-only file alone |
//! | `Call` | null: the server has no such command | as for an error, which `CallReplyType` tells: the caller gets the text |
//! | `CallReplyStringPtr`, `CallReplyArrayElement` | null: the reply is of another type, or shorter | the text is empty |
//! | `FreeCallReply`, `CallReplyType`, `CallReplyLength` | they cannot, for a reply that is there | |
//! | `GetServerInfo`, `FreeServerInfo` | they cannot | |
//! | `ServerInfoGetFieldC` | null: INFO has no such field | replicas that may have some past are taken for such; a replica without a master's address has no link |
//! | `EmitAOF`, `SaveUnsigned`, `SaveStringBuffer` | they keep the failure | the server looks for it behind the callback, and throws the file away |
//! | `LoadUnsigned`, `LoadStringBuffer` | 0 and `IsIOError`; null | the key, and with it the file, cannot be loaded |
//! | `IsIOError` | it cannot | |
//! | `GetKeyNameFromIO`, `GetDbIdFromIO` | null, -1: not known | a key that is left out cannot be found again, so the file cannot be loaded; one that is taken over needs neither |
//! | `DigestAddStringBuffer`, `DigestEndSequence` | they cannot | |
//! | `BlockClient` | null: the client cannot wait | the command answers at once |
//! | `UnblockClient` | the client waits for keys, as none of this module does | a line in the log |
//! | `GetThreadSafeContext`, `FreeThreadSafeContext` | they cannot | |
//! | `InfoAddSection`, `InfoAddFieldCString`, `InfoAddFieldLongLong` | the section was not asked for | nothing, or nothing further, is said |

pub(crate) mod api;
mod blocked;
mod call;
mod context;
mod file;
mod key;
mod register;
mod replication;
mod text;

pub(crate) use context::{Context, Level, end, end_replica, enter, log};
pub(crate) use file::{Aof, Digest, InfoSection, Rdb};
pub(crate) use key::{from_raw, into_raw, lent};
pub(crate) use register::{
    Argument, Command, KeyUse, Kind, knows_categories, register, register_type, subscribe,
};
pub(crate) use text::{OwnText, Text};
