//! Why a command cannot be carried out.

/// The longest field in bytes: the map that all keys share has the number of the key in front of it.
pub(crate) const LONGEST_FIELD: usize = endura::LONGEST_KEY - size_of::<u64>();

/// What a client is told in place of an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The wrong number of arguments.
    Arity,
    /// The key holds another type.
    WrongType,
    /// A number was expected.
    NotAnInteger,
    /// A field of so many bytes is longer than fields can be.
    FieldTooLong(usize),
    /// A sentence with its code in front, as Redis words its errors.
    Says(&'static str),
    /// The keys of the pool are not served, for the reason that is said.
    Unattached(String),
    /// The pool refused.
    Pool(endura::Error),
}

impl From<endura::Error> for Failure {
    fn from(error: endura::Error) -> Self {
        Self::Pool(error)
    }
}

impl Failure {
    /// The text of the error, on one line. Of [`Arity`](Self::Arity) Redis has its own, which names the command.
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
                "ERR endura: no key of the pool is served, and none is changed, for they could not be attached: {why}"
            ),
            // Clients know this code: it is what Redis answers above `maxmemory`.
            Self::Pool(error @ endura::Error::Full { .. }) => format!("OOM endura: {error}"),
            Self::Pool(error) => format!("ERR endura: {error}"),
        };
        text.replace(['\r', '\n', '\0'], " ")
    }

    /// The same without a code, to be part of another sentence.
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

/// The result of what a command does.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;
