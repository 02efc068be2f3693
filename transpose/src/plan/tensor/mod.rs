//! Planning moves of arrays of any rank: pure arithmetic.
//!
//! A move is brought to [canonical form](canonical). One stretch of memory is copied by the driver, or by `runs` where the driver would be slow; anything
//! else goes the way of these that the [model](model) expects to be fastest:
//!
//! | what it then is | how it may go |
//! |---|---|
//! | the transpose of a matrix, or of a batch of them | by a kernel of [matrices](super::fast) |
//! | the fastest axis changes | `tiles`, through a transposed tile |
//! | words lie together on either side | `boxes`, gathered from shared memory |
//! | long stretches lie together on both sides | `runs`, a vector a thread at a time |
//! | anything | `words`, a word a thread at a time |
//!
//! Moves that [compute](arithmetic) have kernels and planners of their own.
//! Where elements are [conjugated](conjugating) on the way, it is `tiles` and `words` only, of which there are ones that flip bits.
//!
//! | file | what it is about |
//! |---|---|
//! | `plan` | a checked move: how plans are made and run |
//! | `matrices` | matrices that go the way of tensors |
//! | `conjugating`, `afar` | moves that conjugate; to another device's memory |
//! | `ways` | how a move may go, and which way is taken |
//! | `tiles`, `boxes`, `runs`, `words` | the planners of the kernels |
//! | `model`, `gaps`, `sectors` | what a move costs |
//! | `cuts`, `side` | what lies together on a side, and the parts of it |
//! | `canonical`, `problem` | the move in canonical form, and as it was asked for |
//! | `launch` | what the launches have in common |

mod afar;
mod arithmetic;
mod boxes;
mod canonical;
mod conjugating;
mod cuts;
mod gaps;
mod launch;
mod matrices;
mod model;
mod plan;
mod problem;
mod runs;
mod sectors;
mod side;
mod tiles;
mod ways;
mod words;

pub use arithmetic::{ArithmeticPlan, NormalizingPlan};
pub(crate) use boxes::SquareBatch;
pub(crate) use conjugating::conjugate_in_place;
pub(super) use matrices::{better, transposing};
pub(crate) use plan::TensorPlan;
