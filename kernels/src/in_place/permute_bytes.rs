//! Super-elements that start anywhere, moved along cycles as `permute` does, by words of 4 bytes.
//!
//! Where a matrix's rows are an odd number of bytes, each super-element starts somewhere else in a word. A warp loads the words that are wholly
//! inside a chunk as words, and what is before the first and behind the last, up to 3 bytes each, byte by byte. When it stores the chunk, lanes
//! exchange words with their neighbours and put together those that the destination has.
//!
//! # Order
//! The rule of `strong` holds with a warp for the party, as in `permute`, whose steps these are. It asks that accesses to a place which race
//! be of one width: which bytes of a place are accessed as a word, and which singly, depends only on where it starts, so it is the
//! same for all who load it or store to it. What one lane loads another may store; between the two stand a barrier of the warp, the claim, and
//! the barrier again, which order the accesses of all lanes.

use super::permute::{follow, Chunk};
use super::slots::{each_start, Layer};
use super::strong::Strong;
use crate::shared::permute;
use crate::warp::exchange;
use cuda_std::thread;
use kernel_abi::in_place::Slots;

/// Words of a lane.
const WORDS: usize = 4;

/// Steps of a cycle that are taken together.
const STEPS: usize = 8;

/// A chunk of 8 to `128 · WORDS − 3` bytes: word `32 · k + lane` of those that it touches is `words[k]` of a lane, if it is whole.
#[derive(Clone, Copy)]
struct Bytes {
    words: [u32; WORDS],
    /// Bytes before the first whole word, one of each lane from 0 on, and behind the last, from lane [`BEHIND`] on.
    end: u32,
}

/// The lane that has the first byte behind the last whole word.
const BEHIND: u32 = 4;

/// The place of a chunk: where its first word starts, and the first and the end of its bytes from there on.
#[derive(Clone, Copy)]
struct Span {
    words: *mut u8,
    first: u32,
    end: u32,
}

impl Span {
    #[inline(always)]
    fn of(layer: &Layer<u8>, offset: usize) -> Self {
        let start = layer.start.wrapping_add(offset);
        let first = start as u32 % 4;
        Span { words: start.wrapping_sub(first as usize), first, end: first + layer.length }
    }

    /// Whether the word that starts at a byte is whole.
    #[inline(always)]
    fn has_word(&self, at: u32) -> bool {
        at >= self.first && at + 4 <= self.end
    }

    /// The byte that a lane loads, or stores, by itself, if it does.
    #[inline(always)]
    fn single(&self, lane: u32) -> Option<u32> {
        if lane < BEHIND {
            let at = self.first + lane;
            (self.first != 0 && at < 4).then_some(at)
        } else {
            let at = self.end / 4 * 4 + lane - BEHIND;
            (at < self.end).then_some(at)
        }
    }
}

impl Chunk<u8> for Bytes {
    const ANY: Self = Bytes { words: [0; WORDS], end: 0 };

    #[inline(always)]
    unsafe fn load(layer: &Layer<u8>, offset: usize) -> Self {
        let lane = thread::thread_idx_x() & 31;
        let span = Span::of(layer, offset);
        let mut held = Self::ANY;
        crate::unroll!(K in [0 1 2 3] {
            let at = (32 * K as u32 + lane) * 4;
            if span.has_word(at) {
                // SAFETY: a word of the chunk.
                held.words[K] = unsafe { u32::load_strong(span.words.add(at as usize) as *const u32) };
            }
        });
        if let Some(at) = span.single(lane) {
            // SAFETY: a byte of the chunk.
            held.end = unsafe { u8::load_strong(span.words.add(at as usize)) } as u32;
        }
        held
    }

    #[inline(always)]
    unsafe fn store(self, layer: &Layer<u8>, from: usize, to: usize) {
        let lane = thread::thread_idx_x() & 31;
        let (from, to) = (Span::of(layer, from), Span::of(layer, to));
        // SAFETY: all lanes are here.
        let single = |lane: u32| unsafe { exchange(self.end, lane) };
        let before = (single(0) | single(1) << 8 | single(2) << 16) << (8 * from.first);
        let behind = single(BEHIND) | single(BEHIND + 1) << 8 | single(BEHIND + 2) << 16;
        let mut words = self.words;
        crate::unroll!(K in [0 1 2 3] {
            let number = 32 * K as u32 + lane;
            if number == from.end / 4 {
                words[K] = behind;
            }
            if number == 0 && from.first != 0 {
                words[K] = before;
            }
        });
        // The destination's words start that many bytes into these; or, of the words one before, four more.
        let back = from.first < to.first;
        let past = from.first.wrapping_sub(to.first) & 3;
        let (turn, neighbour) =
            if back { (31, lane.wrapping_sub(1) & 31) } else { (0, (lane + 1) & 31) };
        crate::unroll!(K in [0 1 2 3] {
            let beside = match (back, K) {
                (true, 0) | (false, 3) => 0,
                (true, _) => words[K.saturating_sub(1)],
                (false, _) => words[if K < 3 { K + 1 } else { K }],
            };
            let given = if lane == turn { beside } else { words[K] };
            // SAFETY: all lanes are here.
            let other = unsafe { exchange(given, neighbour) };
            let (low, high) = if back { (other, words[K]) } else { (words[K], other) };
            let word = permute(low, high, 0x3210 + past * 0x1111);
            let at = (32 * K as u32 + lane) * 4;
            if to.has_word(at) {
                // SAFETY: a word of the chunk.
                unsafe { word.store_strong(to.words.add(at as usize) as *mut u32) };
            } else if at < to.end {
                crate::unroll!(BYTE in [0 1 2 3] {
                    let at = at + BYTE as u32;
                    if at >= to.first && at < to.end {
                        // SAFETY: a byte of the chunk.
                        unsafe { ((word >> (8 * BYTE)) as u8).store_strong(to.words.add(at as usize)) };
                    }
                });
            }
        });
    }
}

/// Moves what is unmoved, through registers.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn permute_bytes<E>(matrix: *mut E, flags: *mut u32, params: Slots)
where
    Bytes: Chunk<E>,
{
    // SAFETY: the caller's obligations; a start lies in its layer, and is clear.
    unsafe {
        each_start(matrix, flags, params, |cycles, layer, slot| {
            follow::<E, Bytes, STEPS>(cycles, layer, slot)
        })
    }
}

crate::in_place::in_place_entries! {
    "Moves super-elements that start anywhere along the cycles of their transposition.",
    PERMUTE_BYTES: Slots, permute_bytes => permute_bytes_b1: u8
}
