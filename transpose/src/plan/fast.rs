//! The rules of `Strategy::Auto`: which of the fast kernels serves which problem, and on which grid.
//!
//! The rules look at both layouts: one row that does not start on 16 bytes, on either side, decides.
//! The constants that shape a kernel are written once here and once in the kernel; the tests
//! run every kernel, so a difference would show.

use super::problem::{Batch, Problem};
use crate::kernels::{Fast, Width};
use crate::launch::{Launch, Words};
use crate::layout::Layout;

/// Bytes of a vector, and of a sector (`VECTOR` and `SECTOR` of the kernel crate).
const VECTOR: usize = super::problem::VECTOR;
const SECTOR: usize = 32;

/// The threads of the kernels that stage pieces of memory, and the shared memory that they aim at: enough
/// bytes in flight, and several blocks to a multiprocessor. Measured, see docs/performance.md.
#[derive(Clone, Copy)]
struct Pieces {
    threads: u32,
    bytes: usize,
}

/// For batches of small matrices.
const BATCH: Pieces = Pieces { threads: 256, bytes: 26 << 10 };

/// For rows, in `tall`, or columns, in `wide`, of at most [`SHORT_LINE`] bytes, and for longer ones.
const TALL: [Pieces; 2] =
    [Pieces { threads: 128, bytes: 9 << 10 }, Pieces { threads: 256, bytes: 18 << 10 }];
const WIDE: [Pieces; 2] =
    [Pieces { threads: 128, bytes: 10 << 10 }, Pieces { threads: 256, bytes: 20 << 10 }];
const SHORT_LINE: usize = 64;

/// For `wide` with single bytes, which are scattered one by one.
const WIDE_OF_BYTES: Pieces = Pieces { threads: 256, bytes: 30 << 10 };

/// Source rows a multiple of this many bytes apart meet in few banks of the memory: measured, see
/// docs/performance.md.
const FAR_ROWS: usize = 128 << 10;

/// The bytes between two columns of tiles that do not meet there.
const PAIR_DISTANCE: usize = 16 << 10;

/// From this many bytes on matrices are far larger than any cache: the memory gains from fewer blocks.
const LARGE: usize = 256 << 20;

/// Below this many bytes a row is short: tiles would stand out over it.
const SHORT_ROW: usize = 256;

/// Below this many bytes a matrix of a batch is small: it would not fill a tile.
const SMALL_MATRIX: usize = 8 << 10;

/// The launches that transpose a problem the fastest way that the rules know. `limit` is what a grid
/// may have along x, y and z.
pub(crate) fn launches(problem: &Problem, limit: [usize; 3]) -> Vec<Launch> {
    if problem.is_empty() {
        return Vec::new();
    }
    let task = Task::new(problem, limit);
    if task.k > 1 {
        return task.triples().unwrap_or_else(|| task.tuples());
    }
    if let Some(launches) = task.small_matrices() {
        return launches;
    }
    let is_short = |elements: usize| elements * task.word_bytes() < SHORT_ROW;
    if is_short(problem.src.cols)
        && let Some(launches) = task.tall()
    {
        return launches;
    }
    if is_short(problem.src.rows)
        && let Some(launches) = task.wide()
    {
        return launches;
    }
    task.micro().or_else(|| task.rows()).unwrap_or_else(|| task.tuples())
}

/// The launches of every kernel that can serve a problem, each by the name of the kernel.
pub(crate) fn candidates(problem: &Problem, limit: [usize; 3]) -> Vec<(&'static str, Vec<Launch>)> {
    if problem.is_empty() {
        return Vec::new();
    }
    let task = Task::new(problem, limit);
    if task.k > 1 {
        let others = [("tuples", task.tuples()), ("elements", task.elements())];
        let triples = task.triples().map(|launches| ("triples", launches));
        return triples.into_iter().chain(others).collect();
    }
    let optional = [
        ("micro", task.micro()),
        ("micro_unpaired", task.micro_in_pairs(0).filter(|_| task.tiles_apart() > 0)),
        ("rows", task.rows()),
        ("tall", task.tall()),
        ("wide", task.wide()),
        ("batch", task.small_matrices()),
    ];
    optional.into_iter().filter_map(|(name, launches)| Some((name, launches?))).collect()
}

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

/// The shape of a tile of the `micro` kernel (its chunks, groups, passes and block rows).
struct MicroShape {
    rows: usize,
    cols: usize,
    threads: u32,
    /// Blocks that a multiprocessor should run at a time if the matrices are large.
    at_once: u32,
}

const fn micro_shape(word: Width) -> MicroShape {
    let (rows, cols, threads, at_once) = match word {
        Width::B1 => (128, 256, 512, 2),
        Width::B2 => (128, 128, 512, 2),
        Width::B4 => (64, 64, 256, 4),
        Width::B8 => (64, 32, 512, 0),
        Width::B16 => (32, 16, 256, 5),
    };
    MicroShape { rows, cols, threads, at_once }
}

