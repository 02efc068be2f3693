//! What the examples share, so that each stays about one thing.

pub mod device;
pub mod in_place;
pub mod npy;
pub mod race;
pub mod verify;
