//! (stub)
/// (stub)
pub struct Mapped<D>(core::marker::PhantomData<D>);
/// (stub)
pub struct Reservation;
