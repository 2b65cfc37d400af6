//! Files that are not endura's: those beside a pool, and those that a command shall overwrite.

use std::fs;

use crate::support::{Place, code, endura, text, works};

/// An export replaces a file, but none that a pool keeps its data in.
#[test]
fn an_export_over_a_pool_or_a_checkpoint_is_refused() {
    let place = Place::new();
    let [pool, other] = ["pool", "other"].map(|name| place.text(name));
    works(&["put", &pool, "1", "1"]);
    // Two sessions, and so two roots.
    works(&["put", &other, "2", "2"]);
    works(&["put", &other, "3", "3"]);
    for what in ["other", "other.checkpoint"] {
        let before = fs::read(place.path(what)).expect("a file");
        // A damaged one is one still.
        for damage in [0, 4096] {
            let mut damaged = before.clone();
            damaged[damage..damage + 512].fill(0);
            for bytes in [&before, &damaged] {
                fs::write(place.path(what), bytes).expect("a write");
                let refused = endura(&["export", &pool, &place.text(what)]);
                assert_ne!(code(&refused), 0, "{what}");
                assert!(text(&refused.stderr).contains("which an export would destroy"));
                assert!(&fs::read(place.path(what)).expect("a file") == bytes, "{what}");
            }
        }
        fs::write(place.path(what), before).expect("a write");
    }
}

/// What a campaign notes is in a file beside the pool that it is given.
#[test]
fn torture_leaves_the_file_alone_that_has_the_name_of_its_ledger() {
    let place = Place::new();
    let pool = place.text("pool");
    fs::write(place.path("pool.ledger"), "precious").expect("a write");
    let refused = endura(&["torture", "--pool", &pool, "--rounds", "1"]);
    assert_ne!(code(&refused), 0);
    assert_eq!(fs::read(place.path("pool.ledger")).expect("the file"), b"precious");
}

/// Another file that came to the place of a checkpoint is not taken for it.
#[test]
fn a_failed_import_removes_no_checkpoint_of_another_pool() {
    let place = Place::new();
    let (pool, kept) = (place.text("pool"), place.text("kept"));
    works(&["put", &place.text("other"), "1", "1", "--checkpoint-file", &kept]);
    let before = fs::read(&kept).expect("the checkpoint");
    fs::write(place.path("wrong"), "1\t1\nno number\n").expect("a write");
    let import = ["import", &pool, &place.text("wrong"), "--checkpoint-file", &kept];
    assert_ne!(code(&endura(&import)), 0);
    assert!(fs::read(&kept).expect("the checkpoint") == before);
}
