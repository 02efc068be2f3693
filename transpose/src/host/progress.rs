//! How far a move is.

/// How far a move is: bytes of the destination.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// That are there.
    pub done: u64,
    /// That will be.
    pub total: u64,
}

/// What is told how far a move is, on whichever thread has come so far.
pub type Watch<'a> = dyn Fn(Progress) + Sync + 'a;
