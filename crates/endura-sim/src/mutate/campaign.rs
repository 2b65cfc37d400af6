//! A campaign in parts, and the table that says which part notices which fault.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, io};

use super::faults::{Faults, sound};
use super::name::{Area, Name, Names};
use super::part::Runner;
use super::table::{Table, lines};
use super::{Calls, Fate, Fates, Part, judge};
use crate::mutant::Mutant;
use crate::subject::{Finding, guarded};

/// What all faults together get when the table is not current and nothing is to be written.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is done with a table that is not current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It is said.
    Lenient,
    /// The check fails.
    Strict,
    /// It is brought up to date.
    Write,
}

impl Mode {
    fn chosen() -> Result<Self, Finding> {
        match env::var("ENDURA_MUTANTS").as_deref() {
            Err(_) | Ok("") => Ok(Self::Lenient),
            Ok("strict") => Ok(Self::Strict),
            Ok("write") => Ok(Self::Write),
            Ok(other) => Err(format!("ENDURA_MUTANTS is strict or write, not {other}")),
        }
    }
}

/// The parts and the table.
pub struct Campaign<P> {
    parts: Vec<P>,
    areas: Vec<Area>,
    table: PathBuf,
    root: PathBuf,
}

/// Whether a variable of the environment chooses this name.
fn is_chosen(variable: &str, name: &str) -> bool {
    let wanted = env::var(variable).unwrap_or_default();
    wanted.split('|').any(|piece| name.contains(piece))
}

/// What the parts that were run without a fault have shown.
struct Seen<P> {
    made: Vec<(P, Calls)>,
    faults: Faults,
}

impl<P: Part> Seen<P> {
    fn name(&self, mutant: Mutant) -> &Name {
        &self.faults.names[&mutant]
    }
}

impl<P: Part> Campaign<P> {
    /// A campaign with the table `killers.txt` in the folder `tables` of the crate at `manifest`, two levels
    /// below the root of its workspace. Calls in the areas are faulted. `parts` are tried in their order:
    /// cheap ones first.
    pub fn new(manifest: &str, tables: &str, areas: &[Area], parts: Vec<P>) -> Self {
        let table = Path::new(manifest).join(tables).join("killers.txt");
        let root = Path::new(manifest).join("../..");
        Self { parts, areas: areas.to_vec(), table, root }
    }

    /// What these parts show; where they do not make all calls, and all parts are to be tried, with what
    /// samples of the others show.
    fn see(&self, parts: &[P], mode: Mode) -> Result<Seen<P>, Finding> {
        let names = Names::read(&self.root, &self.areas)?;
        let mut made = sound(parts, &self.areas)?;
        let mut faults = Faults::of(&made, &names, &self.areas);
        if faults.is_err() && mode == Mode::Write {
            let known: BTreeSet<String> = parts.iter().map(P::to_string).collect();
            let is_new = |part: &&P| part.is_sample() && !known.contains(&part.to_string());
            let others: Vec<P> = self.parts.iter().filter(is_new).copied().collect();
            made.extend(sound(&others, &self.areas)?);
            faults = Faults::of(&made, &names, &self.areas);
        }
        Ok(Seen { made, faults: faults? })
    }

    /// Each fault is noticed by the part that the table names, or by another one that is soon found, or
    /// a comment says why nothing can notice it. Prints all of them.
    ///
    /// # Errors
    ///
    /// What nothing notices, and whatever keeps from knowing that.
    pub fn check(&self) -> Result<(), Finding> {
        let (mode, mut table) = (Mode::chosen()?, Table::read(&self.table)?);
        let recorded: BTreeSet<&String> = table.rows.values().collect();
        let named = self.parts.iter().map(|&part| (part.to_string(), part));
        let by_name: BTreeMap<String, P> =
            named.filter(|(name, _)| recorded.contains(name)).collect();
        let seen = self.see(&by_name.values().copied().collect::<Vec<_>>(), mode)?;
        let faults = &seen.faults;
        let is_wanted = |name: &Name| is_chosen("ENDURA_MUTANT", &name.to_string());
        let (mut tried, mut open) = (Vec::new(), Vec::new());
        for (name, &mutant) in faults.by_name.iter().filter(|(name, _)| is_wanted(name)) {
            match (faults.excused.get(&mutant), table.rows.get(name)) {
                (Some(_), Some(by)) => {
                    return Err(format!("excused at its call and noticed by {by}: {name}"));
                }
                (Some(reason), None) => println!("excused   {name} ({reason})"),
                (None, Some(by)) if by_name.contains_key(by) => tried.push(mutant),
                (None, _) => open.push(mutant),
            }
        }
        let report = judge(&tried, 2, |mutant| {
            let part = by_name.get(table.rows.get(seen.name(mutant))?)?;
            self.noticed(&mut Runner::new(Some(mutant), false), *part)
        });
        println!("{report}");
        open.extend(report.survivors());
        let gone = |name: &&Name| is_wanted(name) && !faults.by_name.contains_key(*name);
        let gone: Vec<Name> = table.rows.keys().filter(gone).cloned().collect();
        if open.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let found = self.look_around(&open, &seen, &table, &gone, mode)?;
        let report = table_report(&table, &gone, &found, &seen);
        gone.iter().for_each(|name| _ = table.rows.remove(name));
        for (mutant, fate) in &found.fates {
            match fate {
                Fate::Killed { by, .. } => {
                    table.rows.insert(seen.name(*mutant).clone(), by.clone())
                }
                Fate::Survived => table.rows.remove(seen.name(*mutant)),
            };
        }
        self.conclude(mode, &table, report, found.survivors().next().is_none())
    }

