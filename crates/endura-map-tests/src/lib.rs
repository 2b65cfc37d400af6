//! Nothing: the tests of this package are of `Map<K, V>` in `endura`.
//!
//! They use it with some forty types of keys and values, each as a user's program would. In a package of their own they
//! are compiled without optimisation, which takes a fraction of the time; the indexes below are the library's.
