//! A server on tokio: `SET key value`, `GET key`, `COUNT`, one line each.
//!
//! Lookups and updates of single keys run on the worker threads, as a `HashMap` behind a mutex would. What may
//! take long (counting after a kill, closing) goes to `spawn_blocking`; the guide has the list.

use std::io;

use endura::{Map, Pool};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{self, JoinSet};

async fn answer(users: &Map<str, str>, line: &str) -> io::Result<String> {
    let mut words = line.splitn(3, ' ');
    Ok(match (words.next(), words.next(), words.next()) {
        (Some("SET"), Some(key), Some(value)) => {
            users.insert(key, value)?;
            "OK".into()
        }
        (Some("GET"), Some(key), None) => users.get(key)?.unwrap_or_default(),
        (Some("COUNT"), None, None) => {
            let users = users.clone();
            task::spawn_blocking(move || users.len()).await??.to_string()
        }
        _ => "SET key value, GET key, or COUNT".into(),
    })
}

async fn serve(users: Map<str, str>, client: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = client.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = answer(&users, &line).await?;
        writer.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

async fn client(address: std::net::SocketAddr, number: usize) -> io::Result<()> {
    let (reader, mut writer) = TcpStream::connect(address).await?.into_split();
    let mut lines = BufReader::new(reader).lines();
    let requests = format!("SET user:{number} Ada {number}\nGET user:{number}\nCOUNT\n");
    writer.write_all(requests.as_bytes()).await?;
    assert_eq!(lines.next_line().await?.as_deref(), Some("OK"));
    assert_eq!(lines.next_line().await?, Some(format!("Ada {number}")));
    let count = lines.next_line().await?.and_then(|line| line.parse::<usize>().ok());
    assert!(count.is_some_and(|count| (1..=8).contains(&count)));
    Ok(())
}

#[tokio::main(worker_threads = 2)]
async fn main() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("users.endura");
    let pool = task::spawn_blocking(move || Pool::open(path)).await??;
    let users = pool.map::<str, str>("users")?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut clients: JoinSet<_> = (0..8).map(|number| client(address, number)).collect();
    let mut connections = JoinSet::new();
    for _ in 0..8 {
        let (client, _) = listener.accept().await?;
        connections.spawn(serve(users.clone(), client));
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    while let Some(done) = connections.join_next().await {
        done??;
    }
    println!("{} users", users.approximate_len()?);
    task::spawn_blocking(move || pool.close()).await??;
    Ok(())
}
