//! What a medium around another does not look at.

/// Writes the methods of [`Media`](endura_engine::media::Media) that do nothing but call the medium inside, which is
/// in the named field: `pass_on!(inner: len, grow, sync);` in the `impl`. What has other promises than the medium
/// inside is written by hand.
#[macro_export]
macro_rules! pass_on {
    ($inner:ident: $($method:ident),+) => {
        $($crate::pass_on!(@$method $inner);)+
    };
    (@len $inner:ident) => {
        fn len(&self) -> u64 {
            self.$inner.len()
        }
    };
    (@grow $inner:ident) => {
        fn grow(&self, len: u64) -> ::endura_engine::Result<()> {
            self.$inner.grow(len)
        }
    };
    (@cut $inner:ident) => {
        fn cut(&self, len: u64) -> ::endura_engine::Result<()> {
            self.$inner.cut(len)
        }
    };
    (@flush $inner:ident) => {
        unsafe fn flush(&self, at: u64, len: u64) {
            // SAFETY: the caller's promise, passed on.
            unsafe { self.$inner.flush(at, len) }
        }
    };
    (@fence $inner:ident) => {
        fn fence(&self) {
            self.$inner.fence();
        }
    };
    (@needs_flush $inner:ident) => {
        fn needs_flush(&self) -> bool {
            self.$inner.needs_flush()
        }
    };
    (@hears_flushes $inner:ident) => {
        fn hears_flushes(&self) -> bool {
            self.$inner.hears_flushes()
        }
    };
    (@prefetch $inner:ident) => {
        fn prefetch(&self, at: u64, len: u64) {
            self.$inner.prefetch(at, len);
        }
    };
    (@mark $inner:ident) => {
        fn mark(&self, mark: ::endura_engine::media::Mark) {
            self.$inner.mark(mark);
        }
    };
    (@sync $inner:ident) => {
        fn sync(&self) -> ::endura_engine::Result<()> {
            self.$inner.sync()
        }
    };
}
