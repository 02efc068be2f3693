//! Transposition of a matrix inside its own memory.
//!
//! `docs/in-place.md` explains the algorithms. `plan` chooses one and puts it together from steps;
//! the files of index arithmetic know nothing of devices:
//!
//! | file | what it is about |
//! |---|---|
//! | `cycles` | where an element goes, and the cycles that this makes |
//! | `decomposition` | the row and column permutations of C2R and R2C |
//! | `divide` | multipliers for division by invariant numbers |
//! | `tiles` | tile sizes for the staged algorithms |
//! | `panels`, `stages`, `decomposed` | the algorithms as steps |
//! | `parts` | three stages for who runs the last two part by part |
//! | `launches` | each kernel's words, block, grid and shared memory |
//! | `recipe` | steps, and running them |
//! | `layouts` | arrays of structures and their conversions |
//! | `studies` | what is there only with the feature `in_place_studies` |
//! | `shape`, `options` | what is transposed, and what a caller may choose |
//! | `squares` | batches of squares |
//! | `methods` | what matrices offer of all this |

mod cycles;
mod decomposed;
mod decomposition;
mod launches;
mod layouts;
mod methods;
mod options;
mod panels;
mod parts;
mod plan;
mod recipe;
mod shape;
mod squares;
mod stages;
mod studies;
mod tiles;

pub use cycles::census;
pub(crate) use cycles::destination;
pub use options::{Carry, InPlace, InPlaceOptions};
pub(crate) use parts::ThreeStages;
pub use plan::InPlacePlan;
