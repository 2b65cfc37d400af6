//! Start, load, cut, and again.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use endura_console::outcome::{Answer, Failure, Result, tell};
use fastrand::Rng;

use super::args::CutArgs;
use super::machine::{Machine, Said};
use super::plan::{Moment, Plan};
use super::promise::Promise;
use super::report::{Before, Seen, Sum};
use crate::disk::{Cut, Disk, Fuse};
use crate::lines::Line;
use crate::nbd::Server;

/// Between two looks at the fuse.
const LOOK: Duration = Duration::from_millis(10);
/// A machine that says nothing for so long has failed; emulated ones start slowly.
const PATIENCE: Duration = Duration::from_secs(240);

pub(crate) fn run(args: &CutArgs) -> Result {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let folder = |error| Failure::at_path("cannot make", &args.folder, &error);
    std::fs::create_dir_all(&args.folder).map_err(folder)?;
    let mut lab = Lab { args, rng: Rng::with_seed(seed), promise: Promise::default() };
    let longest = Duration::from_millis(args.longest);
    let (mut sum, mut number) = (Sum::default(), 0);
    while number < args.cuts {
        let until = args.cuts.min(number + args.life);
        number = lab.live(number..until, longest, &mut sum)?;
    }
    sum.finish(seed)?;
    Ok(Answer::yes_if(sum.lost == 0))
}

/// All that stays from one start of the machine to the next, but for the disk.
struct Lab<'a> {
    args: &'a CutArgs,
    rng: Rng,
    promise: Promise,
}

impl Lab<'_> {
    fn image(&self) -> PathBuf {
        self.args.folder.join("disk.img")
    }

    /// Uses one disk until it has seen these cuts, or one too many; the number of the last one.
    fn live(&mut self, cuts: Range<u32>, longest: Duration, sum: &mut Sum) -> Result<u32> {
        let (mut disk, mut number, mut before) = (self.make_disk()?, cuts.start, None);
        loop {
            let plan = match number < cuts.end {
                true => Plan::draw(&mut self.rng, longest, before.is_none()),
                false => Plan::end(&mut self.rng),
            };
            let as_cut = self.args.folder.join("as-cut.img");
            let kept = std::fs::copy(self.image(), &as_cut);
            kept.map_err(|error| Failure::at_path("cannot make", &as_cut, &error))?;
            let (seen, cut);
            (disk, seen, cut) = self.boot(disk, &plan)?;
            sum.add(before.as_ref(), &seen)?;
            if !seen.losses.is_empty() {
                let kept = as_cut.with_file_name(format!("lost-{number}.img"));
                let renamed = std::fs::rename(&as_cut, &kept);
                renamed.map_err(|error| Failure::at_path("cannot make", &kept, &error))?;
                tell(format_args!("the disk as it was then: {}", kept.display()));
            }
            if plan.moment == Moment::End || !seen.losses.is_empty() || seen.is_refused {
                return Ok(number.max(cuts.start + 1));
            }
            number += 1;
            before = Some(Before { number, plan, cut, promised: self.promise.has });
        }
    }

    /// A disk with an empty ext4.
    fn make_disk(&mut self) -> Result<Disk> {
        self.promise = Promise::default();
        let image = self.image();
        let failed = |error| Failure::at_path("cannot make", &image, &error);
        let file = File::create(&image).map_err(failed)?;
        file.set_len(self.args.size << 20).map_err(failed)?;
        let mut mke2fs = Command::new("mke2fs");
        mke2fs.args(["-q", "-F", "-t", "ext4", "-b", "4096", "-E", "lazy_itable_init=0"]);
        // ext4's superblock has two sectors, of which this disk may write one. With a checksum it would then refuse to be
        // mounted, before its journal mends the superblock: there would be no pool to look at.
        mke2fs.args(["-O", "^metadata_csum"]);
        let made = mke2fs.arg(&image).status();
        let made = made.map_err(|error| Failure::io("mke2fs", &error))?;
        if !made.success() {
            return Err(Failure::Message(format!("mke2fs ended with {made}")));
        }
        Disk::open(&image, self.args.honesty()).map_err(failed)
    }

    /// One life of the machine.
    fn boot(&mut self, disk: Disk, plan: &Plan) -> Result<(Disk, Seen, Cut)> {
        let failed = |error| Failure::io("the disk", &error);
        let socket = self.args.folder.join("disk.socket");
        let fuse = Fuse::unarmed();
        let server = Server::start(&socket, disk, fuse.clone()).map_err(failed)?;
        let mut load = plan.load.clone();
        if self.args.without_checkpoints {
            load.push("--without-checkpoints".into());
        }
        let machine = Machine::start(self.args, &socket, &load)?;
        let mut seen = Seen::default();
        let is_heard = self.listen((&machine, &fuse), plan, &mut seen);
        let rest = machine.kill()?;
        rest.iter().for_each(|line| self.hear(line, &mut seen));
        let mut disk = server.stop().map_err(failed)?;
        if let Err(what) = is_heard {
            if seen.lines == 0 {
                return Err(Failure::Message(format!("{what}: did it start? (--verbose)")));
            }
            seen.losses.push(what);
        }
        let cut = disk.cut(plan.seed).map_err(failed)?;
        Ok((disk, seen, cut))
    }

    /// Listens until the moment at which the power is to be cut.
    fn listen(
        &mut self,
        (machine, fuse): (&Machine, &Fuse),
        plan: &Plan,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let (mut until, mut is_set) = (Instant::now() + PATIENCE, false);
        loop {
            match machine.next(until.min(Instant::now() + LOOK)) {
                Said::Line(line) => {
                    let after = match (plan.moment, &line) {
                        (Moment::Opening(after), Line::Opening) => Some(after),
                        (Moment::Running(after), Line::Running) => Some(after),
                        (Moment::Requests(after), Line::Running) => {
                            fuse.arm(after);
                            None
                        }
                        _ => None,
                    };
                    if let (Some(after), false) = (after, is_set) {
                        (until, is_set) = (Instant::now() + after, true);
                    }
                    self.hear(&line, seen);
                }
                Said::Nothing if fuse.is_burnt() => return Ok(()),
                Said::Nothing if Instant::now() < until => {}
                Said::Nothing if is_set => return Ok(()),
                Said::Nothing => return Err("the machine says nothing".into()),
                Said::Ended if plan.moment == Moment::End && seen.found.is_some() => return Ok(()),
                Said::Ended if !seen.losses.is_empty() || seen.is_refused => return Ok(()),
                Said::Ended => return Err("the machine ended by itself".into()),
            }
        }
    }

    fn hear(&mut self, line: &Line, seen: &mut Seen) {
        seen.hear(line);
        seen.losses.extend(self.promise.hear(line).err());
    }
}
