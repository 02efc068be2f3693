//! A problem whose word is known, the launches of the kernels that cut it into tiles, and what all launches have in common.

use super::shapes::{
    MicroShape, PIXELS, SECTOR, TuplesShape, VECTOR, micro_shape, rows_shape, tuples_shape,
};
use crate::divide::magic32;
use crate::far_rows;
use crate::kernels::{Fast, Width};
use crate::launch::{Launch, Words};
use crate::layout::Layout;
use crate::plan::problem::{Batch, Problem};

/// The bytes between two columns of tiles that do not meet in the banks where the source's rows do.
const PAIR_DISTANCE: usize = 16 << 10;

/// From this many bytes on matrices are far larger than any cache: the memory gains from fewer blocks.
const LARGE: usize = 256 << 20;

/// From this many bytes on no cache holds the source and the destination: the memory gains if what is written leaves the
/// cache before what is read.
pub(super) const BEYOND_CACHE: usize = 32 << 20;

/// The widest word that an element is made of and that both memories are aligned to.
fn largest_word(problem: &Problem, align: usize) -> Width {
    let element = 1 << problem.element_bytes.trailing_zeros().min(4);
    match align.min(element) {
        1 => Width::B1,
        2 => Width::B2,
        4 => Width::B4,
        8 => Width::B8,
        _ => Width::B16,
    }
}

/// A problem whose word is known.
pub(super) struct Task<'a> {
    pub(super) problem: &'a Problem,
    pub(super) word: Width,
    /// Words of an element.
    pub(super) k: usize,
    /// Whether all rows of both matrices start on a vector.
    pub(super) aligned: bool,
    /// Whether all rows of the source do.
    pub(super) src_aligned: bool,
    pub(super) limit: [usize; 3],
}

impl<'a> Task<'a> {
    pub(super) fn new(problem: &'a Problem, limit: [usize; 3]) -> Self {
        let (src_align, dst_align) = problem.row_alignments();
        let word = largest_word(problem, src_align.min(dst_align));
        let k = problem.element_bytes / word.bytes() as usize;
        let (aligned, src_aligned) = (src_align.min(dst_align) == VECTOR, src_align == VECTOR);
        Task { problem, word, k, aligned, src_aligned, limit }
    }

    pub(super) fn word_bytes(&self) -> usize {
        self.word.bytes() as usize
    }

    /// Whether all rows of the destination start on a sector if the first one does.
    pub(super) fn dst_rows_on_sectors(&self) -> bool {
        self.problem.dst.ld.is_multiple_of(self.sector())
    }

    /// Whether the destination's rows start on vectors, but not on sectors, so that sectors are written in parts.
    pub(super) fn vectors_split_sectors(&self) -> bool {
        self.aligned && !self.dst_rows_on_sectors()
    }

    /// Bytes of the elements of all matrices together.
    pub(super) fn bytes(&self) -> usize {
        let Problem { src, batch, element_bytes, .. } = self.problem;
        src.len().saturating_mul(batch.count).saturating_mul(*element_bytes)
    }

    /// Words of a sector.
    pub(super) fn sector(&self) -> usize {
        SECTOR / self.word_bytes()
    }

    pub(super) fn micro(&self) -> Option<Vec<Launch>> {
        self.micro_in_pairs(self.tiles_apart())
    }

    /// Tiles of aligned rows, down columns that lie in pairs `apart` tiles from each other; 0 for none.
    pub(super) fn micro_in_pairs(&self, apart: usize) -> Option<Vec<Launch>> {
        let MicroShape { rows, cols, threads, .. } = micro_shape(self.word);
        if !self.aligned {
            return None;
        }
        let x = self.problem.src.rows.div_ceil(rows);
        let group = (2 * apart).max(1);
        let words = [apart as u64];
        let mut launches = self.groups(Fast::Micro, x, [cols, group], threads, &words);
        let at_once = self.micro_at_once();
        launches.iter_mut().for_each(|launch| launch.at_once = at_once);
        Some(launches)
    }

    /// How many blocks of `micro` a multiprocessor should run at a time: fewer than fit if they are full and the matrices
    /// large, or sectors are written in parts: those meet in the cache then.
    fn micro_at_once(&self) -> u32 {
        let MicroShape { rows, cols, at_once, .. } = micro_shape(self.word);
        let src = self.problem.src;
        let full = src.rows >= rows && src.cols >= cols;
        let parts = self.vectors_split_sectors() && src.rows > rows && self.bytes() >= BEYOND_CACHE;
        if full && (self.bytes() >= LARGE || parts) { at_once } else { 0 }
    }

    /// How far apart two columns of tiles of the `micro` kernel should be that are walked together, in tiles.
    pub(super) fn tiles_apart(&self) -> usize {
        let MicroShape { cols, .. } = micro_shape(self.word);
        let Layout { cols: all, ld, .. } = self.problem.src;
        let pitch = ld.checked_mul(self.word_bytes());
        far_rows::tiles_apart(PAIR_DISTANCE, cols * self.word_bytes(), all / cols, pitch)
    }

    /// Rows that start anywhere.
    pub(super) fn rows(&self) -> Option<Vec<Launch>> {
        let shape = rows_shape(self.word)?;
        let [rows, cols] = shape.window(self.word);
        let x = (self.problem.src.rows + self.sector() - 1).div_ceil(rows);
        Some(self.tiles(Fast::Rows, x, cols, shape.threads, &[]))
    }

