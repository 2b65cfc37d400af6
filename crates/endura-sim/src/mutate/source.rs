//! A source file as far as faults need it: which function a place is in, what is called there, and which
//! faults a comment excuses.
//!
//! It reads text, not syntax: comments and literals are blanked, braces are counted.

use std::ops::Range;

/// A source file.
pub(super) struct Source {
    /// The text with comments and literals blanked, by characters.
    code: Vec<char>,
    /// Where each line begins.
    lines: Vec<usize>,
    functions: Vec<Function>,
    /// What comments excuse.
    pub(super) excuses: Vec<Excuse>,
    /// Comments that say why no part makes a call.
    pub(super) unreached: Vec<Unreached>,
}

/// A function with a body.
pub(super) struct Function {
    /// Its name behind that of what it stands in: `Node::write`.
    pub(super) name: String,
    body: Range<usize>,
    /// Whether its calls count as its caller's.
    is_seen_through: bool,
}

/// A comment that says why nothing can notice a fault: `// equivalent mutant, relaxed: …` or
/// `// equivalent mutant, without Fence: …`, before the statement of the call or behind it on its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excuse {
    /// `without` or `relaxed`, and the use if it is named.
    pub(super) fault: (String, Option<String>),
    /// Why.
    pub(super) reason: String,
    /// The line of the comment.
    pub(super) line: usize,
    covers: Range<usize>,
}

impl Excuse {
    /// Whether it is about this fault of the call at a place.
    pub(super) fn is_about(&self, at: usize, kind: &str, what: &str) -> bool {
        let (of, used) = &self.fault;
        self.covers.contains(&at) && of == kind && used.as_ref().is_none_or(|used| used == what)
    }
}

/// A comment that says why no part of a campaign makes a call: `// no mutant: …`, before the statement or
/// the function, or behind the call on its line. `// no mutant of roart: …` is about the campaign of that
/// folder alone, where several campaigns share the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreached {
    /// The line of the comment.
    pub(super) line: usize,
    /// The folder whose campaigns it is about; all of them if it names none.
    pub(super) of: Option<String>,
    pub(super) covers: Range<usize>,
}

/// What every excuse begins with.
const MARK: &str = "equivalent mutant";
const UNREACHED: &str = "no mutant";

