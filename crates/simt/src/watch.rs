//! What an instrumented launch observes.

/// How an access moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    Load,
    Store,
    Atomic,
}
