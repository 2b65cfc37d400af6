//! Kills at a chosen step, for tests: a build without assertions has none of it.

/// One step of a command is in the pool. If the file that `ENDURA_REDIS_STEPS` names holds a number, it is counted down;
/// at 0 the process is killed.
#[inline(always)]
pub(super) fn step() {
    #[cfg(debug_assertions)]
    count_down();
}

#[cfg(debug_assertions)]
fn count_down() {
    use std::sync::OnceLock;
    static FILE: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
    let Some(path) = FILE.get_or_init(|| std::env::var_os("ENDURA_REDIS_STEPS")) else { return };
    let Ok(text) = std::fs::read_to_string(path) else { return };
    match text.trim().parse::<u64>() {
        Ok(0) => {
            let own = std::process::id().to_string();
            // By the program, for a process that aborts itself would write its last words first.
            let _ = std::process::Command::new("kill").args(["-9", &own]).status();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        Ok(left) => drop(std::fs::write(path, (left - 1).to_string())),
        Err(_) => {}
    }
}
