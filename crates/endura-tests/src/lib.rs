//! Nothing: this package has the tests of `endura` that use it as a program of a user does, through its public interface.
//!
//! In a package of their own they are compiled without optimisation, which takes a fraction of the time: the forty types of
//! keys and values of `tests/map` alone would take three minutes. The indexes below are the library's, optimised as ever.
