//! Kills and failures at a chosen step, for tests. A build without debug assertions has neither.

/// Called when one more step of a command is in the pool. Counts down the number in the file that `ENDURA_REDIS_STEPS`
/// names; at 0 the process is killed.
#[inline(always)]
pub(super) fn step() {
    #[cfg(debug_assertions)]
    if chosen::is_at_zero(&chosen::STEPS, "ENDURA_REDIS_STEPS") {
        let own = std::process::id().to_string();
        // The program `kill` sends the signal. If the process aborted itself, Redis would write a crash report first.
        let _ = std::process::Command::new("kill").args(["-9", &own]).status();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

/// How often a commit waits for the writers inside, each time for a second. Only the sweeper writes beside it, which ends, but
/// may be waiting for the disk.
const PATIENCE: u32 = 60;

/// Commits a batch: one step, which tests can let fail.
pub(super) fn commit(batch: &mut endura::Batch) -> endura::Result<()> {
    may_fail()?;
    let mut committed = batch.commit();
    for _ in 1..PATIENCE {
        if !matches!(committed, Err(endura::Error::WritersStay { .. })) {
            break;
        }
        committed = batch.commit();
    }
    committed?;
    step();
    Ok(())
}

/// Called before a write that tests let fail. Counts down the number in the file that `ENDURA_REDIS_FAILURES` names; at 0
/// all such writes fail as in a full pool, until the file is gone.
#[inline(always)]
#[allow(clippy::unnecessary_wraps, reason = "a build without assertions never fails")]
pub(super) fn may_fail() -> endura::Result<()> {
    #[cfg(debug_assertions)]
    if chosen::is_at_zero(&chosen::FAILURES, "ENDURA_REDIS_FAILURES") {
        return Err(endura::Error::Full {
            need: 1,
            free: 0,
            limit: endura::SpaceLimit::MaxSize,
            pool: None,
        });
    }
    Ok(())
}

#[cfg(debug_assertions)]
mod chosen {
    use std::ffi::OsString;
    use std::fs;
    use std::sync::OnceLock;

    pub(super) type File = OnceLock<Option<OsString>>;
    pub(super) static STEPS: File = OnceLock::new();
    pub(super) static FAILURES: File = OnceLock::new();

    /// Whether the file that this variable names holds a 0; a higher number is counted down.
    pub(super) fn is_at_zero(file: &File, variable: &str) -> bool {
        let Some(path) = file.get_or_init(|| std::env::var_os(variable)) else { return false };
        let number = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
        match number {
            Some(0) => return true,
            Some(left) => drop(fs::write(path, (left - 1).to_string())),
            None => {}
        }
        false
    }
}
