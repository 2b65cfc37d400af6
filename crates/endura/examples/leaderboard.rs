//! The best players first: `Reverse` in a key.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::cmp::Reverse;

use endura::{Map, Pool, Result};

struct Board {
    scores: Map<str, u32>,
    ranking: Map<(Reverse<u32>, String), ()>,
}

impl Board {
    fn add(&self, player: &str, points: u32) -> Result<u32> {
        let score = self.scores.update(player, |old| old.unwrap_or(0) + points)?;
        self.ranking.insert((Reverse(score), player), ())?;
        if score > points {
            self.ranking.remove((Reverse(score - points), player))?;
        }
        Ok(score)
    }

    fn top(&self, n: usize) -> Result<Vec<(String, u32)>> {
        self.ranking
            .keys()
            .take(n)
            .map(|key| key.map(|(Reverse(score), name)| (name, score)))
            .collect()
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("board.endura"))?;
    let board = Board { scores: pool.map("scores")?, ranking: pool.map("ranking")? };
    for (player, points) in [("ada", 10), ("grace", 30), ("alan", 20), ("ada", 25), ("edsger", 1)] {
        board.add(player, points)?;
    }
    assert_eq!(board.top(2)?, [("ada".to_owned(), 35), ("grace".to_owned(), 30)]);
    assert_eq!(board.ranking.len()?, board.scores.len()?);

    // Everybody with at least 20 points.
    let good = board.ranking.range(..(Reverse(19), "")).count();
    assert_eq!(good, 3);
    // The last one.
    let last = board.ranking.last_key_value()?.map(|((score, name), ())| (name, score.0));
    assert_eq!(last, Some(("edsger".to_owned(), 1)));
    // How many are better than Alan, and who comes next behind him?
    let score = board.scores.get("alan")?.unwrap();
    let rank = board.ranking.range(..(Reverse(score), "alan")).count();
    assert_eq!(rank, 2);
    let next = board.ranking.range((Reverse(score), "alan")..).keys().nth(1).transpose()?;
    assert_eq!(next, Some((Reverse(1), "edsger".to_owned())));
    println!("{:?}", board.top(10)?);
    Ok(())
}
