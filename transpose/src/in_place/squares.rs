//! Batches of squares, each transposed in its own memory, by one launch for all of them.
//!
//! Squares of up to 8 KiB without gaps in or between them are moved by the kernel `batch` of the fast ones, which is made for a source and
//! a destination. Here both are the same memory, and it works for two reasons:
//!
//! - Where the first square starts on a sector of 32 bytes, a block stores just the squares that it loads, and loads nothing else: its band
//!   is whole squares and whole sectors, so no vector of it belongs to another block's.
//! - A block loads all of its band before a barrier and stores behind it; and it loads by instructions that may see what is written in a launch.
//!
//! Squares of up to 60 KiB whose elements have several words, that start anywhere, or that have gaps in or between them are moved in [boxes](SquareBatch::in_boxes) by the kernels of tensors: each box is whole
//! squares, and its block loads nothing that another one stores.
//!
//! All others are moved by the kernels of single squares, whose blocks are counted through all of them.

use super::launches::{self, Squares};
use super::shape::Shape;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::layout::Layout;
use crate::matrix::view::MatrixViewMut;
use crate::plan::fast::SMALL_MATRIX;
use crate::plan::{Batch, Problem, SquareBatch, VECTOR, fast};
use crate::{DeviceMatrix, Error, Result};
use bytemuck::Pod;

/// Where the kernel `batch` must start in place: a sector, in bytes.
const SECTOR: u64 = 32;

impl<T: Pod> DeviceMatrix<T> {
    /// Transposes each of the squares that the matrix is made of, one below the other, in its own memory: a matrix of `count · n` rows and
    /// `n` columns is a batch of `count` squares of `n × n`.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let host = [1u8, 2, 3, 4, 11, 12, 13, 14];
    /// let mut squares = DeviceMatrix::from_host(&Device::simulated(), 4, 2, &host)?;
    /// squares.transpose_squares_in_place()?;
    /// assert_eq!(squares.to_host()?, [1, 3, 2, 4, 11, 13, 12, 14]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotServed`] if the rows are no multiple of the columns, and those of [`MatrixViewMut::transpose_squares_in_place`].
    pub fn transpose_squares_in_place(&mut self) -> Result<()> {
        let Layout { rows, cols, ld } = self.layout();
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        if !rows.is_multiple_of(cols) {
            return Err(not_served::<T>(rows, cols, "its rows are no multiple of its columns"));
        }
        self.window_mut(0, cols, cols, ld)?.transpose_squares_in_place(rows / cols, cols * ld)
    }
}

impl<T: Pod> MatrixViewMut<'_, T> {
    /// Transposes `count` squares in their own memory: this window, and those that follow it every `stride` elements in the memory that it is taken
    /// from, with its leading dimension. They may lie one behind the other, or side by side in the same rows; what is between them stays as it is.
    ///
    /// No further memory is needed.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// // Two squares side by side.
    /// let host = [1u8, 2, 11, 12, 3, 4, 13, 14];
    /// let mut matrix = DeviceMatrix::from_host(&Device::simulated(), 2, 4, &host)?;
    /// matrix.window_mut(0, 2, 2, 4)?.transpose_squares_in_place(2, 2)?;
    /// assert_eq!(matrix.to_host()?, [1, 3, 11, 13, 2, 4, 12, 14]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotServed`] if the window is not square or not two of its elements fit on chip, [`Error::BatchOutOfBounds`], [`Error::BatchOverlap`],
    /// [`Error::NoGrid`] for more squares than a launch has blocks, and what the device reports.
    pub fn transpose_squares_in_place(&mut self, count: usize, stride: usize) -> Result<()> {
        let Layout { rows, cols, ld } = self.layout;
        if rows != cols {
            return Err(not_served::<T>(rows, cols, "it is not square"));
        }
        if count == 0 || rows == 0 {
            return Ok(());
        }
        let stride = if count > 1 { stride } else { 0 };
        require_apart(&self.layout, count, stride, self.available)?;
        let shape = Shape::of_layout::<T>(self.layout);
        if shape.stays() {
            return Ok(());
        }
        let facts = self.device.facts();
        let batch = SquareBatch { element_bytes: size_of::<T>(), side: cols, ld, count, stride };
        let in_boxes = count > 1 && are_faster_in_boxes(&batch, self.address);
        let boxes = if in_boxes { batch.in_boxes(self.address, facts) } else { None };
        let small = || small_squares(self.layout, &batch, self.address, facts);
        let align = 1 << self.address.trailing_zeros().min(16);
        let squares = Squares { count, stride, align };
        let others = || launches::square(&shape, squares, facts);
        let launch = match boxes.or_else(small).or_else(others) {
            Some(launch) => launch,
            None if launches::square(&shape, Squares::ONE, facts).is_some() => {
                let problem = format!("{count} times {shape}, in place");
                return Err(Error::NoGrid { problem });
            }
            None => return Err(not_served::<T>(rows, cols, "two elements do not fit on chip")),
        };
        debug_assert!(ld >= cols);
        // SAFETY: the launch was made for these squares, which lie in memory that is borrowed exclusively, apart from each other.
        unsafe { self.device.launch(&launch, [self.address, self.address]) }
    }
}