/// The shape of a tile of the `rows` kernel. Words of 16 bytes need none: their rows start on vectors.
struct RowsShape {
    /// Vectors of a row, of which one more than the columns fill.
    chunks: usize,
    rows: usize,
    threads: u32,
}

const fn rows_shape(word: Width) -> Option<RowsShape> {
    let (chunks, rows, threads) = match word {
        Width::B1 => (16, 128, 256),
        Width::B2 | Width::B4 => (32, 64, 256),
        Width::B8 => (32, 64, 512),
        Width::B16 => return None,
    };
    Some(RowsShape { chunks, rows, threads })
}

/// The shape of a stage of the `tuples` kernel.
struct TuplesShape {
    /// Vectors of a row.
    chunks: usize,
    rows: usize,
    threads: u32,
    /// Bytes that windows are aligned to.
    align: usize,
}

const fn tuples_shape(word: Width) -> TuplesShape {
    let (chunks, rows, threads, align) = match word {
        Width::B1 => (8, 256, 512, VECTOR),
        Width::B2 => (16, 128, 512, SECTOR),
        Width::B4 => (16, 128, 512, SECTOR),
        Width::B8 => (32, 64, 512, SECTOR),
        Width::B16 => (16, 64, 256, SECTOR),
    };
    TuplesShape { chunks, rows, threads, align }
}

/// A problem whose word is known.
struct Task<'a> {
    problem: &'a Problem,
    word: Width,
    /// Words of an element.
    k: usize,
    /// Whether all rows of both matrices start on a vector.
    aligned: bool,
    limit: [usize; 3],
}

impl<'a> Task<'a> {
    fn new(problem: &'a Problem, limit: [usize; 3]) -> Self {
        let (src_align, dst_align) = problem.row_alignments();
        let word = largest_word(problem, src_align.min(dst_align));
        let k = problem.element_bytes / word.bytes() as usize;
        Task { problem, word, k, aligned: src_align.min(dst_align) == VECTOR, limit }
    }

    fn word_bytes(&self) -> usize {
        self.word.bytes() as usize
    }

    /// Words of a sector.
    fn sector(&self) -> usize {
        SECTOR / self.word_bytes()
    }

    fn micro(&self) -> Option<Vec<Launch>> {
        self.micro_in_pairs(self.tiles_apart())
    }

    /// Tiles of aligned rows, down columns that lie in pairs `apart` tiles from each other; 0 for none.
    fn micro_in_pairs(&self, apart: usize) -> Option<Vec<Launch>> {
        let MicroShape { rows, cols, threads, at_once } = micro_shape(self.word);
        if !self.aligned {
            return None;
        }
        let x = self.problem.src.rows.div_ceil(rows);
        let group = (2 * apart).max(1);
        let words = [apart as u64];
        let mut launches = self.groups(Fast::Micro, x, [cols, group], threads, &words);
        let Problem { src, batch, .. } = self.problem;
        if src.len().saturating_mul(batch.count).saturating_mul(self.word_bytes()) >= LARGE {
            launches.iter_mut().for_each(|launch| launch.at_once = at_once);
        }
        Some(launches)
    }

    /// How far apart two columns of tiles of the `micro` kernel should be that are walked together, in tiles.
    fn tiles_apart(&self) -> usize {
        let MicroShape { cols, .. } = micro_shape(self.word);
        let apart = PAIR_DISTANCE / (cols * self.word_bytes());
        let Layout { cols: all, ld, .. } = self.problem.src;
        let far = ld.checked_mul(self.word_bytes()).is_some_and(|bytes| bytes % FAR_ROWS == 0);
        if far && all >= 2 * apart * cols { apart } else { 0 }
    }

    /// Rows that start anywhere.
    fn rows(&self) -> Option<Vec<Launch>> {
        let RowsShape { chunks, rows, threads } = rows_shape(self.word)?;
        let x = (self.problem.src.rows + self.sector() - 1).div_ceil(rows - self.sector());
        let cols = (chunks - 1) * VECTOR / self.word_bytes();
        Some(self.tiles(Fast::Rows, x, cols, threads, &[]))
    }

