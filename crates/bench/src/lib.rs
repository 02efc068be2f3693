//! What the programs in `bin/` share, so that each stays about one table: timing, verification, the kernels
//! and shapes to measure, other libraries to compare with, and charts.

pub mod cases;
pub mod conjugation;
pub mod device;
pub mod element;
pub mod in_place;
pub mod kernels;
pub mod memory;
pub mod moves;
pub mod output;
pub mod peers;
pub mod permutations;
pub mod profile;
pub mod program;
pub mod progress;
pub mod race;
pub mod simulated;
pub mod svg;
pub mod sweep;
pub mod table;
pub mod verify;
pub mod workloads;
