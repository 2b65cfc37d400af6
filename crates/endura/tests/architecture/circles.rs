//! No circles: in every folder, each file and each subfolder uses only what lies below it.
//!
//! A use between two files counts where their paths part: between two files of one folder, or
//! between the subfolders (or the file and the subfolder) that hold them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::names::Edge;

/// The uses between the entries of one folder, each with a use that shows it.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a Edge>>;

/// Entries of one folder that use each other in a circle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Knot {
    pub(crate) folder: String,
    pub(crate) entries: BTreeSet<String>,
    /// The shortest circle, for people.
    pub(crate) shortest: String,
}

/// Every knot of a crate, by folder.
pub(crate) fn knots(edges: &BTreeSet<Edge>) -> Vec<Knot> {
    let mut folders: BTreeMap<String, Uses<'_>> = BTreeMap::new();
    for edge in edges {
        let (folder, from, to) = parting(&edge.from, &edge.to);
        folders.entry(folder).or_default().entry(from).or_default().entry(to).or_insert(edge);
    }
    let mut found = Vec::new();
    for (folder, uses) in &folders {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for &entry in uses.keys() {
            let knot = knot_of(uses, entry);
            if knot.is_empty() || !seen.insert(entry) {
                continue;
            }
            seen.extend(&knot);
            let circles = knot.iter().filter_map(|start| circle(uses, start));
            let shortest = circles.min_by_key(Vec::len).unwrap_or_default();
            found.push(Knot {
                folder: folder.clone(),
                entries: knot.iter().map(|&entry| entry.to_owned()).collect(),
                shortest: told(&shortest),
            });
        }
    }
    found
}

/// The folder where two files' paths part, and the entry of each in it.
fn parting<'a>(from: &'a str, to: &'a str) -> (String, &'a str, &'a str) {
    let (mut folder, mut from, mut to) = (String::new(), from, to);
    while let (Some((a, inner)), Some((b, other))) = (from.split_once('/'), to.split_once('/')) {
        if a != b {
            break;
        }
        folder = format!("{folder}{a}/");
        (from, to) = (inner, other);
    }
    let first = |path: &'a str| path.split('/').next().unwrap_or(path);
    (folder, first(from), first(to))
}

/// What `entry` reaches that reaches it again, itself included; empty where there is none.
fn knot_of<'a>(uses: &Uses<'a>, entry: &'a str) -> BTreeSet<&'a str> {
    let reach = |start: &'a str| {
        let (mut seen, mut queue) = (BTreeSet::new(), vec![start]);
        while let Some(at) = queue.pop() {
            for &next in uses.get(at).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(next) {
                    queue.push(next);
                }
            }
        }
        seen
    };
    reach(entry).into_iter().filter(|&other| reach(other).contains(entry)).collect()
}

/// The shortest way from `start` to itself.
fn circle<'a>(uses: &Uses<'a>, start: &'a str) -> Option<Vec<&'a Edge>> {
    let mut came: BTreeMap<&str, (&str, &Edge)> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for (&next, &edge) in uses.get(at).into_iter().flatten() {
            if came.contains_key(next) {
                continue;
            }
            came.insert(next, (at, edge));
            if next == start {
                let (mut way, mut here) = (Vec::new(), start);
                while let Some(&(before, edge)) = came.get(here) {
                    way.push(edge);
                    here = before;
                    if here == start {
                        break;
                    }
                }
                way.reverse();
                return Some(way);
            }
            queue.push_back(next);
        }
    }
    None
}

fn told(circle: &[&Edge]) -> String {
    let steps =
        circle.iter().map(|edge| format!("{} uses {} of {}", edge.from, edge.name, edge.to));
    steps.collect::<Vec<_>>().join(", ")
}
