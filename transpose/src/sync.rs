//! What threads share. Files that take it from here depend on nothing else of the crate, and `crates/models` runs them with its own.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
