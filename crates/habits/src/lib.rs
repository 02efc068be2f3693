//! The habits of every program: the same flags, the same way to open a device, to ask for memory, to say how far it is, to show what it
//! found, and to end.

pub mod device;
pub mod files;
pub mod memory;
pub mod output;
pub mod program;
pub mod progress;
pub mod svg;
pub mod table;
