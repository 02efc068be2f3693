//! Parts of matrices, given by ranges of rows and columns, and views of views.

use crate::layout::{Layout, indices};
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::{Error, Result};
use bytemuck::Pod;
use std::ops::RangeBounds;

impl Layout {
    /// The layout of the elements that are in `rows` and in `cols`, and how many elements before its first there are.
    fn submatrix(
        &self,
        rows: impl RangeBounds<usize>,
        cols: impl RangeBounds<usize>,
    ) -> Result<(usize, Layout)> {
        let (nrows, ncols) = self.shape();
        let (rows, cols) = (indices(rows, nrows), indices(cols, ncols));
        let inside = |range: &std::ops::Range<usize>, length| {
            range.start <= range.end && range.end <= length
        };
        if !inside(&rows, nrows) || !inside(&cols, ncols) {
            return Err(Error::SubmatrixOutOfBounds { rows, cols, nrows, ncols });
        }
        let part = Layout { rows: rows.len(), cols: cols.len(), ld: self.ld };
        // What has no elements is nowhere; the first row after the last would lie behind the memory.
        let offset = if part.is_empty() { 0 } else { rows.start * self.ld + cols.start };
        Ok((offset, part))
    }

    /// The rows before `row` and those from it on, and how many elements before the first of these there are.
    fn split_at_row(&self, row: usize) -> Result<(Layout, usize, Layout)> {
        let (rows, cols) = self.shape();
        if row > rows {
            return Err(Error::SplitOutOfBounds { what: "row", at: row, rows, cols });
        }
        let (above, below) = (Layout { rows: row, ..*self }, Layout { rows: rows - row, ..*self });
        Ok((above, if below.is_empty() { 0 } else { row * self.ld }, below))
    }

    /// The columns before `col` and those from it on.
    fn split_at_col(&self, col: usize) -> Result<(Layout, usize, Layout)> {
        let (rows, cols) = self.shape();
        if col > cols {
            return Err(Error::SplitOutOfBounds { what: "column", at: col, rows, cols });
        }
        let (left, right) = (Layout { cols: col, ..*self }, Layout { cols: cols - col, ..*self });
        Ok((left, if right.is_empty() { 0 } else { col }, right))
    }

    /// As many elements in the same order without gaps.
    fn reshape(&self, rows: usize, cols: usize) -> Result<Layout> {
        if self.is_contiguous() && rows.checked_mul(cols) == Some(self.len()) {
            return Ok(Layout { rows, cols, ld: cols });
        }
        let (shape, strides) = (vec![self.rows, self.cols], vec![self.ld as isize, 1]);
        Err(Error::Reshape { shape, strides, wanted: vec![rows, cols] })
    }
}

/// What both kinds of view have.
macro_rules! parts {
    ($view:ident) => {
        impl<'a, T: Pod> $view<'a, T> {
            /// The elements that are in `rows` and in `cols`, and none of the memory around them: a batch starts from a
            /// [`window`](DeviceMatrix::window).
            ///
            /// # Errors
            /// [`Error::SubmatrixOutOfBounds`] for ranges that are not within the rows and the columns, or end before they start.
            pub fn submatrix(
                self,
                rows: impl RangeBounds<usize>,
                cols: impl RangeBounds<usize>,
            ) -> Result<Self> {
                let (offset, layout) = self.layout.submatrix(rows, cols)?;
                Ok(self.part(offset, layout))
            }

            /// The rows before `row`, and those from it on: two views that have no element in common.
            ///
            /// # Errors
            /// [`Error::SplitOutOfBounds`] for a row behind the end.
            pub fn split_at_row(self, row: usize) -> Result<(Self, Self)> {
                let (above, offset, below) = self.layout.split_at_row(row)?;
                Ok(self.parts((0, above), (offset, below)))
            }

            /// The columns before `col`, and those from it on: two views that have no element in common.
            ///
            /// # Errors
            /// [`Error::SplitOutOfBounds`] for a column behind the end.
            pub fn split_at_col(self, col: usize) -> Result<(Self, Self)> {
                let (left, offset, right) = self.layout.split_at_col(col)?;
                Ok(self.parts((0, left), (offset, right)))
            }

            /// The same elements in the same order, row by row, as `rows × cols`.
            ///
            /// # Errors
            /// [`Error::Reshape`] if that are not as many elements, or there are gaps between the rows.
            pub fn reshape(self, rows: usize, cols: usize) -> Result<Self> {
                let layout = self.layout.reshape(rows, cols)?;
                Ok(self.part(0, layout))
            }
        }
    };
}

