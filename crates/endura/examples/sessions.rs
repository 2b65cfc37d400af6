//! Sessions that expire: a map by id and an index by time beside it.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Map, Pool, Postcard, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Session {
    user: String,
    expires: u64,
}

#[derive(Clone)]
struct Sessions {
    by_id: Map<str, Postcard<Session>>,
    by_time: Map<(u64, String), ()>, // when it expires, id
}

impl Sessions {
    fn open(pool: &Pool) -> Result<Self> {
        Ok(Self { by_id: pool.map("sessions")?, by_time: pool.map("sessions by time")? })
    }

    fn start(&self, id: &str, user: &str, expires: u64) -> Result<()> {
        // Index first: an entry of the index without a session is harmless, the reverse never ends.
        self.by_time.insert((expires, id), ())?;
        self.by_id.insert(id, &Session { user: user.to_owned(), expires })?;
        Ok(())
    }

    /// Keeps a session for longer; false if it is gone.
    fn touch(&self, id: &str, expires: u64) -> Result<bool> {
        self.by_time.insert((expires, id), ())?;
        let old = self.by_id.alter(id, |old| Some(Session { expires, ..old?.clone() }))?;
        if let Some(old) = &old {
            self.by_time.remove((old.expires, id))?;
        }
        Ok(old.is_some())
    }

    /// Ends what has expired; returns how many.
    fn expire(&self, now: u64) -> Result<usize> {
        let mut ended = 0;
        for key in self.by_time.range(..(now, "")).keys() {
            let (time, id) = key?;
            // Only if nobody has touched it meanwhile.
            let old = self.by_id.alter(&id, |old| old.filter(|s| s.expires >= now).cloned())?;
            ended += usize::from(old.is_some_and(|old| old.expires < now));
            self.by_time.remove((time, &id))?;
        }
        Ok(ended)
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("sessions.endura"))?;
    let sessions = Sessions::open(&pool)?;
    for i in 0..10_u64 {
        sessions.start(&format!("s{i}"), "ada", 100 + i)?;
    }
    assert!(sessions.touch("s3", 500)?);
    assert!(!sessions.touch("nobody", 500)?);
    assert_eq!(sessions.expire(105)?, 4, "s0, s1, s2, s4");
    assert_eq!(sessions.by_id.get("s3")?, Some(Session { user: "ada".into(), expires: 500 }));
    assert_eq!(sessions.by_id.get_with("s3", |s| s.user.len())?, Some(3));
    assert_eq!(sessions.by_id.len()?, 6);
    println!("{:?}", sessions.by_id);
    Ok(())
}
