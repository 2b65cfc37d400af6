//! Return types of closures that visit entries.

use std::ops::ControlFlow;

/// What the closure of [`Map::range_with`](crate::Map::range_with) returns: nothing, a `ControlFlow`, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "a visitor cannot return `{Self}`",
    label = "return nothing, `ControlFlow<B>` or `Result<(), E>`",
    note = "`ControlFlow::Break(answer)` ends the visit with an answer; an `Err` ends it too"
)]
pub trait Visit: sealed::Sealed {
    #[doc(hidden)]
    const GO_ON: Self;
    #[doc(hidden)]
    fn is_break(&self) -> bool;
}

mod sealed {
    pub trait Sealed: Sized {}
    impl Sealed for () {}
    impl<B> Sealed for std::ops::ControlFlow<B> {}
    impl<E> Sealed for Result<(), E> {}
}

impl Visit for () {
    const GO_ON: Self = ();
    fn is_break(&self) -> bool {
        false
    }
}

impl<B> Visit for ControlFlow<B> {
    const GO_ON: Self = ControlFlow::Continue(());
    fn is_break(&self) -> bool {
        ControlFlow::is_break(self)
    }
}

impl<E> Visit for Result<(), E> {
    const GO_ON: Self = Ok(());
    fn is_break(&self) -> bool {
        self.is_err()
    }
}
