//! What the guest tells the host, a line each on the serial console.

use std::fmt;

/// How many writers there are.
pub(crate) const WRITERS: usize = 2;

/// How far each writer is: how many of its steps were acknowledged.
pub(crate) type Positions = [u32; WRITERS];

/// One thing that the guest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// `endura check` ended so before the pool was opened.
    Checked(u32),
    /// The pool is opened next.
    Opening,
    /// It was not there.
    New,
    /// It was opened as it was left.
    AsLeft,
    /// It was taken back to a checkpoint.
    Restored {
        /// When that was made, in microseconds since 1970.
        at: u64,
        age_ms: u64,
        written_bytes: u64,
    },
    /// It was refused: the code of the error.
    Refused(String),
    /// A structure or an entry is not what any moment left.
    Torn(String),
    /// The pool is what it was at one moment, when the writers were so far.
    Found(Positions),
    /// It was closed, and `endura check` ended so.
    Closed(u32),
    /// The writers begin.
    Running,
    /// There is a checkpoint of this moment, in which everything up to these positions is.
    Checkpoint { at: u64, has: Positions },
    /// What else went wrong.
    Failed(String),
}

/// How each line begins, so that what the kernel prints is none.
const MARK: &str = "endura-disk";

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK} ")?;
        match self {
            Self::Checked(code) => write!(f, "checked {code}"),
            Self::Opening => write!(f, "opening"),
            Self::New => write!(f, "new"),
            Self::AsLeft => write!(f, "as-left"),
            Self::Restored { at, age_ms, written_bytes } => {
                write!(f, "restored {at} {age_ms} {written_bytes}")
            }
            Self::Refused(code) => write!(f, "refused {code}"),
            Self::Torn(what) => write!(f, "torn {what}"),
            Self::Found([a, b]) => write!(f, "found {a} {b}"),
            Self::Closed(code) => write!(f, "closed {code}"),
            Self::Running => write!(f, "running"),
            Self::Checkpoint { at, has: [a, b] } => write!(f, "checkpoint {at} {a} {b}"),
            Self::Failed(what) => write!(f, "failed {what}"),
        }
    }
}

impl Line {
    /// A whole line; `None` if it is not the guest's program's.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.trim_end().strip_prefix(MARK)?.strip_prefix(' ')?;
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut numbers = rest.split(' ').map(str::parse::<u64>);
        let mut number = || numbers.next()?.ok();
        let line = match word {
            "checked" => Self::Checked(u32::try_from(number()?).ok()?),
            "opening" => Self::Opening,
            "new" => Self::New,
            "as-left" => Self::AsLeft,
            "restored" => {
                Self::Restored { at: number()?, age_ms: number()?, written_bytes: number()? }
            }
            "refused" => Self::Refused(rest.to_owned()),
            "torn" => Self::Torn(rest.to_owned()),
            "found" => Self::Found(positions(number()?, number()?)?),
            "closed" => Self::Closed(u32::try_from(number()?).ok()?),
            "running" => Self::Running,
            "checkpoint" => {
                Self::Checkpoint { at: number()?, has: positions(number()?, number()?)? }
            }
            "failed" => Self::Failed(rest.to_owned()),
            _ => return None,
        };
        Some(line)
    }
}

fn positions(a: u64, b: u64) -> Option<Positions> {
    Some([a.try_into().ok()?, b.try_into().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let lines = [
            Line::Checked(3),
            Line::Opening,
            Line::New,
            Line::AsLeft,
            Line::Restored { at: 1 << 50, age_ms: 4_000, written_bytes: 4096 },
            Line::Refused("needs_restore".into()),
            Line::Torn("key 3 of writer 1 is missing".into()),
            Line::Found([7, 8]),
            Line::Closed(0),
            Line::Running,
            Line::Checkpoint { at: 1 << 50, has: [1, u32::MAX] },
            Line::Failed("no space".into()),
        ];
        for line in lines {
            assert_eq!(Line::parse(&format!("{line}\r\n")), Some(line));
        }
        let others = ["", "EXT4-fs (vda): mounted", "endura-disk found 1", "endura-disk found 1 x"];
        for other in others {
            assert_eq!(Line::parse(other), None, "{other}");
        }
    }
}
