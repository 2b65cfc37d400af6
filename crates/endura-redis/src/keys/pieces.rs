//! The entries of a map in an RDB and in the payload of DUMP.
//!
//! Entries are gathered in pieces, each of them one string of the file. So a map that is left out, because the pool has a
//! newer one, is passed over a piece at a time: a start beside a file does not look at each entry of it.
//!
//! | number | then follows |
//! | --- | --- |
//! | 0 | nothing: these were all entries |
//! | 1 | a field and its value, each a string: an entry that is as large as a piece |
//! | 2 | a piece: for each entry the lengths of its field and its value, four bytes each, and both |

use crate::redis::Rdb;
use crate::store::Outcome;

const END: u64 = 0;
const ENTRY: u64 = 1;
const PIECE: u64 = 2;

/// The number of bytes from which on a piece is written.
const LARGE: usize = 64 << 10;

/// Writes entries into a file.
pub(super) struct Writer<'f> {
    file: &'f Rdb,
    piece: Vec<u8>,
}

impl<'f> Writer<'f> {
    pub(super) fn new(file: &'f Rdb) -> Self {
        Self { file, piece: Vec::new() }
    }

    pub(super) fn add(&mut self, field: &[u8], value: &[u8]) {
        if field.len() + value.len() >= LARGE {
            self.end_piece();
            self.file.save_number(ENTRY);
            self.file.save_bytes(field);
            self.file.save_bytes(value);
            return;
        }
        for part in [field, value] {
            self.piece.extend((part.len() as u32).to_le_bytes());
        }
        self.piece.extend(field);
        self.piece.extend(value);
        if self.piece.len() >= LARGE {
            self.end_piece();
        }
    }

    pub(super) fn finish(mut self) {
        self.end_piece();
        self.file.save_number(END);
    }

    fn end_piece(&mut self) {
        if !self.piece.is_empty() {
            self.file.save_number(PIECE);
            self.file.save_bytes(&self.piece);
            self.piece.clear();
        }
    }
}

/// Reads all entries of a map, and passes them to `take`, if there is one. Returns `None` if the file ends or is damaged.
pub(super) fn read(
    file: &Rdb,
    mut take: Option<impl FnMut(&[u8], &[u8]) -> Outcome>,
) -> Option<Outcome> {
    loop {
        let taken = match file.load_number()? {
            END => return Some(Ok(())),
            ENTRY => {
                let field = file.load_bytes(<[u8]>::to_vec)?;
                file.load_bytes(|value| take.as_mut().map_or(Ok(()), |take| take(&field, value)))
            }
            PIECE => file.load_bytes(|piece| match &mut take {
                Some(take) => each(piece, take),
                None => Some(Ok(())),
            })?,
            _ => None,
        };
        match taken? {
            Ok(()) => {}
            Err(failure) => return Some(Err(failure)),
        }
    }
}

/// Passes the entries of a piece to `take`. Returns `None` if the piece is damaged.
fn each(mut piece: &[u8], take: &mut impl FnMut(&[u8], &[u8]) -> Outcome) -> Option<Outcome> {
    while !piece.is_empty() {
        let (field_len, rest) = piece.split_first_chunk()?;
        let (value_len, rest) = rest.split_first_chunk()?;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*field_len) as usize)?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_len) as usize)?;
        piece = rest;
        if let Err(failure) = take(field, value) {
            return Some(Err(failure));
        }
    }
    Some(Ok(()))
}
