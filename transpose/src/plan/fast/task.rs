//! A problem in words, and what the launches of all kernels have in common.

use super::tuning::Tuning;
use crate::facts::Facts;
use crate::kernels;
use crate::launch::{Fields, Launch};
use crate::plan::problem::{Batch, Problem};
use kernel_abi::fast::{Batched, SECTOR as SECTOR_BYTES, VECTOR as VECTOR_BYTES};
use kernel_abi::{Kernel, Params, Width};

/// Bytes of a vector.
pub(super) const VECTOR: usize = VECTOR_BYTES as usize;

/// Bytes of a sector.
pub(super) const SECTOR: usize = SECTOR_BYTES as usize;

/// Bytes of a cache line.
pub(super) const CACHE_LINE: usize = 128;

/// Shared memory that a block may have without being allowed more, in bytes.
const BLOCK_SHARED: usize = 48 << 10;

/// A problem whose elements are counted in words.
pub(super) struct Task<'a> {
    pub problem: &'a Problem,
    /// The widest word that elements are made of and that both memories are aligned to.
    pub word: Width,
    /// Words of an element.
    pub tuple: usize,
    /// Whether all rows of both matrices start on a vector.
    pub aligned: bool,
    /// Whether all rows of the source do.
    pub src_aligned: bool,
    /// The blocks that a grid may have along x, y and z.
    pub limit: [usize; 3],
    pub tuning: &'static Tuning,
    /// Multiprocessors of the device.
    pub multiprocessors: usize,
}

/// Some matrices of a batch, and some columns of each: what one launch moves.
#[derive(Clone, Copy)]
pub(super) struct Slab {
    pub first_matrix: usize,
    pub matrices: usize,
    pub first_col: usize,
    pub cols: usize,
}

/// What a launch asks of a multiprocessor.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
}

impl Block {
    /// Threads that use no dynamic shared memory.
    pub fn of([threads, ..]: [u32; 3]) -> Self {
        Block { threads, shared: 0 }
    }
}

impl<'a> Task<'a> {
    pub fn new(problem: &'a Problem, limit: [usize; 3], facts: &Facts) -> Self {
        let &Facts { compute_capability, multiprocessors, .. } = facts;
        let tuning = Tuning::of(compute_capability);
        let (src_align, dst_align) = problem.row_alignments();
        let word = kernels::width_dividing([problem.element_bytes, src_align.min(dst_align)]);
        let tuple = problem.element_bytes >> word.bytes().trailing_zeros();
        let (aligned, src_aligned) = (src_align.min(dst_align) == VECTOR, src_align == VECTOR);
        Task { problem, word, tuple, aligned, src_aligned, limit, tuning, multiprocessors }
    }

    pub fn word_bytes(&self) -> usize {
        self.word.bytes()
    }

    /// Whether all rows of the destination start on a sector if the first one does.
    pub fn dst_rows_on_sectors(&self) -> bool {
        self.problem.dst.ld.is_multiple_of(self.sector())
    }

    /// Whether every matrix of the destination starts on a sector, most likely: what starts on a vector mostly does. It costs
    /// time, and nothing else, if one does not.
    pub fn dst_starts_on_sectors(&self) -> bool {
        let Problem { dst_align, batch, .. } = self.problem;
        let apart = batch.count == 1 || batch.dst_stride.is_multiple_of(self.sector());
        *dst_align == VECTOR && apart
    }

    /// Whether the destination's rows start on vectors, but not on sectors, so that sectors are written in parts.
    pub fn vectors_split_sectors(&self) -> bool {
        self.aligned && !self.dst_rows_on_sectors()
    }

    /// Bytes of the elements of all matrices together.
    pub fn bytes(&self) -> usize {
        let Problem { src, batch, element_bytes, .. } = self.problem;
        src.len().saturating_mul(batch.count).saturating_mul(*element_bytes)
    }

    /// Whether no cache holds the source and the destination.
    pub fn leaves_the_cache(&self) -> bool {
        self.bytes() >= self.tuning.beyond_cache
    }

    /// Blocks that the device should be given.
    pub fn few_blocks(&self) -> usize {
        self.multiprocessors * self.tuning.few_blocks
    }

    /// Words of a sector.
    pub fn sector(&self) -> usize {
        SECTOR / self.word_bytes()
    }

    /// The matrices as the kernels are told of them, `cols` elements of each row.
    pub fn batched(&self, cols: usize) -> Batched {
        let Problem { src, dst, batch, .. } = self.problem;
        let Batch { src_stride, dst_stride, .. } = *batch;
        let words = |elements: usize| (elements * self.tuple) as u64;
        Batched {
            rows: src.rows as u64,
            cols: words(cols),
            src_ld: words(src.ld),
            dst_ld: words(dst.ld),
            src_batch: words(src_stride),
            dst_batch: words(dst_stride),
        }
    }

