//! The launches of the kernels that move pieces: matrices with few columns or few rows, and batches of small ones. What they
//! have in common is how long a window a block moves.

use super::shapes::{
    BATCH, LINE, OneRound, Rounds, SECTOR, SHORT_LINE, TALL, VECTOR, WIDE, full_round, lines,
    long_tall_bytes, tall_bytes, three_quarters,
};
use super::task::{Task, gcd};
use crate::kernels::{Fast, Width};
use crate::launch::Launch;
use crate::plan::problem::Problem;
use std::cmp::Reverse;

/// Below this many bytes a matrix of a batch is small: it would not fill a tile.
const SMALL_MATRIX: usize = 8 << 10;

impl Task<'_> {
    /// Few columns, close together: pieces of many rows.
    pub(super) fn tall(&self) -> Option<Vec<Launch>> {
        let Problem { src, .. } = self.problem;
        let row_bytes = src.ld.checked_mul(self.word_bytes()).filter(|_| src.ld <= 2 * src.cols)?;
        let bytes = |window: usize| piece_bytes((window + self.sector()) * row_bytes);
        let round = self.full_tall(row_bytes).or_else(|| self.long_tall(row_bytes));
        let (threads, window) = if let Some(OneRound { threads, line_bytes }) = round {
            (threads, line_bytes / self.word_bytes())
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
        let (threads, window) = match self.one_round() {
            Some(OneRound { threads, line_bytes }) => (threads, line_bytes / self.word_bytes()),
            None => {
                let rounds = lines(self.word, src.rows * self.word_bytes(), self.src_aligned);
                (rounds.threads, self.lines_window(&rounds))
            }
        };
        // The kernel gathers with a thread for each row.
        if dst.ld != src.rows || src.rows > threads as usize || self.word == Width::B16 {
            return None;
        }
        let x = (src.len() + self.sector() - 1).div_ceil(window * src.rows);
        let shared = line_bytes(src.rows, window * self.word_bytes(), self.line_gap());
        self.pieces(Fast::Lines, x, threads, shared, &[window as u64])
    }

    /// The columns of a block of `lines`: as many as make no more vectors than its threads load, though a line touches one more than
    /// it fills, or two. Of lines that start anywhere few touch two: those get more columns, as long as their blocks leave the L1 cache
    /// enough of what they share with it.
    fn lines_window(&self, rounds: &Rounds) -> usize {
        const MOST_SHARED: usize = 19_000;
        let rows = self.problem.src.rows;
        let sector = self.sector();
        // Whole lines of the cache, where rows start on them.
        let step = if self.src_aligned { rounds.step / self.word_bytes() } else { sector };
        let window = |more: usize| {
            let line = (rounds.block_vectors() / rows).saturating_sub(more) * VECTOR;
            let cols = line / self.word_bytes();
            if cols >= step { cols / step * step } else { (cols / sector).max(1) * sector }
        };
        let long = window(1);
        let fits = line_bytes(rows, long * self.word_bytes(), self.line_gap()) <= MOST_SHARED;
        if fits && !self.src_aligned { long } else { window(2) }
    }

    /// The vectors that `lines` leaves out behind every eighth line, at most.
    fn line_gap(&self) -> usize {
        if self.src_aligned { 1 } else { 2 }
    }

    /// The windows of `lines` if they can be a single round of loads. For bytes and half-words that is a full one, of whole vectors of
    /// every row of the source and whole sectors of the destination.
    pub(super) fn one_round(&self) -> Option<OneRound> {
        let rows = self.problem.src.rows;
        let whole = self.src_aligned && self.dst_starts_on_sectors();
        match self.word {
            Width::B1 | Width::B2 => full_round(rows).filter(|_| whole),
            Width::B4 | Width::B8 => three_quarters(rows, usize::from(!whole)),
            Width::B16 => None,
        }
    }

    /// The windows of `tall` for single bytes, in rows that are not too long.
    fn long_tall(&self, row_bytes: usize) -> Option<OneRound> {
        let on_sectors = self.problem.dst_align == VECTOR && self.dst_rows_on_sectors();
        let early = if on_sectors { 0 } else { SECTOR - 1 };
        if self.word == Width::B1 { long_tall_bytes(row_bytes, early) } else { None }
    }

    /// The windows of `tall` for half-words in longer rows, which it makes a difference to, if they can be full rounds: whole
    /// vectors of the source, and whole sectors of every row of the destination.
    fn full_tall(&self, row_bytes: usize) -> Option<OneRound> {
        let Problem { src, dst, src_align, batch, .. } = self.problem;
        if self.word != Width::B2 || row_bytes < SHORT_LINE {
            return None;
        }
        let whole = |words: usize, bytes: usize| (words * self.word_bytes()).is_multiple_of(bytes);
        let src_starts =
            *src_align == VECTOR && (batch.count == 1 || whole(batch.src_stride, VECTOR));
        let dst_rows = dst.rows == 1 || self.dst_rows_on_sectors();
        let whole = src_starts && dst_rows && self.dst_starts_on_sectors();
        full_round(src.ld).filter(|round| whole && round.line_bytes >= 2 * LINE)
    }

    /// Whether every matrix of the destination starts on a sector, most likely: what starts on a vector mostly does. It costs
    /// time, and nothing else, if one does not.
    fn dst_starts_on_sectors(&self) -> bool {
        let Problem { dst_align, batch, .. } = self.problem;
        let apart = batch.count == 1 || batch.dst_stride.is_multiple_of(self.sector());
        *dst_align == VECTOR && apart
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
        let ends = usize::from(!self.src_aligned);
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
}

/// Shared memory for a stage of `bytes`: vectors in front and behind, and a word for each 32.
fn piece_bytes(bytes: usize) -> usize {
    let vectors = bytes + 2 * SECTOR;
    vectors + vectors.div_ceil(128) * 4
}

/// Shared memory for so many lines of a window of `bytes` bytes, and of the columns that a piece may start earlier
/// with: an odd number of vectors and up to one more for each, and up to `gap` for every eight.
fn line_bytes(lines: usize, bytes: usize, gap: usize) -> usize {
    let vectors = (bytes + SECTOR).div_ceil(VECTOR) + 1;
    (lines * ((vectors | 1) + 1) + lines.div_ceil(8) * gap + 1) * VECTOR
}
