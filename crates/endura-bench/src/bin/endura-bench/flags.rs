//! Where a benchmark's files lie, and how endura's nodes are laid out.

use std::path::{Path, PathBuf};

use endura::NodeLayout;

pub(super) fn parse_layout(text: &str) -> Result<NodeLayout, String> {
    let layouts = [NodeLayout::Wide, NodeLayout::NarrowLeaves];
    let found = layouts.into_iter().find(|&layout| layout_name(layout) == text);
    found.ok_or_else(|| format!("one of {}", layouts.map(layout_name).join(", ")))
}

/// How a layout is written: bytes of a leaf, bytes of an inner node.
pub(super) fn layout_name(layout: NodeLayout) -> String {
    format!("{}/{}", layout.leaf_bytes(), layout.inner_bytes())
}

pub(super) fn default_dir() -> PathBuf {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { shm.into() } else { std::env::temp_dir() }
}
