//! Maps database numbers to *spaces*, so that SWAPDB and FLUSHALL are one write.
//!
//! A record of the catalogue names a space, not a database. One small table has the space of each database. SWAPDB
//! exchanges two numbers in it, and FLUSHALL gives every database a new space. Each of these commands replaces one
//! value of the pool, so a kill leaves all of the change or none of it. Records whose space belongs to no database are
//! garbage.

/// The space of each database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Spaces {
    of: Vec<u64>,
    next: u64,
}

/// The first word of the table: the format of the table and of the records.
const FORMAT: u64 = u64::from_le_bytes(*b"spaces 2");

impl Spaces {
    /// The space of a database, and whether the space is new. If it is, the table must be written before a record that
    /// names it.
    pub(crate) fn space(&mut self, database: i32) -> (u64, bool) {
        let database = usize::try_from(database).unwrap_or(0);
        let is_new = database >= self.of.len();
        while database >= self.of.len() {
            self.of.push(self.next);
            self.next += 1;
        }
        (self.of[database], is_new)
    }

    /// The database that has this space.
    pub(crate) fn database(&self, space: u64) -> Option<i32> {
        let at = self.of.iter().position(|&other| other == space)?;
        i32::try_from(at).ok()
    }

    pub(crate) fn swap(&mut self, a: i32, b: i32) {
        self.space(a.max(b));
        if let (Ok(a), Ok(b)) = (usize::try_from(a), usize::try_from(b)) {
            self.of.swap(a, b);
        }
    }

    /// Gives a database a new space, or every database if `database` is negative. The keys in the old spaces are then gone.
    pub(crate) fn renew(&mut self, database: i32) {
        let next = &mut self.next;
        let renew = |space: &mut u64| {
            *space = *next;
            *next += 1;
        };
        match usize::try_from(database) {
            Ok(database) => self.of.get_mut(database).into_iter().for_each(renew),
            Err(_) => self.of.iter_mut().for_each(renew),
        }
    }

    /// Keeps databases from getting this space later, because there are records in it.
    pub(crate) fn spare(&mut self, space: u64) {
        self.next = self.next.max(space.saturating_add(1));
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        [FORMAT, self.next]
            .into_iter()
            .chain(self.of.iter().copied())
            .flat_map(u64::to_le_bytes)
            .collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let (FORMAT, next) = (words.next()?, words.next()?) else { return None };
        Some(Self { next, of: words.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_swapped_and_renewed_by_their_spaces() {
        let mut spaces = Spaces::default();
        assert_eq!(spaces.space(2), (2, true));
        assert_eq!(spaces.space(0), (0, false));
        spaces.swap(0, 5);
        assert_eq!(spaces.database(0), Some(5));
        assert_eq!(spaces.database(5), Some(0));
        spaces.renew(0);
        assert_eq!(spaces.database(5), None);
        assert_eq!(spaces.space(0), (6, false));
        let read = Spaces::decode(&spaces.encode());
        assert_eq!(read.as_ref(), Some(&spaces));
        spaces.renew(-1);
        assert_eq!((0..6).find_map(|space| spaces.database(space)), None);
        assert_eq!(spaces.database(6), None);
        assert_eq!(Spaces::decode(&[0; 16]), None, "of another format");
        assert_eq!(Spaces::decode(&[0; 7]), None);
        assert_eq!(Spaces::decode(&[]), None);
    }
}
