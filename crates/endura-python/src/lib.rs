//! `import endura`: the library in Python.
//!
//! The classes here are those that have to be fast. What is not, the exceptions, the names of types and the views of a map, is
//! Python, in `python/endura`. Objects become encodings (`convert`), which an `endura::dynamic::DynamicMap` takes.

mod call;
mod convert;
mod error;
mod map;
mod module;
mod pool;
mod shared;
