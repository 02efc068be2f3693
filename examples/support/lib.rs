//! What the examples share, so that each stays about one thing.

pub mod cases;
pub mod chart;
pub mod cublas;
pub mod device;
pub mod npy;
pub mod race;
pub mod verify;
