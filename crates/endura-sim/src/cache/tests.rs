//! Litmus tests: for each promise of a model a handful of stores, and exactly what a crash may leave.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use super::Cache;
use crate::aftermath::Aftermath;
use crate::event::{Action, Event};
use crate::image::Image;
use crate::model::Model;
use crate::site::Site;

/// Two words of one line, and one of another.
const A: u64 = 0;
const B: u64 = 8;
const C: u64 = 64;

fn relaxed(at: u64, value: u64) -> Action {
    Action::Store { at, value, release: false }
}

fn release(at: u64, value: u64) -> Action {
    Action::Store { at, value, release: true }
}

fn exchange(at: u64, value: u64) -> Action {
    Action::Exchange { at, value }
}

fn flush(at: u64) -> Action {
    Action::Flush { line: at / 64 }
}

fn event(by: u32, action: Action) -> Event {
    Event { by, site: Site::here(), action }
}

fn cache(model: Model, events: &[(u32, Action)]) -> Cache {
    let mut cache = Cache::new(model, Aftermath::certain(Image::zeros(256)));
    events.iter().for_each(|&(by, action)| cache.apply(&event(by, action)));
    cache
}

/// The words A, B and C as a crash may leave them, in digits.
fn left_by(mut cache: Cache) -> BTreeSet<String> {
    let images = |aftermath: &Aftermath| aftermath.eager(10_000).collect::<Vec<_>>();
    let aftermaths = cache.aftermaths(None);
    let images = aftermaths.iter().flat_map(images);
    images.map(|image| [A, B, C].map(|at| image.word(at).to_string()).concat()).collect()
}

/// What a crash after these events of one thread may leave, as digits of the words A, B and C.
fn left(model: Model, actions: &[Action]) -> BTreeSet<String> {
    left_by(cache(model, &actions.iter().map(|&action| (0, action)).collect::<Vec<_>>()))
}

fn exactly(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&digits| digits.to_owned()).collect()
}

const ADR: [Model; 2] = [Model::WEAKEST_ADR, Model::X86_ADR];

#[test]
fn adr_a_store_may_be_lost_or_evicted() {
    for model in ADR {
        assert_eq!(left(model, &[relaxed(A, 1)]), exactly(&["000", "100"]));
    }
}

#[test]
fn adr_a_flush_alone_promises_nothing() {
    for model in ADR {
        assert_eq!(left(model, &[release(A, 1), flush(A)]), exactly(&["000", "100"]));
    }
}

#[test]
fn adr_a_fence_alone_promises_nothing() {
    for model in ADR {
        assert_eq!(left(model, &[release(A, 1), Action::Fence]), exactly(&["000", "100"]));
    }
}

#[test]
fn adr_a_flush_and_a_fence_make_durable() {
    for model in ADR {
        assert_eq!(left(model, &[relaxed(A, 1), flush(A), Action::Fence]), exactly(&["100"]));
    }
}

#[test]
fn adr_a_flush_covers_earlier_stores_only() {
    for model in ADR {
        let stores = [release(A, 1), flush(A), release(A, 2), Action::Fence];
        assert_eq!(left(model, &stores), exactly(&["100", "200"]));
    }
}

#[test]
fn adr_a_later_flush_covers_more() {
    for model in ADR {
        let stores = [release(A, 1), flush(A), release(A, 2), flush(A), Action::Fence];
        assert_eq!(left(model, &stores), exactly(&["200"]));
    }
}

#[test]
fn adr_lines_are_independent() {
    for model in ADR {
        let both = exactly(&["000", "100", "001", "101"]);
        assert_eq!(left(model, &[release(A, 1), release(C, 1)]), both);
    }
}

#[test]
fn adr_a_word_never_goes_back() {
    for model in ADR {
        assert_eq!(left(model, &[relaxed(A, 1), relaxed(A, 2)]), exactly(&["000", "100", "200"]));
    }
}

#[test]
fn x86_stores_to_a_line_keep_their_order() {
    let stores = [relaxed(A, 1), relaxed(B, 1), relaxed(A, 2)];
    assert_eq!(left(Model::X86_ADR, &stores), exactly(&["000", "100", "110", "210"]));
}

