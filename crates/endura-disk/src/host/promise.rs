//! What the guest was promised, and whether it was kept.

use crate::lines::{Line, Positions};

/// The newest checkpoint of which the guest was told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promise {
    /// When it was made; `None` if there was none yet.
    at: Option<u64>,
    pub(super) has: Positions,
}

impl Promise {
    /// Takes a line of the guest; what was lost, if it tells of a loss.
    pub(super) fn hear(&mut self, line: &Line) -> Result<(), String> {
        match line {
            Line::Checkpoint { at, has } => {
                self.at = self.at.max(Some(*at));
                self.has = newer(self.has, *has);
            }
            Line::Restored { at, .. } => {
                if let Some(promised) = self.at.filter(|promised| at < promised) {
                    let by = (promised - at) / 1_000;
                    return Err(format!("taken back {by} ms further than the newest checkpoint"));
                }
                self.at = Some(*at);
            }
            Line::Found(found) => {
                if newer(self.has, *found) != *found {
                    return Err(format!("found {found:?}, promised {:?}", self.has));
                }
                if self.at.is_some() {
                    self.has = *found;
                }
            }
            Line::New if self.at.is_some() => return Err("the pool is gone".into()),
            Line::Refused(code) if self.at.is_some() => return Err(format!("refused: {code}")),
            // 1: it may be torn, which it is told to be.
            Line::Checked(code) if self.at.is_some() && *code > 1 => {
                return Err(format!("before the open, `endura check` ended with {code}"));
            }
            Line::Closed(code) if *code != 0 => {
                return Err(format!("after the close, `endura check` ended with {code}"));
            }
            Line::Torn(what) => return Err(format!("torn: {what}")),
            Line::Failed(what) => return Err(what.clone()),
            _ => {}
        }
        Ok(())
    }
}

/// The later position of each writer.
fn newer(a: Positions, b: Positions) -> Positions {
    [a[0].max(b[0]), a[1].max(b[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKPOINT: Line = Line::Checkpoint { at: 5_000, has: [10, 20] };

    fn restored(at: u64) -> Line {
        Line::Restored { at, age_ms: 0, written_bytes: 0 }
    }

    fn heard(lines: &[Line]) -> Result<Promise, String> {
        let mut promise = Promise::default();
        lines.iter().try_for_each(|line| promise.hear(line))?;
        Ok(promise)
    }

    #[test]
    fn the_newest_checkpoint_or_a_later_one_is_good() {
        let promise = heard(&[CHECKPOINT, restored(5_000), Line::Found([10, 20])]).unwrap();
        assert_eq!(promise, Promise { at: Some(5_000), has: [10, 20] });
        let later = [CHECKPOINT, restored(6_000), Line::Found([11, 20])];
        assert_eq!(heard(&later).unwrap(), Promise { at: Some(6_000), has: [11, 20] });
        assert!(heard(&[Line::Refused("needs_restore".into()), Line::New]).is_ok(), "none yet");
    }

    #[test]
    fn every_loss_is_one() {
        let losses = [
            vec![restored(4_999)],
            vec![restored(5_000), Line::Found([10, 19])],
            vec![Line::New],
            vec![Line::Refused("needs_restore".into())],
            vec![Line::Checked(3)],
            vec![Line::Closed(1)],
            vec![Line::Torn("a step is missing".into())],
            // What was found once is the least that may be found again.
            vec![Line::Found([12, 20]), Line::Found([11, 20])],
            vec![restored(7_000), restored(6_000)],
        ];
        for loss in losses {
            let lines: Vec<_> = [CHECKPOINT].into_iter().chain(loss).collect();
            let (last, before) = lines.split_last().unwrap();
            let mut promise = heard(before).unwrap();
            assert!(promise.hear(last).is_err(), "{last:?}");
        }
    }
}
