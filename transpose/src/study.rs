//! What transposes are measured against: copies.

pub use crate::in_place::census as in_place_cycles;

use crate::plan::Plan;
use crate::view::{MatrixView, MatrixViewMut};
use crate::{DeviceMatrix, Error, Result};
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
    Plan::copy::<T>(src.layout, dst.layout)?.run(src, dst)
}

/// Copies the memory of `src` to that of `dst` as the driver copies: the speed to measure against.
///
/// The shapes may differ as long as the bytes are as many; what lies between rows is copied too.
///
/// # Errors
/// [`Error::CopyShapeMismatch`] for different sizes, [`Error::DeviceMismatch`], and what the
/// device reports.
pub fn driver_copy<T: Pod>(src: &DeviceMatrix<T>, dst: &mut DeviceMatrix<T>) -> Result<()> {
    if src.capacity() != dst.capacity() {
        return Err(Error::CopyShapeMismatch {
            src_rows: src.nrows(),
            src_cols: src.ncols(),
            dst_rows: dst.nrows(),
            dst_cols: dst.ncols(),
        });
    }
    src.view().same_device(&dst.view_mut())?.copy(src.buffer(), dst.buffer())
}
