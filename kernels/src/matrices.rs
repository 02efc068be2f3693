//! Source and destination of one launch: addresses, shape and leading dimensions.

use crate::element::Element;

/// A row-major `rows × cols` source and its row-major destination.
///
/// `src_ld` and `dst_ld` are leading dimensions: elements from one row's start to the next's.
/// All offsets are 64-bit, so a matrix may have more than 2³² elements.
#[derive(Clone, Copy)]
pub struct Matrices<E> {
    /// The source's first element.
    pub src: *const E,
    /// The destination's first element.
    pub dst: *mut E,
    /// Rows of the source.
    pub rows: u64,
    /// Columns of the source.
    pub cols: u64,
    /// Leading dimension of the source, at least `cols`.
    pub src_ld: u64,
    /// Leading dimension of the destination.
    pub dst_ld: u64,
}

impl<E: Element> Matrices<E> {
    /// Reads the source at `(row, col)`; [`Element::ANY`] outside the matrix.
    ///
    /// # Safety
    /// The source is readable as the entry points require.
    #[inline(always)]
    pub unsafe fn read(&self, row: u64, col: u64) -> E {
        if row < self.rows && col < self.cols {
            // SAFETY: (row, col) is inside the source, which the caller may read.
            unsafe { E::load(self.src.add((row * self.src_ld + col) as usize)) }
        } else {
            E::ANY
        }
    }

    /// Writes the transposed element: what stood at `(row, col)` of the source. Nothing
    /// happens outside the matrix.
    ///
    /// # Safety
    /// The destination is writable as the entry points require, `cols × rows`.
    #[inline(always)]
    pub unsafe fn write_transposed(&self, row: u64, col: u64, element: E) {
        if row < self.rows && col < self.cols {
            // SAFETY: (col, row) is inside the destination, which the caller may write.
            unsafe { element.store(self.dst.add((col * self.dst_ld + row) as usize)) }
        }
    }

    /// Writes an element to where it stood in the source. Nothing happens outside the matrix.
    ///
    /// # Safety
    /// The destination is writable as a `rows × cols` matrix.
    #[inline(always)]
    pub unsafe fn write_copied(&self, row: u64, col: u64, element: E) {
        if row < self.rows && col < self.cols {
            // SAFETY: (row, col) is inside the destination, which the caller may write.
            unsafe { element.store(self.dst.add((row * self.dst_ld + col) as usize)) }
        }
    }
}
