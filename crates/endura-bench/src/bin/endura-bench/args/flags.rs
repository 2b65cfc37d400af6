//! Flags.

use std::path::{Path, PathBuf};

use endura::NodeLayout;

/// `--dir`.
#[derive(clap::Args)]
pub(crate) struct Dir {
    /// The folder for temporary files [default: /dev/shm, or else the temporary folder]
    #[arg(long)]
    dir: Option<PathBuf>,
}

impl Dir {
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(default_dir)
    }
}

pub(crate) fn default_dir() -> PathBuf {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { shm.into() } else { std::env::temp_dir() }
}

/// `--json`.
#[derive(clap::Args)]
pub(crate) struct Json {
    /// Print JSON in place of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--seed`.
#[derive(clap::Args)]
pub(crate) struct Seed {
    /// Where the random numbers start
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// `--layout`.
#[derive(clap::Args)]
pub(crate) struct Layout {
    /// Bytes of FAST & FAIR's leaf and inner nodes, for example 512/1024 [default: the library's]
    #[arg(long, value_parser = parse_layout)]
    pub(crate) layout: Option<NodeLayout>,
}

fn parse_layout(text: &str) -> Result<NodeLayout, String> {
    let layouts = [NodeLayout::Wide, NodeLayout::NarrowLeaves];
    let found = layouts.into_iter().find(|&layout| layout_name(layout) == text);
    found.ok_or_else(|| format!("one of {}", layouts.map(layout_name).join(", ")))
}

/// How a layout is written: bytes of a leaf, bytes of an inner node.
pub(crate) fn layout_name(layout: NodeLayout) -> String {
    format!("{}/{}", layout.leaf_bytes(), layout.inner_bytes())
}

/// This process's command line, as a person would write it.
pub(crate) fn command_line() -> String {
    let arguments = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    ["endura bench".to_string()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
