//! Arrays of any rank on a device.
//!
//! | file | what it is about |
//! |---|---|
//! | `layout` | shape, strides and offset: pure arithmetic |
//! | `view` | views on device memory |
//! | `owned` | the tensor that owns its memory |
//! | `moving` | the methods that move elements |
//! | `conjugating` | the methods that conjugate them |

// The first modules' methods are the first of the documentation.
mod owned;
mod view;

mod conjugating;
mod layout;
mod moving;

pub use layout::{MOST_AXES, TensorLayout};
pub use moving::copy_all;
pub use owned::DeviceTensor;
pub(crate) use view::to_matrix;
pub use view::{TensorView, TensorViewMut};
