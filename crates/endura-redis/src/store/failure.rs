//! Why a command cannot be carried out.

use endura::Error;

use super::wording::sentence;

/// The largest number of bytes in a field. In the map that all keys share, a field follows the number of its key.
pub(crate) const LONGEST_FIELD: usize = endura::LONGEST_KEY - size_of::<u64>();

/// The error that a client gets.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The wrong number of arguments.
    Arity,
    /// The key holds another type.
    WrongType,
    /// A number was expected.
    NotAnInteger,
    /// A field of this number of bytes, which is more than [`LONGEST_FIELD`].
    FieldTooLong(usize),
    /// A sentence after an error code, in the form of Redis' own errors.
    Says(&'static str),
    /// The keys of the pool are not served, for this reason.
    Unattached(String),
    /// The pool failed.
    Pool(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Pool(error)
    }
}

impl Failure {
    /// The text of the error, on one line. For [`Arity`](Self::Arity) Redis writes a text of its own, which names the
    /// command.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Arity => "ERR wrong number of arguments".into(),
            Self::WrongType => {
                "WRONGTYPE Operation against a key holding the wrong kind of value".into()
            }
            Self::NotAnInteger => "ERR value is not an integer or out of range".into(),
            Self::FieldTooLong(len) => format!(
                "ERR endura: a field of {len} bytes is longer than the {LONGEST_FIELD} that a key takes"
            ),
            Self::Says(text) => (*text).into(),
            Self::Unattached(why) => format!(
                "ERR endura: no key of the pool is served, and none is changed, because they could not be attached: {why}"
            ),
            // Clients know this code: Redis replies with it above `maxmemory`.
            Self::Pool(error) if self.is_full() => format!("OOM endura: {}", sentence(error)),
            Self::Pool(error) => format!("ERR endura: {}", sentence(error)),
        };
        text.replace(['\r', '\n', '\0'], " ")
    }

    /// Whether the pool has no space for what the command would write.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Pool(Error::Full { .. } | Error::ReclaimStalled { .. }))
    }

    /// The text without its code, to be part of another sentence.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unattached(why) => why.clone(),
            other => {
                let text = other.text();
                text.split_once(" endura: ").map_or(text.clone(), |(_, reason)| reason.into())
            }
        }
    }
}

/// The result of a command, or of a part of one.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;
