//! A crawl frontier: the most urgent URL first, no URL twice, four fetchers.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::cmp::Reverse;

use endura::{Map, Pool, Result};

struct Frontier {
    queue: Map<(Reverse<u8>, String), ()>, // priority, high first; then the URL
    seen: Map<str, u8>,
}

impl Frontier {
    fn open(pool: &Pool) -> Result<Self> {
        Ok(Self { queue: pool.map("queue")?, seen: pool.map("seen")? })
    }

    fn offer(&self, url: &str, priority: u8) -> Result<bool> {
        let is_new = self.seen.insert_if_absent(url, priority)?;
        if is_new {
            self.queue.insert((Reverse(priority), url), ())?;
        }
        Ok(is_new)
    }

    fn take(&self) -> Result<Option<String>> {
        Ok(self.queue.pop_first()?.map(|((_, url), ())| url))
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("crawl.endura"))?;
    let frontier = Frontier::open(&pool)?;
    for (url, priority) in [("a.org/deep", 1), ("a.org", 9), ("b.org", 5), ("a.org", 9)] {
        let is_new = frontier.offer(url, priority)?;
        assert_eq!(is_new, frontier.seen.len()? == frontier.queue.len()? && is_new);
    }
    assert_eq!(frontier.queue.len()?, 3);
    assert_eq!(frontier.take()?.as_deref(), Some("a.org"));

    // What waits with one priority, without taking it.
    let waiting: Vec<String> =
        frontier.queue.prefix(Reverse(5)).keys().map(|key| Ok(key?.1)).collect::<Result<_>>()?;
    assert_eq!(waiting, ["b.org"]);

    // Four fetchers, each URL to one of them.
    for i in 0..1000_u32 {
        frontier.offer(&format!("c.org/{i}"), (i % 4) as u8)?;
    }
    let fetched = std::thread::scope(|scope| {
        let fetch = || -> Result<usize> {
            let mut count = 0;
            while frontier.take()?.is_some() {
                count += 1;
            }
            Ok(count)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(fetch)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<Result<usize>>()
    })?;
    assert_eq!(fetched, 1002);
    assert!(frontier.queue.is_empty()?);
    println!("fetched {fetched} of {} URLs", frontier.seen.len()?);
    pool.close()?;
    Ok(())
}
