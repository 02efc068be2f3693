//! What threads share, run through all interleavings that a memory model permits, by [loom](https://docs.rs/loom).
//!
//! The files are those of the library and of the simulator, included by their paths: they take what threads share from a module `sync`, which here
//! is loom's. A model that finds nothing is none: each call that wakes others is taken out by itself, and each order of an atomic access is
//! weakened by itself (`sync::spoil`), and the models have to find it, or `tests.rs` says why there is nothing to be found.
#![cfg(test)]

#[path = "../../../transpose/src/host/board.rs"]
mod board;
#[path = "../../../transpose/src/host/ends.rs"]
mod ends;
#[path = "../../simt/src/meeting.rs"]
mod meeting;
mod sync;
mod tests;
#[path = "../../simt/src/tickets.rs"]
mod tickets;
