//! Other crates' contexts, streams, buffers and errors beside this library's: a feature and a file each.

#[cfg(feature = "cust")]
pub mod cust;
