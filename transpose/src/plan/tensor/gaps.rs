//! Gaps in the destination: sectors that the move has only a part of, and whose rest nothing is stored to.
//!
//! A GPU's L2 cache keeps such a sector as a part, and reads the rest of it when it gives the sector up. That is slow where sectors beside it are stored
//! as a whole: kernels that fetch the sector first, all together, were twice as fast (decision 042). Where gaps are rare, fetching is slower: kernels
//! fetch all ends of their stretches, which then mostly meet each other (decision 054).

use super::canonical::Canonical;
use super::sectors::{SECTOR, sectors_in_part};
use super::side::Side;
use kernel_abi::tensor::Fetching;
use std::ops::Range;

/// What gaps in the destination cost.
pub(super) struct Gaps {
    /// Sectors that have gaps beside what is stored, of the whole move.
    pub sectors: f64,
    /// Whether fetching them pays: where rows are far apart and shorter than two sectors there is no other sector for them to delay.
    pub fetch: bool,
    /// Words between two gaps.
    together: usize,
    /// Bytes between two gaps, and of a gap.
    pub row: usize,
    pub gap: usize,
    /// How sectors are fetched.
    fetching: Fetching,
    /// Whether there are gaps, and what lies between them is short.
    pub has_short_rows: bool,
    /// Whether they are not fetched, and rows have whole sectors beside them now and then, which wait for memory as long.
    pub beside_whole: bool,
    /// Whether memory moves little else than such sectors: then few are to be on their way at a time (decision 062).
    pub are_all: bool,
    /// Whether rows are parts of one sector each, and so far apart that nothing is near it: none is fetched, for there is no other sector that it would delay.
    pub rows_are_alone: bool,
    /// To what degree, from 0 to 1, short rows of narrow words are so far apart that smaller boxes are faster.
    pub far_rows: f64,
}

/// Bytes of a row below which gaps are most of what it costs.
const SHORT: usize = 400;

/// How many times as long as a kernel's stretches rows are at most whose ends it fetches.
const FEW: usize = 4;

/// Bytes of rows whose ends are fetched alone, if gaps are no more than twice as long: with shorter ones that takes too long to ask for, with longer ones there
/// is little to fetch. (By rows of 12 to 3100 bytes, words of 4 bytes and more.)
const ALONE: Range<usize> = 96..SHORT;

/// Bytes of rows of words of 8 bytes and more below which, with gaps of at least so many bytes, memory moves little else than sectors in part.
const FAR_APART: usize = 128;
/// How many times as far apart as they are long rows of narrow words are from where on larger boxes are slower, and from where on no more so.
/// (By 35 random moves, boxes of 2 to 32 KiB side by side, on an H200.)
const FAR: Range<f64> = 1.4..2.4;

impl Gaps {
    /// How a kernel that stores stretches of so many words is to fetch the sectors where they start and end: not if most of those are the next
    /// stretch's as well.
    pub fn fetch_ends_of(&self, words: usize) -> Fetching {
        let pays = self.fetch && self.together <= words.saturating_mul(FEW);
        if pays { self.fetching } else { Fetching::None }
    }

    /// Those of a move.
    pub fn of(canonical: &Canonical) -> Self {
        let [_, Side { together, aligned, pitch, .. }] = *canonical.sides();
        let word = canonical.word_bytes();
        let pitch = pitch.saturating_mul(word);
        let bytes = together * word;
        let in_part = if pitch == usize::MAX { 0.0 } else { sectors_in_part(bytes, aligned) };
        // One sector may have the end of a row and the start of the next, or several rows.
        let of_row = if pitch - bytes < SECTOR { in_part.min(1.0) } else { in_part };
        let of_row = of_row.min(pitch as f64 / SECTOR as f64);
        // Narrow words are stored in several parts of a sector, and the cache would read the rest of it for each.
        let is_near = if word < 4 { pitch <= 7 * bytes / 2 } else { pitch <= 2 * bytes };
        let is_dense = is_near || has_whole_sector(bytes, aligned);
        let has_short_rows = in_part > 0.0 && bytes < SHORT;
        let fetch = in_part > 0.0 && is_dense;
        let never_fetched = in_part > 0.0 && !is_dense;
        let are_far = bytes < FAR_APART && pitch - bytes >= FAR_APART;
        let are_all = fetch && word >= 8 && are_far;
        let far = (pitch as f64 / bytes as f64 - FAR.start) / (FAR.end - FAR.start);
        let is_far = word < 4 && has_short_rows;
        let are_alone = are_all || word >= 4 && ALONE.contains(&bytes) && pitch / 3 <= bytes;
        let fetching = if are_alone { Fetching::Sectors } else { Fetching::Lines };
        Gaps {
            sectors: canonical.words() as f64 / together as f64 * of_row,
            has_short_rows,
            far_rows: if is_far { far.clamp(0.0, 1.0) } else { 0.0 },
            together,
            row: bytes,
            gap: pitch - bytes,
            fetching,
            fetch,
            beside_whole: never_fetched && word >= 4 && bytes >= SECTOR,
            are_all,
            rows_are_alone: never_fetched && word >= 8 && bytes < SECTOR && are_far,
        }
    }
}

