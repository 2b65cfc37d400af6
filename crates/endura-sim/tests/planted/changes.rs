//! Structural changes of an NBTree that meet: links of blocks, leaves under two bodies, cells that join.
//!
//! The faults are the traces V1 to V4 of `docs/trees.md`, in the protocol that this tree was first planned
//! with, each as small as it can be. The tree that was built makes three of them impossible (the old block
//! leads on itself; one root word for all upper bodies); the first is a fault at one call of it as well.

use crate::hunt::Hunt;
use crate::interleaved::{self, Protocol};
use crate::table::Planted;

/// V1, V2. Blocks A and B in a chain, each being replaced; A' and B' are the copies, and M is what A' and
/// B' are merged into. A link is a word of the block before; it becomes durable when it is flushed, or by
/// itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Links {
    bug: Option<Planted>,
    merges: bool,
    head: [Block; 2],
    /// Where A, A' and M lead to, as it is seen and as it is durable.
    a: [Block; 2],
    copy: [Block; 2],
    m: [Block; 2],
    /// The copy of A is named as its successor; that of B as B's.
    has_successor: [bool; 2],
    is_acknowledged: bool,
    at: [u8; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Block {
    A,
    CopyOfA,
    B,
    CopyOfB,
    M,
    End,
}

const DONE: u8 = 99;

impl Links {
    fn new(bug: Option<Planted>, merges: bool) -> Self {
        Self {
            bug,
            merges,
            head: [Block::A; 2],
            a: [Block::B; 2],
            copy: [Block::B; 2],
            m: [Block::End; 2],
            has_successor: [false, merges],
            is_acknowledged: false,
            at: [0, 0],
        }
    }

    /// The word that leads to what comes after the block before B: that of A, of its copy, or of M.
    fn before_b(&mut self) -> &mut [Block; 2] {
        match (self.head[0], self.has_successor[0]) {
            (Block::M, _) => &mut self.m,
            (_, true) => &mut self.copy,
            _ => &mut self.a,
        }
    }

    /// The first thread changes A: names the copy, links it, makes that durable.
    fn change_a(&mut self) {
        match self.at[0] {
            // Frozen, and copied with what it leads to.
            0 => (self.copy, self.has_successor[0]) = ([self.a[0]; 2], true),
            1 => self.head[0] = Block::CopyOfA,
            _ => {
                self.head[1] = self.head[0];
                self.at[0] = DONE;
                return;
            }
        }
        self.at[0] += 1;
    }

    /// The second one changes B, and then somebody writes to the copy of B.
    fn change_b(&mut self) {
        // V1: the copy of A, if that is where it goes, has to be linked before.
        if self.has_successor[0] && self.bug != Some(Planted::V1) {
            self.head = [Block::CopyOfA; 2];
        }
        match self.at[1] {
            0 => self.has_successor[1] = true,
            1 => {
                // A block that has a successor is frozen: that is where it belongs.
                self.before_b()[0] = Block::CopyOfB;
            }
            2 => {
                let word = self.before_b();
                if word[0] != Block::CopyOfB {
                    // A was replaced meanwhile, by a copy that still leads to B.
                    self.at[1] = 1;
                    return;
                }
                word[1] = word[0];
            }
            _ => {
                self.is_acknowledged = true;
                self.at[1] = DONE;
                return;
            }
        }
        self.at[1] += 1;
    }

    /// V2. The first thread has named the copy of B and is about to link it.
    fn link_b(&mut self) {
        let next = self.before_b()[0];
        let is_done = match self.bug {
            // "Until it leads to the copy": a block that is merged away never does.
            Some(Planted::V2) => next == Block::CopyOfB,
            _ => next != Block::B,
        };
        if is_done {
            self.at[0] = DONE;
        } else if next == Block::B {
            *self.before_b() = [Block::CopyOfB; 2];
        }
    }

    /// The second thread links the copy of B for the first, and merges A and that.
    fn link_and_merge(&mut self) {
        match self.at[1] {
            0 => {
                if self.a[0] == Block::B {
                    self.a = [Block::CopyOfB; 2];
                }
            }
            _ => {
                self.head = [Block::M; 2];
                self.at[1] = DONE;
                return;
            }
        }
        self.at[1] += 1;
    }

    fn reaches_copy_of_b(&self) -> bool {
        match self.head[1] {
            Block::A => self.a[1] == Block::CopyOfB,
            Block::CopyOfA => self.copy[1] == Block::CopyOfB,
            _ => false,
        }
    }
}

impl Protocol for Links {
    /// Two threads, and the lines of the head, of A and of its copy.
    const ACTORS: usize = 5;

    fn step(&mut self, actor: usize) -> bool {
        let line = match actor {
            2 => &mut self.head,
            3 => &mut self.a,
            4 => &mut self.copy,
            _ if self.at[actor] == DONE => return false,
            actor => {
                match (self.merges, actor) {
                    (false, 0) => self.change_a(),
                    (false, _) => self.change_b(),
                    (true, 0) => self.link_b(),
                    (true, _) => self.link_and_merge(),
                }
                return true;
            }
        };
        let changes = line[0] != line[1];
        line[1] = line[0];
        changes
    }

    fn wrong(&self) -> Option<String> {
        let lost = self.is_acknowledged && !self.reaches_copy_of_b();
        lost.then(|| "what was acknowledged in the copy of B is gone after a crash".to_owned())
    }

    fn has_ended(&self, actor: usize) -> bool {
        actor >= 2 || self.at[actor] == DONE
    }
}

/// V4. Leaves L and R are merged into M, under two bodies: M takes the place of L in the one, then that of
/// R in the other. A second thread replaces M by M' in all bodies that name it, and retires M.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Bodies {
    bug: Option<Planted>,
    left: Leaf,
    right: Leaf,
    is_retired: bool,
    at: [u8; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Leaf {
    Old,
    M,
    After,
}

impl Bodies {
    fn merge(&mut self) {
        match self.at[0] {
            0 if self.left == Leaf::Old => self.left = Leaf::M,
            1 if self.right == Leaf::Old => self.right = Leaf::M,
            _ => {}
        }
        self.at[0] = if self.at[0] == 1 { DONE } else { 1 };
    }

    fn change_m(&mut self) {
        match self.at[1] {
            // There is an M to be changed.
            0 if self.left != Leaf::M => return,
            // The merge that made it has to have ended, everywhere.
            0 if self.bug != Some(Planted::V4) && self.right == Leaf::Old => self.right = Leaf::M,
            1 if self.left == Leaf::M => self.left = Leaf::After,
            2 if self.right == Leaf::M => self.right = Leaf::After,
            3 => {
                self.is_retired = true;
                self.at[1] = DONE;
                return;
            }
            _ => {}
        }
        self.at[1] += 1;
    }
}

impl Protocol for Bodies {
    const ACTORS: usize = 2;

    fn step(&mut self, actor: usize) -> bool {
        let before = self.clone();
        match actor {
            _ if self.at[actor] == DONE => {}
            0 => self.merge(),
            _ => self.change_m(),
        }
        *self != before
    }

    fn wrong(&self) -> Option<String> {
        let is_named = self.left == Leaf::M || self.right == Leaf::M;
        (self.is_retired && is_named).then(|| "a body names a leaf that was retired".to_owned())
    }

    fn has_ended(&self, actor: usize) -> bool {
        self.at[actor] == DONE
    }
}

/// V3. Cells c, e, f under one full parent. One thread joins c and e, another one splits f: the parent
/// splits, and the root grows above it. Each cell is named by where it hangs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Cells {
    bug: Option<Planted>,
    is_frozen: [bool; 2],
    parent_is_frozen: bool,
    has_split: bool,
    /// What the keys of c and of e lead to: the old cell, or the one that both were joined into.
    joined: [bool; 2],
    at: [u8; 2],
}

impl Cells {
    fn join(&mut self) {
        match self.at[0] {
            // The parent first: then it cannot be split any more.
            0 => {
                if self.bug != Some(Planted::V3) && self.has_split {
                    // They are not neighbours under one parent any more: given up.
                    self.at[0] = DONE;
                    return;
                }
                self.parent_is_frozen = self.bug != Some(Planted::V3);
            }
            1 => self.is_frozen[0] = true,
            2 => self.is_frozen[1] = true,
            _ => {
                // One exchange, of the parent of c.
                self.joined = [true, !self.has_split];
                self.parent_is_frozen = false;
                self.at[0] = DONE;
                return;
            }
        }
        self.at[0] += 1;
    }

    /// Waits for nobody: a frozen parent means that the join is completed first.
    fn split(&mut self) {
        if self.parent_is_frozen {
            self.is_frozen = [true; 2];
            self.joined = [true; 2];
            self.parent_is_frozen = false;
            self.at[0] = DONE;
            return;
        }
        // With c and e joined there is room in the parent.
        self.has_split = !self.joined[0];
        self.at[1] = DONE;
    }
}

impl Protocol for Cells {
    const ACTORS: usize = 2;

    fn step(&mut self, actor: usize) -> bool {
        match actor {
            _ if self.at[actor] == DONE => return false,
            0 => self.join(),
            _ => self.split(),
        }
        true
    }

    fn wrong(&self) -> Option<String> {
        let half = self.joined[0] != self.joined[1];
        half.then(|| "the keys of e lead to a cell that is frozen for ever".to_owned())
    }

    fn has_ended(&self, actor: usize) -> bool {
        self.at[actor] == DONE
    }
}

/// What each of the traces is about, with its fault or without.
pub(crate) fn hunt(bug: Planted, flawed: bool) -> Hunt {
    let bug_if = flawed.then_some(bug);
    match bug {
        Planted::V1 => interleaved::hunt(Links::new(bug_if, false)),
        Planted::V2 => interleaved::hunt(Links::new(bug_if, true)),
        Planted::V3 => interleaved::hunt(Cells {
            bug: bug_if,
            is_frozen: [false; 2],
            parent_is_frozen: false,
            has_split: false,
            joined: [false; 2],
            at: [0; 2],
        }),
        _ => interleaved::hunt(Bodies {
            bug: bug_if,
            left: Leaf::Old,
            right: Leaf::Old,
            is_retired: false,
            at: [0; 2],
        }),
    }
}
