//! Copies: what transposes are measured against.

use crate::plan::Plan;
use crate::view::{MatrixView, MatrixViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

/// Copies `src` to `dst` with a kernel that moves the same tiles as the transposes do.
///
/// The difference between its speed and a transpose's is what transposing costs; the difference
/// between its speed and that of [`driver_copy`] is what tiles of this shape cost.
///
/// # Errors
/// [`Error::CopyShapeMismatch`](crate::Error::CopyShapeMismatch) for different shapes, and what
/// the device reports.
pub fn copy_into<'s, 'd, T: Pod>(
    src: impl Into<MatrixView<'s, T>>,
    dst: impl Into<MatrixViewMut<'d, T>>,
) -> Result<()> {
    let (src, dst) = (src.into(), dst.into());
    Plan::copy(&src, &dst)?.run(src, dst)
}

/// Copies the elements of `src` to `dst` as the driver copies: the speed to measure against.
///
/// The shapes may differ as long as the elements are as many and follow each other without gaps.
///
/// # Errors
/// [`Error::CopyShapeMismatch`] for different numbers of elements or gaps between rows,
/// [`Error::DeviceMismatch`], and what the device reports.
pub fn driver_copy<'s, 'd, T: Pod>(
    src: impl Into<MatrixView<'s, T>>,
    dst: impl Into<MatrixViewMut<'d, T>>,
) -> Result<()> {
    let (src, dst) = (src.into(), dst.into());
    let comparable = src.layout.len() == dst.layout.len();
    if !comparable || !src.is_contiguous() || !dst.is_contiguous() {
        return Err(Error::CopyShapeMismatch {
            src_rows: src.nrows(),
            src_cols: src.ncols(),
            dst_rows: dst.nrows(),
            dst_cols: dst.ncols(),
        });
    }
    let device = src.same_device(&dst)?;
    // SAFETY: the elements of both views follow each other inside live memory, and the destination is borrowed exclusively.
    unsafe { device.copy(src.address, dst.address, src.layout.len() * size_of::<T>()) }
}
