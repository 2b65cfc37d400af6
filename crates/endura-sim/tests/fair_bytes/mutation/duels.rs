//! Two threads on tiny trees: one is in the middle of a change when the other one comes by.

use endura_sim::choose::Random;
use endura_sim::schedule::{Cut, Place, Strategy, Task, Way};
use endura_sim::subjects::MapOp;

use Task::{Count, End, Get, GetMany, Pop, Replace, Scan, Scribble};

use super::parts::Of;
use super::plans::{left, puts, removes};

/// Who meets whom, and where.
#[derive(Clone)]
pub(crate) struct Duel {
    pub(crate) of: Of,
    pub(crate) before: Vec<MapOp>,
    pub(crate) cut: Option<Cut>,
    pub(crate) stops: Vec<Task>,
    pub(crate) comes: Vec<Task>,
}

pub(crate) const UP: Task = Scan(Way::Up, 0);
pub(crate) const DOWN: Task = Scan(Way::Down, u64::MAX);
pub(crate) const FIRST: Task = End(Way::Up);
pub(crate) const LAST: Task = End(Way::Down);

fn put(key: u64, value: u64) -> Task {
    Task::Put(key, value)
}

fn remove(key: u64) -> Task {
    Task::Remove(key)
}

/// Each of `comes` against `stops`.
fn against(
    of: Of,
    (before, cut): (Vec<MapOp>, Option<Cut>),
    stops: &[Task],
    comes: &[&[Task]],
) -> Vec<Duel> {
    let duel = |comes: &&[Task]| {
        let (before, stops, comes) = (before.clone(), stops.to_vec(), comes.to_vec());
        Duel { of, before, cut, stops, comes }
    };
    comes.iter().map(duel).collect()
}

fn in_a_leaf() -> Vec<Duel> {
    let mut all = Vec::new();
    for of in [Of::Ties, Of::Wide] {
        let mut add = |before, stops: &[Task]| {
            let comes: &[&[Task]] = &[
                &[Get(10), Get(20)],
                &[Get(30)],
                &[UP],
                &[DOWN],
                &[Replace(20, 2)],
                &[FIRST],
                &[LAST],
            ];
            all.extend(against(of, (before, None), stops, comes));
        };
        add(puts([1, 2, 3]), &[put(20, 901)]);
        add(puts([1, 3]), &[put(20, 902)]);
        add(puts([2, 3]), &[put(10, 903), remove(20)]);
        add(puts([1, 2, 3]), &[remove(10)]);
        add(puts([1, 2, 3]), &[remove(20), put(15, 904), put(25, 905)]);
    }
    let comes: &[&[Task]] = &[&[Get(50)], &[Get(60), Get(10)], &[UP], &[DOWN]];
    all.extend(against(Of::Wide, (puts(1..=6), None), &[put(5, 906)], comes));
    all.extend(against(Of::Wide, (puts(1..=6), None), &[remove(10)], comes));
    all
}

fn in_splits() -> Vec<Duel> {
    let mut all = Vec::new();
    for of in [Of::Ties, Of::Words] {
        let comes: &[&[Task]] = &[
            &[Get(40), Get(25)],
            &[GetMany([10, 30, 40])],
            &[UP],
            &[DOWN],
            &[Replace(40, 2)],
            &[put(45, 3), Get(40)],
            &[remove(30), Scribble, Get(40)],
            &[Pop(Way::Up)],
            &[Pop(Way::Down)],
        ];
        all.extend(against(of, (puts(1..=4), None), &[put(25, 907), Scribble], comes));
        all.extend(against(of, (puts(1..=4), None), &[put(50, 908), put(60, 909)], comes));
        all.extend(against(of, (puts(1..=4), None), &[put(5, 910)], comes));
        let comes: &[&[Task]] =
            &[&[put(145, 4), Get(140)], &[put(5, 5), Get(10)], &[UP], &[remove(10), remove(20)]];
        all.extend(against(of, (puts(1..=14), None), &[put(150, 911), put(160, 912)], comes));
    }
    all
}

fn in_merges() -> Vec<Duel> {
    let mut all = Vec::new();
    for of in [Of::Ties, Of::Words] {
        let comes: &[&[Task]] = &[
            &[Get(60), Get(10)],
            &[UP],
            &[DOWN],
            &[put(45, 6), put(46, 7), put(47, 8), put(61, 9)],
            &[remove(60), remove(70), remove(80)],
            &[FIRST],
            &[Scribble, put(65, 1), Scribble],
        ];
        let mut add = |stops: &[Task]| {
            all.extend(against(of, (left(12, 2..5), None), stops, comes));
        };
        add(&[remove(50), remove(10), Scribble]);
        add(&[remove(10), remove(60), remove(70), Scribble]);
    }
    all
}

