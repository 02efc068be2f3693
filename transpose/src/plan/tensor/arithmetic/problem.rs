//! What a plan is made for: how the memories are laid out.

use super::operands::{Operand, Operands, Other};
use crate::Result;
use crate::arithmetic::Number;
use crate::plan::problem::alignment;
use crate::plan::tensor::problem::require_same_shape;
use crate::tensor::{TensorView, TensorViewMut};
use std::fmt;

/// All that a plan depends on beside the device and what is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Problem {
    pub src: Operand,
    pub dst: Operand,
    pub other: Other,
}

impl Problem {
    /// Whether a plan made for this problem can be run on the other: see [`Kept::serves`](crate::plan::tensor::problem::Kept::serves).
    pub fn serves(&self, actual: &Self) -> bool {
        self.is_laid_out_as(actual, |planned, actual| actual >= planned)
    }

    /// Whether what is planned for this problem is what would be planned for the other: whether all is the same but for where memories start, on addresses as well aligned.
    pub fn is(&self, other: &Self) -> bool {
        self.is_laid_out_as(other, |a, b| a == b)
    }

    /// Whether all is the same but for where memories start, and each one's alignment will do beside this problem's.
    fn is_laid_out_as(&self, other: &Self, will_do: impl Fn(usize, usize) -> bool) -> bool {
        let is = |a: &Operand, b: &Operand| {
            a.element_bytes == b.element_bytes
                && a.layout.shape() == b.layout.shape()
                && a.layout.strides() == b.layout.strides()
                && will_do(a.align, b.align)
        };
        let others = match (&self.other, &other.other) {
            (Other::None, Other::None) | (Other::Destination, Other::Destination) => true,
            (Other::Numbers(a), Other::Numbers(b)) | (Other::Channels(a), Other::Channels(b)) => {
                is(a, b)
            }
            _ => false,
        };
        others && is(&self.src, &other.src) && is(&self.dst, &other.dst)
    }

    /// The move as kernels see it.
    pub fn operands(&self) -> Operands {
        Operands::of(&self.src, &self.dst, &self.other)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { src, dst, other } = self;
        write!(
            f,
            "{:?} elements of {} bytes, {:?} apart, to elements of {} bytes, {:?} apart, the lowest at addresses aligned to {} and {} bytes",
            src.layout.shape(),
            src.element_bytes,
            src.layout.strides(),
            dst.element_bytes,
            dst.layout.strides(),
            src.align,
            dst.align
        )?;
        match other {
            Other::None => Ok(()),
            Other::Destination => write!(f, ", added to what is there"),
            Other::Numbers(other) => {
                let (strides, align) = (other.layout.strides(), other.align);
                write!(f, ", and others {strides:?} apart, aligned to {align} bytes")
            }
            Other::Channels(table) => {
                write!(f, ", channels {:?} apart", table.layout.strides())
            }
        }
    }
}

/// How a view's elements lie.
pub(super) fn operand<E: Number>(view: &TensorView<'_, E>) -> Operand {
    let (layout, element_bytes) = (*view.layout(), size_of::<E>());
    let (_, from_lowest) = layout.lowest_on();
    let before = from_lowest.offset() * element_bytes;
    Operand { layout, element_bytes, align: alignment(view.address() - before as u64) }
}

/// The problem of a source, a destination and perhaps a second operand of the same shape.
pub(super) fn problem<T: Number, U: Number>(
    src: &TensorView<'_, T>,
    other: Other,
    dst: &TensorViewMut<'_, U>,
) -> Result<Problem> {
    require_same_shape(src.layout(), dst.layout())?;
    if let Other::Numbers(other) | Other::Channels(other) = &other {
        require_same_shape(&other.layout, dst.layout())?;
    }
    Ok(Problem { src: operand(src), dst: operand(&dst.view()), other })
}
