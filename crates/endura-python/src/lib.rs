//! `import endura`: the library in Python. `docs/python.md` says how it is used.
//!
//! This crate is the extension module `endura._endura`: the classes that have to be fast. The rest of the package is
//! written in Python, in `python/endura`: the exceptions, the names of types, the views of a map.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `call` | calls of functions of the program |
//! | `error` | errors of the library as exceptions |
//! | `shared` | the state that the objects of one pool share |
//! | `convert` | conversions of objects to encodings and back |
//! | `batch` | the parts of a batch, and of a transaction |
//! | `map` | the class `Map`, over an `endura::dynamic::DynamicMap`, and its iterators |
//! | `pool` | the class `Pool`, its options, statistics and events |
//! | `module` | the module itself |
//!
//! This crate may use the public API of `endura`, and `endura::dynamic`. `unsafe` is allowed in `call`,
//! `convert/encoded.rs` and `module`. A method that Python code can call also belongs in `python/endura/_endura.pyi`.
//!
//! After a change run `.ci/python`. After a change of references to objects, or of what runs without the interpreter's
//! lock, also run `.ci/python --campaign`.

mod batch;
mod call;
mod convert;
mod error;
mod map;
mod module;
mod pool;
mod shared;
