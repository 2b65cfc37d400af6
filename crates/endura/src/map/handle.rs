//! A handle of a map, and the state that all handles of a map share.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use endura_engine::index::{ByteTree, Entries, Tree, WordTree};
use endura_engine::media::Mapped;
use endura_engine::runtime::calls::Call;
use endura_engine::session::Handle;
use endura_engine::{Kind, Types};

use crate::encoding::value::{Key, Value, is_word};
use crate::{Error, Result};

/// A handle of a named map from `K` to `V`, sorted by key.
///
/// [`Pool::map`](crate::Pool::map) opens it. Methods take keys and values borrowed (`u64`, `&str`, `&[u8]`,
/// `(u64, &str)`), closures get them in the same form, and methods return them owned (`u64`, `String`, `Vec<u8>`,
/// `(u64, String)`): [`Value`] has the table.
///
/// Handles are cheap to clone, and any number of threads may use them at once. Once a method returns, its effect is as
/// durable as the pool's storage allows ([`Domain`](crate::Domain)); a method that failed has changed nothing. Unless
/// stated otherwise, a method is linearizable, and takes O(log n) if keys and values have at most 8 bytes, else O(bytes
/// of the key). Reads never wait for a writer; `first` and `last` wait for a [batch](crate::Batch) that changes the map.
///
/// Stored keys have at most 65,536 bytes, stored values at most 2^30.
///
/// Threads may synchronize through a map without a fence. If one does `insert(x); get(y)` and another does
/// `insert(y); get(x)`, at least one finds the other's key, in one map or in two.
///
/// # Errors
///
/// All methods fail with [`Error::Closed`] after the pool was closed,
/// [`Error::Dropped`] after the map was dropped, [`Error::Forked`] in a
/// child process, [`Error::Poisoned`] after a panic inside an operation or an I/O error,
/// [`Error::Corrupt`] if the pool holds data that no correct run can have written, and
/// [`Error::Decode`] if an entry does not decode as the map's types. Methods that write also fail
/// with [`Error::ReadOnly`], [`Error::KeyTooLong`],
/// [`Error::ValueTooLong`] and [`Error::Encode`]. Methods that need
/// space also fail with [`Error::Full`], [`Error::ReclaimStalled`],
/// or [`Error::Io`] if the file cannot grow.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use endura::{Map, Pool};
///
/// let pool = Pool::open(folder.path().join("data.endura"))?;
/// let users: Map<str, str> = pool.map("users")?;
/// users.insert("ada", "1815")?;
/// assert_eq!(users.get("ada")?.as_deref(), Some("1815"));
///
/// // By day and page.
/// let hits: Map<(u32, u32), u64> = pool.map("hits")?;
/// hits.update((20_260_101, 7), |n| n.unwrap_or(0) + 1)?;
/// for entry in hits.range((20_260_101, 0)..(20_260_102, 0)) {
///     let ((day, page), n) = entry?;
///     println!("{day} {page}: {n}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Map<K: ?Sized, V: ?Sized> {
    handle: Arc<Handle>,
    types: PhantomData<fn(&K) -> &V>,
}

impl<K: ?Sized, V: ?Sized> Clone for Map<K, V> {
    fn clone(&self) -> Self {
        Self { handle: Arc::clone(&self.handle), types: PhantomData }
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Handle { name, kind, types: Types { key, value }, .. } = &*self.handle;
        let mut map = f.debug_struct("Map");
        map.field("name", name).field("kind", kind);
        map.field("key", &format_args!("{key}")).field("value", &format_args!("{value}")).finish()
    }
}

impl<K: ?Sized, V: ?Sized> Map<K, V> {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle: Arc::new(handle), types: PhantomData }
    }

    /// The name by which the map was opened.
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    /// The kind of its index.
    pub fn kind(&self) -> Kind {
        self.handle.kind
    }

    /// The form in which the index holds the entries.
    pub(crate) fn entries(&self) -> Entries {
        self.handle.entries
    }

    #[inline]
    pub(crate) fn tree(&self) -> &Tree<Mapped> {
        &self.handle.tree
    }

    /// The index. The caller knows that it holds byte strings.
    #[inline]
    pub(crate) fn bytes(&self) -> &ByteTree<Mapped> {
        match &self.handle.tree {
            Tree::Bytes(tree) => tree,
            Tree::Words(_) => not_bytes(),
        }
    }

    /// Returns the result of an operation that ran a closure. In a child that the closure forked, returns an error
    /// instead.
    #[inline]
    pub(crate) fn unless_forked<R>(&self, result: R) -> Result<R> {
        if self.handle.birthplace.is_elsewhere() { Err(Error::Forked) } else { Ok(result) }
    }

    /// A method holds this while it may run code of its caller: that code can neither close nor verify the pool.
    #[inline]
    pub(crate) fn call(&self) -> Call {
        Call::begin(self.handle.pool_address)
    }
}

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// Whether the index can be one of words. Known at compile time: other maps contain no code for words.
    const MAY_BE_WORDS: bool = is_word(K::WIDTH) && is_word(V::WIDTH);

    /// The index, if it holds words.
    #[inline(always)]
    pub(crate) fn words(&self) -> Option<&WordTree<Mapped>> {
        match &self.handle.tree {
            Tree::Words(tree) if Self::MAY_BE_WORDS => Some(tree),
            _ => None,
        }
    }
}

/// The state that all handles of a map share.
pub(crate) fn shared<K: ?Sized, V: ?Sized>(map: &Map<K, V>) -> &Arc<Handle> {
    &map.handle
}

#[cold]
fn not_bytes() -> ! {
    unreachable!("asked only where the index holds no words")
}
