//! What a plan is made for.

use super::measure::Key;
use crate::layout::{AlignedLayout, Layout};
use crate::{Error, Result};
use std::fmt;
use std::hash::{Hash, Hasher};

/// The bytes that vectors are aligned to; nothing gains from more.
pub(crate) const VECTOR: usize = 16;

/// More bytes than any matrix has that a GPU can reach: numbers up to this can be multiplied by a tile's without a second thought.
pub(crate) const MOST_BYTES: usize = 1 << 42;

/// Equally laid out matrices at equal distances, in elements.
///
/// The matrices of the destination must have no element in common; those of the source may. They may lie behind each other, or their rows may take
/// turns in memory. The strides of a single matrix mean nothing.
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
    /// The largest power of two, up to [`VECTOR`], that divides the destination's address.
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

impl Hash for Problem {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Problem { element_bytes, src, dst, src_align, dst_align, batch } = self;
        (element_bytes, src.rows, src.cols, src.ld, dst.ld).hash(state);
        (src_align, dst_align, batch.count, batch.src_stride, batch.dst_stride).hash(state);
    }
}

impl Problem {
    /// The transpose of matrices laid out like these, which need not exist; checked.
    pub fn of_layouts(
        element_bytes: usize,
        src: AlignedLayout,
        dst: AlignedLayout,
        batch: Batch,
    ) -> Result<Self> {
        let problem = Problem {
            element_bytes,
            src: src.layout,
            dst: dst.layout,
            src_align: alignment(src.alignment as u64),
            dst_align: alignment(dst.alignment as u64),
            batch: batch.normalised(),
        };
        problem.require_transposed()?;
        let most = MOST_BYTES / element_bytes.max(1);
        for Layout { rows, cols, ld } in [problem.src, problem.dst] {
            if rows.checked_mul(ld).is_none_or(|elements| elements > most) {
                return Err(Error::SizeOverflow { rows, cols, ld, element_bytes });
            }
        }
        problem.require_batch(most, most)?;
        Ok(problem)
    }

    /// Refuses a destination that has not the transposed shape of the source.
    pub fn require_transposed(&self) -> Result<()> {
        require_transposed(&self.src, &self.dst)
    }

    /// Refuses matrices of a batch outside the memory that there is, in elements, and destinations that have an element in common.
    pub fn require_batch(&self, src_available: usize, dst_available: usize) -> Result<()> {
        let Batch { count, src_stride, dst_stride } = self.batch;
        if count <= 1 || self.is_empty() {
            return Ok(());
        }
        let within = |stride: usize, extent: usize, available: usize| {
            let end = (count - 1).checked_mul(stride).and_then(|start| start.checked_add(extent));
            match end {
                Some(end) if end <= available => Ok(()),
                _ => Err(Error::BatchOutOfBounds { count, stride, extent, available }),
            }
        };
        within(src_stride, self.src.extent(), src_available)?;
        within(dst_stride, self.dst.extent(), dst_available)?;
        if !self.dst.are_apart(count, dst_stride) {
            let (stride, extent) = (dst_stride, self.dst.extent());
            return Err(Error::BatchOverlap { stride, extent });
        }
        Ok(())
    }

    /// Whether rows of the destinations take turns in memory. Where nothing moves, there are no rows that could.
    pub fn is_interleaved(&self) -> bool {
        self.batch.count > 1 && !self.is_empty() && self.batch.dst_stride < self.dst.extent()
    }

    /// Whether a plan made for this problem can be run on the other: whether they are the same but
    /// for an alignment that is better than planned for.
    pub fn serves(&self, other: &Problem) -> bool {
        let aligned = Problem { src_align: self.src_align, dst_align: self.dst_align, ..*other };
        *self == aligned && other.src_align >= self.src_align && other.dst_align >= self.dst_align
    }

    /// The alignment that all rows of all matrices have, on the source's side and the destination's.
    pub fn row_alignments(&self) -> (usize, usize) {
        // Batches of which nothing moves may have any strides.
        let bytes = |elements: usize| alignment(elements.wrapping_mul(self.element_bytes) as u64);
        let Batch { count, src_stride, dst_stride } = self.batch;
        let of = |address: usize, layout: &Layout, stride: usize| {
            let rows = if layout.rows > 1 { bytes(layout.ld) } else { VECTOR };
            let matrices = if count > 1 { bytes(stride) } else { VECTOR };
            address.min(rows).min(matrices)
        };
        (of(self.src_align, &self.src, src_stride), of(self.dst_align, &self.dst, dst_stride))
    }

    /// By what a cache knows it: problems with one key are served alike.
    pub fn key(&self) -> Key {
        let (src_align, dst_align) = self.row_alignments();
        let class = |n: usize| n.max(1).ilog2();
        Key(format!(
            "{} bytes\t2^{} x 2^{}\taligned {src_align} {dst_align}\t{}",
            self.element_bytes,
            class(self.src.rows),
            class(self.src.cols),
            match self.batch.count {
                2.. if self.is_interleaved() => "interleaved",
                2.. => "batch",
                _ => "one",
            },
        ))
    }

    /// Bytes to move.
    pub fn bytes(&self) -> usize {
        // What is empty was not held to any bound.
        if self.is_empty() {
            0
        } else {
            self.src.rows * self.src.cols * self.batch.count * self.element_bytes
        }
    }

    pub fn is_empty(&self) -> bool {
        self.src.is_empty() || self.batch.count == 0 || self.element_bytes == 0
    }
}

/// Whether one can be transposed into the other.
pub(crate) fn require_transposed(src: &Layout, dst: &Layout) -> Result<()> {
    if (src.rows, src.cols) == (dst.cols, dst.rows) {
        return Ok(());
    }
    Err(Error::ShapeMismatch {
        src_rows: src.rows,
        src_cols: src.cols,
        dst_rows: dst.rows,
        dst_cols: dst.cols,
    })
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
