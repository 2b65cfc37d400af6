//! Whole structure modifications (SMOs): [`change`](crate::tree::nbtree::write::change), then
//! [`settle`](crate::tree::nbtree::write::settle).
//!
//! A task may require another task first. S7 changes the preceding block. If that block is frozen, it has to be
//! replaced first, which requires that the change that made it has ended, and so on along the chain. Suspended threads
//! leave few such blocks, but in a damaged file all blocks may be frozen. So this is a loop over a list of [`Task`]s,
//! not a recursion. A task that replaces a preceding block is for a lower key than the task that waits for it, so that
//! the list ends at the first block.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;

use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::tree::Tree;
use crate::tree::nbtree::write::settle::Task;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Copies the entries of a leaf to new blocks, or completes the change in progress there. On return the leaf is
    /// replaced, and no path leads to it any more.
    #[inline(never)]
    pub(crate) fn change(&self, guard: &Guard<'_, M>, partition: usize, number: u32) -> Result<()> {
        self.complete(guard, partition, Task::Change(number))
    }

    /// Runs a task, after the tasks that it requires.
    pub(crate) fn complete(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        task: Task,
    ) -> Result<()> {
        let mut waiting = Vec::new();
        let mut next = Some(task);
        while let Some(task) = next {
            next = match task {
                Task::Change(number) | Task::Advance(number) => {
                    match self.advance(guard, partition, number)? {
                        Ok(replaced) if matches!(task, Task::Change(_)) => {
                            Some(Task::Detach(replaced))
                        }
                        Ok(_) => waiting.pop(),
                        Err(first) => {
                            waiting.push(task);
                            Some(first)
                        }
                    }
                }
                Task::Detach(replaced) => match self.detach(guard, partition, replaced)? {
                    None => waiting.pop(),
                    Some(before) => {
                        waiting.push(task);
                        Some(Task::Advance(before))
                    }
                },
            };
        }
        Ok(())
    }

    /// Completes the change that made a leaf.
    pub(crate) fn settle_origin(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        number: u32,
    ) -> Result<()> {
        match self.meta.leaves.get(number).origin() {
            0 => Ok(()),
            origin => {
                self.link(guard, partition, origin)?;
                self.complete(guard, partition, Task::Detach(origin))
            }
        }
    }
}