    /// Says what has changed, or writes it.
    fn conclude(
        &self,
        mode: Mode,
        table: &Table,
        report: String,
        all_are_noticed: bool,
    ) -> Result<(), Finding> {
        let path = self.table.display();
        if mode == Mode::Write {
            table.write()?;
        }
        match (mode, all_are_noticed) {
            (Mode::Write, true) => {}
            (Mode::Lenient, true) => {
                // Past the capture of tests that pass.
                let text =
                    format!("{path} is not current; ENDURA_MUTANTS=write writes it:\n{report}");
                _ = io::stderr().write_all(text.as_bytes());
            }
            (Mode::Strict, true) => {
                return Err(format!(
                    "{path} is not current; ENDURA_MUTANTS=write writes it:\n{report}"
                ));
            }
            (_, false) => {
                return Err(format!(
                    "{path}: faults that nothing is known to notice. ENDURA_MUTANTS=write looks in all parts; \
                     if it finds none, a part is missing, the call is needless, or a comment at the call \
                     has to say why its loss cannot be noticed.\n{report}"
                ));
            }
        }
        Ok(())
    }

    fn noticed(&self, runner: &mut Runner<P>, part: P) -> Option<(String, Finding)> {
        guarded(|| runner.run(part)).err().map(|finding| (part.to_string(), finding))
    }

    /// Looks for faults in those parts of which it is known that they make the call, then in cheap ones; if
    /// the table is to be written, in all parts after that.
    fn look_around(
        &self,
        open: &[Mutant],
        seen: &Seen<P>,
        table: &Table,
        gone: &[Name],
        mode: Mode,
    ) -> Result<Fates, Finding> {
        let begin = Instant::now();
        let gone: BTreeSet<&Name> = gone.iter().collect();
        let mut report = judge(open, 2, |mutant| {
            let mut runner = Runner::new(Some(mutant), false);
            let others = self.parts.iter().copied().filter(|part| part.may_notice(mutant));
            nearest(mutant, seen, table, &gone)
                .into_iter()
                .chain(others)
                .take_while(|_| begin.elapsed() < PATIENCE)
                .find_map(|part| self.noticed(&mut runner, part))
        });
        let left: Vec<Mutant> = report.survivors().collect();
        if mode == Mode::Write && !left.is_empty() {
            let samples: Vec<P> =
                self.parts.iter().copied().filter(|part| part.is_sample()).collect();
            let made = by_kind(&sound(&samples, &self.areas)?);
            let found = judge(&left, 2, |mutant| self.look_for(mutant, None, &self.parts, &made));
            report.fates.retain(|(_, fate)| *fate != Fate::Survived);
            report.fates.extend(found.fates);
        }
        self.confirm(&report, seen)?;
        Ok(report)
    }

    /// Parts that notice a fault must not find one where none is.
    fn confirm(&self, report: &Fates, seen: &Seen<P>) -> Result<(), Finding> {
        let known: BTreeSet<String> = seen.made.iter().map(|(part, _)| part.to_string()).collect();
        let by = report.fates.iter().filter_map(|(_, fate)| match fate {
            Fate::Killed { by, .. } => Some(by),
            Fate::Survived => None,
        });
        let new: BTreeSet<&String> = by.filter(|by| !known.contains(*by)).collect();
        let is_new = |part: &&P| new.contains(&part.to_string());
        let parts: Vec<P> = self.parts.iter().filter(is_new).copied().collect();
        sound(&parts, &self.areas).map(drop)
    }

