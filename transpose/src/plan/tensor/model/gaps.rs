//! What sectors of the destination cost that a move has a part of, and whose rest nothing is stored to.

use super::super::canonical::Canonical;
use super::super::gaps::Gaps;
use super::super::sectors::SECTOR;
use kernel_abi::Width;

/// What a sector costs that a gap follows, where it is fetched before it is stored, and where it is not, of words of 4 bytes and more
/// or of less. (By rows of 36 to 272 bytes with gaps, on an H200.)
const FETCHED_GAP: f64 = 60.0;
const GAP: f64 = 130.0;
const NARROW_GAP: f64 = 150.0;

/// What it costs tiles where rows are so far apart that nobody fetches it. (Boxes and words count it themselves.)
const FAR_GAP: f64 = 50.0;

/// What it costs tiles of 4-byte words and more where some of those rows have a whole sector beside it. (By rows of 32 and 40 bytes, 176 and 84 apart, of
/// which their other costs leave 98 to 147, and those of boxes 91 to 144; of rows of 20 and 28 bytes they leave 8 to 27.)
const GAP_BESIDE: f64 = 100.0;

/// What each costs where memory moves little else, if it is fetched by few blocks at a time, by many, and not at all. (By rows of 48 and 80 bytes, 320
/// and 768 apart, on an H200.)
const FAR_GAPS: [f64; 3] = [180.0, 285.0, 360.0];

/// What the gaps of a destination cost kernels that fetch what is beside them where that pays, and kernels that do not.
pub(in super::super) fn cost_of_gaps(canonical: &Canonical, gaps: &Gaps, is_fetched: bool) -> f64 {
    let Gaps { sectors, fetch, beside_whole, are_all, rows_are_alone, .. } = *gaps;
    let [by_few, _, not_fetched] = FAR_GAPS;
    match (fetch, is_fetched) {
        (false, _) if beside_whole => sectors * GAP_BESIDE,
        (false, _) if rows_are_alone => sectors * not_fetched,
        (true, true) if are_all => sectors * by_few,
        (true, false) if are_all => sectors * not_fetched,
        (false, true) => sectors * FAR_GAP,
        (false, false) => 0.0,
        (true, true) => sectors * FETCHED_GAP,
        (true, false) if canonical.word_bytes() < 4 => sectors * NARROW_GAP,
        (true, false) => sectors * GAP,
    }
}

/// What the gaps of a destination cost where words are stored one by one, and none of its sectors is fetched: more, the longer rows and gaps are. (By 900 moves with gaps, rows
/// of 8 bytes to 1 KB, words of 4 bytes and more, decision 094.)
pub(in super::super) fn cost_of_gaps_by_words(gaps: &Gaps) -> f64 {
    /// What a sector of the shortest rows costs.
    const SHORTEST: f64 = 37.0;
    /// Bytes of the rows from which on a sector costs [`GAP`].
    const LONG: usize = 64;
    /// What it costs more for each time that its gap is twice as long as a sector.
    const LONGER: f64 = 0.3;
    if gaps.sectors == 0.0 {
        return 0.0;
    }
    let sector = (GAP * gaps.row.min(LONG) as f64 / LONG as f64).max(SHORTEST);
    gaps.sectors * sector * (1.0 + LONGER * (gaps.gap.max(SECTOR) as f64 / SECTOR as f64).log2())
}

/// What a sector costs boxes that they store a part of and a gap follows, where that is more than what others do.
pub(in super::super) fn of_gap_in_boxes(word: Width, gaps: &Gaps) -> Option<f64> {
    match gaps {
        Gaps { are_all: true, .. } => Some(FAR_GAPS[1]),
        Gaps { rows_are_alone: true, .. } => Some(ALONE),
        Gaps { beside_whole: true, .. } => Some(GAP),
        Gaps { fetch, has_short_rows, .. } => {
            (word.bytes() >= 4 && *fetch && *has_short_rows).then_some(FETCHED_GAP)
        }
    }
}

/// What a sector costs boxes and tiles that they store a part of and nothing near it, where they store the others at another time. (By eight boxes and four tiles of rows of 8 bytes, 24
/// and 32 bytes apart in the destination and 3 and 38 KB in the box, which took 2.5 times as long as was said, decision 082.)
pub(in super::super) const ALONE: f64 = 140.0;

/// What a sector costs boxes that store `bytes` bytes at a time, with gaps between them, where the sectors of a row are few and far from those of the next: one's parts are stored at different times. (By eight moves to every second, third and fourth element of
/// 64 rows on an H200, decision 138.)
pub(in super::super) fn scattered(bytes: usize) -> f64 {
    1120.0 / bytes as f64
}

/// What a sector costs pieces that have gaps, if it is not fetched. (By four moves to every fourth element of 8192 rows.)
pub(in super::super) const NOT_FETCHED: f64 = 60.0;

/// Whether stretches of the destination, of `bytes` bytes, are shorter than a sector, and [far](are_far) from all stretches that are moved together with them, which lie `steps` bytes away.
pub(in super::super) fn are_alone(bytes: usize, steps: impl Iterator<Item = usize>) -> bool {
    bytes < SECTOR && are_far(steps)
}

/// Whether stretches of the destination that are moved together, and lie `steps` bytes away from each other, are far apart.
pub(in super::super) fn are_far(steps: impl Iterator<Item = usize>) -> bool {
    /// Bytes from the start of a stretch to the start of the next, at least.
    const FAR: usize = 1 << 10;
    steps.min().is_some_and(|step| step >= FAR)
}