parts!(MatrixView);
parts!(MatrixViewMut);

impl<T: Pod> DeviceMatrix<T> {
    /// The elements that are in `rows` and in `cols`, as ranges of slices are given.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix, Error};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 3, 4, &(0..12).collect::<Vec<i32>>())?;
    /// assert_eq!(a.submatrix(1.., 2..4)?.to_host()?, [6, 7, 10, 11]);
    /// assert!(matches!(a.submatrix(.., 2..=4), Err(Error::SubmatrixOutOfBounds { ncols: 4, .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SubmatrixOutOfBounds`] for ranges that are not within the rows and the columns, or end before they start.
    pub fn submatrix(
        &self,
        rows: impl RangeBounds<usize>,
        cols: impl RangeBounds<usize>,
    ) -> Result<MatrixView<'_, T>> {
        self.view().submatrix(rows, cols)
    }

    /// Like [`submatrix`](Self::submatrix), exclusive.
    ///
    /// Two parts that could be written at a time are not to be had but by a split:
    ///
    /// ```compile_fail,E0499
    /// # use transpose::{Device, DeviceMatrix};
    /// let mut a = DeviceMatrix::<u8>::zeroed(&Device::simulated(), 4, 4).unwrap();
    /// let (left, right) = (a.submatrix_mut(.., ..2).unwrap(), a.submatrix_mut(.., 2..).unwrap());
    /// drop((left, right));
    /// ```
    ///
    /// # Errors
    /// As [`submatrix`](Self::submatrix).
    pub fn submatrix_mut(
        &mut self,
        rows: impl RangeBounds<usize>,
        cols: impl RangeBounds<usize>,
    ) -> Result<MatrixViewMut<'_, T>> {
        self.view_mut().submatrix(rows, cols)
    }

    /// The rows before `row`, and those from it on.
    ///
    /// # Errors
    /// [`Error::SplitOutOfBounds`] for a row behind the end.
    pub fn split_at_row(&self, row: usize) -> Result<(MatrixView<'_, T>, MatrixView<'_, T>)> {
        self.view().split_at_row(row)
    }

    /// Like [`split_at_row`](Self::split_at_row), exclusive: both halves can be written.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let mut a = DeviceMatrix::<u8>::zeroed(&device, 3, 2)?;
    /// let (mut above, mut below) = a.split_at_row_mut(1)?;
    /// above.fill(1)?;
    /// below.fill(2)?;
    /// assert_eq!(a.to_host()?, [1, 1, 2, 2, 2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`split_at_row`](Self::split_at_row).
    pub fn split_at_row_mut(
        &mut self,
        row: usize,
    ) -> Result<(MatrixViewMut<'_, T>, MatrixViewMut<'_, T>)> {
        self.view_mut().split_at_row(row)
    }

    /// The columns before `col`, and those from it on.
    ///
    /// # Errors
    /// [`Error::SplitOutOfBounds`] for a column behind the end.
    pub fn split_at_col(&self, col: usize) -> Result<(MatrixView<'_, T>, MatrixView<'_, T>)> {
        self.view().split_at_col(col)
    }

    /// Like [`split_at_col`](Self::split_at_col), exclusive: both halves can be written.
    ///
    /// # Errors
    /// As [`split_at_col`](Self::split_at_col).
    pub fn split_at_col_mut(
        &mut self,
        col: usize,
    ) -> Result<(MatrixViewMut<'_, T>, MatrixViewMut<'_, T>)> {
        self.view_mut().split_at_col(col)
    }

    /// The same elements in the same order, row by row, as `rows × cols`; none is moved.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let mut a = DeviceMatrix::from_host(&device, 2, 3, &[1u8, 2, 3, 4, 5, 6])?;
    /// a.reshape(3, 2)?;
    /// assert_eq!(a.transposed()?.to_host()?, [1, 3, 5, 2, 4, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Reshape`] if that are not as many elements, or there are gaps between the rows; the matrix is as it was.
    pub fn reshape(&mut self, rows: usize, cols: usize) -> Result<()> {
        let layout = self.layout().reshape(rows, cols)?;
        self.set_layout(layout);
        Ok(())
    }
}