/// What an earlier session has left: a shift or a split that was interrupted, a signpost.
fn after_cuts() -> Vec<Duel> {
    let mut all = Vec::new();
    let mut add = |of, before, (op, step), stops: &[Task], comes: &[&[Task]]| {
        all.extend(against(of, (before, Some(Cut { op, step, nth: 1 })), stops, comes));
    };
    for (before, cut) in [
        (puts([1, 3, 4]), (MapOp::Put(20, 1), "fast_insert.shift")),
        (puts([1, 2, 3]), (MapOp::Remove(10), "fast_delete.commit")),
    ] {
        for of in [Of::Ties, Of::Wide] {
            let comes: &[&[Task]] = &[&[Get(30)], &[UP], &[DOWN], &[Replace(30, 2)]];
            for stops in [put(30, 913), remove(30), put(35, 914), Count] {
                add(of, before.clone(), cut, &[stops], comes);
            }
        }
    }
    for step in ["split.S3.sib", "split.S3.high"] {
        let cut = (MapOp::Put(50, 1), step);
        let comes: &[&[Task]] = &[&[Scribble, put(20, 2)], &[Get(40), UP], &[put(41, 3)]];
        add(Of::Words, puts(1..=4), cut, &[remove(20)], comes);
        add(Of::Words, puts(1..=4), cut, &[put(45, 5), Scribble], comes);
    }
    for step in ["replace.R2", "replace.R2.durable", "settle.R3", "settle.R4"] {
        for (before, op) in [
            (puts(1..=8), MapOp::Put(65, 1)),
            ([puts(1..=12), removes(10..13)].concat(), MapOp::Remove(90)),
        ] {
            let comes: &[&[Task]] =
                &[&[Scribble, put(66, 2)], &[Get(60), UP], &[remove(70), put(67, 3)], &[DOWN]];
            add(Of::Ties, before, (op, step), &[put(68, 4), remove(80), Scribble], comes);
        }
    }
    all
}

/// Two changes of a leaf, one after the other; a leaf that is replaced behind another one.
fn in_rows() -> Vec<Duel> {
    let mut all = Vec::new();
    for of in [Of::Ties, Of::Wide] {
        let comes: &[&[Task]] = &[&[Get(30)], &[Get(20)], &[UP]];
        all.extend(against(of, (puts([2, 3]), None), &[put(10, 915), put(20, 916)], comes));
        all.extend(against(of, (puts(1..=3), None), &[remove(10), put(20, 917)], comes));
    }
    let comes: &[&[Task]] = &[&[UP], &[DOWN], &[Get(60), Get(70)]];
    all.extend(against(Of::Ties, (puts(1..=8), None), &[put(65, 918)], comes));
    all.extend(against(Of::Ties, (puts(1..=12), None), &[put(85, 919)], comes));
    // Entries move to the left, and then the leaf is divided: a reader that learns of that alone looks to the right.
    for of in [Of::Ties, Of::Words] {
        let comes: &[&[Task]] = &[&[Get(20)], &[Get(30)], &[UP]];
        let stops = [remove(10), put(45, 920), put(46, 921)];
        all.extend(against(of, (puts(1..=4), None), &stops, comes));
    }
    all
}

/// All of them.
pub(crate) fn duels() -> Vec<Duel> {
    [in_a_leaf(), in_splits(), in_merges(), after_cuts(), in_rows()].concat()
}

/// Thread 0 stops at the call at which the mutant is at fault, or soon after it, while thread 1 runs to its end. With
/// `begins`, thread 1 has stood on its way to a leaf meanwhile, so that it may know less than it sees.
pub(crate) fn at_the_fault(begins: bool) -> Vec<Strategy> {
    let fault = |nth, moves| (0, Place { step: Place::FAULT, nth, moves });
    let faults =
        |most: u64| [1, 2].into_iter().flat_map(move |nth| (0..most).map(move |by| (nth, by)));
    if !begins {
        return faults(6).map(|(nth, by)| Strategy::Relay(vec![fault(nth, by)])).collect();
    }
    let mut all = Vec::new();
    for (step, nth) in [("read.leaf", 1), ("read.inner", 1), ("read.leaf", 2)] {
        for moves in 0..3 {
            let stands = (1, Place { step, nth, moves });
            all.extend(faults(3).map(|(nth, by)| Strategy::Relay(vec![stands, fault(nth, by)])));
        }
    }
    all
}

/// A number below 2 to the `most`, a small one rather than a large one.
fn few(random: &mut Random, most: u64) -> u64 {
    let below = 1 << random.below(most);
    random.below(below)
}

/// Who goes on when: most of all, thread 1 is in the middle of something when thread 0 comes to what is at fault, and stops
/// soon after it.
pub(crate) fn strategy(seed: u64, steps: &[&'static str]) -> Strategy {
    let mut random = Random::new(seed ^ 0xD0E1);
    let nth = 1 + few(&mut random, 2) as usize;
    let comes = match random.below(3) {
        0 => {
            let step = random.pick::<&str>(&["read.inner", "read.leaf", "lock.taken", "post.P1"]);
            Place { step, nth, moves: few(&mut random, 4) }
        }
        1 => Place { step: random.pick::<&str>(steps), nth, moves: few(&mut random, 4) },
        _ => Place { step: Place::START, nth: 1, moves: few(&mut random, 8) },
    };
    let nth = 1 + few(&mut random, 3) as usize;
    let moves = few(&mut random, 6);
    match random.below(4) {
        0 | 1 => Strategy::Meet { comes, stops: Place { step: Place::FAULT, nth, moves } },
        2 => Strategy::StopAt { thread: 0, step: "", nth: 1 + random.below(250) as usize },
        _ => {
            Strategy::Meet { comes, stops: Place { step: random.pick::<&str>(steps), nth, moves } }
        }
    }
}
