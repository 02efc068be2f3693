//! The sectors that stretches of bytes lie in.

/// Bytes of a sector.
pub(super) const SECTOR: usize = 32;

/// Bytes that memory moves at a time.
pub(super) const PIECE: usize = 64;

/// Bytes of a line of the caches.
pub(super) const LINE: usize = 128;

/// Bytes that memory moves fastest: two lines of the caches.
pub(super) const BURST: usize = 256;

/// A number below 2⁶³: a processor converts signed numbers by one instruction, others by six.
#[inline(always)]
pub(super) fn float(number: usize) -> f64 {
    number as isize as f64
}

/// Bytes of the sectors that `bytes` bytes lie in which start on a multiple of `aligned`, a power of two, in the mean.
pub(super) fn sectors(bytes: usize, aligned: usize) -> usize {
    pieces(SECTOR, bytes, aligned)
}

/// The same of bursts.
pub(super) fn bursts(bytes: usize, aligned: usize) -> usize {
    pieces(BURST, bytes, aligned)
}

/// The same of pieces of `size` bytes, a power of two.
#[inline(always)]
pub(super) fn pieces(size: usize, bytes: usize, aligned: usize) -> usize {
    let aligned = aligned.min(size);
    debug_assert!(aligned.is_power_of_two(), "{aligned}");
    // The next multiple, without a division.
    let bytes = (bytes + aligned - 1) & !(aligned - 1);
    bytes + size - aligned
}

/// The sectors of which `bytes` bytes that start on a multiple of `aligned` have only a part, in the mean: at most two.
pub(super) fn sectors_in_part(bytes: usize, aligned: usize) -> f64 {
    // A power of two.
    let aligned = aligned.min(SECTOR);
    let inside = 1.0 - aligned as f64 / SECTOR as f64;
    // The end is where a start can be if the bytes are a multiple of that too; if starts are on sectors and they are not, it is inside one.
    let ends_inside = if bytes & (aligned - 1) == 0 && aligned < SECTOR {
        inside
    } else {
        f64::from(u8::from(!bytes.is_multiple_of(SECTOR)))
    };
    inside + ends_inside
}

/// Bytes of sectors of a stretch of words, the nearest other one of which is so many words away: those that lie in the same sectors share them.
pub(super) fn sectors_of_one(
    words: usize,
    nearest: usize,
    word_bytes: usize,
    aligned: usize,
) -> f64 {
    let bytes = nearest.max(words).saturating_mul(word_bytes);
    float(sectors(words * word_bytes, aligned).min(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_and_bursts_in_the_mean() {
        for (size, pieces) in [(SECTOR, sectors as fn(usize, usize) -> usize), (BURST, bursts)] {
            for aligned in (0..9).map(|bits| 1 << bits).filter(|&aligned| aligned <= size) {
                for bytes in (aligned..200).step_by(aligned) {
                    let starts = (0..size).step_by(aligned);
                    let touched = starts.clone().map(|start| (start + bytes).div_ceil(size) * size);
                    let mean = touched.sum::<usize>() as f64 / starts.count() as f64;
                    assert_eq!(pieces(bytes, aligned) as f64, mean, "{bytes} at {aligned}");
                }
            }
        }
    }
}
