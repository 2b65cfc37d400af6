//! FAST & FAIR: a B+-tree whose nodes are sorted in place by 8-byte stores, each of which leaves
//! a tree that readers understand (Hwang, Kim, Won, Nam; USENIX FAST 2018), corrected.

mod many;
mod merge;
mod node;
mod post;
mod read;
mod repair;
mod route;
mod scan;
mod search;
mod split;
mod verify;
mod version;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;

use crate::Result;
use crate::media::Media;
use crate::pool::{Guard, Space};
use crate::sync::Mutex;

use node::{Fences, Init, MIDDLE, Node};
use route::Root;
use version::Version;

pub(crate) use scan::{Cursor, Way};
pub use search::{Binary, Linear, LineBinary, Search};
pub use verify::Repairs;
pub(crate) use verify::Survey;
pub(crate) use write::Change;

/// A node that its parent should name: its lower fence, its offset, the parent's level.
#[derive(Debug, Clone, Copy)]
struct Separator {
    key: u64,
    child: u64,
    level: u64,
}

/// A FAST & FAIR tree of inner nodes of `INNER` words and leaves of `LEAF` words, 8 of which are
/// the header, searched by `S`.
pub struct Tree<M: Media, const INNER: usize, const LEAF: usize, S> {
    space: Arc<Space<M>>,
    root_at: u64,
    root_lock: Mutex<()>,
    search: PhantomData<S>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// (stub)
    pub fn new(space: Arc<Space<M>>, root_at: u64) -> Self {
        Self { space, root_at, root_lock: Mutex::new(()), search: PhantomData }
    }

    /// Writes an empty tree and gives its root word. Nothing leads to it yet; it is durable once
    /// the caller's next fence is.
    pub fn create(guard: &Guard<'_, M>) -> Result<u64> {
        let lock = Version::created(guard.space().generation());
        let media = guard.media();
        let mut right = 0;
        let mut leaves = [(0, 0); 2];
        for (slot, (low, high)) in [(1, (MIDDLE, 0)), (0, (0, MIDDLE))] {
            let at = guard.alloc(Node::<M, LEAF>::BYTES)?;
            let leaf = Node::<M, LEAF>::fresh(media, at)?;
            let fences = Fences { low, high };
            leaf.initialise(Init { lock, fences, sibling: right, level: 0 }, 0);
            leaf.flush();
            leaves[slot] = (low, at);
            right = at;
        }
        let at = guard.alloc(Node::<M, INNER>::BYTES)?;
        let root = Node::<M, INNER>::fresh(media, at)?;
        let fences = Fences { low: 0, high: 0 };
        root.initialise(Init { lock, fences, sibling: 0, level: 1 }, 2);
        for (slot, (low, leaf)) in leaves.into_iter().enumerate() {
            root.set_value(slot, leaf);
            root.set_key(slot, low);
        }
        root.flush();
        // Before the caller names the root: all three nodes are durable.
        media.fence();
        Ok(Root { at, level: 1 }.word())
    }

    fn root_at(&self) -> u64 {
        self.root_at
    }

    fn root_lock(&self) -> &Mutex<()> {
        &self.root_lock
    }

    fn space(&self) -> &Space<M> {
        &self.space
    }

    fn pin(&self) -> Result<Guard<'_, M>> {
        self.space.pin()
    }

    fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.space.pin_mut()
    }

    fn count(&self, _guard: &Guard<'_, M>, _key: u64, _delta: i64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Heap, Ordering, Region};
    use crate::pool::Session;
    use std::collections::BTreeMap;

    fn tiny() -> Tree<Heap, 14, 14, LineBinary> {
        make::<14, 14>()
    }

    fn make<const I: usize, const L: usize>() -> Tree<Heap, I, L, LineBinary> {
        let media = Heap::new(512 << 20);
        Space::format(&media).unwrap();
        let session = Session { generation: 1, clean: true, read_only: false };
        let space = Arc::new(Space::mount(media, session).unwrap());
        let word = {
            let g = space.pin_mut().unwrap();
            Tree::<Heap, I, L, LineBinary>::create(&g).unwrap()
        };
        Region::new(space.media(), 12288 + 16, 1).unwrap().store(0, word, Ordering::Release);
        Tree::new(space, 12288 + 16)
    }

    fn random<const I: usize, const L: usize>(n: u64, range: u64) {
        let t = make::<I, L>();
        let mut m = BTreeMap::new();
        let mut x = 88172645463325252u64;
        for i in 0..n {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let k = if range == 0 { x } else { (x >> 8) % range };
            let phase = (i / 5000) % 2;
            if x % 5 < 3 + phase * 2 - (x % 5 == 4 && phase == 1) as u64 {
                let want = m.insert(k, i);
                let got = if x % 5 < 3 { t.modify(k, |_| Change::Put(i)).unwrap() } else { t.modify(k, |_| Change::Put(i)).unwrap() };
                assert_eq!(got, want);
            } else {
                assert_eq!(t.modify(k, |_| Change::Remove).unwrap(), m.remove(&k));
            }
            if i % 1000 == 0 {
                let g = t.pin().unwrap();
                let s = t.survey(&g, &mut |_, _| ()).unwrap();
                assert_eq!(s.entries, m.len() as u64);
                assert_eq!(s.repairs.total(), 0);
                let mut c = Cursor::new(Way::Up);
                let mut k = Some(0);
                let mut got = Vec::new();
                while let Some(kk) = k && let Some(e) = t.scan(&mut c, kk).unwrap() {
                    got.push(e);
                    k = e.0.checked_add(1);
                }
                assert!(got.iter().copied().eq(m.iter().map(|(a, b)| (*a, *b))));
                let mut c = Cursor::new(Way::Down);
                let mut k = Some(u64::MAX);
                let mut got = Vec::new();
                while let Some(kk) = k && let Some(e) = t.scan(&mut c, kk).unwrap() {
                    got.push(e);
                    k = e.0.checked_sub(1);
                }
                assert!(got.iter().copied().eq(m.iter().rev().map(|(a, b)| (*a, *b))));
            }
            assert_eq!(t.get(k).unwrap(), m.get(&k).copied());
        }
        let keys: Vec<u64> = m.keys().copied().collect();
        assert_eq!(t.get_many(&keys).unwrap(), m.values().map(|v| Some(*v)).collect::<Vec<_>>());
        for k in keys {
            assert!(t.modify(k, |_| Change::Remove).unwrap().is_some());
        }
        let g = t.pin().unwrap();
        let s = t.survey(&g, &mut |_, _| ()).unwrap();
        if s.height > 2 {
            let mut all = vec![];
            t.survey(&g, &mut |at, _| all.push(at)).unwrap();
            for at in all {
                let h = node::Header::fresh(t.space().media(), at).unwrap();
                let l = h.level();
                let c: Vec<_> = if l > 0 { let n = Node::<_, I>::enter(t.space().media(), at, l).unwrap(); (0..t.live(&n)).map(|s| (n.key(s), n.value(s))).collect() } else { vec![] };
                eprintln!("{l} {at:x} [{}..{}) {c:x?}", h.low(), h.high());
            }
        }
        assert_eq!((s.entries, s.height), (0, 2), "{s:?}");
        assert!(s.nodes <= 4, "{s:?}");
    }

    #[test]
    fn tiny_random() {
        let _ = tiny;
        random::<14, 14>(60_000, 500);
        random::<16, 14>(60_000, 0);
        random::<20, 22>(60_000, 3000);
        random::<128, 128>(60_000, 0);
    }
}
