//! What the programs in `bin/` share, so that each stays about one table: timing, verification, the kernels
//! and shapes to measure, other libraries to compare with, and charts.

pub mod awkward;
pub mod cases;
pub mod conjugation;
pub mod element;
pub mod in_place;
pub mod kernels;
pub mod limits;
pub mod moves;
pub mod peers;
pub mod permutations;
pub mod profile;
pub mod race;
pub mod simulated;
pub mod sweep;
pub mod verify;
pub mod workloads;

pub use habits::{device, files, memory, output, program, progress, svg, table};
