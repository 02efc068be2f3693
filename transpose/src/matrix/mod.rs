//! Matrices in device memory.
//!
//! | file | what it is about |
//! |---|---|
//! | `owned` | the matrix that owns its memory |
//! | `view`, `windows` | views of matrices, and parts of them |
//! | `transposing`, `copying`, `adjoint` | the methods that move elements |

// The first modules' methods are the first of the documentation.
mod owned;
pub(crate) mod view;

mod transposing;
mod windows;

mod adjoint;
mod copying;

pub use owned::DeviceMatrix;
pub use view::{MatrixView, MatrixViewMut};
