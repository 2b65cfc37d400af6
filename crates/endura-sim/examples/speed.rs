//! How fast crashes of tiny FAST & FAIR trees are gone through: recoveries that are only read, and
//! those that are used as well.

use std::time::Instant;

use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::{Effort, Tally};

fn main() {
    let subject = FastFair::<14, 14>::about((1..=9).map(|i| 10 * i).collect());
    for (what, continue_one_in) in [("read", 0), ("used", 1)] {
        for model in [Model::WEAKEST_ADR, Model::EADR, Model::PAGE_CACHE] {
            let (since, mut all) = (Instant::now(), Tally::default());
            for round in 0..5 {
                let effort = Effort { depth: 1, continue_one_in, ..Effort::EXHAUSTIVE };
                let mut explorer = Explorer::new(&subject, model, LIMIT, effort, round);
                for n in 0..=8 {
                    let before: Vec<MapOp> = (1..=n).map(|k| MapOp::Put(10 * k, k)).collect();
                    let Ok(start) = explorer.start(&before) else { panic!("start") };
                    for key in 1..=9 {
                        let put = MapOp::Put(10 * key, 77);
                        let remove = MapOp::Remove(90 - 10 * (key - 1));
                        if let Err(failure) = explorer.explore(&start, &[put, remove], 0) {
                            panic!("{failure}");
                        }
                    }
                }
                all.add(&explorer.tally);
            }
            let seconds = since.elapsed().as_secs_f64();
            let recoveries = all.images + all.same_images;
            println!(
                "{what} {model}: {recoveries} recoveries ({} images) of {} points, {} traces, in {seconds:.2} s: {:.0} a second",
                all.images,
                all.points,
                all.traces,
                recoveries as f64 / seconds
            );
        }
    }
}
