//! Structs as values: as JSON, which grows with the program, and as postcard, which is small.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Error, Json, Pool, Postcard, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct User {
    name: String,
    age: u8,
    tags: Vec<String>,
}

/// The same a year later.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename = "User")]
struct UserV2 {
    name: String,
    age: u8,
    #[serde(default)]
    email: Option<String>,
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("users.endura"))?;
    let users = pool.map::<str, Json<User>>("users")?;
    let ada = User { name: "Ada".into(), age: 36, tags: vec!["math".into()] };
    assert_eq!(users.insert("ada", &ada)?, None);
    assert_eq!(users.get("ada")?, Some(ada.clone()));
    assert_eq!(users.get_with("ada", |user| user.age)?, Some(36));

    // Change a field.
    users.alter("ada", |old| {
        let mut user = old?.clone();
        user.age += 1;
        Some(user)
    })?;
    for entry in users.range("a".."b") {
        let (id, user) = entry?;
        println!("{id}: {user:?}");
    }
    assert_eq!(users.retain(|_, user| user.age > 40)?, 1);
    users.insert("ada", &ada)?;

    // Another field: the entries stay readable.
    let users = pool.map::<str, Json<UserV2>>("users")?;
    assert!(users.get("ada")?.is_some_and(|user| user.email.is_none() && user.age == 36));

    // Postcard has no names of fields: it is smaller, and fixed.
    let small = pool.map::<u64, Postcard<User>>("small")?;
    small.insert(1, &ada)?;
    small.insert(2, &User { name: "Grace".into(), ..ada })?;
    let names = small.values().map(|user| Ok(user?.name)).collect::<Result<Vec<_>>>()?;
    assert_eq!(names, ["Ada", "Grace"]);

    // Another struct: refused when the map is opened, not when it is read.
    let error = pool.map::<u64, Postcard<String>>("small").unwrap_err();
    assert!(matches!(error, Error::WrongTypes { .. }));
    println!("{error}");
    Ok(())
}