    /// Looks for each fault in all parts that may notice it, and prints the table, or writes it.
    ///
    /// # Errors
    ///
    /// Which faults nothing notices, or are excused and noticed after all.
    pub fn look_for_all(&self) -> Result<(), Finding> {
        let is_meant = |part: &&P| is_chosen("ENDURA_PART", &part.to_string());
        let parts: Vec<P> = self.parts.iter().filter(is_meant).copied().collect();
        let samples: Vec<P> = parts.iter().copied().filter(|part| part.is_sample()).collect();
        let (mode, mut table) = (Mode::chosen()?, Table::read(&self.table)?);
        let seen = self.see(&samples, mode)?;
        let made = by_kind(&seen.made);
        let is_wanted = |name: &Name| is_chosen("ENDURA_MUTANT", &name.to_string());
        let wanted = seen.faults.by_name.iter().filter(|(name, _)| is_wanted(name));
        let mutants: Vec<Mutant> = wanted.map(|(_, &mutant)| mutant).collect();
        println!("{} mutants, {} parts", mutants.len(), parts.len());
        let report = judge(&mutants, 2, |mutant| {
            let (name, excused) = (seen.name(mutant), seen.faults.excused.get(&mutant));
            let before = table.rows.get(name);
            let found = self.look_for(mutant, before, &parts, &made);
            let by = found.as_ref().map_or("NOBODY", |(by, _)| by);
            println!("{name} | {by}{}", excused.map_or("", |_| " (excused)"));
            found
        });
        self.confirm(&report, &seen)?;
        table.rows.retain(|name, _| !is_wanted(name));
        let mut wrong = Vec::new();
        for (mutant, fate) in &report.fates {
            let name = seen.name(*mutant);
            match (fate, seen.faults.excused.contains_key(mutant)) {
                (Fate::Killed { .. }, true) => wrong.push(format!("excused and noticed: {name}")),
                (Fate::Killed { by, .. }, false) => {
                    table.rows.insert(name.clone(), by.clone());
                }
                (Fate::Survived, false) => wrong.push(format!("nobody notices: {name}")),
                (Fate::Survived, true) => {}
            }
        }
        println!("{report}---\n{}---", lines(&table.rows));
        if mode == Mode::Write {
            table.write()?;
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    fn look_for(
        &self,
        mutant: Mutant,
        before: Option<&String>,
        parts: &[P],
        made: &HashMap<String, Calls>,
    ) -> Option<(String, Finding)> {
        let given = env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
        let (begin, most) = (Instant::now(), Duration::from_secs(given.unwrap_or(600)));
        let makes = |kind: &String| {
            made.get(kind).is_none_or(|calls| calls.made.contains_key(&mutant.call()))
        };
        let known = before.and_then(|by| parts.iter().find(|part| part.to_string() == *by));
        let (near, far): (Vec<&P>, Vec<&P>) = parts
            .iter()
            .filter(|part| part.may_notice(mutant) && makes(&part.kind()))
            .partition(|part| makes(&part.place()));
        let mut runner = Runner::new(Some(mutant), false);
        known
            .into_iter()
            .chain(near)
            .chain(far)
            .take_while(|_| begin.elapsed() < most)
            .find_map(|&part| self.noticed(&mut runner, part))
    }
}

/// What parts of each kind and each place call.
fn by_kind<P: Part>(made: &[(P, Calls)]) -> HashMap<String, Calls> {
    let mut all = HashMap::<String, Calls>::new();
    for (part, calls) in made {
        for name in BTreeSet::from([part.kind(), part.place()]) {
            all.entry(name).or_default().add(calls.clone());
        }
    }
    all
}

/// Parts that make the call, those first that notice something like it: a fault that is gone from the
/// table's function, another one of that function, one of the same kind in the folder.
fn nearest<P: Part>(
    mutant: Mutant,
    seen: &Seen<P>,
    table: &Table,
    gone: &BTreeSet<&Name>,
) -> Vec<P> {
    let name = seen.name(mutant);
    let likeness = |row: &Name| {
        (
            row.folder != name.folder,
            row.own_function() != name.own_function(),
            !gone.contains(row),
            row.fault != name.fault,
            row.call != name.call,
        )
    };
    let mut best = BTreeMap::new();
    for (row, by) in &table.rows {
        let like = likeness(row);
        let entry = best.entry(by.as_str()).or_insert(like);
        *entry = like.min(*entry);
    }
    let makes = |calls: &Calls| calls.made.contains_key(&mutant.call());
    let makers = seen.made.iter().filter(|(part, calls)| part.may_notice(mutant) && makes(calls));
    let mut parts: Vec<P> = makers.map(|(part, _)| *part).collect();
    let of_none = (true, true, true, true, true);
    parts.sort_by_key(|part| best.get(part.to_string().as_str()).copied().unwrap_or(of_none));
    parts
}

/// Rows that go and rows that come, and what nothing notices.
fn table_report<P: Part>(table: &Table, gone: &[Name], found: &Fates, seen: &Seen<P>) -> String {
    let mut text = String::new();
    for name in gone {
        _ = writeln!(text, "- {name} | {}", table.rows[name]);
    }
    let by_name = found.fates.iter().map(|(mutant, fate)| (seen.name(*mutant), fate));
    for (name, fate) in by_name.collect::<BTreeMap<_, _>>() {
        if let Some(by) = table.rows.get(name) {
            _ = writeln!(text, "- {name} | {by}");
        }
        if let Fate::Killed { by, .. } = fate {
            _ = writeln!(text, "+ {name} | {by}");
        }
    }
    for mutant in found.survivors() {
        _ = writeln!(text, "nothing notices {mutant}: {}", seen.name(mutant));
    }
    text
}