#[test]
fn weakest_relaxed_stores_to_a_line_have_no_order() {
    let stores = [relaxed(A, 1), relaxed(B, 1), relaxed(A, 2)];
    let any = exactly(&["000", "100", "200", "010", "110", "210"]);
    assert_eq!(left(Model::WEAKEST_ADR, &stores), any);
}

#[test]
fn weakest_a_release_comes_after_what_is_before_it() {
    let stores = [relaxed(A, 1), release(B, 1)];
    assert_eq!(left(Model::WEAKEST_ADR, &stores), exactly(&["000", "100", "110"]));
}

#[test]
fn weakest_a_release_holds_nothing_back_that_is_after_it() {
    let stores = [release(A, 1), relaxed(B, 1)];
    assert_eq!(left(Model::WEAKEST_ADR, &stores), exactly(&["000", "100", "010", "110"]));
}

#[test]
fn weakest_a_release_gives_no_order_between_lines() {
    let stores = [relaxed(C, 1), release(A, 1)];
    assert_eq!(left(Model::WEAKEST_ADR, &stores), exactly(&["000", "100", "001", "101"]));
}

#[test]
fn weakest_a_relaxed_store_waits_for_a_release_of_its_own_word() {
    let stores = [relaxed(B, 1), release(A, 1), relaxed(A, 2)];
    assert_eq!(left(Model::WEAKEST_ADR, &stores), exactly(&["000", "010", "110", "210"]));
}

#[test]
fn weakest_an_exchange_orders_its_line_and_waits_for_no_flush() {
    let stores = [relaxed(A, 1), exchange(B, 1)];
    assert_eq!(left(Model::WEAKEST_ADR, &stores), exactly(&["000", "100", "110"]));
    let stores = [relaxed(C, 1), flush(C), exchange(A, 1)];
    assert_eq!(left(Model::WEAKEST_ADR, &stores), exactly(&["000", "100", "001", "101"]));
}

#[test]
fn x86_an_exchange_waits_for_flushes_and_is_not_durable_itself() {
    let stores = [relaxed(C, 1), flush(C), exchange(A, 1)];
    assert_eq!(left(Model::X86_ADR, &stores), exactly(&["001", "101"]));
    let stores = [exchange(A, 1), flush(A), exchange(C, 1)];
    assert_eq!(left(Model::X86_ADR, &stores), exactly(&["100", "101"]));
}

#[test]
fn adr_a_fence_waits_for_the_flushes_of_its_own_thread() {
    for model in ADR {
        let other = [(0, release(A, 1)), (0, flush(A)), (1, Action::Fence)];
        assert_eq!(left_by(cache(model, &other)), exactly(&["000", "100"]));
    }
}

#[test]
fn adr_a_flush_covers_the_stores_of_all_threads() {
    for model in ADR {
        let helped = [(0, release(A, 1)), (1, flush(A)), (1, Action::Fence)];
        assert_eq!(left_by(cache(model, &helped)), exactly(&["100"]));
    }
}

#[test]
fn adr_flushes_of_two_threads_each_cover_their_part() {
    for model in ADR {
        let stores = [
            (0, release(A, 1)),
            (0, flush(A)),
            (1, release(B, 1)),
            (1, flush(A)),
            (0, release(A, 2)),
        ];
        let then = |by| [&stores[..], &[(by, Action::Fence)]].concat();
        assert_eq!(left_by(cache(model, &then(0))), exactly(&["100", "110", "210"]));
        assert_eq!(left_by(cache(model, &then(1))), exactly(&["110", "210"]));
        let both = [&then(0)[..], &[(1, Action::Fence)]].concat();
        assert_eq!(left_by(cache(model, &both)), exactly(&["110", "210"]));
        let both = [&then(1)[..], &[(0, Action::Fence)]].concat();
        assert_eq!(left_by(cache(model, &both)), exactly(&["110", "210"]));
    }
}

#[test]
fn eadr_a_store_may_still_be_in_the_buffer_and_none_overtakes() {
    let stores = [release(A, 1), relaxed(C, 1), relaxed(B, 1)];
    assert_eq!(left(Model::EADR, &stores), exactly(&["000", "100", "101", "111"]));
}