/// Refuses squares outside the `available` elements, and in each other.
fn require_apart(layout: &Layout, count: usize, stride: usize, available: usize) -> Result<()> {
    let extent = layout.extent();
    let end = (count - 1).checked_mul(stride).and_then(|last| last.checked_add(extent));
    match end {
        Some(end) if end <= available => {}
        _ => return Err(Error::BatchOutOfBounds { count, stride, extent, available }),
    }
    match layout.are_apart(count, stride) {
        true => Ok(()),
        false => Err(Error::BatchOverlap { stride, extent }),
    }
}

/// Whether boxes move squares from an address on faster than the kernels that are made for squares: those of elements of one word are faster in tiles that they fill, and the kernel `batch` is, which serves
/// small ones without gaps from a sector on. (By 2460 batches on an H200, decision 131, and 910 that start anywhere, decision 137.)
fn are_faster_in_boxes(batch: &SquareBatch, address: u64) -> bool {
    /// The side up to which squares are very small.
    const SMALL: usize = 8;
    let SquareBatch { element_bytes, side, ld, stride, .. } = *batch;
    let have_gaps = ld != side || stride != side * side;
    let is_small = side * side * element_bytes <= SMALL_MATRIX;
    let is_batch = is_small && !have_gaps && address.is_multiple_of(SECTOR);
    let on_vectors = ((ld | stride) * element_bytes) as u64 | address;
    let fill_tiles =
        |of: usize| side.is_multiple_of(of) && on_vectors.is_multiple_of(VECTOR as u64);
    match (element_bytes, is_small) {
        (1 | 4, true) if is_batch => side <= SMALL || !side.is_multiple_of(4),
        (2, true) if is_batch && side > 16 && !side.is_multiple_of(2) => true,
        (2, true) if is_batch => side <= SMALL || side > 44 && !side.is_multiple_of(4),
        (8, true) if is_batch => side <= 2,
        (16, true) if is_batch => false,
        (1 | 2 | 4, true) => true,
        (8, true) => side < if have_gaps { 24 } else { 32 },
        (16, true) => side < if have_gaps { 20 } else { 24 },
        (1, false) => !fill_tiles(16),
        (2 | 4, false) => !fill_tiles(64),
        (8, false) if have_gaps && (40..64).contains(&side) => false,
        (8, false) => !fill_tiles(32),
        (16, false) => false,
        _ => true,
    }
}

/// The launch for many small squares without gaps in or between them, of one of which `layout` is.
fn small_squares(
    layout: Layout,
    squares: &SquareBatch,
    address: u64,
    facts: &Facts,
) -> Option<Launch> {
    if !address.is_multiple_of(SECTOR) {
        return None;
    }
    let SquareBatch { element_bytes, count, stride, .. } = *squares;
    let batch = Batch { count, src_stride: stride, dst_stride: stride };
    let (src, dst, src_align, dst_align) = (layout, layout, VECTOR, VECTOR);
    let problem = Problem { element_bytes, src, dst, src_align, dst_align, batch };
    let (_, launches) =
        fast::all(&problem, facts).into_iter().find(|(name, _)| *name == "batch")?;
    let [launch] = <[Launch; 1]>::try_from(launches).ok()?;
    Some(launch)
}

fn not_served<T>(rows: usize, cols: usize, reason: &'static str) -> Error {
    let (algorithm, element_bytes) = ("square", size_of::<T>());
    Error::NotServed { algorithm, rows, cols, element_bytes, reason }
}
