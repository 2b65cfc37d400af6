//! The rules of commits of several changes, and how each is left out.

/// What notices that a rule is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    /// Schedules of threads with crashes: `tests/batches`, this test.
    Schedules(&'static str),
    /// Crashes of one thread: `tests/scenarios`, this test.
    Crashes(&'static str),
    /// All executions of a model of the words in DRAM: this test of the engine, under loom.
    Loom(&'static str),
}

impl By {
    /// The package of the program, and how cargo is told which it is.
    pub(crate) fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Schedules(_) => ("endura-sim", "--test batches"),
            Self::Crashes(_) => ("endura-sim", "--test scenarios"),
            Self::Loom(_) => ("endura-engine", "--lib"),
        }
    }

    /// The name of the test.
    pub(crate) fn test(self) -> &'static str {
        let (Self::Schedules(test) | Self::Crashes(test) | Self::Loom(test)) = self;
        test
    }
}

/// A change of the source by which a rule is left out. In the new text `PLANTED` is a question whether it is this rule.
pub(crate) struct Fault {
    /// What is left out.
    pub(crate) rule: &'static str,
    /// The file, below the engine's `src`.
    pub(crate) file: &'static str,
    /// What is there exactly once.
    pub(crate) text: &'static str,
    /// What comes in its place.
    pub(crate) new: &'static str,
    pub(crate) by: By,
}

const MEETINGS: By = By::Schedules("some_order_explains");
const CUTS: By = By::Crashes("batches::a_crash_leaves_all_changes_or_none");

macro_rules! faults {
    ($($rule:literal, $file:literal, $by:expr, $text:literal => $new:literal;)*) => {
        &[$(Fault { rule: $rule, file: $file, text: $text, new: $new, by: $by }),*]
    };
}

