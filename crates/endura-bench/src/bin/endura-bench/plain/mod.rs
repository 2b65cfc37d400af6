//! `endura bench` by itself: the plain operations of one index beside a peer, in one process run.

mod args;
mod run;

pub(crate) use args::Args;
pub(crate) use run::run;