    /// Triples of bytes or half-words.
    fn triples(&self) -> Option<Vec<Launch>> {
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
    fn tuples(&self) -> Vec<Launch> {
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
        let inverse = (1u64 << 32).div_ceil(k as u64);
        let words = [k as u64, inverse, tile_cols as u64, window as u64];
        self.tiles(Fast::Tuples, x, tile_cols, threads, &words)
    }

    /// A grid of `x` blocks down the rows and of tiles of `tile_cols` elements across the columns.
    fn tiles(
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
    fn groups(
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
    fn elements(&self) -> Vec<Launch> {
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
    fn tall(&self) -> Option<Vec<Launch>> {
        let Problem { src, .. } = self.problem;
        let row_bytes = src.ld.checked_mul(self.word_bytes()).filter(|_| src.ld <= 2 * src.cols)?;
        let bytes = |window: usize| piece_bytes((window + self.sector()) * row_bytes);
        let pieces = TALL[usize::from(row_bytes > SHORT_LINE)];
        let mut window = 2 * self.sector();
        while bytes(2 * window) <= pieces.bytes {
            window *= 2;
        }
        let x = (src.rows + self.sector() - 1).div_ceil(window);
        self.pieces(Fast::Tall, x, pieces.threads, bytes(window), &[window as u64])
    }

    /// Few rows, and a destination without gaps: pieces of many columns.
    fn wide(&self) -> Option<Vec<Launch>> {
        let Problem { src, dst, .. } = self.problem;
        if dst.ld != src.rows {
            return None;
        }
        let col_bytes = src.rows * self.word_bytes();
        let step = self.sector();
        let pieces = match self.word {
            Width::B1 => WIDE_OF_BYTES,
            _ => WIDE[usize::from(col_bytes > SHORT_LINE)],
        };
        let window = (pieces.bytes * 32 / 33 / col_bytes / step).max(1) * step;
        let x = (src.len() + self.sector() - 1).div_ceil(window * src.rows);
        let shared = piece_bytes(window * col_bytes);
        self.pieces(Fast::Wide, x, pieces.threads, shared, &[window as u64])
    }

    /// Many small matrices without gaps in or between them.
    fn small_matrices(&self) -> Option<Vec<Launch>> {
        let Problem { src, dst, batch, .. } = self.problem;
        let each = src.len();
        let contiguous = src.ld == src.cols
            && dst.ld == dst.cols
            && (batch.src_stride, batch.dst_stride) == (each, each);
        let bytes = each * self.word_bytes();
        if batch.count < 2 || !contiguous || bytes > SMALL_MATRIX {
            return None;
        }
        let step = self.sector();
        let extra = 1 + self.sector().div_ceil(each);
        let fits = (BATCH.bytes * 32 / 33 / bytes).saturating_sub(extra);
        let window = (fits / step).max(1) * step;
        let x = (batch.count * each + self.sector() - 1).div_ceil(window * each);
        let shared = piece_bytes((window + extra) * bytes);
        if x > self.limit[0] || shared > 48 << 10 {
            return None;
        }
        let words = [batch.count as u64, window as u64];
        Some(vec![self.launch(
            Fast::Batch,
            [x, 1, 1],
            BATCH.threads,
            shared,
            0,
            0,
            src.cols,
            &words,
        )])
    }

    /// A grid of `x` blocks, each with `shared` bytes of shared memory; `None` if that is too much.
    fn pieces(
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
    fn per_batch_slab<I: Iterator<Item = Launch>>(
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
    fn launch(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::GRID_LIMIT;

    fn problem(element_bytes: usize, rows: usize, cols: usize) -> Problem {
        Problem {
            element_bytes,
            src: Layout { rows, cols, ld: cols },
            dst: Layout { rows: cols, cols: rows, ld: rows },
            src_align: VECTOR,
            dst_align: VECTOR,
            batch: Batch::ONE,
        }
    }

    fn kernel(problem: &Problem) -> &'static str {
        launches(problem, GRID_LIMIT)[0].entry.name
    }

    #[test]
    fn both_layouts_decide() {
        let aligned = problem(4, 1024, 1024);
        assert_eq!(kernel(&aligned), "micro_b4");
        let mut odd_source = aligned;
        odd_source.src.ld += 1;
        let mut odd_destination = aligned;
        odd_destination.dst.ld += 1;
        let source_off = Problem { src_align: 4, ..aligned };
        let destination_off = Problem { dst_align: 4, ..aligned };
        for problem in [odd_source, odd_destination, source_off, destination_off] {
            assert_eq!(kernel(&problem), "rows_b4", "{problem}");
        }
    }

    #[test]
    fn shapes_and_elements_decide() {
        assert_eq!(kernel(&problem(4, 1 << 24, 48)), "tall_b4");
        assert_eq!(kernel(&problem(4, 48, 1 << 24)), "wide_b4");
        assert_eq!(kernel(&problem(4, 64, 64)), "micro_b4");
        assert_eq!(kernel(&problem(4, 10007, 9973)), "rows_b4");
        assert_eq!(kernel(&problem(3, 500, 500)), "triples_b1");
        assert_eq!(kernel(&problem(6, 500, 500)), "triples_b2");
        assert_eq!(kernel(&problem(5, 500, 500)), "tuples_b1");
        assert_eq!(kernel(&problem(12, 500, 500)), "tuples_b4");
        assert_eq!(kernel(&problem(24, 500, 500)), "tuples_b8");
        assert_eq!(kernel(&problem(32, 500, 500)), "tuples_b16");
        assert_eq!(kernel(&problem(4096, 50, 50)), "elements_b16");
        let batch = Batch { count: 1000, src_stride: 35, dst_stride: 35 };
        assert_eq!(kernel(&Problem { batch, ..problem(4, 7, 5) }), "batch_b4");
        let apart = Batch { count: 1000, src_stride: 36, dst_stride: 35 };
        assert_ne!(kernel(&Problem { batch: apart, ..problem(4, 7, 5) }), "batch_b4");
    }

    /// A foreign address may be aligned to less than the element.
    #[test]
    fn addresses_that_split_an_element() {
        let split = Problem { src_align: 8, ..problem(16, 500, 500) };
        assert_eq!(kernel(&split), "tuples_b8");
    }

    /// Rows a multiple of 128 KiB apart are walked in pairs of columns, 16 KiB from each other.
    #[test]
    fn far_rows_are_walked_in_pairs() {
        let walk = |problem: &Problem| {
            let launch = launches(problem, GRID_LIMIT)[0];
            (launch.words[6], launch.grid[1])
        };
        for (element, cols) in
            [(1, 1 << 17), (2, 1 << 18), (4, 1 << 16), (8, 3 << 14), (16, 1 << 13)]
        {
            let far = problem(element, 4096, cols);
            let columns = (cols * element / 256) as u32;
            assert_eq!(walk(&far), (64, columns), "{far}");
            // Only the source's rows count, and only whole multiples.
            let mut nearer = far;
            nearer.src.ld += 256 / element;
            assert_eq!(walk(&nearer), (0, columns), "{nearer}");
            let far_destination = problem(element, cols, 4096);
            assert_eq!(walk(&far_destination).0, 0, "{far_destination}");
        }
        // Part of a group of columns has blocks for all of it; less than one group is no group.
        let mut window = problem(4, 4096, 1 << 16);
        window.src.cols = 8192 + 64;
        assert_eq!(walk(&window), (64, 256));
        window.src.cols = 8192 - 64;
        assert_eq!(walk(&window), (0, 127));
    }

    #[test]
    fn large_matrices_have_fewer_blocks_at_once() {
        let at_once =
            |element, side| launches(&problem(element, side, side), GRID_LIMIT)[0].at_once;
        assert_eq!([1, 2, 4, 8, 16].map(|element| at_once(element, 16384)), [2, 2, 4, 0, 5]);
        assert_eq!([1, 2, 4, 8, 16].map(|element| at_once(element, 2048)), [0; 5]);
    }

    /// A slab of the grid is whole groups, but for the last.
    #[test]
    fn slabs_are_whole_groups() {
        let problem = problem(4, 4096, 1 << 16);
        let launches = launches(&problem, [1000, 300, 1]);
        let grids: Vec<_> = launches.iter().map(|launch| launch.grid[1]).collect();
        assert_eq!(grids, [256, 256, 256, 256]);
        assert_eq!(launches[3].offsets, [3 * 256 * 256, 3 * 256 * 64 * 4096 * 4]);
    }

    #[test]
    fn the_chosen_kernel_is_a_candidate() {
        for element in [1, 2, 3, 4, 8, 12, 16, 500] {
            for (rows, cols) in [(1, 1), (5, 70000), (70000, 5), (999, 1001), (512, 512)] {
                let problem = problem(element, rows, cols);
                let chosen = launches(&problem, GRID_LIMIT);
                let candidates = candidates(&problem, GRID_LIMIT);
                assert!(candidates.iter().any(|(_, launches)| *launches == chosen), "{problem}");
            }
        }
    }

    /// More columns and more matrices than a grid has blocks: slabs that cover all.
    #[test]
    fn slabs_cover_columns_and_batches() {
        let batch = Batch { count: 5, src_stride: 1 << 20, dst_stride: 1 << 20 };
        let problem = Problem { batch, ..problem(4, 256, 1000) };
        let launches = launches(&problem, [1000, 4, 2]);
        let mut covered = 0;
        for Launch { grid, words, .. } in &launches {
            assert!(grid[1] <= 4 && grid[2] <= 2);
            covered += words[1] * u64::from(grid[2]);
        }
        assert_eq!(covered, 5 * 1000);
        let last = launches.last().unwrap();
        assert_eq!(last.offsets[0], (4 * (1 << 20) + 768) * 4);
        assert_eq!(last.offsets[1], (4 * (1 << 20) + 768 * 256) * 4);
    }
}
