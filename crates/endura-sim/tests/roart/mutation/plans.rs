//! What the parts of the campaign do.

use endura_sim::choose::Random;
use endura_sim::explore::Next;
use endura_sim::schedule::{Cut, Place, Strategy, Task, Way};
use endura_sim::subjects::{ByteOp, MapOp};

use crate::{put, remove};

/// What is durable beforehand, and what is crashed.
pub(crate) struct Plan {
    pub(crate) before: Vec<ByteOp>,
    pub(crate) ops: Vec<ByteOp>,
}

fn plan(before: &[&str], ops: Vec<ByteOp>) -> Plan {
    Plan { before: before.iter().map(|key| put(key, 3)).collect(), ops }
}

/// Keys `w!`, `w"` and so on, each the child of one node.
fn wide(keys: std::ops::Range<u8>) -> Vec<String> {
    keys.map(|i| format!("w{}", char::from(b'!' + i))).collect()
}

fn puts(keys: &[String]) -> Vec<ByteOp> {
    keys.iter().map(|key| put(key, 3)).collect()
}

fn removes(keys: &[String]) -> Vec<ByteOp> {
    keys.iter().map(|key| remove(key)).collect()
}

/// Plans of one thread.
pub(crate) fn plans() -> Vec<Plan> {
    let deep = ["0123456789a1", "0123456789a2", "0123456789a3", "0123456789a4", "0123456789a5"];
    vec![
        plan(&[], vec![put("a1", 1), put("a1", 2), put("a2", 3), remove("a1")]),
        plan(&["a1", "a2", "a3"], vec![put("a4", 1), put("a2", 77), remove("a1")]),
        plan(&["a1", "a2"], vec![remove("a1"), remove("a2"), put("a1", 7), put("a2", 7)]),
        plan(&["a1", "a2", "a3", "a4"], vec![put("a5", 1), put("a", 4), remove("a")]),
        plan(&["n1", "n2", "n3", "n4", "n"], vec![put("n5", 1), put("n", 2), remove("n5")]),
        plan(&["p", "pq1", "pq2", "pq3", "pq4", "pq5"], vec![remove("p"), remove("pq1")]),
        plan(&deep, vec![put("0123x", 1), put("0123456789a", 2), remove("0123x")]),
        plan(&["a1x", "a2", "b"], vec![remove("a1x"), put("b1", 3)]),
        Plan {
            before: puts(&wide(0..16)),
            ops: [puts(&wide(16..18)), removes(&wide(3..5))].concat(),
        },
        Plan {
            before: puts(&wide(0..20)),
            ops: [removes(&wide(0..9)), puts(&wide(30..31))].concat(),
        },
        Plan {
            before: puts(&wide(0..48)),
            ops: [puts(&wide(48..50)), removes(&wide(0..1))].concat(),
        },
        plan(&deep, deep.iter().map(|key| remove(key)).collect()),
    ]
}

/// An operation that a kill ends, and what the next processes do.
pub(crate) fn kills() -> Vec<(Vec<ByteOp>, ByteOp, Vec<Next<ByteOp>>)> {
    let mut all = Vec::new();
    let keys = |keys: &[&str]| -> Vec<ByteOp> { keys.iter().map(|key| put(key, 3)).collect() };
    let next = |looks, ops: &[ByteOp]| Next { looks, ops: ops.to_vec() };
    for (before, op, key) in [
        (keys(&["a1", "a2", "a3"]), put("a4", 1), "a4"),
        (keys(&["a1", "a2", "a3"]), put("a1", 2), "a1"),
        (keys(&["a1", "a2", "a3"]), remove("a2"), "a2"),
        (keys(&["a1", "b"]), remove("a1"), "a1"),
        (keys(&["a1", "a2", "a3", "a4"]), put("a5", 1), "a5"),
        (keys(&["n1", "n2", "n3", "n4", "n"]), put("n5", 1), "n5"),
        (keys(&["n1", "n2", "n3", "n4", "n"]), remove("n"), "n"),
        (keys(&["ab1", "ab2", "ab3", "ab4", "ab5"]), put("aa", 1), "aa"),
    ] {
        for then in [
            next(true, &[]),
            next(false, &[put(key, 77)]),
            next(false, &[remove(key)]),
            next(false, &[remove("a1"), put("n1", 8), put("a", 9)]),
        ] {
            all.push((before.clone(), op.clone(), vec![then]));
        }
    }
    let deep = keys(&["0123456789a1", "0123456789a2"]);
    let [one, other] = [remove("0123456789a1"), remove("0123456789a2")];
    // Both are killed before they tidy up: nothing is below the node that could tell its prefix.
    let barren = [next(false, &[other]), next(false, &[put("0123x", 1)])];
    all.push((deep, one, barren.into()));
    all
}

/// What the next process collects, and uses again.
pub(crate) fn collected_kills() -> Vec<(Vec<ByteOp>, ByteOp, Next<ByteOp>)> {
    let others: Vec<ByteOp> = (0..24)
        .map(|i| put(&format!("{}", char::from(b'e' + i % 12)), 3 + u64::from(i / 12)))
        .collect();
    let of = |before: &[&str], op| {
        let before = before.iter().map(|key| put(key, 3)).collect();
        (before, op, Next { looks: false, ops: others.clone() })
    };
    vec![
        of(&["a1", "a2", "a3", "b"], remove("a2")),
        of(&["a", "b"], remove("a")),
        of(&["a1", "a1x", "a2", "a3", "a4", "a5"], remove("a1")),
        of(&["a1", "a2", "a3", "a4", "a5", "a6"], remove("a1")),
    ]
}

