//! Arithmetic on the way: numbers are scaled, added, converted and conjugated in the pass that moves them.
//!
//! | file | what it is about |
//! |---|---|
//! | `number` | the types of numbers, and which can become which |
//! | `kind` | real and complex |
//! | `narrow` | numbers of 8 bits |
//! | `operation` | what is computed, as kernels are told |
//! | `tensor`, `matrix` | the methods |
//! | `refused` | what the compiler refuses |

pub mod kind;
mod matrix;
mod narrow;
mod number;
mod operation;
#[cfg(all(doctest, feature = "simulator"))]
mod refused;
mod tensor;

pub use narrow::{E4M3, E5M2};
pub use number::{ConvertTo, Number};
pub use operation::Arithmetic;