#[test]
fn eadr_a_fence_drains_the_buffer_of_its_own_thread() {
    let stores = [relaxed(A, 1), relaxed(C, 1), Action::Fence, relaxed(B, 1)];
    assert_eq!(left(Model::EADR, &stores), exactly(&["101", "111"]));
    let other = [(0, relaxed(A, 1)), (1, Action::Fence)];
    assert_eq!(left_by(cache(Model::EADR, &other)), exactly(&["000", "100"]));
}

#[test]
fn eadr_an_exchange_drains_the_buffer_and_is_durable_itself() {
    let stores = [relaxed(A, 1), exchange(C, 1)];
    assert_eq!(left(Model::EADR, &stores), exactly(&["101"]));
}

#[test]
fn eadr_a_flush_is_nothing() {
    assert_eq!(left(Model::EADR, &[relaxed(A, 1), flush(A)]), exactly(&["000", "100"]));
}

#[test]
fn eadr_a_store_that_was_seen_has_left_the_buffer_with_those_before_it() {
    let stores =
        [(0, relaxed(A, 1)), (0, relaxed(B, 1)), (0, relaxed(C, 1)), (1, Action::See { at: B })];
    assert_eq!(left_by(cache(Model::EADR, &stores)), exactly(&["110", "111"]));
}

#[test]
fn eadr_buffers_of_two_threads_drain_on_their_own() {
    let stores = [(0, relaxed(A, 1)), (1, relaxed(C, 1))];
    assert_eq!(left_by(cache(Model::EADR, &stores)), exactly(&["000", "100", "001", "101"]));
}

#[test]
fn page_cache_every_store_is_there_at_once() {
    let stores = [relaxed(A, 1), relaxed(C, 1), relaxed(B, 1)];
    assert_eq!(left(Model::PAGE_CACHE, &stores), exactly(&["111"]));
}

/// A machine that came down twice: what the first crash left open stays open, whatever is stored over it.
#[test]
fn contents_that_an_earlier_crash_left_open_stay_open() {
    for model in ADR {
        let first = cache(model, &[(0, release(A, 1)), (0, release(B, 1))]).aftermaths(None);
        let mut second = Cache::new(model, first[0].clone());
        assert_eq!(left_by(second.clone()), exactly(&["000", "100", "110"]));
        second.apply(&event(0, release(A, 2)));
        let any = exactly(&["000", "100", "110", "200", "210"]);
        assert_eq!(left_by(second.clone()), any);
        second.apply(&event(0, flush(A)));
        second.apply(&event(0, Action::Fence));
        assert_eq!(left_by(second.clone()), exactly(&["200", "210"]));
        second.apply(&event(0, release(B, 3)));
        second.apply(&event(0, flush(B)));
        second.apply(&event(0, Action::Fence));
        assert_eq!(left_by(second), exactly(&["230"]));
    }
}

/// Contents come with the oldest first and the newest last: that is what "all lost" and "nothing lost"
/// rely on.
#[test]
fn contents_begin_with_the_oldest_and_end_with_the_newest() {
    for model in ADR {
        let mut cache = cache(model, &[(0, relaxed(A, 1)), (0, relaxed(B, 1)), (0, relaxed(A, 0))]);
        let aftermath = cache.aftermaths(None).remove(0);
        let contents = &aftermath.open[&0];
        assert_eq!(contents[0].words[..2], [0, 0]);
        assert_eq!(contents[contents.len() - 1].words[..2], [0, 1]);
    }
}

/// Each relaxed word on its own is 2^8 contents, and all are kept; far more are cut short and say so.
#[test]
fn a_line_of_relaxed_stores_is_complete_until_it_says_otherwise() {
    let whole: Vec<(u32, Action)> = (0..8).map(|i| (0, relaxed(8 * i, 1))).collect();
    let aftermath = cache(Model::WEAKEST_ADR, &whole).aftermaths(None).remove(0);
    assert_eq!((aftermath.images(), aftermath.is_partial), (256, false));
    let thrice: Vec<_> = (0..24).map(|i| (0, relaxed(8 * (i % 8), 1 + i))).collect();
    let aftermath = cache(Model::WEAKEST_ADR, &thrice).aftermaths(None).remove(0);
    assert!(aftermath.is_partial && aftermath.images() > 24, "{}", aftermath.images());
}

