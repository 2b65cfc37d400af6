//! ROART: a radix tree with leaf arrays, from byte strings to byte strings.
//!
//! The tree comes from a paper by Ma, Chen, Chen, Liu, Zhu, Kang, Wu (USENIX FAST 2021). This module is a corrected
//! version of it: `docs/trees.md` lists the corrections, each with its reason, and the sections of the paper.
//!
//! Here live the [`Tree`] with its nodes, leaf arrays and records (`nodes`), the search for the place of a key
//! (`path`), reads of many entries (`read`), writes with splits and cleanup (`write`), and walks over a whole tree
//! (`upkeep`). [`Techniques`] selects among the techniques of the paper. This module may use what `tree` may use, and
//! the parts of `tree` that all trees share, but not FAST & FAIR or NBTree.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-engine --test roart`, then `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test --release -p endura-sim --test roart killed` |
//!
//! Whoever changes the order of stores also updates the table below.
//!
//! # Structure
//!
//! A node branches on one byte of the key; all its keys share the bytes before that one, which are its *prefix*. A
//! child is a node, a record, or a leaf array of up to 128 unsorted records (the paper's leaf compaction, 3.2). A key
//! that ends at a node has its own word there, so that any key may be a prefix of another. A word that leads to a child
//! contains the kind of the child, so that a search can continue before the child's first line has arrived. The root is
//! a node of 256 children that branches on the first byte; it is never replaced.
//!
//! # Who may write what, and when it is durable
//!
//! Records never change once they are reachable, and neither do the prefix and the depth of a node. A tree changes one
//! word at a time: a child of a node, or a slot of an array. The writer holds the lock of the node or array, and stores
//! the word by link and persist (`publish`): the chunk to which the word leads is durable before the store. The word
//! carries a tag until it is durable itself. A writer that also has to change the parent's word locks the parent while
//! it holds the child, never the other way round. A node or array that is replaced keeps its contents and is obsolete:
//! no thread can lock it any more.
//!
//! Fingerprints, the index of a node of 48, locks and counts are volatile words, though they are stored in the pool.
//! They are never flushed, and the first thread of a session that locks a chunk rebuilds them (the paper's selective
//! persistence, 3.3.1, without its per-node recovery). That thread is a writer, a thread that counts the entries after
//! an unclean end, or a reader that has sorted an array.
//!
//! # What a reader may see
//!
//! Readers wait for no lock, and searches check no version. Each word that a search loads was valid at a moment of the
//! search: a node or array that is replaced keeps its contents, and no chunk is reused while the reader is pinned. (A
//! scan, or a search for the first or last entry, that has sorted an array stores the order there. For this it takes
//! the array's lock, if that is free: for a few stores, or for as many as it takes to make the array ready.) A reader
//! that meets the tag makes the line durable first, even if the word is empty, because its result may be that a key is
//! absent. In a chunk that no thread has locked in this session, readers search without fingerprints and index.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass. Locks of an earlier session are void, and readers read every state below as it is.
//! "Before" and "after" mean the map without and with the operation in flight.
//!
//! | operation, store | what is there | readers see | the next writer |
//! | --- | --- | --- | --- |
//! | any, record written | a record that nothing leads to | before | nothing; its chunk is stranded |
//! | any, new array or node written | chunks that nothing leads to | before | nothing; they are stranded |
//! | insert or update, word with tag | the record, if the word is durable | before or after | clears the tag |
//! | insert or update, word without tag | the record | after | nothing |
//! | insert beside a record, word with tag | the record, or the array of both | before or after | clears the tag |
//! | insert beside a record, word without tag | the array of both | after | nothing |
//! | remove, empty word with tag | the record, if the word is not durable | before or after | clears the tag |
//! | remove, empty word | nothing | after | nothing |
//! | remove, last of an array or node; parent's word not yet | an empty array or node | after | uses it, or unlinks it |
//! | remove, node with one child left; parent's word not yet | the node | after | uses it, or collapses it |
//! | empty array or node unlinked, parent's word with tag | the empty one, if the word is not durable | the same map | clears the tag |
//! | empty array or node unlinked, parent's word | nothing | the same map | nothing; its chunk is stranded |
//! | array or node replaced, parent's word with tag | the old or the new one, whole | the same map, or before or after | clears the tag |
//! | array or node replaced, parent's word | the new one | the same map, or after | nothing; the old one is stranded |
//! | prefix split, parent's word with tag | the old node, or the new one over it | before or after | clears the tag |
//! | prefix split, parent's word | the new node over the old one | after | nothing |
//! | collapse, parent's word with tag | the node, or the child in its place | the same map | clears the tag |
//! | collapse, parent's word | the child in place of the node | the same map | nothing; the node is stranded |
//! | first lock of a session, tag cleared | the word that was there, with or without its tag | no difference | nothing |

mod index;
mod nodes;
mod path;
mod read;
mod techniques;
mod tree;
mod upkeep;
mod write;

pub(crate) use nodes::sizes::{arrays_of_groups, most_bytes_of_groups, node_sizes};
pub use read::scan::Cursor;
pub use techniques::{Full, Techniques};
pub(crate) use tree::PARAMETERS;
pub use tree::Tree;
pub(crate) use upkeep::check::{check_tree, void_locks};
pub(crate) use upkeep::inventory::Inventory;