/// Each rule, and the change of the source that leaves it out.
pub(crate) const FAULTS: &[Fault] = faults! {
    "B2 waits for writers without a claim", "space/commit/mode.rs", By::Schedules("a_closure_ends_beside_a_commit"),
    "while slot.is_careless() {" => "while !PLANTED && slot.is_careless() {";

    "B2 has a barrier", "runtime/epoch.rs", By::Loom("the_mode_is_entered_beside_a_writer"),
    "        self.shared.barriers.heavy()\n    }\n\n    /// The numbers" => "        PLANTED || self.shared.barriers.heavy()\n    }\n\n    /// The numbers";

    "W2 claims", "space/pins/claims.rs", By::Schedules("what_a_transaction_reads_stays"),
    "if gate & BATCHES == 0 || slot.applies() {" => "if PLANTED || gate & BATCHES == 0 || slot.applies() {";

    "W2 has a fence", "runtime/claims.rs", By::Loom("a_claim_beside_a_mark"),
    "        fence(Ordering::SeqCst);\n        number" => "        if !PLANTED { fence(Ordering::SeqCst); }\n        number";

    "W4 ends the claim before it waits", "space/pins/claims.rs", By::Schedules("writers_that_wait_for_a_commit"),
    "            slot.unpin(Mode::Writer);\n            self.wait_for_commit(holder)?;"
    => "            if !PLANTED { slot.unpin(Mode::Writer); }\n            self.wait_for_commit(holder)?;\n            if PLANTED { slot.unpin(Mode::Writer); }";

    "W5 claims again behind a closure", "space/open_map.rs", By::Schedules("a_closure_ends_beside_a_commit"),
    "!self.space.has_batches() || self.space.claim(" => "PLANTED || !self.space.has_batches() || self.space.claim(";

    "B1 is durable before B7", "space/commit/run.rs", CUTS,
    "        self.media.fence();\n        Ok(Written" => "        if !PLANTED { self.media.fence(); }\n        Ok(Written";

    "B1 flushes the intent", "space/batch/intent.rs", CUTS,
    "region.flush(0, words.len());" => "if !PLANTED { region.flush(0, words.len()); }";

    "B3 takes the turns to pop", "space/commit/run.rs", By::Schedules("a_commit_in_front_of_a_pop"),
    "        for map in changes.maps() {\n            let open"
    => "        for map in changes.maps().iter().filter(|_| !PLANTED) {\n            let open";

    "B3 takes the turns before B4", "space/commit/run.rs", MEETINGS,
    "        let Some(turns) = self.begin_turns(changes, pins)? else { return Ok(false) };\n        let mut flight = self.begin_flight(at, stripes)?;\n        flight.mark()?;"
    => "        let early = if PLANTED { None } else { Some(self.begin_turns(changes, pins)?) };\n        let mut flight = self.begin_flight(at, stripes)?;\n        flight.mark()?;\n        let early = match early { Some(early) => early, None => self.begin_turns(changes, pins)? };\n        let Some(turns) = early else { return Ok(false) };";

    "B4 marks keys that are only read", "space/commit/run.rs", By::Schedules("what_a_transaction_reads_stays"),
    "planned.iter().map(|change| change.key" => "planned.iter().filter(|change| !(PLANTED && change.plan == crate::space::batch::intent::Plan::Read)).map(|change| change.key";

    "B5 waits for claims", "space/commit/flight.rs", MEETINGS,
    "while slot.claimed() == Some(claim) {" => "while !PLANTED && slot.claimed() == Some(claim) {";

    "B6 compares", "index/commit.rs", MEETINGS,
    "unmet.map_or(Ok(needs)" => "unmet.filter(|_| !PLANTED).map_or(Ok(needs)";

    "B6 compares under the marks", "space/commit/run.rs", MEETINGS,
    "        // A pop of a map and a commit come"
    => "        let looked = if PLANTED { Some(changes.look()?) } else { None };\n        // A pop of a map and a commit come";

    "B6 compares under the marks", "space/commit/run.rs", MEETINGS,
    "        let needs = changes.look()?;" => "        let needs = match looked { Some(needs) => needs, None => changes.look()? };";

    "B7 comes before B8", "space/commit/run.rs", MEETINGS,
    "            flight.is_decided = true;" => "            flight.is_decided = true;\n            if PLANTED { flight.commit(); }";

    "B7 comes before B9", "space/commit/run.rs", CUTS,
    "        self.unless_poisoned()?;\n        {"
    => "        self.unless_poisoned()?;\n        let is_late = PLANTED;\n        if is_late {\n            let slot = self.epochs.slot(thread::current());\n            slot.set_applies(true);\n            changes.apply(&mut || {})?;\n            slot.set_applies(false);\n        }\n        {";

    "B7 comes before B9", "space/commit/run.rs", CUTS,
    "        let outcome = changes.apply(&mut || {" => "        let outcome = if is_late { Ok(()) } else { changes.apply(&mut || {";

    "B7 comes before B9", "space/commit/run.rs", CUTS,
    "                self.epochs.renew(slot);\n            }\n        });" => "                self.epochs.renew(slot);\n            }\n        }) };";

    "B7 is durable", "space/commit/words.rs", CUTS,
    "    media.drain();\n    Ok(())\n}\n\n/// A commit that" => "    if !(PLANTED && intent.is_some()) { media.drain(); }\n    Ok(())\n}\n\n/// A commit that";

    "B8 counts before readers see anything", "space/commit/run.rs", MEETINGS,
    "        changed().for_each(|map| map.open.map().begin_commit());\n        flight.commit();"
    => "        let counts_late = PLANTED;\n        if !counts_late {\n            changed().for_each(|map| map.open.map().begin_commit());\n        }\n        flight.commit();";

    "B8 counts before readers see anything", "space/commit/run.rs", MEETINGS,
    "        changed().for_each(|map| map.open.map().end_commit());"
    => "        if counts_late {\n            changed().for_each(|map| map.open.map().begin_commit());\n        }\n        changed().for_each(|map| map.open.map().end_commit());";

    "B10 is durable before B11", "space/commit/words.rs", By::Schedules("a_write_behind_a_commit"),
    "    word.flush(0, 1);\n    media.mark(Mark::Step(\"batch.word\"));" => "    if !(PLANTED && intent.is_none()) { word.flush(0, 1); }\n    media.mark(Mark::Step(\"batch.word\"));";

    "B10 comes before B11", "space/commit/run.rs", By::Schedules("a_write_behind_a_commit"),
    "        outcome?;\n        {" => "        outcome?;\n        if PLANTED { flight.take_marks_off(); }\n        {";

    "B10 comes before B11", "space/commit/flight.rs", By::Schedules("a_write_behind_a_commit"),
    "    /// B8: readers see" => "    pub(super) fn take_marks_off(&mut self) {\n        let marks = &self.space.batches().marks;\n        self.stripes[..self.marked].iter().for_each(|&stripe| marks.take_off(stripe));\n        self.marked = 0;\n    }\n\n    /// B8: readers see";

    "R1 looks at the marks", "space/commit/answer.rs", MEETINGS,
    "        self.space().note_look();" => "        if PLANTED { return Ok(None); }\n        self.space().note_look();";

    "R2 takes LOCKED for not committed", "space/commit/answer.rs", MEETINGS,
    "holder.filter(|holder| holder.seen.is_committed())" => "holder.filter(|holder| PLANTED || LOADED_TWICE || holder.seen.is_committed())";

    "R2 loads state and intent at once", "space/commit/answer.rs", By::Schedules("a_reader_beside_two_commits_of_one_flight"),
    "        let plan = self.space().plan_for(holder, entry, key)?;"
    => "        let plan = self.space().plan_for(holder, entry, key)?;\n        let again = self.space().holder_of(key.stripe(entry));\n        if LOADED_TWICE && !again.is_some_and(|holder| holder.seen.is_committed()) { return Ok(None); }";

    "the mode stays while a commit is under way", "space/pins/claims.rs", MEETINGS,
    "if mode.is_shown && mode.users == 0 {" => "if mode.is_shown && (PLANTED || mode.users == 0) {";

    "the mode stays while a commit is under way", "space/pins/claims.rs", MEETINGS,
    "if batches.idle() < STAYS {" => "if !PLANTED && batches.idle() < STAYS {";

    "the mode stays while a commit is under way", "space/pins/claims.rs", MEETINGS,
    "if slot.claim(stripe).is_multiple_of(CLAIMS) {" => "if slot.claim(stripe).is_multiple_of(if PLANTED { 1 } else { CLAIMS }) {";

    "an open replays", "index/replay.rs", CUTS,
    "    let left = unfinished(space.media())?;" => "    if PLANTED { return Ok(0); }\n    let left = unfinished(space.media())?;";

    "an open makes the words durable", "index/replay.rs",
    By::Crashes("batches::what_comes_after_a_kill"),
    "    if !clean && !read_only {" => "    if !PLANTED && !clean && !read_only {";

    "first and last look again", "space/commit/answer.rs", By::Schedules("an_end_beside_a_commit"),
    "look(&|| self.map().commits_begun() == begun)" => "look(&|| PLANTED || self.map().commits_begun() == begun)";

    "first and last wait for commits that apply", "space/commit/quiet.rs", By::Schedules("an_end_beside_a_commit"),
    "[begun, ended] if begun == ended => Ok(begun)," => "[begun, ended] if PLANTED || begun == ended => Ok(begun),";

    "V3 compares the counts", "space/commit/view.rs", MEETINGS,
    "maps.iter().all(|(map, begun)| map.commits_begun() == *begun)" => "maps.iter().all(|(map, begun)| PLANTED || map.commits_begun() == *begun)";

    "B6 sets enough aside", "space/commit/needs.rs", By::Crashes("full::"),
    "            self.keep_chunks(class, count)?;" => "            self.keep_chunks(class, if PLANTED { count - 1 } else { count })?;";
};
