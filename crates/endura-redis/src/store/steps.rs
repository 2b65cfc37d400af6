//! Kills and failures at a chosen step, for tests: a build without assertions has none of it.

/// One step of a command is in the pool. If the file that `ENDURA_REDIS_STEPS` names holds a number, it is counted down;
/// at 0 the process is killed.
#[inline(always)]
pub(super) fn step() {
    #[cfg(debug_assertions)]
    if chosen::is_at_zero(&chosen::STEPS, "ENDURA_REDIS_STEPS") {
        let own = std::process::id().to_string();
        // By the program, for a process that aborts itself would write its last words first.
        let _ = std::process::Command::new("kill").args(["-9", &own]).status();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

/// What follows fails for want of room, if the number in the file that `ENDURA_REDIS_FAILURES` names has come down to 0:
/// until the file is gone.
#[inline(always)]
#[allow(clippy::unnecessary_wraps, reason = "a build without assertions never fails")]
pub(super) fn may_fail() -> endura::Result<()> {
    #[cfg(debug_assertions)]
    if chosen::is_at_zero(&chosen::FAILURES, "ENDURA_REDIS_FAILURES") {
        return Err(endura::Error::Full { need: 1, free: 0 });
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