/// Calls of a medium by name, and with how many arguments: others of these names are of atomics and the like.
const MEDIUM: [(&str, usize); 7] = [
    ("store", 3),
    ("stream", 2),
    ("compare_exchange", 3),
    ("compare_exchange_pair", 3),
    ("flush", 2),
    ("fence", 0),
    ("drain", 0),
];

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// An excuse that is none.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let (code, comments) = blank(text);
        let starts = (0..code.len()).filter(|&i| code[i] == '\n').map(|i| i + 1);
        let lines = [0].into_iter().chain(starts).collect();
        let functions = functions(&code);
        let mut source =
            Self { code, lines, functions, excuses: Vec::new(), unreached: Vec::new() };
        for (at, text) in source.joined(comments) {
            source.take_excuses(at.clone(), &text)?;
            source.take_unreached(at, &text);
        }
        Ok(source)
    }

    /// The character at a line and a column, both from 1.
    pub(super) fn at(&self, line: u32, column: u32) -> Option<usize> {
        let at = self.lines.get(line as usize - 1)? + column as usize - 1;
        (at < self.code.len()).then_some(at)
    }

    /// The line of a place.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|&start| start <= at)
    }

    /// All functions, in their order.
    pub(super) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The innermost function around a place, by its number.
    pub(super) fn function_at(&self, at: usize) -> Option<usize> {
        let around = self.functions.iter().enumerate().filter(|(_, of)| of.body.contains(&at));
        around.min_by_key(|(_, of)| of.body.len()).map(|(number, _)| number)
    }

    /// What is called by the expression that begins at a place, and how many calls of that name, with as
    /// many arguments, there are in its function up to this one.
    pub(super) fn callee(&self, at: usize) -> Option<(String, usize)> {
        let (name, begin) = self.last_of_path(at)?;
        let function = self.function_at(at);
        let from = function.map_or(0, |number| self.functions[number].body.start);
        let length = name.chars().count();
        let count = self.arguments(begin + length);
        let is_it = |&i: &usize| {
            let is_the_name = self.word_at(i).as_ref() == Some(&name);
            let is_called = is_the_name && self.is_called(i + length);
            is_called && self.arguments(i + length) == count && self.function_at(i) == function
        };
        Some((name.clone(), (from..=begin).filter(is_it).count()))
    }

    /// The name before the arguments of a call: of `media.fence()`, `Node::child(..)`, `<N as T>::f(..)`.
    fn last_of_path(&self, at: usize) -> Option<(String, usize)> {
        let (mut i, mut last, mut depth) = (at, None, 0);
        while let Some(&c) = self.code.get(i) {
            match (self.word_at(i), c) {
                (Some(word), _) => {
                    if depth == 0 {
                        last = Some((word.clone(), i));
                    }
                    i += word.chars().count() - 1;
                }
                (_, '<') => depth += 1,
                (_, '>') => depth -= 1,
                (_, ':') => {}
                (_, c) if depth > 0 || c.is_whitespace() => {}
                (_, '(') => return last,
                _ => break,
            }
            i += 1;
        }
        last
    }

    /// The word that begins here, if one does.
    fn word_at(&self, at: usize) -> Option<String> {
        word_at(&self.code, at)
    }

    /// The calls of a medium's methods that change what is durable, as far as names tell: of those of
    /// [`MEDIUM`], and of all that flush. What stands in functions that are seen through is not among them.
    pub(super) fn media_calls(&self) -> Vec<usize> {
        let is_one = |&at: &usize| {
            let Some(name) = self.word_at(at).filter(|_| at > 0 && self.code[at - 1] == '.') else {
                return false;
            };
            let count = self.arguments(at + name.chars().count());
            let is_known = MEDIUM.iter().any(|&(known, of)| known == name && Some(of) == count);
            let flushes = name.split('_').any(|word| word == "flush") && name != "needs_flush";
            let is_meant = |number: usize| {
                let function = &self.functions[number];
                !function.is_seen_through && !function.name.starts_with("tests::")
            };
            (is_known || flushes && count.is_some()) && self.function_at(at).is_some_and(is_meant)
        };
        (0..self.code.len()).filter(is_one).collect()
    }

    /// How many arguments there are, if some or none follow in parentheses.
    fn arguments(&self, at: usize) -> Option<usize> {
        let inside = self.code.get(at..)?.strip_prefix(&['('])?;
        let (mut depth, mut count, mut is_empty) = (0, 0, true);
        for &c in inside {
            match c {
                ')' if depth == 0 => return Some(count + usize::from(!is_empty)),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => (count, is_empty) = (count + 1, true),
                _ => {}
            }
            is_empty &= c == ',' || c.is_whitespace();
        }
        None
    }

    /// Whether arguments follow, behind the types of a generic function.
    fn is_called(&self, mut at: usize) -> bool {
        let mut depth = 0;
        while let Some(&c) = self.code.get(at) {
            match c {
                '(' if depth == 0 => return true,
                '<' => depth += 1,
                '>' => depth -= 1,
                ':' => {}
                c if depth > 0 || c.is_whitespace() => {}
                _ => return false,
            }
            at += 1;
        }
        false
    }

    /// Comments that follow each other with nothing between are one.
    fn joined(&self, comments: Vec<(usize, String)>) -> Vec<(Range<usize>, String)> {
        let mut all: Vec<(Range<usize>, String)> = Vec::new();
        for (at, text) in comments {
            let range = at..at + text.chars().count();
            let (stands, text) = (self.is_alone(at), text.trim_start_matches('/').trim());
            match all.last_mut() {
                Some((before, sum))
                    if stands && self.code[before.end..at].iter().all(|c| c.is_whitespace()) =>
                {
                    before.end = range.end;
                    *sum = format!("{sum} {text}");
                }
                _ => all.push((range, text.to_owned())),
            }
        }
        all
    }

    /// Whether no code stands before it on its line.
    fn is_alone(&self, at: usize) -> bool {
        let begin = self.lines[self.line_of(at) - 1];
        self.code[begin..at].iter().all(|c| c.is_whitespace())
    }

    /// What a comment is about: its line, or what follows it.
    fn subject_of(&self, comment: &Range<usize>) -> Range<usize> {
        match self.is_alone(comment.start) {
            true => self.up_to(comment.end, &[';', '{', '}', ',']),
            false => self.lines[self.line_of(comment.start) - 1]..comment.start,
        }
    }

    fn take_unreached(&mut self, at: Range<usize>, text: &str) {
        if let Some(of) = unreached_by(text) {
            let (line, mut covers) = (self.line_of(at.start), self.subject_of(&at));
            // That of a function is about all of it.
            let header = self.up_to(at.end, &[';', '{', '}']);
            let function = self.functions.iter().find(|of| of.body.start == header.end);
            if let Some(of) = function
                && header.clone().any(|i| self.word_at(i).as_deref() == Some("fn"))
            {
                covers = header.start..of.body.end;
            }
            self.unreached.push(Unreached { line, of, covers });
        }
    }

    fn take_excuses(&mut self, at: Range<usize>, text: &str) -> Result<(), String> {
        let (line, covers) = (self.line_of(at.start), self.subject_of(&at));
        for piece in text.split(MARK).skip(1) {
            let wrong = || format!("line {line}: not `{MARK}, without|relaxed [Use]: reason`");
            let (of, reason) = piece.split_once(':').ok_or_else(wrong)?;
            let words: Vec<&str> =
                of.strip_prefix(',').ok_or_else(wrong)?.split_whitespace().collect();
            let fault = match words[..] {
                [kind @ ("without" | "relaxed")] => (kind.to_owned(), None),
                [kind @ ("without" | "relaxed"), what] => (kind.to_owned(), Some(what.to_owned())),
                _ => return Err(wrong()),
            };
            let reason = reason.trim().trim_end_matches('.').to_owned();
            if reason.is_empty() {
                return Err(wrong());
            }
            self.excuses.push(Excuse { fault, reason, line, covers: covers.clone() });
        }
        Ok(())
    }

    /// From here to one of these, or to the end of what is around, but not into brackets.
    fn up_to(&self, from: usize, ends: &[char]) -> Range<usize> {
        let mut depth = 0;
        for (i, c) in self.code.iter().enumerate().skip(from) {
            match c {
                _ if depth == 0 && ends.contains(c) => return from..i,
                '(' | '[' => depth += 1,
                ')' | ']' if depth == 0 => return from..i,
                ')' | ']' => depth -= 1,
                _ => {}
            }
        }
        from..self.code.len()
    }
}

