//! Where the elements of a row-major matrix lie: shape and leading dimension, checked.

use crate::{Error, Result};
use std::ops::{Bound, Range, RangeBounds};

/// The shape of a row-major matrix and the distance between its rows, in elements.
///
/// A layout that exists is valid: the leading dimension holds a row, and the matrix's extent in
/// bytes, for the element size it was made for, and in elements fits `isize`. Rows of no columns, and columns of no rows, are no more
/// than that either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) ld: usize,
}

impl Layout {
    /// `rows × cols` elements of `element_bytes` bytes, rows `ld` elements apart.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`] if `ld < cols`, and [`Error::SizeOverflow`].
    pub fn new(rows: usize, cols: usize, ld: usize, element_bytes: usize) -> Result<Self> {
        if ld < cols {
            return Err(Error::LeadingDimension { ld, cols });
        }
        let counted = |bytes: &usize| *bytes <= isize::MAX as usize;
        // Of elements without bytes there are no more either: distances are counted in elements, too.
        let bytes = rows.checked_mul(ld).and_then(|all| all.checked_mul(element_bytes.max(1)));
        // Where there are no elements the shape is still one that a tensor may have.
        let shape = rows.max(1).checked_mul(cols.max(1));
        if !(bytes.filter(counted).is_some() && shape.filter(counted).is_some()) {
            return Err(Error::SizeOverflow { rows, cols, ld, element_bytes });
        }
        Ok(Layout { rows, cols, ld })
    }

    /// `rows × cols` elements of `element_bytes` bytes, rows without gaps between them.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`].
    pub fn contiguous(rows: usize, cols: usize, element_bytes: usize) -> Result<Self> {
        Self::new(rows, cols, cols, element_bytes)
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// `(rows, columns)`.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Leading dimension: elements from one row's start to the next's.
    pub fn ld(&self) -> usize {
        self.ld
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// Whether rows follow each other without a gap.
    pub fn is_contiguous(&self) -> bool {
        self.ld == self.cols || self.rows <= 1
    }

    /// Elements from the first to one past the last.
    pub fn extent(&self) -> usize {
        if self.is_empty() { 0 } else { (self.rows - 1) * self.ld + self.cols }
    }

    /// Elements of the matrix, without what lies between its rows.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Elements of memory that a matrix with this layout owns: all of it, what lies behind its last row included.
    pub(crate) fn capacity(&self) -> usize {
        self.rows * self.ld
    }

    /// Whether matrices laid out so, `count` of them, whose starts are `stride` elements apart, lie in one of two ways in which they have no element in
    /// common: each lies behind the one before, or all of the first row of the last lies before the second row of the first, so that their rows take turns.
    /// Others may have none in common either.
    pub(crate) fn are_apart(&self, count: usize, stride: usize) -> bool {
        let first_rows = || count.saturating_sub(1).checked_mul(stride)?.checked_add(self.cols);
        let take_turns = || first_rows().is_some_and(|end| stride >= self.cols && end <= self.ld);
        count <= 1 || stride >= self.extent() || take_turns()
    }

    /// The layout of a matrix whose first element's address is a multiple of so many bytes, and perhaps of no more.
    ///
    /// Memory that a device allocates is as well aligned as anything gains from; a window on it may start anywhere.
    pub fn aligned_to(self, bytes: usize) -> AlignedLayout {
        AlignedLayout { layout: self, alignment: bytes }
    }
}

/// The indices that a range of slices means of `length`; they may end before they start, and behind the length.
pub(crate) fn indices(range: impl RangeBounds<usize>, length: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    start..end
}

/// A layout, and how the first element's address is aligned. A [`Layout`] alone is one at an address such as devices allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlignedLayout {
    pub(crate) layout: Layout,
    /// Bytes that divide the address.
    pub(crate) alignment: usize,
}

/// What allocations of every device are aligned to, in bytes.
const ALLOCATION: usize = 256;

impl From<Layout> for AlignedLayout {
    fn from(layout: Layout) -> Self {
        layout.aligned_to(ALLOCATION)
    }
}

/// The methods by which whatever has a `layout` tells its shape.
macro_rules! shape_accessors {
    () => {
        /// The shape and the distance between the rows.
        pub fn layout(&self) -> $crate::Layout {
            self.layout
        }

        /// Number of rows.
        pub fn nrows(&self) -> usize {
            self.layout.rows
        }

        /// Number of columns.
        pub fn ncols(&self) -> usize {
            self.layout.cols
        }

        /// `(rows, columns)`.
        pub fn shape(&self) -> (usize, usize) {
            (self.layout.rows, self.layout.cols)
        }

        /// Leading dimension: elements from one row's start to the next's.
        pub fn ld(&self) -> usize {
            self.layout.ld
        }

        /// Whether there are no elements.
        pub fn is_empty(&self) -> bool {
            self.layout.is_empty()
        }

        /// Whether rows follow each other without a gap.
        pub fn is_contiguous(&self) -> bool {
            self.layout.is_contiguous()
        }
    };
}
pub(crate) use shape_accessors;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_must_fit_its_leading_dimension() {
        assert!(matches!(Layout::new(3, 5, 4, 4), Err(Error::LeadingDimension { ld: 4, cols: 5 })));
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        for (rows, cols, bytes) in [
            (usize::MAX, 2, 1),
            (1 << 40, 1 << 30, 1),
            (1 << 31, 1 << 31, 2),
            (isize::MAX as usize, 1, 2),
        ] {
            assert!(
                matches!(Layout::contiguous(rows, cols, bytes), Err(Error::SizeOverflow { .. })),
                "{rows} × {cols} × {bytes}"
            );
        }
        for (rows, cols) in [(usize::MAX, 0), (0, usize::MAX), (1 << 63, 0)] {
            assert!(Layout::contiguous(rows, cols, 16).is_err(), "{rows} × {cols}");
        }
        assert!(Layout::contiguous(isize::MAX as usize, 0, 16).is_ok());
    }

    #[test]
    fn the_last_row_has_no_padding() {
        assert_eq!(Layout::new(3, 5, 8, 4).unwrap().extent(), 21);
        assert_eq!(Layout::new(0, 5, 8, 4).unwrap().extent(), 0);
        assert_eq!(Layout::new(3, 0, 8, 4).unwrap().extent(), 0);
    }
}
