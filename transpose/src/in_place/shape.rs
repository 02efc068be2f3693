//! What an in-place transposition is planned for.

use crate::DeviceMatrix;
use crate::kernels::{Width, width_dividing};
use crate::layout::Layout;
use bytemuck::Pod;
use std::fmt;

/// What is transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub rows: usize,
    pub cols: usize,
    pub ld: usize,
    /// The word that elements are made of: the widest that divides them.
    pub width: Width,
    /// Words of an element. Most kernels move elements of one word only.
    pub tuple: usize,
}

impl Shape {
    pub fn of<T: Pod>(matrix: &DeviceMatrix<T>) -> Self {
        Self::of_layout::<T>(matrix.layout())
    }

    /// That of elements laid out so.
    pub fn of_layout<T>(Layout { rows, cols, ld }: Layout) -> Self {
        let width = width_dividing([size_of::<T>()]);
        let tuple = size_of::<T>() / width.bytes();
        Shape { rows, cols, ld, width, tuple }
    }

    /// Whether every element stays where it is: the memory of a row is that of a column.
    pub fn stays(&self) -> bool {
        self.rows <= 1 || self.cols <= 1 || self.tuple == 0
    }

    pub fn element_bytes(&self) -> usize {
        self.tuple * self.width.bytes()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { rows, cols, ld, .. } = self;
        let bytes = self.element_bytes();
        write!(f, "{rows} × {cols} elements of {bytes} bytes, leading dimension {ld}")
    }
}

/// The most scratch memory that a transposition may take, unless it stages rows: a thousandth of the
/// matrix, and 1 MiB.
pub(super) fn scratch_limit(shape: &Shape) -> usize {
    shape.rows * shape.cols * shape.element_bytes() / 1000 + (1 << 20)
}
