//! The second and last door for `unsafe`: volatile state that every operation touches. Who is
//! inside an operation ([`epoch`]), which thread this is ([`thread`]), and whether this process is
//! still the one that opened the pool ([`fork`]).