/// Whether most stretches of so many bytes, which start on a multiple of `aligned`, have a whole sector.
fn has_whole_sector(bytes: usize, aligned: usize) -> bool {
    if bytes <= SECTOR || bytes >= 2 * SECTOR {
        return bytes > SECTOR;
    }
    // The first of those that start on a sector has one; of the others those that start behind this.
    let from = 2 * SECTOR - bytes;
    let aligned = aligned.min(SECTOR);
    let starts = SECTOR >> aligned.trailing_zeros();
    let before = (from + aligned - 1) >> aligned.trailing_zeros();
    2 * (1 + starts - before) > starts
}

#[cfg(test)]
mod tests {
    use super::super::problem::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;

    #[test]
    fn most_stretches_have_a_whole_sector() {
        for aligned in [1, 2, 4, 8, 16, 32] {
            for bytes in (aligned..150).step_by(aligned) {
                let starts = (0..SECTOR).step_by(aligned);
                let has = |start: &usize| (start + bytes) / SECTOR > start.div_ceil(SECTOR);
                let (all, some) = (starts.clone().count(), starts.filter(has).count());
                // A stretch of one sector that starts on it has no part of another.
                let most = bytes > SECTOR && 2 * some > all;
                assert_eq!(has_whole_sector(bytes, aligned), most, "{bytes} at {aligned}");
            }
        }
    }

    #[test]
    fn ends_are_fetched_where_most_have_gaps_behind_them() {
        let gaps = |shape: [usize; 3], dst: [isize; 3]| {
            let [_, rows, cols] = shape;
            let src = [(rows * cols) as isize, 1, rows as isize];
            let layout = |strides| TensorLayout::strided(&shape, strides, 0, 4).unwrap();
            let (src, dst) = (layout(&src), layout(&dst));
            let (src_align, dst_align) = (32, 32);
            let problem =
                TensorProblem { element_bytes: 4, src: &src, dst: &dst, src_align, dst_align };
            Gaps::of(&Canonical::of(&problem))
        };
        // 100 rows of 15 words, together, and 9 words behind them; 3 words behind each row.
        let rare = gaps([50, 100, 15], [1509, 15, 1]);
        let frequent = gaps([50, 100, 15], [1800, 18, 1]);
        assert!(rare.fetch && frequent.fetch);
        use Fetching::{Lines, None, Sectors};
        assert_eq!([15, 375].map(|words| rare.fetch_ends_of(words)), [None, Lines]);
        assert_eq!([15, 4, 3].map(|words| frequent.fetch_ends_of(words)), [Lines, Lines, None]);
        let none = gaps([50, 100, 15], [1500, 15, 1]);
        assert!(!none.fetch && none.fetch_ends_of(1500) == None);
        // Rows of 3 of 20 words of 16 bytes have a whole sector each; of 2 of 21, every other one, which has no part of one; of 9 of 48 there is more to
        // move than sectors in part.
        let rows_of = |cols: usize, pitch: isize| {
            let layout = |strides| TensorLayout::strided(&[5000, cols], strides, 0, 16).unwrap();
            let (src, dst) = (layout(&[1, 5000]), layout(&[pitch, 1]));
            let (src_align, dst_align) = (32, 32);
            Gaps::of(&Canonical::of(&TensorProblem {
                element_bytes: 16,
                src: &src,
                dst: &dst,
                src_align,
                dst_align,
            }))
        };
        let are = |cols, pitch| [rows_of(cols, pitch).fetch, rows_of(cols, pitch).are_all];
        assert_eq!([are(3, 20), are(2, 21), are(9, 48)], [[true; 2], [false; 2], [true, false]]);
        // Every other row of two words is a whole sector, beside parts of others that are not fetched; rows of one word have none.
        assert_eq!(
            [(2, 21), (3, 20), (1, 21)].map(|(cols, pitch)| rows_of(cols, pitch).beside_whole),
            [true, false, false]
        );
        // Rows of 32 words: with few gaps beside them what is in their cache lines is not needed.
        assert_eq!(gaps([50, 100, 32], [3600, 36, 1]).fetch_ends_of(32), Sectors);
        assert_eq!(gaps([50, 100, 33], [13_000, 130, 1]).fetch_ends_of(33), Lines);
    }
}
