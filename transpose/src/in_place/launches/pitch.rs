//! How far apart segments of tuples lie in shared memory, so that their banks do not conflict.

use super::BANKS_BYTES;
use crate::kernels::Width;

/// Words from one segment of `words` words in shared memory to the next: of the least ones that have
/// room, that with the fewest bank conflicts between neighbouring segments.
pub fn tuple_pitch(words: usize, tuple: usize, width: Width) -> usize {
    let candidates = words..=words + (words / 16).max(4);
    candidates.min_by_key(|&pitch| conflicts(pitch, tuple, width)).unwrap_or(words)
}

/// The most words of 4 bytes that one bank serves when the lanes that are served together read whole
/// tuples, each from the next segment.
fn conflicts(pitch: usize, tuple: usize, width: Width) -> usize {
    let bytes = width.bytes();
    let lanes = 32.min(BANKS_BYTES / bytes);
    let mut banks = vec![Vec::new(); BANKS_BYTES / 4];
    for lane in 0..lanes {
        let first = (lane / tuple * pitch + lane % tuple) * bytes;
        for word in first / 4..(first + bytes).div_ceil(4) {
            let bank = &mut banks[word % (BANKS_BYTES / 4)];
            if !bank.contains(&word) {
                bank.push(word);
            }
        }
    }
    banks.iter().map(Vec::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{conflicts, tuple_pitch};
    use crate::kernels::Width;

    #[test]
    fn pitches_of_tuples_avoid_conflicts() {
        for (tuple, width) in [(3, Width::B4), (3, Width::B8), (5, Width::B4), (2, Width::B16)] {
            for words in (tuple * 40..tuple * 60).step_by(tuple) {
                let pitch = tuple_pitch(words, tuple, width);
                assert!(pitch >= words && conflicts(pitch, tuple, width) <= 2, "{tuple} {words}");
            }
        }
        assert_eq!(conflicts(32, 1, Width::B4), 32);
        assert_eq!(conflicts(33, 1, Width::B4), 1);
    }
}
