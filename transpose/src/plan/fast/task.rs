//! The launches of each of the fast kernels for a problem.

use super::shapes::{
    BATCH, LINE, MicroShape, PIXELS, Rounds, RowsShape, SECTOR, SHORT_LINE, TALL, TuplesShape,
    VECTOR, WIDE, full_round, gathered_rows, lines, micro_shape, rows_shape, tall_bytes,
    tuples_shape,
};
use crate::divide::magic32;
use crate::far_rows;
use crate::kernels::{Fast, Width};
use crate::launch::{Launch, Words};
use crate::layout::Layout;
use crate::plan::problem::{Batch, Problem};
use std::cmp::Reverse;

/// The bytes between two columns of tiles that do not meet in the banks where the source's rows do.
const PAIR_DISTANCE: usize = 16 << 10;

/// From this many bytes on matrices are far larger than any cache: the memory gains from fewer blocks.
const LARGE: usize = 256 << 20;

/// From this many bytes on no cache holds the source and the destination: the memory gains if what is written leaves the
/// cache before what is read.
const BEYOND_CACHE: usize = 32 << 20;

/// Below this many bytes a row that starts anywhere is short.
const SHORT_ROW: usize = 256;

/// Below this many bytes a matrix of a batch is small: it would not fill a tile.
const SMALL_MATRIX: usize = 8 << 10;

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
    problem: &'a Problem,
    word: Width,
    /// Words of an element.
    pub(super) k: usize,
    /// Whether all rows of both matrices start on a vector.
    aligned: bool,
    limit: [usize; 3],
}

impl<'a> Task<'a> {
    pub(super) fn new(problem: &'a Problem, limit: [usize; 3]) -> Self {
        let (src_align, dst_align) = problem.row_alignments();
        let word = largest_word(problem, src_align.min(dst_align));
        let k = problem.element_bytes / word.bytes() as usize;
        Task { problem, word, k, aligned: src_align.min(dst_align) == VECTOR, limit }
    }

    /// Whether all rows of the source start on a vector.
    fn src_aligned(&self) -> bool {
        self.problem.row_alignments().0 == VECTOR
    }

    pub(super) fn word_bytes(&self) -> usize {
        self.word.bytes() as usize
    }

    /// Bytes of the elements of all matrices together.
    fn bytes(&self) -> usize {
        let Problem { src, batch, element_bytes, .. } = self.problem;
        src.len().saturating_mul(batch.count).saturating_mul(*element_bytes)
    }

    /// Words of a sector.
    pub(super) fn sector(&self) -> usize {
        SECTOR / self.word_bytes()
    }

    /// Whether there are few rows, and few columns: tiles would stand out over them.
    pub(super) fn is_few(&self) -> [bool; 2] {
        let least = match self.aligned {
            true => micro_shape(self.word).least,
            false => [SHORT_ROW / self.word_bytes(); 2],
        };
        [self.problem.src.rows < least[0], self.problem.src.cols < least[1]]
    }

    pub(super) fn micro(&self) -> Option<Vec<Launch>> {
        self.micro_in_pairs(self.tiles_apart())
    }

