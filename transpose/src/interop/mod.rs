//! Other crates' contexts, streams, buffers and errors beside this library's: a feature and a file each.

#[cfg(feature = "cudarc")]
pub mod cudarc;
#[cfg(feature = "cust")]
pub mod cust;
#[cfg(feature = "dlpack")]
pub mod dlpack;
#[cfg(feature = "half")]
pub mod half;
#[cfg(any(feature = "cudarc", feature = "cust"))]
mod lending;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "num-complex")]
pub mod num_complex;