fn made_of(keys: &[u64]) -> Vec<MapOp> {
    keys.iter().map(|&key| MapOp::Put(key, key)).collect()
}

/// Who stands somewhere, and who comes by. The numbers stand for `SPELLINGS`.
pub(crate) fn duels() -> Vec<(Vec<MapOp>, Vec<Task>, Vec<Task>)> {
    let (up, down) = (Task::Scan(Way::Up, 0), Task::Scan(Way::Down, u64::MAX));
    let many = Task::GetMany([40, 50, 110]);
    let mut all = Vec::new();
    let mut add = |before: &[u64], stands: &[Task], comes: &[&[Task]]| {
        let duel = |comes: &&[Task]| (made_of(before), stands.to_vec(), comes.to_vec());
        all.extend(comes.iter().map(duel));
    };
    // In a node, and in an array.
    let readers: &[&[Task]] = &[&[Task::Get(110), Task::Get(140)], &[many], &[up], &[down]];
    add(&[140], &[Task::Put(110, 901)], readers);
    add(&[110], &[Task::Replace(110, 902)], readers);
    add(&[110, 140], &[Task::Remove(110)], readers);
    let readers: &[&[Task]] = &[
        &[Task::Get(40), Task::Get(50)],
        &[many],
        &[up],
        &[down],
        &[Task::PutNew(50, 7), Task::Get(40)],
        &[Task::Remove(40)],
        &[Task::Put(60, 8), Task::Get(50)],
    ];
    add(&[30, 40], &[Task::Put(50, 903)], readers);
    add(&[30, 40], &[Task::Replace(40, 904)], readers);
    add(&[30, 40], &[Task::Remove(40)], readers);
    // Where the keys end at nodes.
    let readers: &[&[Task]] =
        &[&[Task::Get(20)], &[up], &[down], &[Task::PutNew(20, 7)], &[Task::Remove(20)]];
    add(&[30, 40, 50, 60, 80, 110], &[Task::Put(20, 905)], readers);
    add(&[20, 30, 40, 50, 80, 110], &[Task::Replace(20, 906)], readers);
    add(&[20, 30, 40, 50, 80, 110], &[Task::Remove(20)], readers);
    // New arrays and nodes, and such as go.
    let others: &[&[Task]] = &[
        &[Task::Remove(30)],
        &[Task::Get(30), Task::Put(50, 1)],
        &[up, Task::Scribble],
        &[Task::Remove(30), Task::Scribble, Task::Put(50, 2)],
        &[Task::Put(60, 3), Task::Put(70, 4)],
    ];
    add(&[30], &[Task::Put(40, 907)], others);
    add(&[30, 40, 50, 60], &[Task::Put(70, 908), Task::Get(30)], others);
    add(&[30, 40, 80], &[Task::Remove(80), Task::Get(40)], others);
    add(
        &[30, 40, 80, 90],
        &[Task::Put(100, 909)],
        &[&[Task::Get(80), Task::Remove(90)], &[up], &[Task::Put(110, 1)]],
    );
    add(
        &[30, 40],
        &[Task::Remove(30), Task::Remove(40)],
        &[&[Task::Put(50, 1)], &[down], &[Task::Put(30, 5)]],
    );
    // A scan that leaves the order of an array, which a write has made ready, and into which a key comes.
    let others: &[&[Task]] = &[&[Task::Put(60, 1)], &[Task::Put(60, 1), up]];
    add(&[30, 40], &[Task::Put(50, 910), up, down], others);
    all
}

/// What makes a tree, what is cut short in it, who stands somewhere, and who comes by.
pub(crate) type Barren = (Vec<MapOp>, Cut, Vec<Task>, Vec<Task>);

/// Trees in which one node does not remember its whole prefix, and holds little: what was removed before a
/// kill, what is removed now, and who comes by.
pub(crate) fn barren() -> Vec<Barren> {
    let left = [150, 160, 170, 180, 190, 200];
    let before = |gone: &[u64]| {
        let removes = gone.iter().map(|&key| MapOp::Remove(key));
        made_of(&left).into_iter().chain(removes).collect::<Vec<_>>()
    };
    // The array is empty, and was not tidied; then the key that ends at the node goes. Or in turn. Or that
    // key has gone, and then a record that is by itself under its byte.
    let mut all = Vec::new();
    for (gone, first, last) in [
        ([190, 200, 160, 170], 180, 150),
        ([190, 200, 160, 170], 150, 180),
        ([200, 160, 170, 180], 150, 190),
    ] {
        for comes in [
            vec![Task::Scan(Way::Up, 150)],
            vec![Task::Scan(Way::Down, 170)],
            vec![Task::Put(210, 7), Task::Get(last)],
        ] {
            // Its second search: it would tidy now.
            let cut = Cut { op: MapOp::Remove(first), step: "find.step", nth: 3 };
            all.push((before(&gone), cut, vec![Task::Remove(last)], comes));
        }
    }
    all
}

/// A number below 2 to the `most`, a small one rather than a large one.
fn few(random: &mut Random, most: u64) -> u64 {
    let below = 1 << random.below(most);
    random.below(below)
}

/// Who goes on when: most of all, thread 1 is in the middle of something when thread 0 comes to what is
/// at fault, and stops soon after it.
pub(crate) fn strategy(seed: u64, steps: &[&'static str]) -> Strategy {
    let mut random = Random::new(seed ^ 0xD0E1);
    let nth = 1 + few(&mut random, 2) as usize;
    let comes = match random.below(2) {
        0 => Place { step: random.pick::<&str>(steps), nth, moves: few(&mut random, 4) },
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