#[test]
fn a_chunk_that_is_handed_out_holds_nothing_of_before() {
    for model in [Model::WEAKEST_ADR, Model::X86_ADR, Model::EADR, Model::PAGE_CACHE] {
        let fresh = Action::Fresh { at: A, bytes: 8, poison: 7 };
        assert_eq!(left(model, &[relaxed(A, 1), fresh]), exactly(&["700"]));
    }
    for model in ADR {
        // What was flushed of the rest of the line stays flushed.
        let fresh = Action::Fresh { at: A, bytes: 8, poison: 7 };
        let stores = [release(A, 1), release(B, 1), flush(A), fresh, Action::Fence];
        assert_eq!(left(model, &stores), exactly(&["710"]));
    }
}

/// Of what is cut off nothing comes back, whether it was durable, written back, or in the line only.
#[test]
fn nothing_is_left_behind_a_cut() {
    let cut = Action::Cut { len: 64 };
    for model in [Model::WEAKEST_ADR, Model::X86_ADR, Model::EADR, Model::PAGE_CACHE] {
        let grow = Action::Grow { len: 256 };
        let fenced = [release(C, 1), flush(C), Action::Fence, cut, grow];
        assert_eq!(left(model, &fenced), exactly(&["000"]));
        assert_eq!(
            left(model, &[release(C, 1), flush(C), cut, grow, Action::Fence]),
            exactly(&["000"])
        );
        let again = [release(C, 1), cut, grow, release(C, 2), flush(C), Action::Fence];
        assert_eq!(left(model, &again), exactly(&["002"]));
        assert!(cache(model, &[]).settles(&event(0, cut)), "the old length is gone");
    }
}

/// A crash is worth its while before whatever makes a possible content impossible, and only there.
#[test]
fn crashes_come_before_what_settles() {
    let settles =
        |model, before: &[(u32, Action)], then| cache(model, before).settles(&event(0, then));
    let flushed = [(0, release(A, 1)), (0, flush(A))];
    let fresh = Action::Fresh { at: A, bytes: 64, poison: 7 };
    for model in ADR {
        assert!(settles(model, &flushed, Action::Fence));
        assert!(!settles(model, &flushed[..1], Action::Fence), "nothing is flushed");
        assert!(!settles(model, &[flushed[0], (1, flush(A))], Action::Fence), "by another thread");
        assert!(!settles(model, &flushed, release(C, 1)));
        assert_eq!(settles(model, &flushed, exchange(C, 1)), model.exchange_fences);
        assert!(settles(model, &flushed, fresh) && !settles(model, &[], fresh));
        assert!(settles(model, &[], Action::Grow { len: 512 }), "the old length is gone");
    }
    let buffered = [(1, relaxed(A, 1))];
    assert!(!settles(Model::EADR, &buffered, Action::Fence), "another thread's buffer");
    assert!(settles(Model::EADR, &buffered, Action::See { at: A }));
    assert!(settles(Model::EADR, &[], exchange(A, 1)), "its own store cannot be lost later");
    assert!(settles(Model::PAGE_CACHE, &[], relaxed(A, 1)));
}

#[test]
fn the_weakest_model_allows_all_that_x86_allows() {
    let actions = [
        relaxed(A, 1),
        release(B, 1),
        relaxed(C, 1),
        flush(A),
        exchange(B, 2),
        relaxed(A, 2),
        flush(C),
        Action::Fence,
        relaxed(A, 3),
        release(C, 2),
    ];
    for count in 0..=actions.len() {
        let weakest = left(Model::WEAKEST_ADR, &actions[..count]);
        assert!(left(Model::X86_ADR, &actions[..count]).is_subset(&weakest), "{count}");
    }
}

#[test]
fn what_means_nothing_is_folded_to_its_ends() {
    let stores: Vec<(u32, Action)> = (1..=4).map(|value| (0, release(A, value))).collect();
    let mut cache = cache(Model::WEAKEST_ADR, &stores);
    let is_volatile = |at, _: &[u64; 8]| at == A;
    let aftermath = cache.aftermaths(Some(&is_volatile)).remove(0);
    let words: Vec<u64> = aftermath.open[&0].iter().map(|content| content.words[0]).collect();
    assert_eq!(words, [0, 4]);
}
