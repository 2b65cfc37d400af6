use super::{Excuse, Source};

fn source(text: &str) -> Source {
    Source::of(text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Where a piece of the text begins that occurs once.
fn place(text: &str, piece: &str) -> usize {
    assert_eq!(text.matches(piece).count(), 1, "{piece}");
    text[..text.find(piece).unwrap_or_default()].chars().count()
}

const TREE: &str = r##"
//! fn in_a_comment() {
impl<M: Media, const W: usize> Drop for Locked<'_, M, W>
where
    for<'a> &'a M: Media,
{
    #[track_caller]
    fn drop(&mut self) {
        let text = "} fn in_a_text() {"; let brace = '{'; let raw = r#"" fn {"#;
        self.words.store(LOCK, self.word & !LOCKED, Ordering::Release);
    }
}

/* fn in_a_block() { */
fn fill(words: &[u64; 8], f: impl Fn(u64) -> u64) -> impl Iterator<Item = u64> {
    let set = |i| words.store(i, 0, Ordering::Relaxed); // store(
    words.flush(0, 8);
    if media.needs_flush() {}
    media
        .fence();
    fn inner() {
        media.fence(); // inside
    }
    words.store(1, f(fence(Ordering::Release)), Ordering::Relaxed);
    Node::<M>::child_by_byte::<u8>(media, link)
}

trait Walk {
    fn visit(&self);
    fn end(&self) {
        self.root.store(1, Ordering::Relaxed);
        cache.drain(..);
    }
}

#[cfg(test)]
mod tests {
    fn ends() {
        media.drain();
    }
}
"##;

#[test]
fn functions_are_found_with_what_they_stand_in() {
    let names: Vec<String> =
        source(TREE).functions().iter().map(|function| function.name.clone()).collect();
    assert_eq!(names, ["Locked::drop", "fill", "fill::inner", "Walk::end", "tests::ends"]);
}

#[test]
fn calls_are_numbered_in_their_function_by_what_is_called() {
    let source = source(TREE);
    for (piece, function, callee) in [
        ("store(LOCK", "Locked::drop", ("store", 1)),
        ("store(i", "fill", ("store", 1)),
        ("store(1, f", "fill", ("store", 2)),
        ("flush(0, 8)", "fill", ("flush", 1)),
        ("fence();\n    fn", "fill", ("fence", 1)),
        ("fence(); // inside", "fill::inner", ("fence", 1)),
        ("fence(Ordering::Release))", "fill", ("fence", 1)),
        ("Node::<M>", "fill", ("child_by_byte", 1)),
    ] {
        let at = place(TREE, piece);
        let number = source.function_at(at).unwrap_or_else(|| panic!("{piece}"));
        assert_eq!(source.functions()[number].name, function, "{piece}");
        let (name, nth) = callee;
        assert_eq!(source.callee(at), Some((name.to_owned(), nth)), "{piece}");
    }
}

/// Those of atomics and vectors are called with other numbers of arguments; functions that are seen
/// through are their callers' calls.
#[test]
fn calls_of_a_medium_are_told_from_others_of_the_name() {
    let calls = source(TREE).media_calls();
    let expected =
        ["store(i", "flush(0, 8)", "fence();\n    fn", "fence(); // inside", "store(1, f"];
    assert_eq!(calls, expected.map(|piece| place(TREE, piece)));
}

fn excuses(text: &str, piece: &str) -> Vec<(Excuse, bool)> {
    let source = source(text);
    let at = place(text, piece);
    let about = |of: &Excuse| (of.clone(), of.is_about(at, "relaxed", "Store"));
    source.excuses.iter().map(about).collect()
}

#[test]
fn an_excuse_is_about_the_next_statement_or_the_line_it_stands_behind() {
    let text = "fn f() {
        // Something else.
        // equivalent mutant, relaxed: first reason,
        // in two lines. equivalent mutant, without Fence: second.
        self.words()
            .store(1, 2, Release);
        self.words().store(3, 4, Release); // equivalent mutant, relaxed Store: third.
        if self.words().store(5, 6, Release) { self.words().store(7, 8, Release) }
    }";
    let reasons = ["first reason, in two lines", "second", "third"];
    for (piece, about) in [
        ("store(1", [true, false, false]),
        ("store(3", [false, false, true]),
        ("store(5", [false; 3]),
        ("store(7", [false; 3]),
    ] {
        let (found, is_about): (Vec<_>, Vec<_>) = excuses(text, piece).into_iter().unzip();
        assert_eq!(found.iter().map(|of| of.reason.as_str()).collect::<Vec<_>>(), reasons);
        assert_eq!(is_about, about, "{piece}");
    }
}

#[test]
fn an_excuse_that_does_not_say_which_fault_and_why_is_an_error() {
    for text in ["", " relaxed: why", ", relaxed:", ", later: why", ", relaxed Store now: why"] {
        assert!(Source::of(&format!("// equivalent mutant{text}\n")).is_err(), "{text}");
    }
}

#[test]
fn what_no_part_makes_is_a_statement_or_a_function() {
    let text = "fn f() {
        // no mutant: no part comes here.
        words.flush(0, 1);
        words.flush(1, 1);
    }
    // no mutant: nor here.
    pub(super) fn g<T, M>(words: &T) {
        words.flush(2, 1);
    }";
    let source = source(text);
    let unreached = |piece| {
        let at = place(text, piece);
        source.unreached.iter().any(|of| of.covers.contains(&at))
    };
    assert_eq!(["flush(0", "flush(1", "flush(2"].map(unreached), [true, false, true]);
}

#[test]
fn what_no_part_makes_may_be_about_one_of_the_campaigns() {
    let text =
        "// no mutant of tree: why.\nwords.flush(0, 1);\n// no mutant: why.\nwords.flush(1, 1);";
    let folders: Vec<_> = source(text).unreached.into_iter().map(|of| of.of).collect();
    assert_eq!(folders, [Some("tree".to_owned()), None]);
    for text in ["no mutant", "no mutants: none", "no mutant of the tree: why"] {
        assert!(source(&format!("// {text}\nwords.flush(0, 1);")).unreached.is_empty(), "{text}");
    }
}
