//! Options by name, for configuration files and bindings for other languages.

use endura_engine::checkpoint::{Checkpoints, scheduled_as};
use endura_engine::settings::{number, seconds, size, switch};

use super::options::PoolOptions;

/// The name of an option, and the function that reads its value.
type Setting = (&'static str, fn(PoolOptions, &str) -> Result<PoolOptions, String>);

const SETTINGS: &[Setting] = &[
    ("max-size", |options, text| Ok(options.max_size(size(text)?))),
    ("media", |options, text| Ok(options.media(text.parse()?))),
    ("read-only", |options, text| Ok(options.read_only(switch(text)?))),
    ("read-mostly", |options, text| Ok(options.read_mostly(switch(text)?))),
    ("accept-unclean", |options, text| Ok(options.accept_unclean(switch(text)?))),
    ("restore", |options, text| Ok(options.restore(switch(text)?))),
    ("allow-any-filesystem", |options, text| Ok(options.allow_any_filesystem(switch(text)?))),
    ("recovery-threads", |options, text| {
        let threads = number(text)?.try_into().ok().filter(|&threads| threads <= MOST_THREADS);
        Ok(options.recovery_threads(threads.ok_or("more than 1,024 threads")?))
    }),
    ("lock-timeout", |options, text| Ok(options.lock_timeout(seconds(text)?))),
    ("checkpoint-every", |options, text| {
        let when: Checkpoints = text.parse()?;
        match when == Checkpoints::off() {
            true if options.session.checkpoints.is_some() => {
                Err("`off` excludes all other options about checkpoints".into())
            }
            true => Ok(options.checkpoints(when)),
            false => with_checkpoints(options, |chosen| scheduled_as(chosen, &when)),
        }
    }),
    ("checkpoint-file", |options, text| match text {
        "" => Err("the name of a file is expected".into()),
        _ => with_checkpoints(options, |chosen| chosen.in_file(text)),
    }),
    ("checkpoint-must-exist", |options, text| match switch(text)? {
        true => with_checkpoints(options, Checkpoints::must_exist),
        false => Ok(options),
    }),
];

/// Adds to what earlier options have said about checkpoints.
fn with_checkpoints(
    options: PoolOptions,
    add: impl FnOnce(Checkpoints) -> Checkpoints,
) -> Result<PoolOptions, String> {
    match options.session.checkpoints.clone() {
        Some(chosen) if chosen == Checkpoints::off() => {
            Err("`checkpoint-every off` excludes this option".into())
        }
        chosen => Ok(options.checkpoints(add(chosen.unwrap_or_else(Checkpoints::as_left)))),
    }
}

/// The most recovery threads. A larger number is refused, because it is probably a mistake.
const MOST_THREADS: usize = 1_024;

impl PoolOptions {
    /// Sets the option `name` to `value`, for programs that have their options as texts.
    ///
    /// | name | value | method |
    /// | --- | --- | --- |
    /// | `max-size` | a size: `4096`, `64K`, `16M`, `64G`, `1T` | [`max_size`](Self::max_size) |
    /// | `media` | `auto`, `page-cache`, `adr`, `eadr`, `clwb`, `clflushopt`, `clflush`, `cvap` | [`media`](Self::media) |
    /// | `read-only`, `read-mostly`, `accept-unclean`, `restore`, `allow-any-filesystem` | `yes`, `no` | those of these names |
    /// | `recovery-threads` | 0 to 1,024 | [`recovery_threads`](Self::recovery_threads) |
    /// | `lock-timeout` | seconds: `5`, `0.25` | [`lock_timeout`](Self::lock_timeout) |
    /// | `checkpoint-every` | seconds from 0.001 to 4,000,000; `0`: on demand and at each close only; `off`: none | [`checkpoints`](Self::checkpoints) |
    /// | `checkpoint-file` | a path | [`Checkpoints::in_file`] |
    /// | `checkpoint-must-exist` | `yes`, `no` | [`Checkpoints::must_exist`] |
    ///
    /// The order of the options about checkpoints does not matter. `off` excludes the other two.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and says what is wrong with the value, or that lists the options if none has
    /// this name.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// let mut options = endura::Pool::options();
    /// for (name, value) in [("max-size", "64M"), ("checkpoint-every", "0")] {
    ///     options = options.set(name, value)?;
    /// }
    /// assert!(options.clone().set("max-size", "much").is_err());
    /// let pool = options.open(&path)?;
    /// assert_eq!(pool.stats()?.max_bytes, 64 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set(self, name: &str, value: &str) -> Result<Self, String> {
        let found = SETTINGS.iter().find(|(known, _)| *known == name);
        let Some((_, set)) = found else {
            let names: Vec<_> = Self::settings().collect();
            return Err(format!("`{name}` is no option; the options are {}", names.join(", ")));
        };
        set(self, value).map_err(|flaw| format!("`{name} {value}`: {flaw}"))
    }

    /// The names that [`set`](Self::set) knows.
    pub fn settings() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|&(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::MediaChoice;
    use crate::pool::Pool;

    fn of(line: &str) -> Result<PoolOptions, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.chunks(2).try_fold(Pool::options(), |options, pair| options.set(pair[0], pair[1]))
    }

    #[test]
    fn each_option_is_read() {
        let all = "max-size 1G media clwb read-only yes read-mostly on accept-unclean 1 restore no allow-any-filesystem \
                   true recovery-threads 3 lock-timeout 0.5";
        let set = of(all).unwrap().session;
        assert_eq!((set.max_size, set.media), (Some(1 << 30), MediaChoice::Clwb));
        assert!(set.read_only && set.read_mostly && set.accept_unclean && set.any_filesystem);
        assert_eq!((set.restore, set.recovery_threads), (false, 3));
        assert_eq!(set.lock_timeout, Duration::from_millis(500));
        for wrong in ["max-size x", "media x", "read-only x", "lock-timeout -1", "max-sizes 1"] {
            assert!(of(wrong).unwrap_err().contains(wrong.split(' ').next().unwrap()), "{wrong}");
        }
    }

    #[test]
    fn options_of_checkpoints_mean_the_same_in_any_order() {
        let parts = ["checkpoint-every 2", "checkpoint-file f", "checkpoint-must-exist yes"];
        let chosen = Checkpoints::every(Duration::from_secs(2)).in_file("f").must_exist();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let line = order.map(|part| parts[part]).join(" ");
            assert_eq!(of(&line).unwrap().session.checkpoints, Some(chosen.clone()), "{line}");
        }
        assert_eq!(
            of("checkpoint-every 0").unwrap().session.checkpoints,
            Some(Checkpoints::on_demand())
        );
        let on_demand = Checkpoints::on_demand().in_file("f");
        for line in ["checkpoint-every 0 checkpoint-file f", "checkpoint-file f checkpoint-every 0"]
        {
            assert_eq!(of(line).unwrap().session.checkpoints, Some(on_demand.clone()));
        }
        assert_eq!(
            of("checkpoint-every off").unwrap().session.checkpoints,
            Some(Checkpoints::off())
        );
        for both in parts {
            assert!(of(&format!("checkpoint-every off {both}")).is_err());
            assert!(of(&format!("{both} checkpoint-every off")).is_err());
        }
        for wrong in ["-1", "0.0001", "4000001000", "x", "nan", "inf"] {
            assert!(of(&format!("checkpoint-every {wrong}")).is_err(), "{wrong}");
        }
    }
}
