//! A move as it is asked for: the element, both layouts, and how both memories are aligned.

use super::sectors::SECTOR;
use super::side::Axis;
use crate::plan::problem::{MOST_BYTES, VECTOR};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The element, both layouts, and how both memories are aligned: all that a plan depends on beside the device. Layouts are hundreds of bytes, which planning
/// does not copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorProblem<'a> {
    pub element_bytes: usize,
    pub src: &'a TensorLayout,
    pub dst: &'a TensorLayout,
    /// The [alignment](fn@aligned) of the address of the source's element `[0, …, 0]`.
    pub src_align: usize,
    /// The same of the destination.
    pub dst_align: usize,
}

impl TensorProblem<'_> {
    /// Whether nothing moves.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty() || self.element_bytes == 0
    }

    /// Bytes to move.
    pub fn bytes(&self) -> usize {
        self.src.len() * self.element_bytes
    }

    /// The axes, as they were asked for.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = Axis> {
        let strides = self.src.strides().iter().zip(self.dst.strides());
        let axes = self.src.shape().iter().zip(strides);
        axes.map(|(&length, (&src, &dst))| Axis { length, src, dst })
    }
}

impl Hash for TensorProblem<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let TensorProblem { element_bytes, src_align, dst_align, .. } = *self;
        (element_bytes, src_align, dst_align).hash(state);
        self.axes().for_each(|axis| axis.hash(state));
    }
}

/// The largest power of two, up to a sector's bytes, that divides an address. Kernels go by vectors at most; what starts on one and on no sector costs more, and
/// is moved all the same.
pub(super) fn aligned(address: u64) -> usize {
    1 << address.trailing_zeros().min(SECTOR.trailing_zeros())
}

/// What kernels go by of what the source and the destination are [`aligned`] to.
pub(super) fn to_vectors(aligned: [usize; 2]) -> [usize; 2] {
    aligned.map(|bytes| bytes.min(VECTOR))
}

/// What a start is taken to be [`aligned`] to of which vectors alone were looked at: most that are on one are on a sector.
pub(super) fn to_sector(aligned: usize) -> usize {
    if aligned >= VECTOR { SECTOR } else { aligned }
}

/// What a plan keeps of the problem that it was made for.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    element_bytes: usize,
    /// The source's alignment and the destination's.
    aligned: [usize; 2],
    axes: SmallVec<[Axis; 5]>,
}

impl Kept {
    pub fn of(problem: &TensorProblem<'_>) -> Self {
        let TensorProblem { element_bytes, src_align, dst_align, .. } = *problem;
        // Few, and counted one by one: collecting them would take longer.
        let mut axes = SmallVec::new();
        problem.axes().for_each(|axis| axes.push(axis));
        Kept { element_bytes, aligned: [src_align, dst_align], axes }
    }

    /// Whether a plan made for this problem is what would be planned for the other.
    pub fn is(&self, other: &TensorProblem<'_>) -> bool {
        self.aligned == [other.src_align, other.dst_align] && self.serves(other)
    }

    /// Whether a plan made for this problem can be run on the other: whether they are the same but for where their memories start, and
    /// an alignment that is better than planned for.
    pub fn serves(&self, other: &TensorProblem<'_>) -> bool {
        let [src_align, dst_align] = to_vectors(self.aligned);
        self.element_bytes == other.element_bytes
            && self.axes.iter().copied().eq(other.axes())
            && other.src_align >= src_align
            && other.dst_align >= dst_align
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kept { element_bytes, aligned, axes } = self;
        let [from, to] = to_vectors(*aligned);
        let shape: Vec<usize> = axes.iter().map(|axis| axis.length).collect();
        let src: Vec<isize> = axes.iter().map(|axis| axis.src).collect();
        let dst: Vec<isize> = axes.iter().map(|axis| axis.dst).collect();
        write!(
            f,
            "{shape:?} elements of {element_bytes} bytes, {src:?} apart, to {dst:?} apart, \
             addresses aligned to {from} and {to} bytes",
        )
    }
}

/// The problem of a source and a destination of the same shape.
pub(super) fn problem<'a, T: Pod>(
    src: &'a TensorView<'_, T>,
    dst: &'a TensorViewMut<'_, T>,
) -> Result<TensorProblem<'a>> {
    require_same_shape(src.layout(), dst.layout())?;
    Ok(TensorProblem {
        element_bytes: size_of::<T>(),
        src: src.layout(),
        dst: dst.layout(),
        src_align: aligned(src.address()),
        dst_align: aligned(dst.address()),
    })
}

/// The problem of layouts in memory that a device allocates, of elements of so many bytes.
pub(super) fn problem_of_layouts<'a>(
    element_bytes: usize,
    src: &'a TensorLayout,
    dst: &'a TensorLayout,
) -> Result<TensorProblem<'a>> {
    src.require_bytes(element_bytes)?;
    dst.require_bytes(element_bytes)?;
    require_same_shape(src, dst)?;
    dst.require_injective()?;
    // More would be more launches than a list of them can hold.
    if src.len() * element_bytes.max(1) > MOST_BYTES {
        return Err(Error::TensorSizeOverflow { shape: src.shape().to_vec(), element_bytes });
    }
    // Of what is empty the offset may be any.
    let align = |layout: &TensorLayout| aligned(layout.offset().wrapping_mul(element_bytes) as u64);
    let (src_align, dst_align) = (align(src), align(dst));
    Ok(TensorProblem { element_bytes, src, dst, src_align, dst_align })
}

/// Whether one can be copied to the other.
pub(super) fn require_same_shape(src: &TensorLayout, dst: &TensorLayout) -> Result<()> {
    if src.shape() == dst.shape() {
        return Ok(());
    }
    Err(Error::TensorShapeMismatch { src: src.shape().to_vec(), dst: dst.shape().to_vec() })
}
