//! Narrow and wide terminals: no line of help, and no bar, is longer than the terminal is wide.

use std::fs;

use super::help::{commands, page_at};
use crate::support::{Place, lines_fit};

const WIDTHS: [usize; 3] = [60, 80, 100];

#[test]
fn help_fits_the_terminal() {
    let mut pages = vec![vec!["help".to_owned()]];
    pages.extend(commands().into_iter().map(|name| vec!["help".into(), name]));
    for columns in WIDTHS {
        for page in &pages {
            let arguments: Vec<_> = page.iter().map(String::as_str).collect();
            for line in page_at(&arguments, columns).lines() {
                assert!(line.chars().count() <= columns, "{page:?} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn bars_fit_the_terminal() {
    let place = Place::in_memory();
    let lines: String = (0..100_000).map(|i| format!("{i}\t{i}\n")).collect();
    let file = &*place.text("entries.tsv");
    fs::write(file, lines).expect("a file");
    for columns in WIDTHS {
        let (pool, folder) = (&*place.text(&format!("pool{columns}")), &*place.text(""));
        let Some(written) = lines_fit(&["import", pool, file], columns, false) else { return };
        assert!(written.contains(" %") && written.contains("entries"), "{written}");
        // The rate is the first part that is left out; the next is the bar.
        assert_eq!(written.contains("iB/s"), columns > 60, "{written}");
        lines_fit(&["export", pool, &place.text("copy.tsv")], columns, false);
        let demo = ["demo", "--keys", "20000", "--dir", folder];
        let written = lines_fit(&demo, columns, true).expect("a terminal");
        assert!(written.contains(" %"), "{written}");
        let torture = ["torture", "--rounds", "3", "--threads", "2", "--dir", folder];
        let written = lines_fit(&torture, columns, true).expect("a terminal");
        assert!(written.contains(" kills  0 violations"), "{written}");
    }
}
