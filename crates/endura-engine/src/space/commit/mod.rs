//! Commits of several changes at once: steps B1 to B12 of the [protocol](crate::space::batch), what an open finds of them,
//! and what readers see of them.
//!
//! | file | what |
//! | --- | --- |
//! | [`words`] | the BATCH words, and the intents that they lead to |
//! | [`mode`] | the mode in which writers claim what they write |
//! | [`flight`] | a flight with its marks, which end with it |
//! | [`run`] | the steps, in their order |
//! | [`needs`] | what the changes may allocate, which is set aside before the commit is decided |
//! | [`view`] | reads of one moment, in several maps |
//! | [`quiet`] | the wait for commits that change a map |
//! | [`answer`] | readers of one key |

pub(crate) mod answer;
mod flight;
mod mode;
pub(crate) mod needs;
mod quiet;
pub(crate) mod run;
pub(crate) mod view;
pub(crate) mod words;
