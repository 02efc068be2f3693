//! A launch of a move that computes, and its entry point.

use super::operands::{OTHER, SRC};
use crate::image::EntryPoint;
use crate::kernels::ARITHMETIC;
use crate::launch::Launch;
use kernel_abi::{Kernel, Params, Width};

/// A launch of a move.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub launch: Launch,
    /// Bytes from where the second operand's move starts to where this launch starts.
    pub other: u64,
    /// Which memories are the kernel's source and second operand.
    pub operands: [usize; 2],
}

impl Part {
    /// A launch that starts where the move does, its operands in their order.
    pub fn of(launch: Launch) -> Self {
        Part { launch, other: 0, operands: [SRC, OTHER] }
    }
}

/// The entry point of a kernel for a source of elements of so many bytes.
pub(super) fn entry<P: Params>(kernel: &Kernel<P>, bytes: usize) -> EntryPoint {
    let entry = Width::of_bytes(bytes).and_then(|width| kernel.entry(width));
    ARITHMETIC.entry(entry.expect("there are kernels for every number").name)
}
