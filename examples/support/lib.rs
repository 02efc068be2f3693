//! What the examples share, so that each stays about one thing.

pub mod cases;
pub mod device;
pub mod element;
pub mod in_place;
pub mod kernels;
pub mod npy;
pub mod output;
pub mod peers;
pub mod profile;
pub mod progress;
pub mod race;
pub mod simulated;
pub mod svg;
pub mod verify;
pub mod workloads;
