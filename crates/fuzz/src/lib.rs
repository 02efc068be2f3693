//! Bad input by the thousand.
//!
//! Each module is a target: a type of input that any bytes can be made into, and a function that runs one and panics on what must not
//! be: a panic of the library, another result than the oracle's, memory or time without bound. `tests/targets.rs` runs them all, on
//! the inputs kept in `tests/__fuzz__` and on some at random; `cargo xtask fuzz` lets a fuzzer that sees which code runs look for more.

pub mod absurd;
pub mod cache;
pub mod choices;
pub mod matrices;
pub mod npy;
pub mod ptx;
pub mod tensors;

// The example's own, which is a program and no library.
#[path = "../../../examples/07_npy/array.rs"]
#[allow(dead_code, reason = "the example needs more of it")]
mod array;
#[path = "../../../examples/07_npy/dtype.rs"]
mod dtype;
#[path = "../../../examples/07_npy/header.rs"]
mod header;
#[path = "../../../examples/07_npy/literal.rs"]
mod literal;
