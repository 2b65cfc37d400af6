//! Links of the pages lead to what is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rules;

/// The pages for people, from README to those in `docs`.
pub(crate) fn pages() -> Vec<PathBuf> {
    let root = rules::root();
    let names = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    let mut pages: Vec<_> = names.iter().map(|name| root.join(name)).collect();
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    pages
}

/// The text outside of blocks of code.
fn prose(page: &str) -> String {
    let mut in_code = false;
    let outside = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    outside.map(|line| format!("{line}\n")).collect()
}

/// Where links of a page lead.
fn links(prose: &str) -> Vec<String> {
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.map(String::from).collect()
}

/// The anchor of a heading, as the usual renderers make it.
pub(crate) fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a page's headings.
fn anchors(prose: &str) -> BTreeSet<String> {
    prose.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// What is wrong with a link of a page in `folder`; `own`: the anchors of that page.
fn complaint(folder: &Path, own: &BTreeSet<String>, link: &str) -> Option<String> {
    if link.starts_with("https://") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = folder.join(path);
    if !path.is_empty() && !target.exists() {
        return Some(format!("`{link}` leads to nothing"));
    }
    let of_target;
    let known = match path {
        "" => own,
        _ if anchor.is_empty() => return None,
        _ => {
            of_target = anchors(&prose(&fs::read_to_string(&target).unwrap_or_default()));
            &of_target
        }
    };
    (!known.contains(anchor)).then(|| format!("`{link}` has no such heading"))
}

#[test]
fn links_lead_somewhere() {
    let (mut all, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = prose(&fs::read_to_string(&page).unwrap());
        let own = anchors(&text);
        for link in links(&text) {
            all += 1;
            let complaint = complaint(page.parent().unwrap(), &own, &link);
            wrong.extend(complaint.map(|complaint| format!("{}: {complaint}", page.display())));
        }
    }
    assert!(all > 60, "{all} links only");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_that_lead_nowhere_are_noticed() {
    let folder = rules::root();
    let text = "# A `first` look!\n[a](#a-first-look) [b](#b) [c](docs/guide.md#14-errors) [d](nowhere.md)\n```\n[e](x)\n```\n";
    let text = prose(text);
    let wrong: Vec<_> = links(&text)
        .iter()
        .filter(|link| complaint(&folder, &anchors(&text), link).is_some())
        .cloned()
        .collect();
    assert_eq!(wrong, ["#b", "nowhere.md"]);
}

/// Paths of files and folders that a page names: `a/b.rs`, `a/{b,c}.rs`, `a/`.
fn paths(prose: &str) -> Vec<String> {
    let mut found = Vec::new();
    for span in prose.split('`').skip(1).step_by(2) {
        let is_path = (span.ends_with(".rs") || span.ends_with('/'))
            && !span.starts_with('/')
            && span.chars().all(|c| c.is_ascii_alphanumeric() || "_-./{,} ".contains(c));
        match (is_path, span.split_once('{').and_then(|(a, b)| Some((a, b.split_once('}')?)))) {
            (false, _) => {}
            (true, None) => found.push(span.to_owned()),
            (true, Some((before, (names, after)))) => {
                found.extend(names.split(',').map(|name| format!("{before}{}{after}", name.trim())))
            }
        }
    }
    found
}

/// All files and folders of the workspace that are not built.
fn tree() -> BTreeSet<String> {
    let (root, mut found) = (rules::root(), BTreeSet::new());
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            if matches!(name.as_str(), "target" | ".git" | "fuzz/target") {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("/{name}/"));
                folders.push(path);
            } else {
                found.insert(format!("/{name}"));
            }
        }
    }
    found
}

/// A page may leave out the first folders of a path.
#[test]
fn files_that_a_page_names_exist() {
    let (tree, mut all, mut wrong) = (tree(), 0, Vec::new());
    for page in pages().into_iter().filter(|page| !page.ends_with("CHANGELOG.md")) {
        for path in paths(&prose(&fs::read_to_string(&page).unwrap())) {
            all += 1;
            if !tree.iter().any(|known| known.ends_with(&format!("/{path}"))) {
                wrong.push(format!("{}: there is no `{path}`", page.display()));
            }
        }
    }
    assert!(all > 200, "{all} names only");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(paths("see `a/{b, c}.rs`, `x y`, `d/` and `/e/`"), ["a/b.rs", "a/c.rs", "d/"]);
}

/// README is read at one go.
#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(rules::root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 185, "{lines} lines");
}
