//! Where in a program a medium was used.

use std::fmt;
use std::panic::Location;

/// A call of a medium's method: file, line and column of the code that made it.
///
/// Views that pass an access on ([`Span`](endura_engine::media::Span), [`Region`](endura_engine::media::Region))
/// are seen through: the site is that of the structure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(&'static Location<'static>);

impl Site {
    /// The place from which the function that asks was called.
    #[track_caller]
    #[inline(always)]
    pub fn here() -> Self {
        Self(Location::caller())
    }

    /// The source file, as the compiler was given it.
    pub fn file(self) -> &'static str {
        self.0.file()
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        self.0.line()
    }

    /// The column, from 1: where the method's name begins, if it is one.
    pub fn column(self) -> u32 {
        self.0.column()
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.0.file();
        let short = file.rfind("src/").map_or(file, |at| &file[at + 4..]);
        write!(f, "{short}:{}:{}", self.0.line(), self.0.column())
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
