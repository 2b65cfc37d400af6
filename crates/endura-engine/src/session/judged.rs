//! The second step of an open: determines what memory or disk the pool lies on, which checkpoint belongs to it, and
//! whether its file can be trusted.
//!
//! | the pool | what is done |
//! | --- | --- |
//! | is intact | nothing |
//! | is in doubt, and has a checkpoint | it is taken back to the checkpoint (`restore`) |
//! | is in doubt, and the caller accepts that | it is verified as it is (`accept_unclean`) |
//! | is in doubt otherwise | it is refused: [`Error::NeedsRestore`] |

use super::addresses::DEFAULT_MAX_SIZE;
use super::locked::Locked;
use super::verify::verify;
use crate::checkpoint::beside::PATIENCE;
use crate::checkpoint::found::{self, CheckpointPlan, Search};
use crate::checkpoint::told;
use crate::checkpoint::why;
use crate::checkpoint::{CheckpointStats, Checkpoints, Restored};
use crate::media::{Domain, Placement};
use crate::space::{Doubt, OwnPath, Schedule, Session, Space};
use crate::{Error, Result};

/// A pool that may be opened, unless mapping it shows damage.
pub(crate) struct Judged<'o> {
    pub(super) locked: Locked<'o>,
    pub(super) placement: Placement,
    pub(super) own_path: OwnPath,
    pub(super) making: Making,
    /// What the restore did, if this open took the pool back to a checkpoint.
    pub(super) restored: Option<Restored>,
    /// Whether the pool was in doubt, and was verified as it is.
    pub(super) is_accepted: bool,
}

/// What the session does about checkpoints.
pub(super) enum Making {
    /// Nothing: the pool has no checkpoints, and is to have none.
    None,
    /// Nothing, because the session is read-only. It reports these facts about the pool's checkpoints.
    Told(Box<CheckpointStats>),
    /// The session makes checkpoints, or removes them for good.
    Planned(Box<CheckpointPlan>),
}

impl Making {
    /// Whether the session makes checkpoints.
    pub(super) fn is_on(&self) -> bool {
        matches!(self, Self::Planned(plan) if plan.is_on())
    }
}

impl<'o> Locked<'o> {
    /// Decides whether the pool can be trusted, and takes it back to its checkpoint if not.
    pub(super) fn judge(mut self) -> Result<Judged<'o>> {
        let (options, path) = (self.options, self.path);
        options.check_max_size()?;
        let placement = Placement::of(self.file.file(), !options.read_only, options.media)?;
        let own_path = OwnPath::of(path, self.file.file());
        let own_path = own_path.map_err(|error| Error::opening(path, error))?;
        let mut plan = match options.read_only {
            true => None,
            false => self.plan(&placement).map_err(|error| self.explain(error, &placement))?,
        };
        let (doubt, is_suspect) = self.doubt(&placement, plan.as_mut())?;
        let restored = match (&mut plan, doubt) {
            (Some(plan), Some(doubt)) if options.restore && doubt.goes_back() => {
                let restored = plan.go_back(path, &mut self.file, doubt, &placement);
                restored.map_err(|error| why::explained(error, true))?
            }
            _ => None,
        };
        let doubt = doubt.filter(|_| restored.is_none());
        if let Some(doubt) = doubt.filter(|_| !options.accept_unclean) {
            let checkpoint = told::way_back(path, options.checkpoints.as_ref(), &self.file);
            return Err(Error::NeedsRestore { reason: doubt.reason(), checkpoint });
        }
        let choice = options.checkpoints.as_ref();
        let told = |error| told::cut(path, choice, &self.file, error);
        self.file.check_length().map_err(told)?;
        let is_accepted = doubt.is_some();
        if is_accepted {
            self.accept(placement, is_suspect)?;
        }
        self.file.warn_of_silence(&placement)?;
        let making = match plan {
            Some(mut plan) => {
                plan.announce(&mut self.file, is_accepted)?;
                Making::Planned(Box::new(plan))
            }
            None if options.read_only => {
                let told = told::facts(path, options.checkpoints.as_ref(), &self.file, &placement);
                told.map_or(Making::None, |told| Making::Told(Box::new(told)))
            }
            None => {
                if options.checkpoints.is_some() {
                    // The pool has no checkpoints, and is to have none, even if it is opened on a disk some day.
                    self.file.plan(Schedule::OFF, None);
                }
                Making::None
            }
        };
        Ok(Judged { locked: self, placement, own_path, making, restored, is_accepted })
    }

    /// When and where checkpoints are made; `None` if they are not.
    fn plan(&self, placement: &Placement) -> Result<Option<CheckpointPlan>> {
        let (options, file) = (self.options, &self.file);
        let default = told::gets_the_default(file, placement).then(Checkpoints::default);
        let choice = options.checkpoints.as_ref().or(default.as_ref());
        let most = options.max_size.unwrap_or(DEFAULT_MAX_SIZE).max(file.len()?);
        let search = Search {
            most_pages: found::pages_within(most),
            may_be_too_large: most > found::MOST_BYTES,
            patience: options.lock_timeout.max(PATIENCE),
            any_filesystem: options.any_filesystem,
            accepts: options.accept_unclean,
        };
        CheckpointPlan::of(self.path, choice, file, search)
    }

    /// If the checkpoint cannot be used, says what its pool needs.
    fn explain(&self, error: Error, placement: &Placement) -> Error {
        let last = self.file.superblock();
        let doubt = self.file.doubt(placement, last.suspects(last));
        why::explained(error, !matches!(doubt, Ok(None)))
    }

    /// Why the pool may be torn, if it may be, and whether the disk is suspected to have refused pages of it.
    fn doubt(
        &mut self,
        placement: &Placement,
        plan: Option<&mut CheckpointPlan>,
    ) -> Result<(Option<Doubt>, bool)> {
        let (options, file) = (self.options, &mut self.file);
        // The kernel reports refused pages only once, so a read-only session, which cannot record them, must not ask.
        if !options.read_only {
            file.hear_of_refused_pages();
        }
        let last = *file.superblock();
        let is_suspect = last.suspects(&last)
            || match &plan {
                Some(plan) => plan.suspects(&last),
                None => told::suspects(self.path, options.checkpoints.as_ref(), &last),
            };
        let doubt = match (file.doubt(placement, is_suspect)?, plan) {
            (None, Some(plan)) if last.clean && file.has_moved() => {
                // The file is a copy, or the pool was moved. Its checkpoint shows whether each page is right.
                plan.differs(file)?.then_some(Doubt::TORN_COPY)
            }
            (doubt, _) => doubt,
        };
        Ok((doubt, is_suspect))
    }

    /// Verifies a pool in doubt, before anything is written, in a temporary session that stores nothing.
    fn accept(&mut self, placement: Placement, is_suspect: bool) -> Result<()> {
        self.file.expect_alone()?;
        // This session stores nothing, so nothing need become durable.
        let in_passing = Placement { domain: Domain::PageCache, ..placement };
        let medium = self.options.map(&mut self.file, in_passing, (true, false))?;
        let session = Session { clean: false, read_only: true, ..self.file.next_session()? };
        verify(&Space::mount(medium, session)?)?;
        if is_suspect && !self.options.read_only {
            self.file.write_again()?;
        }
        Ok(())
    }
}
