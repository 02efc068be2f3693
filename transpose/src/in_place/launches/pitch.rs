//! How far apart segments of tuples lie in shared memory, so that their banks do not conflict.

use super::BANKS_BYTES;
use crate::kernels::Width;
use smallvec::SmallVec;

#[cfg(test)]
thread_local! {
    /// How many pitches this thread has found: each takes microseconds.
    pub static PITCHES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Banks of shared memory, each a word of 4 bytes wide.
const BANKS: usize = BANKS_BYTES / 4;

/// Words from one segment of `words` words in shared memory to the next: of the least ones that have
/// room, that with the fewest bank conflicts between neighbouring segments.
pub fn tuple_pitch(words: usize, tuple: usize, width: Width) -> usize {
    #[cfg(test)]
    PITCHES.set(PITCHES.get() + 1);
    // Pitches that differ by all banks have the same conflicts, or fewer if they are so short that segments have a word in common.
    let more = (words / 16).clamp(4, BANKS_BYTES / width.bytes() - 1);
    (words..=words + more).min_by_key(|&pitch| conflicts(pitch, tuple, width)).unwrap_or(words)
}

/// The most words of 4 bytes that one bank serves when the lanes that are served together read whole
/// tuples, each from the next segment.
fn conflicts(pitch: usize, tuple: usize, width: Width) -> usize {
    let bytes = width.bytes();
    let lanes = 32.min(BANKS_BYTES / bytes);
    most_of_a_bank((0..lanes).flat_map(|lane| {
        let first = (lane / tuple * pitch + lane % tuple) * bytes;
        first / 4..(first + bytes).div_ceil(4)
    }))
}

/// The most of these words that one bank serves, each once.
fn most_of_a_bank(words: impl Iterator<Item = usize>) -> usize {
    let mut banks: [SmallVec<[usize; 4]>; BANKS] = Default::default();
    for word in words {
        let bank = &mut banks[word % BANKS];
        if !bank.contains(&word) {
            bank.push(word);
        }
    }
    banks.iter().map(SmallVec::len).max().unwrap_or(0)
}

/// log2 of the threads along a segment of units, of so many threads. The segments that a warp's units come from should be no more than there are
/// banks; and no more segments should be taken at a time than there are.
pub fn units_along(segments: usize, element: usize, unit: usize, threads: usize) -> usize {
    let along = match element / (unit / 4) {
        1 => 3,
        2 | 3 => 4,
        _ => 5,
    };
    // Those at a time are a multiple of 4.
    let most = threads.ilog2() as usize - if unit == 4 { 2 } else { 0 };
    (along..most).find(|along| threads >> along <= segments).unwrap_or(most)
}

/// Bytes from one segment to the next, for segments of so many bytes that are held as far behind a unit as they start in memory, and
/// gathered across by units: of the least ones that have room, that with the fewest bank conflicts in a warp.
pub fn unit_pitch(bytes: usize, element: usize, unit: usize, along: usize) -> usize {
    let least = (bytes + 3).next_multiple_of(unit);
    let pitches = (0..=(least / unit / 32).clamp(2, 16)).map(|more| least + more * unit);
    pitches.min_by_key(|&pitch| unit_conflicts(pitch, element, unit, along)).unwrap_or(least)
}

/// The most words of 4 bytes that one bank serves when the lanes that are served together fetch the first words of their units.
fn unit_conflicts(pitch: usize, element: usize, unit: usize, along: usize) -> usize {
    most_of_a_bank((0..32.min(BANKS_BYTES / unit)).flat_map(|lane| {
        let (number, across) = (lane % (1 << along), lane >> along);
        let (segment, byte) = (number * unit / element, number * unit % element);
        let first = segment * pitch + across * element + byte;
        first / 4..(first + unit - 3).div_ceil(4)
    }))
}

#[cfg(test)]
mod tests {
    use super::{conflicts, tuple_pitch, unit_conflicts, unit_pitch, units_along};
    use crate::kernels::Width;

    #[test]
    fn pitches_of_tuples_avoid_conflicts() {
        for (tuple, width) in [(3, Width::B4), (3, Width::B8), (5, Width::B4), (2, Width::B16)] {
            for words in (tuple * 40..tuple * 60).step_by(tuple) {
                let pitch = tuple_pitch(words, tuple, width);
                assert!(pitch >= words && conflicts(pitch, tuple, width) <= 2, "{tuple} {words}");
            }
        }
        // No pitch further off is better.
        for (tuple, width) in
            [(3, Width::B1), (5, Width::B1), (3, Width::B2), (3, Width::B4), (3, Width::B16)]
        {
            for words in (tuple..tuple * 400).step_by(7 * tuple) {
                let all = (words..=words + (words / 16).max(4))
                    .map(|pitch| conflicts(pitch, tuple, width));
                let pitch = tuple_pitch(words, tuple, width);
                assert_eq!(conflicts(pitch, tuple, width), all.min().unwrap(), "{tuple} {words}");
            }
        }
        assert_eq!(conflicts(32, 1, Width::B4), 32);
        assert_eq!(conflicts(33, 1, Width::B4), 1);
    }

    /// No more than two words of a bank, whatever the element: the warp's units come from as many segments as there are banks.
    #[test]
    fn units_are_gathered_from_different_banks() {
        for (element, unit) in [(1, 4), (2, 4), (3, 4), (5, 4), (7, 4), (12, 4), (24, 8), (48, 16)]
        {
            for segments in [32, 64, 100] {
                let along = units_along(segments, element, unit, 256);
                let pitch = unit_pitch(segments * element, element, unit, along);
                assert!(pitch >= segments * element + 3 || unit > 4, "{element}");
                assert!(unit_conflicts(pitch, element, unit, along) <= 3, "{element} {segments}");
            }
        }
    }
}
