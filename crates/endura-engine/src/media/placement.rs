//! The persistence domain in which a file lies, and the one to use.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use super::domain::Domain;
use crate::cpu::flush::FlushInstruction;
use crate::os::{memory, pmem};
use crate::{Error, Result};

/// The choice of a persistence domain and of the instruction that writes lines back.
///
/// A forced choice changes the instructions, for measurements or where the kernel detects the memory wrongly. It does
/// not change what the memory survives: a pool on an ordinary disk keeps the promise of [`PageCache`](Self::PageCache)
/// and no more, whatever is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MediaChoice {
    /// Detected: eADR or ADR if the file is mapped directly (DAX), else the page cache.
    #[default]
    Auto,
    /// No flush and no fence: stores survive the end of the process.
    PageCache,
    /// Flush with the best instruction of this CPU, and fence.
    Adr,
    /// No flush, one fence at the end of an operation.
    Eadr,
    /// [`Adr`](Self::Adr) with `clwb`.
    Clwb,
    /// [`Adr`](Self::Adr) with `clflushopt`.
    ClflushOpt,
    /// [`Adr`](Self::Adr) with `clflush`.
    Clflush,
    /// [`Adr`](Self::Adr) with `dc cvap` (AArch64).
    Cvap,
}

impl MediaChoice {
    const ALL: [Self; 8] = [
        Self::Auto,
        Self::PageCache,
        Self::Adr,
        Self::Eadr,
        Self::Clwb,
        Self::ClflushOpt,
        Self::Clflush,
        Self::Cvap,
    ];

    /// All choices, the default first.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        Self::ALL.into_iter()
    }

    /// The name of the choice, as [`FromStr`] reads it: `auto`, `page-cache`, `adr`, `eadr`, `clwb`, `clflushopt`,
    /// `clflush`, `cvap`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::PageCache => "page-cache",
            Self::Adr => "adr",
            Self::Eadr => "eadr",
            Self::Clwb => "clwb",
            Self::ClflushOpt => "clflushopt",
            Self::Clflush => "clflush",
            Self::Cvap => "cvap",
        }
    }
}

impl FromStr for MediaChoice {
    type Err = String;

    /// Reads a [name](Self::name).
    ///
    /// ```
    /// use endura::MediaChoice;
    /// assert!(MediaChoice::all().all(|choice| choice.name().parse() == Ok(choice)));
    /// ```
    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|choice| choice.name() == name)
            .ok_or_else(|| format!("none of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// The kind of memory that a file lies on, and how its lines are to be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The domain to use.
    pub domain: Domain,
    /// The instruction that writes lines back; used in [`Domain::Adr`] only.
    pub instruction: FlushInstruction,
    /// Whether the file is mapped directly from persistent memory.
    pub direct: bool,
    /// How many times the memory failed to save its contents at a power loss, where the platform counts that.
    pub dirty_shutdowns: Option<u64>,
}

impl Placement {
    /// Whether acknowledged stores survive a power loss. False on ordinary disks, and also where persistent memory is
    /// used as [`Domain::PageCache`].
    pub fn is_power_safe(&self) -> bool {
        self.direct && self.domain != Domain::PageCache
    }

    /// Detects what kind of memory `file` lies on, and applies the choice. The file must not be empty.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the CPU lacks the instruction that the choice, or the memory, requires.
    pub fn of(file: &File, writable: bool, choice: MediaChoice) -> Result<Self> {
        let direct = memory::maps_directly(file, writable);
        let region = match file.metadata() {
            Ok(facts) if direct => pmem::Region::below(Path::new("/sys"), facts.dev()),
            _ => None,
        };
        let found = match &region {
            _ if !direct => Domain::PageCache,
            Some(region) if region.keeps_caches() => Domain::Eadr,
            _ => Domain::Adr,
        };
        let (domain, wanted) = match choice {
            MediaChoice::Auto => (found, None),
            MediaChoice::PageCache => (Domain::PageCache, None),
            MediaChoice::Eadr => (Domain::Eadr, None),
            MediaChoice::Adr => (Domain::Adr, None),
            MediaChoice::Clwb => (Domain::Adr, Some(FlushInstruction::Clwb)),
            MediaChoice::ClflushOpt => (Domain::Adr, Some(FlushInstruction::ClflushOpt)),
            MediaChoice::Clflush => (Domain::Adr, Some(FlushInstruction::Clflush)),
            MediaChoice::Cvap => (Domain::Adr, Some(FlushInstruction::Cvap)),
        };
        Ok(Self {
            domain,
            instruction: instruction(domain, wanted)?,
            direct,
            dirty_shutdowns: region.and_then(|region| region.dirty_shutdowns()),
        })
    }
}

fn instruction(domain: Domain, wanted: Option<FlushInstruction>) -> Result<FlushInstruction> {
    let usable = wanted.or_else(FlushInstruction::best).filter(|one| one.is_available());
    match usable {
        Some(instruction) => Ok(instruction),
        // The instruction is not used outside ADR, so any value is right.
        None if domain != Domain::Adr => Ok(FlushInstruction::Clflush),
        None => Err(Error::Unsupported {
            what: "this CPU cannot write a cache line back that way; choose another medium \
                   (`Auto` finds the best one)",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_file_lies_in_the_page_cache() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let found = Placement::of(&file, true, MediaChoice::Auto).unwrap();
        assert_eq!((found.domain, found.direct), (Domain::PageCache, false));
        assert_eq!(found.dirty_shutdowns, None);
        let forced = Placement::of(&file, true, MediaChoice::Eadr).unwrap();
        assert_eq!((forced.domain, forced.direct), (Domain::Eadr, false));
    }

    #[test]
    fn an_instruction_of_another_cpu_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let foreign =
            if cfg!(target_arch = "x86_64") { MediaChoice::Cvap } else { MediaChoice::Clwb };
        let outcome = Placement::of(&file, true, foreign);
        assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
    }
}
