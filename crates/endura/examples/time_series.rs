//! Measurements of many sensors: (sensor, second) -> reading.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Pool, Result};

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("series.endura"))?;
    let readings = pool.map::<(u64, u64), f64>("readings")?;

    // A bulk load; ascending input is the fast case.
    let times = 0..1000_u64;
    let loaded = readings.extend(
        (1..=3).flat_map(|s| times.clone().map(move |t| ((s, t * 60), (s * t) as f64 / 10.0))),
    )?;
    assert_eq!(loaded, 3_000);

    // One hour of sensor 2, newest first.
    let hour: Vec<((u64, u64), f64)> =
        readings.range((2, 3600)..(2, 7200)).rev().collect::<Result<_>>()?;
    assert_eq!(hour.len(), 60);
    assert_eq!(hour[0], ((2, 7140), 23.8));

    // The mean of a sensor, without a copy of anything.
    let (mut sum, mut count) = (0.0, 0);
    readings.range_with((3, 0)..=(3, u64::MAX), |_, value| {
        sum += value;
        count += 1;
    })?;
    assert_eq!((count, sum / f64::from(count)), (1000, 149.85));

    // The latest reading of each sensor: the last of each prefix.
    for sensor in 1..=3 {
        let latest = readings.prefix(sensor).next_back().transpose()?;
        assert_eq!(latest.map(|(key, _)| key), Some((sensor, 59_940)));
    }

    // A reading at or before a moment.
    let before = readings.range(..=(1, 100)).next_back().transpose()?;
    assert_eq!(before, Some(((1, 60), 0.1)));

    // Only the last day is kept; absurd readings go.
    assert_eq!(readings.remove_range((1, 0)..(1, 30_000))?, 500);
    readings.insert((2, 1), f64::NAN)?;
    assert_eq!(readings.retain(|_, value| !value.is_nan())?, 1);
    assert_eq!(readings.len()?, 2_500);
    println!("{} readings in a {:?}", readings.len()?, readings.kind());
    Ok(())
}
