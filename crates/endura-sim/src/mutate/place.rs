//! A call in the sources of the library, by what stands there.

use std::path::Path;

use super::name::sources;
use crate::mutant::Call;
use crate::site::Site;

/// The first line in a function that has a certain text. It stays what it is when the function moves to another
/// file of its folder.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// A folder of the library: a tree, or `pool`.
    pub folder: &'static str,
    /// The name of the function.
    pub function: &'static str,
    /// What the line has.
    pub text: &'static str,
}

impl Place {
    /// Which calls of the medium stand there.
    ///
    /// # Panics
    ///
    /// If no such line is found.
    pub fn finder(self) -> impl Fn(&Call) -> bool {
        let (file, line) = self.find();
        move |call: &Call| is_in(call.site, &file) && call.site.line() == line
    }

    /// The file, from the root of the workspace, and the number of the line.
    fn find(self) -> (String, u32) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        if let Err(wrong) = sources(&root, Path::new("crates/endura-engine/src"), &mut files) {
            panic!("{wrong}");
        }
        files.sort();
        let folder = format!("/{}/", self.folder);
        for file in files.iter().map(|file| file.to_string_lossy()) {
            let line = |source: String| self.find_in(&source);
            let read = || std::fs::read_to_string(root.join(&*file)).ok();
            if let Some(line) = file.contains(&folder).then(read).flatten().and_then(line) {
                return (file.into_owned(), line);
            }
        }
        panic!("{self:?} is not found");
    }

    fn find_in(self, source: &str) -> Option<u32> {
        let mut lines = (1..).zip(source.lines());
        let heads = ["(", "<"].map(|open| format!("fn {}{open}", self.function));
        while lines.by_ref().any(|(_, line)| heads.iter().any(|head| line.contains(head))) {
            let body = lines.clone().take_while(|(_, line)| !is_head(line));
            if let Some((number, _)) = body.into_iter().find(|(_, line)| line.contains(self.text)) {
                return Some(number);
            }
        }
        None
    }
}

/// Whether a function begins in this line.
fn is_head(line: &str) -> bool {
    let code = line.trim_start();
    code.starts_with("fn ") || !code.starts_with("//") && code.contains(" fn ")
}

/// Whether a call stands in this file.
fn is_in(site: Site, file: &str) -> bool {
    Path::new(site.file()).ends_with(file)
}
