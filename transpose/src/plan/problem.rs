//! What a plan is made for.

use crate::layout::Layout;
use std::fmt;

/// The bytes that vectors are aligned to; nothing gains from more.
pub(crate) const VECTOR: usize = 16;

/// Equally laid out matrices at equal distances, in elements.
///
/// The matrices of the destination must not overlap; those of the source may. The strides of a single matrix mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many matrices there are.
    pub count: usize,
    /// Elements from the start of one source to the start of the next.
    pub src_stride: usize,
    /// Elements from the start of one destination to the start of the next.
    pub dst_stride: usize,
}

impl Batch {
    /// A single matrix.
    pub(crate) const ONE: Batch = Batch { count: 1, src_stride: 0, dst_stride: 0 };

    /// The same batch, with strides of zero if there are no two matrices that they could lie between.
    pub(super) fn normalised(self) -> Batch {
        if self.count > 1 { self } else { Batch { count: self.count, ..Batch::ONE } }
    }
}

/// The element, both layouts, how both memories are aligned, and how many matrices there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub element_bytes: usize,
    pub src: Layout,
    pub dst: Layout,
    /// The largest power of two, up to [`VECTOR`], that divides the source's address.
    pub src_align: usize,
    /// The same of the destination.
    pub dst_align: usize,
    pub batch: Batch,
}

/// The largest power of two, up to [`VECTOR`], that divides an address or a distance in bytes.
pub(crate) fn alignment(bytes: u64) -> usize {
    1 << bytes.trailing_zeros().min(VECTOR.trailing_zeros())
}

/// A matrix and its transpose without gaps, both as well aligned as can be.
#[cfg(test)]
pub(crate) fn tight(element_bytes: usize, rows: usize, cols: usize) -> Problem {
    Problem {
        element_bytes,
        src: Layout { rows, cols, ld: cols },
        dst: Layout { rows: cols, cols: rows, ld: rows },
        src_align: VECTOR,
        dst_align: VECTOR,
        batch: Batch::ONE,
    }
}

impl Problem {
    /// Whether a plan made for this problem can be run on the other: whether they are the same but
    /// for an alignment that is better than planned for.
    pub fn serves(&self, other: &Problem) -> bool {
        let aligned = Problem { src_align: self.src_align, dst_align: self.dst_align, ..*other };
        *self == aligned && other.src_align >= self.src_align && other.dst_align >= self.dst_align
    }

    /// The alignment that all rows of all matrices have, on the source's side and the destination's.
    pub fn row_alignments(&self) -> (usize, usize) {
        let bytes = |elements: usize| alignment((elements * self.element_bytes) as u64);
        let Batch { count, src_stride, dst_stride } = self.batch;
        let of = |address: usize, layout: &Layout, stride: usize| {
            let rows = if layout.rows > 1 { bytes(layout.ld) } else { VECTOR };
            let matrices = if count > 1 { bytes(stride) } else { VECTOR };
            address.min(rows).min(matrices)
        };
        (of(self.src_align, &self.src, src_stride), of(self.dst_align, &self.dst, dst_stride))
    }

    pub fn is_empty(&self) -> bool {
        self.src.is_empty() || self.batch.count == 0 || self.element_bytes == 0
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { element_bytes, src, dst, batch, .. } = self;
        if batch.count != 1 {
            write!(f, "{} times ", batch.count)?;
        }
        write!(
            f,
            "{} × {} elements of {element_bytes} bytes, leading dimensions {} and {}, \
             addresses aligned to {} and {} bytes",
            src.rows, src.cols, src.ld, dst.ld, self.src_align, self.dst_align
        )
    }
}
