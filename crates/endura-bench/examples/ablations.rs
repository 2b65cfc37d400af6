//! What each technique of the NBTree is worth:
//!
//! ```text
//! cargo run --release -p endura-bench --example ablations -- [KEYS] [THREADS] [ROUNDS]
//! ```

use endura_bench::experiment::ablations::compare;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let keys = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let threads = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let rounds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    println!(
        "{keys} uniform keys, {threads} threads, ns of wall time an operation, best of {rounds}"
    );
    println!("{:14} insert    get   miss update    hot remove", "");
    for row in compare(keys, threads, rounds)? {
        let times = [row.insert, row.get, row.miss, row.update, row.hot_update, row.remove];
        print!("{:14}", row.design);
        times.iter().for_each(|time| print!(" {time:6.0}"));
        println!();
    }
    Ok(())
}
