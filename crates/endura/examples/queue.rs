//! A queue that survives the process: four consumers, each job to one of them.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use endura::{Map, Pool, Result};

#[derive(Clone)]
struct Queue {
    jobs: Map<u64, str>,
}

impl Queue {
    /// Appends behind the last job.
    fn push(&self, job: &str) -> Result<u64> {
        loop {
            let next = self.jobs.last_key_value()?.map_or(0, |(id, _)| id + 1);
            if self.jobs.insert_if_absent(next, job)? {
                return Ok(next);
            }
        }
    }

    fn pop(&self) -> Result<Option<(u64, String)>> {
        self.jobs.pop_first()
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.endura");
    {
        let queue = Queue { jobs: Pool::open(&path)?.map("jobs")? };
        for i in 0..2_000 {
            queue.push(&format!("job {i}"))?;
        }
        assert_eq!(queue.pop()?, Some((0, "job 0".to_owned())));
    } // the last handle closes the pool

    let pool = Pool::open(&path)?;
    let queue = Queue { jobs: pool.map("jobs")? };
    assert_eq!(queue.jobs.len()?, 1_999);
    let sum = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let queue = queue.clone();
            let sum = &sum;
            scope.spawn(move || -> Result<()> {
                while let Some((id, job)) = queue.pop()? {
                    assert_eq!(job, format!("job {id}"));
                    sum.fetch_add(id, Relaxed);
                }
                Ok(())
            });
        }
    });
    assert_eq!(sum.load(Relaxed), (0..2_000).sum::<u64>());
    assert!(queue.jobs.is_empty()?);
    println!("{}: all jobs done", pool.path().file_name().unwrap().to_string_lossy());
    pool.close()?;
    Ok(())
}
