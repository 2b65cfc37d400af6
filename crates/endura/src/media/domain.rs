//! (stub)
/// Which persistence domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainKind {
    /// a
    Adr,
    /// b
    Eadr,
    /// c
    PageCache,
}
/// (stub)
pub trait Domain: Send + Sync + 'static {}
/// (stub)
pub struct Adr;
/// (stub)
pub struct Eadr;
/// (stub)
pub struct PageCache;
/// (stub)
pub enum FlushInstruction {}
