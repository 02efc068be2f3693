//! What the launches of all kernels that move arrays of any rank have in common.

use crate::kernels;
use crate::launch::{Fields, Launch};
use kernel_abi::{Kernel, Params, Width};

/// The parameters of a launch, if it is one of this kernel.
pub(super) fn params_of<P: Params>(kernel: &Kernel<P>, launch: &Launch) -> Option<P> {
    let is_of_it = kernel.entries.iter().any(|entry| entry.name == launch.entry.name);
    is_of_it.then(|| launch.params.to())?
}

/// What a launch asks of a multiprocessor.
pub(super) struct Block {
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
}

/// A launch of a kernel that moves arrays of any rank, for words of this width, and so many of these further on either side.
pub(super) fn launch<P: Params>(
    kernel: &Kernel<P>,
    word: Width,
    blocks: usize,
    block: Block,
    offsets: [isize; 2],
    params: &P,
) -> Launch {
    Launch {
        entry: kernels::entry(kernel, word)
            .expect("the kernels exist for every word that they are asked to move"),
        grid: [blocks as u32, 1, 1],
        block: [block.threads, 1, 1],
        dynamic_shared_bytes: block.shared as u32,
        blocks_per_multiprocessor: 0,
        evict_last: true,
        cooperative: false,
        offsets: offsets.map(|words| (words * word.bytes() as isize) as u64),
        params: Fields::of(params),
    }
}
