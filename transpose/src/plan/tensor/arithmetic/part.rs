//! A launch of a move that computes, and its entry point.

use super::operands::{DST, OTHER, SRC};
use crate::image::EntryPoint;
use crate::kernels::{entry_that_computes, width_of_bytes};
use crate::launch::{Fields, Launch};
use kernel_abi::{Kernel, Params};

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

    /// A launch that has `blocks` blocks of `threads` threads in a row and no shared memory, and starts `offsets` elements of `bytes` bytes behind where the move does, in each memory.
    pub fn counted<P: Params>(
        kernel: &Kernel<P>,
        blocks: usize,
        threads: u32,
        [offsets, bytes]: [[isize; 3]; 2],
        params: &P,
    ) -> Self {
        let offset = |side: usize| (offsets[side] * bytes[side]) as u64;
        let launch = Launch {
            entry: entry(kernel, bytes[SRC] as usize),
            grid: [blocks as u32, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared_bytes: 0,
            blocks_per_multiprocessor: 0,
            evict_last: true,
            cooperative: false,
            offsets: [offset(SRC), offset(DST)],
            params: Fields::of(params),
        };
        Part { other: offset(OTHER), ..Self::of(launch) }
    }

    /// A launch that only moves, from one memory to another.
    pub fn moving(launch: Launch, [from, to]: [usize; 2]) -> Self {
        Part { launch, other: 0, memories: [from, to, to], moves: true, waiting: 0 }
    }
}

/// The entry point of a kernel for a source of elements of so many bytes.
pub(super) fn entry<P: Params>(kernel: &Kernel<P>, bytes: usize) -> EntryPoint {
    let entry = width_of_bytes(bytes).and_then(|width| entry_that_computes(kernel, width));
    entry.expect("there are kernels for every number")
}