/// Whether a comment says why no part makes a call; and the folder whose campaigns it is about, if it names one.
fn unreached_by(text: &str) -> Option<Option<String>> {
    let (of, _) = text.split_once(UNREACHED)?.1.split_once(": ")?;
    match of.strip_prefix(" of ") {
        None => of.is_empty().then_some(None),
        Some(folder) => (!folder.contains(' ')).then(|| Some(folder.to_owned())),
    }
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_at(code: &[char], at: usize) -> Option<String> {
    let begins = code.get(at).is_some_and(|&c| is_of_a_word(c) && !c.is_numeric());
    if !begins || at > 0 && is_of_a_word(code[at - 1]) {
        return None;
    }
    Some(code[at..].iter().take_while(|&&c| is_of_a_word(c)).collect())
}

/// The text with comments and literals blanked, and the comments of one line with their places.
fn blank(text: &str) -> (Vec<char>, Vec<(usize, String)>) {
    let text: Vec<char> = text.chars().collect();
    let (mut code, mut comments, mut i) = (text.clone(), Vec::new(), 0);
    while i < text.len() {
        let end = end_of_blank(&text, i);
        if end == i {
            i += 1;
            continue;
        }
        if text[i..].starts_with(&['/', '/']) {
            comments.push((i, text[i..end].iter().collect()));
        }
        code[i..end].iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
        i = end;
    }
    (code, comments)
}

/// The end of the comment or literal that begins here; here if none does.
fn end_of_blank(text: &[char], i: usize) -> usize {
    let find = |from: usize, what: &[char]| {
        let found = text[from.min(text.len())..].windows(what.len()).position(|at| at == what);
        found.map_or(text.len(), |n| from + n + what.len())
    };
    match text[i..] {
        ['/', '/', ..] => i + text[i..].iter().take_while(|&&c| c != '\n').count(),
        ['/', '*', ..] => find(i, &['*', '/']),
        ['r', '"' | '#', ..] if i == 0 || !is_of_a_word(text[i - 1]) || text[i - 1] == 'b' => {
            let marks = text[i + 1..].iter().take_while(|&&c| c == '#').count();
            if text.get(i + 1 + marks) != Some(&'"') {
                return i;
            }
            let end: Vec<char> = ['"'].into_iter().chain(vec!['#'; marks]).collect();
            find(i + 2 + marks, &end)
        }
        ['"', ..] => {
            let mut end = i + 1;
            while end < text.len() && text[end] != '"' {
                end += if text[end] == '\\' { 2 } else { 1 };
            }
            (end + 1).min(text.len())
        }
        ['\'', '\\', _, ..] => find(i + 3, &['\'']),
        ['\'', _, '\'', ..] => i + 3,
        _ => i,
    }
}

/// What the next brace opens.
enum Opens {
    Named(String),
    Function(String, bool),
    Block,
}

/// The functions of a file, with the names of the modules, types and functions that they stand in.
fn functions(code: &[char]) -> Vec<Function> {
    let (mut all, mut open, mut next) = (Vec::new(), Vec::<(Opens, usize)>::new(), None);
    // Brackets that are open where `next` was seen: a `;` among them ends nothing.
    let (mut depth, mut depth_of_next, mut i) = (0, 0, 0);
    // Where an item may begin.
    let mut item = 0;
    while i < code.len() {
        if let Some(word) = word_at(code, i) {
            i += word.chars().count();
            let attributes = || code[item..i].iter().collect::<String>();
            if next.is_none()
                && let Some(found) = opened_by(&word, &code[i..], attributes)
            {
                (next, depth_of_next) = (Some(found), depth);
            }
            continue;
        }
        match code[i] {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == depth_of_next => next = None,
            '{' => open.push((next.take().unwrap_or(Opens::Block), i)),
            '}' => {
                if let Some((Opens::Function(name, is_seen_through), begin)) = open.pop() {
                    let outer = open.iter().filter_map(|(of, _)| match of {
                        Opens::Named(name) | Opens::Function(name, _) => Some(name.as_str()),
                        Opens::Block => None,
                    });
                    let name = outer.chain([name.as_str()]).collect::<Vec<_>>().join("::");
                    all.push(Function { name, body: begin..i, is_seen_through });
                }
            }
            _ => {}
        }
        if matches!(code[i], '{' | '}' | ';') {
            item = i + 1;
        }
        i += 1;
    }
    all.sort_by_key(|function| function.body.start);
    all
}

/// What a word opens, by the code behind it.
fn opened_by(word: &str, rest: &[char], attributes: impl Fn() -> String) -> Option<Opens> {
    let begin = rest.iter().position(|c| !c.is_whitespace())?;
    match word {
        "fn" => {
            let is_seen_through = || attributes().contains("track_caller");
            word_at(rest, begin).map(|name| Opens::Function(name, is_seen_through()))
        }
        "mod" | "trait" => word_at(rest, begin).map(Opens::Named),
        "impl" => Some(Opens::Named(type_of(rest))),
        _ => None,
    }
}

/// The type that `impl` is for, without its parameters and its path.
fn type_of(rest: &[char]) -> String {
    let (mut depth, mut last, mut before) = (0, String::new(), ' ');
    let header = rest.iter().position(|&c| c == '{').map_or(rest, |end| &rest[..end]);
    for (i, &c) in header.iter().enumerate() {
        match (word_at(header, i), c) {
            (_, '<') => depth += 1,
            // Not that of `->`.
            (_, '>') if before != '-' => depth -= 1,
            (Some(word), _) if depth == 0 => match word.as_str() {
                "where" => break,
                "for" => last.clear(),
                _ => last = word,
            },
            _ => {}
        }
        before = c;
    }
    last
}

#[cfg(test)]
mod tests;
