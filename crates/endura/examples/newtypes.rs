//! Keys of one's own: ids, composite keys, and strings with rules.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::borrow::Cow;

use endura::{BoxError, Key, Map, Newtype, Pool, Result, Value};

/// An id that is no other id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UserId(u64);

impl Newtype for UserId {
    type Stored = u64;
    fn to_stored(self) -> u64 {
        self.0
    }
    fn from_stored(id: u64) -> Self {
        Self(id)
    }
}

/// A key of two fields with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    author: UserId,
    number: u32,
}

impl Newtype for Post {
    type Stored = (UserId, u32);
    const NAME: Option<&str> = Some("Post");
    fn to_stored(self) -> (UserId, u32) {
        (self.author, self.number)
    }
    fn from_stored((author, number): (UserId, u32)) -> Self {
        Self { author, number }
    }
}

/// A host name, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Host(String);

impl Value for Host {
    type Ref<'a> = &'a Host;
    type Owned = Host;
    fn type_name() -> Cow<'static, str> {
        "Host(str)".into()
    }
    fn lend(host: &Host) -> &Host {
        host
    }
    fn encode(host: &Host, out: &mut Vec<u8>) -> Result<(), BoxError> {
        str::encode(&host.0, out)
    }
    fn decode(bytes: &[u8]) -> Result<Host, BoxError> {
        str::decode(bytes).map(Host)
    }
}
impl Key for Host {}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura"))?;
    let names = pool.map::<UserId, str>("names")?;
    names.insert(UserId(7), "Ada")?;
    assert_eq!(names.first_key_value()?, Some((UserId(7), "Ada".to_owned())));
    assert_eq!(names.range(UserId(1)..=UserId(7)).count(), 1);

    let posts: Map<Post, str> = pool.map("posts")?;
    for number in 0..3 {
        posts.insert(Post { author: UserId(7), number }, "text")?;
    }
    let from = Post { author: UserId(7), number: 1 };
    assert_eq!(posts.range(from..).count(), 2);
    println!("{posts:?}");

    let visits = pool.map::<(UserId, Host), u64>("visits")?;
    let host = Host("a.org".into());
    assert_eq!(visits.update((UserId(7), &host), |n| n.unwrap_or(0) + 1)?, 1);
    assert_eq!(visits.prefix(UserId(7)).keys().next().transpose()?, Some((UserId(7), host)));
    println!("{visits:?}");

    println!("{}", pool.map::<u64, str>("posts").unwrap_err());
    assert_eq!(
        pool.map::<u64, str>("names")?.get(7)?.as_deref(),
        Some("Ada"),
        "a UserId without NAME is a u64"
    );
    Ok(())
}
