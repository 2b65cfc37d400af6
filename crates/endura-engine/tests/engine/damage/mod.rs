//! Words that no session has written, and what newer builds write.

mod arithmetic;
mod counts;
mod damage_is_told;
mod hostile;
mod lengths;
mod maps_of_the_lab;
mod types;
mod unknown_nodes;