    /// Triples of bytes or half-words in rows that start on vectors.
    pub(super) fn pixels(&self) -> Option<Vec<Launch>> {
        if self.k != 3 || self.word_bytes() > 2 || !self.aligned {
            return None;
        }
        let (rows, row_bytes, threads) = PIXELS;
        let x = self.problem.src.rows.div_ceil(rows);
        Some(self.tiles(Fast::Pixels, x, row_bytes / self.problem.element_bytes, threads, &[]))
    }

    /// Triples of bytes or half-words.
    pub(super) fn triples(&self) -> Option<Vec<Launch>> {
        let bytes = 3 * self.word_bytes();
        if self.k != 3 || self.word_bytes() > 2 {
            return None;
        }
        let window = 9 * SECTOR;
        let x = (self.problem.src.rows * bytes + SECTOR - 1).div_ceil(window);
        let tile_cols = 20 * 12 / bytes;
        Some(self.tiles(Fast::Triples, x, tile_cols, 288, &[]))
    }

    /// Elements of an unusual size, as tuples of words.
    pub(super) fn tuples(&self) -> Vec<Launch> {
        let TuplesShape { chunks, rows, threads, align } = tuples_shape(self.word);
        let (align, k) = (align / self.word_bytes(), self.k);
        // A row that starts between two multiples of 16 bytes touches one vector more.
        let spare = usize::from(self.word != Width::B16);
        let tile_cols = (chunks - spare) * VECTOR / (k * self.word_bytes());
        // The kernel loads the rows of up to `align` words and one more above a window, and a window
        // that starts early ends early inside a tuple.
        let most = (rows - align.div_ceil(k) - 3) * k;
        let whole = self.sector() * k / gcd(self.sector(), k);
        let window = most / whole * whole;
        if tile_cols == 0 || window == 0 {
            return self.elements();
        }
        let x = (self.problem.src.rows * k + align - 1).div_ceil(window);
        let words = [k as u64, magic32(k), tile_cols as u64, window as u64];
        self.tiles(Fast::Tuples, x, tile_cols, threads, &words)
    }

    /// A grid of `x` blocks down the rows and of tiles of `tile_cols` elements across the columns.
    pub(super) fn tiles(
        &self,
        kernel: Fast,
        x: usize,
        tile_cols: usize,
        threads: u32,
        words: &[u64],
    ) -> Vec<Launch> {
        self.groups(kernel, x, [tile_cols, 1], threads, words)
    }

    /// The same, with blocks for whole groups of so many tiles across the columns.
    pub(super) fn groups(
        &self,
        kernel: Fast,
        x: usize,
        [tile_cols, group]: [usize; 2],
        threads: u32,
        words: &[u64],
    ) -> Vec<Launch> {
        let slab = self.limit[1] / group * group * tile_cols;
        let cols = self.problem.src.cols;
        self.per_batch_slab(|count, first| {
            (0..cols).step_by(slab).map(move |col| {
                let cols = slab.min(cols - col);
                let grid = [x, cols.div_ceil(tile_cols).next_multiple_of(group), count];
                self.launch(kernel, grid, threads, 0, first, col, cols, words)
            })
        })
    }

    /// Elements so large that each is moved by itself: eight to a block.
    pub(super) fn elements(&self) -> Vec<Launch> {
        let elements = self.problem.src.len();
        let blocks = elements.div_ceil(8);
        let y = blocks.div_ceil(self.limit[0]);
        self.per_batch_slab(|count, first| {
            let grid = [blocks.div_ceil(y), y, count];
            let words = [self.k as u64];
            std::iter::once(self.launch(
                Fast::Elements,
                grid,
                256,
                0,
                first,
                0,
                self.problem.src.cols,
                &words,
            ))
        })
    }

    /// What `launches(count, first)` makes of each slab of as many matrices as a grid has layers.
    pub(super) fn per_batch_slab<I: Iterator<Item = Launch>>(
        &self,
        launches: impl Fn(usize, usize) -> I,
    ) -> Vec<Launch> {
        let (count, slab) = (self.problem.batch.count, self.limit[2]);
        (0..count)
            .step_by(slab)
            .flat_map(|first| launches(slab.min(count - first), first))
            .collect()
    }

    /// A launch for the matrices from number `matrix` and the `cols` columns from `col` on.
    #[expect(clippy::too_many_arguments, reason = "they are a launch's parts, named at each call")]
    pub(super) fn launch(
        &self,
        kernel: Fast,
        grid: [usize; 3],
        threads: u32,
        shared: usize,
        matrix: usize,
        col: usize,
        cols: usize,
        words: &[u64],
    ) -> Launch {
        let Problem { src, dst, batch, element_bytes, .. } = self.problem;
        let Batch { src_stride, dst_stride, .. } = *batch;
        let k = self.k;
        let shape = [src.rows, cols * k, src.ld * k, dst.ld * k, src_stride * k, dst_stride * k]
            .map(|n| n as u64);
        let offsets = [matrix * src_stride + col, matrix * dst_stride + col * dst.ld];
        Launch {
            entry: kernel.entry(self.word),
            grid: grid.map(|n| n as u32),
            block: [threads, 1, 1],
            dynamic_shared_bytes: shared as u32,
            at_once: 0,
            cooperative: false,
            evict_last: self.bytes() >= BEYOND_CACHE,
            offsets: offsets.map(|n| (n * element_bytes) as u64),
            words: Words::new(&shape, words),
        }
    }
}

pub(super) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