    /// Launches that cover all columns in tiles of `tile_cols`, whole groups of `group` tiles to each launch.
    pub fn in_tiles<P: Params>(
        &self,
        kernel: &Kernel<P>,
        [tile_cols, group]: [usize; 2],
        block: Block,
        params: impl Fn(Batched) -> P,
    ) -> Option<Vec<Launch>> {
        let most = self.limit[1] / group * group * tile_cols;
        if most == 0 {
            return None;
        }
        let all = self.problem.src.cols;
        if let Some(slab) = self.single_layer().filter(|_| all <= most) {
            return Some(vec![self.launch(kernel, block, slab, params)?]);
        }
        let slabs = self.slabs(most).into_iter();
        slabs.map(|slab| self.launch(kernel, block, slab, &params)).collect()
    }

    /// Everything in slabs of as many matrices as a grid has layers, and of as many columns at most. Hardly anything is so large that it needs several.
    #[cold]
    fn slabs(&self, most: usize) -> Vec<Slab> {
        let all = self.problem.src.cols;
        let of_layer = |layer: Slab| {
            let cols = move |first_col| most.min(all - first_col);
            (0..all).step_by(most).map(move |first_col| Slab {
                first_col,
                cols: cols(first_col),
                ..layer
            })
        };
        self.layers().flat_map(of_layer).collect()
    }

    /// Launches that each move whole matrices; `None` if that takes more blocks than a grid has, or more shared memory than a block
    /// may have.
    pub fn in_layers<P: Params>(
        &self,
        kernel: &Kernel<P>,
        block: Block,
        params: impl Fn(Batched) -> P,
    ) -> Option<Vec<Launch>> {
        if block.shared > BLOCK_SHARED {
            return None;
        }
        if let Some(slab) = self.single_layer() {
            return Some(vec![self.launch(kernel, block, slab, params)?]);
        }
        self.layers().map(|slab| self.launch(kernel, block, slab, &params)).collect()
    }

    /// All matrices in one slab, if a grid has as many layers: it nearly always has.
    fn single_layer(&self) -> Option<Slab> {
        let matrices = self.problem.batch.count;
        let slab = Slab { first_matrix: 0, matrices, first_col: 0, cols: self.problem.src.cols };
        (matrices <= self.limit[2]).then_some(slab)
    }

    /// The matrices in slabs of as many as a grid has layers.
    pub fn layers(&self) -> impl Iterator<Item = Slab> + use<> {
        let (count, most) = (self.problem.batch.count, self.limit[2]);
        let cols = self.problem.src.cols;
        (0..count).step_by(most).map(move |first_matrix| Slab {
            first_matrix,
            matrices: most.min(count - first_matrix),
            first_col: 0,
            cols,
        })
    }

    /// A single launch of the blocks that the kernel's row of the table says; `None` if the kernel does not exist for the word, or a grid
    /// has not as many blocks.
    pub fn launch<P: Params>(
        &self,
        kernel: &Kernel<P>,
        block: Block,
        slab: Slab,
        params: impl Fn(Batched) -> P,
    ) -> Option<Launch> {
        let entry = kernels::entry(kernel, self.word).ok()?;
        let params = params(self.batched(slab.cols));
        let [x, y] = kernel.grid(&params, self.word)?;
        let Problem { dst, batch, element_bytes, .. } = self.problem;
        let Slab { first_matrix, matrices, first_col, .. } = slab;
        let offsets = [
            first_matrix * batch.src_stride + first_col,
            first_matrix * batch.dst_stride + first_col * dst.ld,
        ];
        let grid = [x, y, matrices as u64];
        if grid.iter().zip(self.limit).any(|(&blocks, limit)| blocks > limit as u64) {
            return None;
        }
        Some(Launch {
            entry,
            grid: grid.map(|n| n as u32),
            block: [block.threads, 1, 1],
            dynamic_shared_bytes: block.shared as u32,
            blocks_per_multiprocessor: 0,
            evict_last: self.leaves_the_cache(),
            cooperative: false,
            offsets: offsets.map(|n| (n * element_bytes) as u64),
            params: Fields::of(&params),
        })
    }

    /// All matrices as one slab, of which a launch moves whatever its parameters say.
    pub fn everything(&self) -> Slab {
        Slab { first_matrix: 0, matrices: 1, first_col: 0, cols: self.problem.src.cols }
    }
}

/// Shared memory for a staging buffer of `bytes` with vectors in front and behind, where every 128 bytes are followed by four that are
/// left out.
pub(super) fn staging_bytes(bytes: usize) -> usize {
    staging_bytes_with(bytes, 4)
}

/// Shared memory for a staging buffer of `bytes` with vectors in front and behind, which leaves out `gap` bytes behind each 128.
pub(super) fn staging_bytes_with(bytes: usize, gap: usize) -> usize {
    let vectors = bytes + 2 * SECTOR;
    vectors + vectors.div_ceil(128) * gap
}
