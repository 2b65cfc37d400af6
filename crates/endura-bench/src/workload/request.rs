//! What one thread will do, drawn before the clock starts.

use super::choice::{Choice, Sampler};
use super::definition::{Action, BATCH, Order, ScanLength, Workload};
use super::population::{ABSENT, Population};

/// One action and its key. Eight bytes: a thread reads them one after the other as it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Where in its stripe the key lies: from position 0 if the stripes keep still, else a distance
    /// from the beginning, or from the end with [`Choice::Latest`]. Of an absent key, its number.
    pub(crate) place: u32,
    /// Entries that a scan reads.
    pub(crate) length: u16,
    pub(crate) stripe: u8,
    pub(crate) action: Action,
}

/// What one thread will do.
pub(crate) struct Requests {
    pub(crate) requests: Vec<Request>,
    /// How many actions that is: a batch of lookups has a request for each key.
    pub(crate) actions: usize,
}

/// Draws `count` requests of the thread `thread`.
pub(crate) fn draw(
    workload: &Workload,
    population: &Population,
    thread: usize,
    count: usize,
    rng: &mut fastrand::Rng,
) -> Requests {
    let sampler = workload.choice.sampler(population.len());
    let deck = deck(workload);
    let (mut requests, mut actions) = (Vec::with_capacity(count), 0);
    while requests.len() < count {
        let action = match workload.order {
            Order::Drawn => deck[rng.usize(..deck.len())],
            Order::InTurn => deck[actions % deck.len()],
        };
        actions += 1;
        let width = if action == Action::ReadMany { BATCH.min(count - requests.len()) } else { 1 };
        for _ in 0..width {
            requests.push(request(workload, population, thread, action, &sampler, rng));
        }
    }
    Requests { requests, actions }
}

fn request(
    workload: &Workload,
    population: &Population,
    thread: usize,
    action: Action,
    sampler: &Sampler,
    rng: &mut fastrand::Rng,
) -> Request {
    let length = match workload.scan {
        ScanLength::Fixed(length) => length,
        ScanLength::UpTo(most) => rng.u16(1..=most),
    };
    let threads = population.threads() as u64;
    let (stripe, place) = match action {
        Action::Insert | Action::Remove => (thread as u64, 0),
        Action::Miss => (0, ABSENT + rng.u64(..1 << 30)),
        _ => {
            let rank = sampler.draw(rng);
            let stripe = match workload.choice {
                // Its own latest key is what a thread knows best.
                Choice::Latest(_) => (thread as u64 + rank) % threads,
                _ => rank % threads,
            };
            (stripe, place(workload, population, stripe, rank / threads))
        }
    };
    Request { place: place as u32, length, stripe: stripe as u8, action }
}

fn place(workload: &Workload, population: &Population, stripe: u64, rank: u64) -> u64 {
    let window = population.window(stripe as usize);
    let length = (window.end - window.start).max(1);
    // Stripes differ in length by a few keys, after removes by more.
    let distance = rank % length;
    if moves(workload) { distance } else { window.start + distance }
}

/// Whether a place is a distance, to be seen from where the stripe begins or ends by then.
pub(crate) fn moves(workload: &Workload) -> bool {
    matches!(workload.choice, Choice::Latest(_)) || workload.has(Action::Remove)
}

/// Each action as often as its weight says; to draw from, divided by what the weights have in common.
fn deck(workload: &Workload) -> Vec<Action> {
    let common = match workload.order {
        Order::Drawn => workload.mix.iter().fold(0, |common, &(_, weight)| gcd(common, weight)),
        Order::InTurn => 1,
    }
    .max(1);
    let cards = workload.mix.iter();
    cards.flat_map(|&(action, weight)| (0..weight / common).map(move |_| action)).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(threads: usize, keys: u64) -> Population {
        let population = Population::new(threads);
        (0..keys).for_each(|i| population.inserted(i as usize % threads, i / threads as u64));
        population
    }

    fn draws(workload: &Workload, population: &Population, count: usize) -> Vec<Request> {
        draw(workload, population, 1, count, &mut fastrand::Rng::with_seed(5)).requests
    }

    #[test]
    fn a_step_is_eight_bytes() {
        assert_eq!(size_of::<Request>(), 8);
    }

    #[test]
    fn actions_come_as_often_as_their_weights_say() {
        let mix = [(Action::Read, 50), (Action::Update, 30), (Action::Scan, 20)];
        let workload = Workload::new("", &mix).with_scan(ScanLength::UpTo(7));
        let requests = draws(&workload, &population(2, 1000), 100_000);
        for (action, percent) in mix {
            let share =
                requests.iter().filter(|request| request.action == action).count() as f64 / 1000.0;
            assert!((share - f64::from(percent)).abs() < 1.0, "{action:?}: {share} %");
        }
        assert!((1..=7).all(|length| requests.iter().any(|request| request.length == length)));
        assert!(requests.iter().all(|request| (1..=7).contains(&request.length)));
    }

    #[test]
    fn actions_in_turn_repeat() {
        let mut workload = Workload::new("", &[(Action::Insert, 4), (Action::Read, 2)]);
        workload.order = Order::InTurn;
        let requests = draws(&workload, &population(2, 100), 12);
        let inserts: Vec<bool> =
            requests.iter().map(|request| request.action == Action::Insert).collect();
        assert_eq!(inserts, [true, true, true, true, false, false].repeat(2));
    }

    #[test]
    fn batches_have_a_step_for_each_key() {
        let (workload, population) = (Workload::only("", Action::ReadMany), population(2, 100));
        let mut rng = fastrand::Rng::with_seed(5);
        let Requests { requests, actions } = draw(&workload, &population, 0, 40, &mut rng);
        assert_eq!((requests.len(), actions), (40, 3));
    }

    /// The latest key is the most frequent one, with the frequency that the law gives it.
    #[test]
    fn latest_prefers_the_end_of_the_threads_own_stripe() {
        let workload = Workload::only("", Action::Read).with_choice(Choice::Latest(0.99));
        let requests = draws(&workload, &population(4, 1000), 100_000);
        let newest =
            requests.iter().filter(|request| (request.stripe, request.place) == (1, 0)).count();
        // 1 / (1 + 2^-0.99 + ... + 1000^-0.99) is 0.1294.
        assert!((newest as f64 / 100_000.0 - 0.1294).abs() < 0.005, "{newest}");
        let next =
            requests.iter().filter(|request| (request.stripe, request.place) == (2, 0)).count();
        assert!((next as f64 / newest as f64 - 0.5_f64.powf(0.99)).abs() < 0.03, "{next}");
    }

    #[test]
    fn places_lie_in_their_stripes() {
        let population = population(3, 100);
        for workload in [
            Workload::only("", Action::Read),
            Workload::only("", Action::Read).with_choice(Choice::Zipf(0.8)),
        ] {
            for request in draws(&workload, &population, 10_000) {
                assert!(population.window(request.stripe.into()).contains(&request.place.into()));
            }
        }
    }
}