    /// Tiles of aligned rows, down columns that lie in pairs `apart` tiles from each other; 0 for none.
    pub(super) fn micro_in_pairs(&self, apart: usize) -> Option<Vec<Launch>> {
        let MicroShape { rows, cols, threads, at_once, .. } = micro_shape(self.word);
        if !self.aligned {
            return None;
        }
        let x = self.problem.src.rows.div_ceil(rows);
        let group = (2 * apart).max(1);
        let words = [apart as u64];
        let mut launches = self.groups(Fast::Micro, x, [cols, group], threads, &words);
        if self.bytes() >= LARGE {
            launches.iter_mut().for_each(|launch| launch.at_once = at_once);
        }
        Some(launches)
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
        let RowsShape { chunks, rows, threads } = rows_shape(self.word)?;
        let x = (self.problem.src.rows + self.sector() - 1).div_ceil(rows - self.sector());
        let cols = (chunks - 1) * VECTOR / self.word_bytes();
        Some(self.tiles(Fast::Rows, x, cols, threads, &[]))
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

    /// Few columns, close together: pieces of many rows.
    pub(super) fn tall(&self) -> Option<Vec<Launch>> {
        let Problem { src, .. } = self.problem;
        let row_bytes = src.ld.checked_mul(self.word_bytes()).filter(|_| src.ld <= 2 * src.cols)?;
        let bytes = |window: usize| piece_bytes((window + self.sector()) * row_bytes);
        let (threads, window) = if let Some(rounds) = self.full_tall(row_bytes) {
            (rounds.threads, rounds.block_vectors() * VECTOR / row_bytes)
        } else if self.word == Width::B1 {
            let rounds = tall_bytes(row_bytes);
            let rows = (rounds.block_vectors() - 1) * VECTOR / row_bytes;
            let steps = rows.saturating_sub(self.sector()) / rounds.step;
            (rounds.threads, steps.max(1) * rounds.step)
        } else {
            let pieces = TALL[usize::from(row_bytes > SHORT_LINE)];
            let mut window = 2 * self.sector();
            while bytes(2 * window) <= pieces.bytes {
                window *= 2;
            }
            (pieces.threads, window)
        };
        let x = (src.rows + self.sector() - 1).div_ceil(window);
        self.pieces(Fast::Tall, x, threads, bytes(window), &[window as u64])
    }

    /// Few rows of words or wider elements, and a destination without gaps: pieces of many columns.
    pub(super) fn wide(&self) -> Option<Vec<Launch>> {
        let Problem { src, dst, .. } = self.problem;
        if dst.ld != src.rows || self.word_bytes() < 4 {
            return None;
        }
        let col_bytes = src.rows * self.word_bytes();
        // Windows of whole lines are read best, as long as they are long.
        let long = usize::from(col_bytes > SHORT_LINE);
        let (pieces, step) = (WIDE[long], [LINE, SECTOR][long] / self.word_bytes());
        let window = (pieces.bytes / col_bytes / step).max(1) * step;
        let x = (src.len() + self.sector() - 1).div_ceil(window * src.rows);
        let shared = piece_bytes(window * col_bytes);
        self.pieces(Fast::Wide, x, pieces.threads, shared, &[window as u64])
    }

    /// The same, gathered, for elements of up to 8 bytes.
    pub(super) fn lines(&self) -> Option<Vec<Launch>> {
        let Problem { src, dst, .. } = self.problem;
        let full = self.full_lines();
        let rounds = full.unwrap_or_else(|| lines(self.word, src.rows * self.word_bytes()));
        // The kernel gathers with a thread for each row.
        if dst.ld != src.rows || src.rows > rounds.threads as usize || self.word == Width::B16 {
            return None;
        }
        let window = self.lines_window(&rounds, full.is_some());
        let x = (src.len() + self.sector() - 1).div_ceil(window * src.rows);
        let shared = line_bytes(src.rows, window * self.word_bytes());
        self.pieces(Fast::Lines, x, rounds.threads, shared, &[window as u64])
    }

    /// The columns of a block of `lines`: as many as make no more vectors than its threads load, though a
    /// line may touch two more than it fills, unless it is known not to.
    fn lines_window(&self, rounds: &Rounds, full: bool) -> usize {
        let more = if full { 0 } else { 2 };
        let line = (rounds.block_vectors() / self.problem.src.rows).saturating_sub(more) * VECTOR;
        let sector = SECTOR / self.word_bytes();
        // Whole lines of the cache, where rows start on them.
        let step = if self.src_aligned() { rounds.step / self.word_bytes() } else { sector };
        let cols = line / self.word_bytes();
        if cols >= step { cols / step * step } else { (cols / sector).max(1) * sector }
    }

    /// The rounds of `lines` if its windows can be full ones: whole vectors of every row of the source, and whole sectors of
    /// the destination.
    fn full_lines(&self) -> Option<Rounds> {
        let rounds = full_round(self.word, self.problem.src.rows)?;
        (self.src_aligned() && self.dst_starts_on_sectors()).then_some(rounds)
    }

    /// The rounds of `tall` for half-words in longer rows, which it makes a difference to, if its windows can be full ones: whole
    /// vectors of the source, and whole sectors of every row of the destination.
    fn full_tall(&self, row_bytes: usize) -> Option<Rounds> {
        let Problem { src, dst, src_align, batch, .. } = self.problem;
        if self.word != Width::B2 || row_bytes < SHORT_LINE {
            return None;
        }
        let long = |rounds: &Rounds| rounds.block_vectors() * VECTOR / src.ld >= 2 * LINE;
        let rounds = full_round(self.word, src.ld).filter(long)?;
        let whole = |words: usize, bytes: usize| (words * self.word_bytes()).is_multiple_of(bytes);
        let src_starts = batch.count == 1 || whole(batch.src_stride, VECTOR);
        let dst_rows = dst.rows == 1 || whole(dst.ld, SECTOR);
        (*src_align == VECTOR && src_starts && dst_rows && self.dst_starts_on_sectors())
            .then_some(rounds)
    }

    /// Whether every matrix of the destination starts on a sector, most likely: what starts on a vector mostly does. It costs
    /// time, and nothing else, if one does not.
    fn dst_starts_on_sectors(&self) -> bool {
        let Problem { dst_align, batch, .. } = self.problem;
        let apart = batch.count == 1 || batch.dst_stride.is_multiple_of(self.sector());
        *dst_align == VECTOR && apart
    }

    /// The better of the two where both serve: gathering, if the rows are many and start on vectors, or its rounds are full.
    pub(super) fn few_rows(&self) -> Option<Vec<Launch>> {
        let many = self.problem.src.rows >= gathered_rows(self.word) || self.full_lines().is_some();
        if many && self.src_aligned() {
            self.lines().or_else(|| self.wide())
        } else {
            self.wide().or_else(|| self.lines())
        }
    }

    /// Many small matrices without gaps in or between them.
    pub(super) fn small_matrices(&self) -> Option<Vec<Launch>> {
        let Problem { src, dst, batch, .. } = self.problem;
        let each = src.len();
        let contiguous = src.ld == src.cols
            && dst.ld == dst.cols
            && (batch.src_stride, batch.dst_stride) == (each, each);
        let bytes = each * self.word_bytes();
        if batch.count < 2 || !contiguous || bytes > SMALL_MATRIX {
            return None;
        }
        // A piece that starts early, by less than a sector, has elements of matrices before it.
        let extra = (self.sector() - 1).div_ceil(each);
        // A destination that starts on a vector mostly starts on a sector.
        let likely = if self.problem.dst_align == VECTOR { 0 } else { extra };
        let (rounds, window) = self.batch_window(likely)?;
        let x = (batch.count * each + self.sector() - 1).div_ceil(window * each);
        let shared = piece_bytes((window + extra) * bytes);
        if x > self.limit[0] || shared > 48 << 10 {
            return None;
        }
        let words = [batch.count as u64, window as u64];
        Some(vec![self.launch(
            Fast::Batch,
            [x, 1, 1],
            rounds.threads,
            shared,
            0,
            0,
            src.cols,
            &words,
        )])
    }

    /// How many matrices a block of `batch` moves that loads `early` more: the first choice whose rounds of loads are nearly
    /// full, or else that with the fullest.
    fn batch_window(&self, early: usize) -> Option<(Rounds, usize)> {
        const NEARLY: usize = 7; // eighths
        let each = self.problem.src.len();
        let bytes = each * self.word_bytes();
        // Matrices that start anywhere in a vector touch one more.
        let ends = usize::from(!self.src_aligned());
        let eighths = |(rounds, window): &(Rounds, usize)| {
            ((window + early) * bytes).div_ceil(VECTOR) * 8 / rounds.block_vectors()
        };
        let choices = BATCH.into_iter().filter_map(|rounds| {
            let fits = (rounds.block_vectors() - ends) * VECTOR / bytes;
            let step = rounds.step / self.word_bytes();
            let step = step / gcd(step, each);
            let window = fits.saturating_sub(early) / step * step;
            (window > 0).then_some((rounds, window))
        });
        choices.min_by_key(|choice| Reverse(eighths(choice).min(NEARLY)))
    }

    /// A grid of `x` blocks, each with `shared` bytes of shared memory; `None` if that is too much.
    pub(super) fn pieces(
        &self,
        kernel: Fast,
        x: usize,
        threads: u32,
        shared: usize,
        words: &[u64],
    ) -> Option<Vec<Launch>> {
        if x > self.limit[0] || shared > 48 << 10 {
            return None;
        }
        let cols = self.problem.src.cols;
        Some(self.per_batch_slab(|count, first| {
            let grid = [x, 1, count];
            std::iter::once(self.launch(kernel, grid, threads, shared, first, 0, cols, words))
        }))
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
            evict_last: self.bytes() >= BEYOND_CACHE,
            offsets: offsets.map(|n| (n * element_bytes) as u64),
            words: Words::new(&shape, words),
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Shared memory for a stage of `bytes`: vectors in front and behind, and a word for each 32.
fn piece_bytes(bytes: usize) -> usize {
    let vectors = bytes + 2 * SECTOR;
    vectors + vectors.div_ceil(128) * 4
}

/// Shared memory for so many lines of a window of `bytes` bytes, and of the columns that a piece may start earlier
/// with: an odd number of vectors and up to one more for each, and one for every eight.
fn line_bytes(lines: usize, bytes: usize) -> usize {
    let vectors = (bytes + SECTOR).div_ceil(VECTOR) + 1;
    (lines * ((vectors | 1) + 1) + lines.div_ceil(8) + 1) * VECTOR
}
