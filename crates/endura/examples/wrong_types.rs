//! A configuration store, and what happens when it is opened as something else.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Error, Kind, MapOptions, Pool, Result};

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.endura");
    let pool = Pool::open(&path)?;
    let config = pool.map::<str, str>("config")?;
    config.extend([("port", "8080"), ("host", "localhost"), ("log.level", "info")])?;
    assert_eq!(config.get("port")?.as_deref(), Some("8080"));
    let port: u16 = config.get_with("port", |port| port.parse())?.unwrap().unwrap();
    assert_eq!(port, 8080);
    assert_eq!(config.compare_exchange("port", Some("8080"), Some("8081"))?, Ok(()));
    assert_eq!(config.compare_exchange("port", Some("8080"), None)?, Err(Some("8081".to_owned())));

    // The same encoding under another name is the same type.
    assert_eq!(pool.map::<String, String>("config")?.get("host")?.as_deref(), Some("localhost"));

    for error in [
        pool.map::<u64, u64>("config").unwrap_err(),
        pool.map::<str, (u64, String)>("config").unwrap_err(),
        pool.map_with::<str, str>("config", MapOptions::new().kind(Kind::NbTree)).unwrap_err(),
        pool.map_with::<str, str>("confg", MapOptions::new().create(false)).unwrap_err(),
        pool.map::<str, str>("").unwrap_err(),
        Pool::open(&path).unwrap_err(),
        Pool::options().create_new(&path).unwrap_err(),
        Pool::options().open_existing(folder.path().join("none")).unwrap_err(),
    ] {
        println!("{error}");
    }
    match pool.map::<u64, u64>("config") {
        Err(Error::WrongTypes { name, found, want }) => {
            assert_eq!((&name[..], &found.key[..], &want.key[..]), ("config", "str", "u64"));
        }
        other => panic!("{other:?}"),
    }

    pool.rename("config", "settings")?;
    assert_eq!(config.get("host")?.as_deref(), Some("localhost"), "handles go on");
    let names: Vec<String> = pool.maps()?.into_iter().map(|map| map.name).collect();
    assert_eq!(names, ["settings"]);
    assert!(pool.drop_map("settings")?);
    println!("{}", config.get("host").unwrap_err());
    pool.close()?;

    let reader = Pool::options().read_only(true).open(&path)?;
    println!("{}", reader.map::<str, str>("config").unwrap_err());
    Ok(())
}
