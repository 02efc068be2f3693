//! A move as it is asked for: the element, both layouts, and how both memories are aligned.

use crate::plan::problem::{MOST_BYTES, alignment};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;
use std::fmt;

/// The element, both layouts, and how both memories are aligned: all that a plan depends on beside the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorProblem {
    pub element_bytes: usize,
    pub src: TensorLayout,
    pub dst: TensorLayout,
    /// The largest power of two, up to [`VECTOR`](crate::plan::problem::VECTOR), that divides the address of the source's element `[0, …, 0]`.
    pub src_align: usize,
    /// The same of the destination.
    pub dst_align: usize,
}

impl TensorProblem {
    /// Whether a plan made for this problem can be run on the other: whether they are the same but for where their memories start, and
    /// an alignment that is better than planned for.
    pub fn serves(&self, other: &Self) -> bool {
        let same = |a: &TensorLayout, b: &TensorLayout| {
            (a.shape(), a.strides()) == (b.shape(), b.strides())
        };
        self.element_bytes == other.element_bytes
            && same(&self.src, &other.src)
            && same(&self.dst, &other.dst)
            && other.src_align >= self.src_align
            && other.dst_align >= self.dst_align
    }
}

impl fmt::Display for TensorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TensorProblem { element_bytes, src, dst, src_align, dst_align } = self;
        write!(
            f,
            "{:?} elements of {element_bytes} bytes, {:?} apart, to {:?} apart, \
             addresses aligned to {src_align} and {dst_align} bytes",
            src.shape(),
            src.strides(),
            dst.strides()
        )
    }
}

/// The problem of a source and a destination of the same shape.
pub(super) fn problem<T: Pod>(
    src: &TensorView<'_, T>,
    dst: &TensorViewMut<'_, T>,
) -> Result<TensorProblem> {
    require_same_shape(src.layout(), dst.layout())?;
    Ok(TensorProblem {
        element_bytes: size_of::<T>(),
        src: *src.layout(),
        dst: *dst.layout(),
        src_align: alignment(src.address()),
        dst_align: alignment(dst.address()),
    })
}

/// The problem of layouts in memory that a device allocates, of elements of so many bytes.
pub(super) fn problem_of_layouts(
    element_bytes: usize,
    src: &TensorLayout,
    dst: &TensorLayout,
) -> Result<TensorProblem> {
    src.require_bytes(element_bytes)?;
    dst.require_bytes(element_bytes)?;
    require_same_shape(src, dst)?;
    dst.require_injective()?;
    // More would be more launches than a list of them can hold.
    if src.len() > MOST_BYTES / element_bytes.max(1) {
        return Err(Error::TensorSizeOverflow { shape: src.shape().to_vec(), element_bytes });
    }
    // Of what is empty the offset may be any.
    let align =
        |layout: &TensorLayout| alignment(layout.offset().wrapping_mul(element_bytes) as u64);
    let (src_align, dst_align) = (align(src), align(dst));
    Ok(TensorProblem { element_bytes, src: *src, dst: *dst, src_align, dst_align })
}

/// Whether one can be copied to the other.
pub(super) fn require_same_shape(src: &TensorLayout, dst: &TensorLayout) -> Result<()> {
    if src.shape() == dst.shape() {
        return Ok(());
    }
    Err(Error::TensorShapeMismatch { src: src.shape().to_vec(), dst: dst.shape().to_vec() })
}
