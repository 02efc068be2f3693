//! A launch of a move that computes, and its entry point.

use super::operands::{DST, OTHER, SRC};
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
    /// Which memories are the kernel's source, its destination and its second operand.
    pub memories: [usize; 3],
    /// Whether the kernel only moves, and is told of no second operand.
    pub moves: bool,
    /// Bytes of an element in memory that the plan takes while it runs; 0 if it takes none.
    pub waiting: usize,
}

impl Part {
    /// A launch that starts where the move does, its operands in their order.
    pub fn of(launch: Launch) -> Self {
        Part { launch, other: 0, memories: [SRC, DST, OTHER], moves: false, waiting: 0 }
    }

    /// A launch that only moves, from one memory to another.
    pub fn moving(launch: Launch, [from, to]: [usize; 2]) -> Self {
        Part { launch, other: 0, memories: [from, to, to], moves: true, waiting: 0 }
    }
}

/// The entry point of a kernel for a source of elements of so many bytes.
pub(super) fn entry<P: Params>(kernel: &Kernel<P>, bytes: usize) -> EntryPoint {
    let entry = Width::of_bytes(bytes).and_then(|width| kernel.entry(width));
    ARITHMETIC.entry(entry.expect("there are kernels for every number").name)
}
