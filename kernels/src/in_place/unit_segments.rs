//! Segments of narrow words, moved by units of 4 bytes: what `segments` does word by word.
//!
//! A tile's segments are loaded by units and held as far behind a multiple of 4 as they lie in memory. The tile is stored by units too, each put
//! together from the columns of what is held. What a segment has before its first whole unit and behind its last is moved word by word, a
//! thread for each end. So no byte beside the tile is accessed: it may be another block's.
//!
//! A thread that loads has several units of one segment in flight, and finds out once for all of them where the segment starts and is held. A thread that
//! stores does so with a few units of a segment, the same ones of every so many segments: where those start alike on a unit, it finds out once where
//! the words are held.

use super::segments::all_in_flight;
use super::units::{ahead, hold_vector, size, Word};
use crate::divide::Divisor32;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::opaque::opaque;
use cuda_std::thread;

/// Segments in global memory: rows, or slots.
pub struct Lines<E> {
    /// The first word of the first segment, but for gaps before it.
    pub start: *mut E,
    /// Words from one segment to the next, where there is no gap between.
    pub length: u64,
    /// The number of the first segment, if there are gaps: then numbers fit 32 bits.
    pub first: u32,
    /// Segments between two gaps.
    pub period: Divisor32,
    /// Words of a gap.
    pub gap: u64,
}

impl<E> Lines<E> {
    /// The first word of a segment.
    #[inline(always)]
    fn global(&self, segment: u32) -> *mut E {
        let mut words = segment as u64 * self.length;
        if self.gap != 0 {
            words += self.period.divide(self.first + segment).0 as u64 * self.gap;
        }
        self.start.wrapping_add(words as usize)
    }
}

/// Units of a segment that a thread stores at a time.
const UNITS: usize = 3;

/// A tile in shared memory.
#[derive(Clone, Copy)]
pub struct UnitTile {
    /// Where the first segment is held.
    pub base: u32,
    /// Bytes from one held segment to the next.
    pub pitch: u32,
    /// Words of an element.
    pub tuple: Divisor32,
    /// log2 of the threads along a segment that is loaded.
    pub load_along: u32,
    /// log2 of the threads along a segment that is stored.
    pub store_along: u32,
    /// Whether a segment may start or end inside a unit.
    pub has_ends: bool,
    /// Whether all segments that are loaded start and end on vectors.
    pub by_vectors: bool,
}

impl UnitTile {
    /// Where a segment's first byte is held.
    #[inline(always)]
    fn hold<E: Word>(&self, of: &Lines<E>, segment: u32) -> u32 {
        let held = self.base + segment * self.pitch;
        if !self.has_ends {
            return held;
        }
        held + opaque(of.global(segment) as u32) % 4
    }

    /// Loads `segments` segments of `words` words.
    ///
    /// # Safety
    /// Those of [`segments::load`](super::segments::load), for narrow words.
    #[inline(always)]
    pub unsafe fn load<E: Word>(&self, of: &Lines<E>, [segments, words]: [u32; 2]) {
        let bytes = words * size::<E>();
        // SAFETY: the caller's obligations; each vector, unit or word is one of a segment, and held where it belongs.
        unsafe {
            if self.by_vectors {
                let load = |from: *mut E| load_vector(from as u64);
                let hold = |vector, to| hold_vector(vector, to);
                self.load_by::<E, B16, 4>(of, [segments, bytes], B16::ANY, load, hold);
            } else {
                let load = |from: *mut E| E::Unit::load(from as *const E::Unit);
                let hold = |unit: E::Unit, to| unit.store_shared(to);
                self.load_by::<E, E::Unit, 8>(of, [segments, bytes], E::Unit::ANY, load, hold);
            }
            if self.has_ends {
                each_end(of, segments, bytes, |segment, start: *mut E, at| {
                    let word = E::load(start.wrapping_byte_add(at as usize));
                    word.store_shared(self.hold(of, segment) + at);
                });
            }
        }
    }

    /// Loads what is whole vectors, or whole units, of segments of so many bytes. A thread has `FLIGHT` of one segment in flight, so that it
    /// finds out once for all of them where the segment starts and is held.
    ///
    /// # Safety
    /// All threads of a block of whole warps call it together.
    #[inline(always)]
    unsafe fn load_by<E: Word, V: Copy, const FLIGHT: usize>(
        &self,
        of: &Lines<E>,
        [segments, bytes]: [u32; 2],
        any: V,
        load: impl Fn(*mut E) -> V,
        hold: impl Fn(V, u32),
    ) {
        let (first, step) =
            (thread::thread_idx_x() >> self.load_along, thread::block_dim_x() >> self.load_along);
        let lane = thread::thread_idx_x() & ((1 << self.load_along) - 1);
        let stride = size::<V>() << self.load_along;
        let mut across = 0;
        while across < segments {
            let segment = across + first;
            let start = of.global(segment);
            let lane = ahead::<V>(start as u64) + lane * size::<V>();
            let to = self.base + segment * self.pitch + start as u32 % 4 + lane;
            let from = start.wrapping_byte_add(lane as usize);
            // The bytes from the thread's first vector on to the end of the segment.
            let rest = if segment < segments { bytes.saturating_sub(lane) } else { 0 };
            let mut along = 0;
            // As far as the first thread's: the loops' bounds are the same for all threads of the block.
            while along < bytes {
                let mut held = [any; FLIGHT];
                crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                    let at = along + K as u32 * stride;
                    if K < FLIGHT && at + size::<V>() <= rest {
                        held[K] = load(from.wrapping_byte_add(at as usize));
                    }
                });
                // SAFETY: the loops' bounds are the same for all threads of the block.
                unsafe { all_in_flight() };
                let rest = opaque(rest);
                crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                    let at = along + K as u32 * stride;
                    if K < FLIGHT && at + size::<V>() <= rest {
                        hold(held[K], to + at);
                    }
                });
                along += FLIGHT as u32 * stride;
            }
            across += step;
        }
    }

    /// Stores what is held of `from`, taken across its segments: `segments` segments of `words` words.
    ///
    /// # Safety
    /// Those of [`segments::store`](super::segments::store), for narrow words; `from` was loaded.
    #[allow(
        clippy::out_of_bounds_indexing,
        reason = "units beyond UNITS are left out by a constant"
    )]
    #[inline(always)]
    pub unsafe fn store<E: Word>(
        &self,
        from: &Lines<E>,
        to: &Lines<E>,
        [segments, words]: [u32; 2],
    ) {
        let bytes = words * size::<E>();
        let element = self.tuple.divisor * size::<E>();
        let first = thread::thread_idx_x() >> self.store_along;
        let step = thread::block_dim_x() >> self.store_along;
        let lane = thread::thread_idx_x() & ((1 << self.store_along) - 1);
        let stride = size::<E::Unit>() << self.store_along;
        let mut unit = lane * size::<E::Unit>();
        while unit < bytes {
            let (mut places, mut known) = ([0; 4 * UNITS], u32::MAX);
            let mut segment = first;
            while segment < segments {
                let start = to.global(segment);
                let ahead = ahead::<E::Unit>(start as u64);
                let at = unit + ahead;
                if ahead != known {
                    crate::unroll!(U in [0 1 2 3] {
                        if U < UNITS {
                            let [a, b, c, d] = self.places(from, at + U as u32 * stride);
                            places[4 * U] = a;
                            places[4 * U + 1] = b;
                            places[4 * U + 2] = c;
                            places[4 * U + 3] = d;
                        }
                    });
                    known = ahead;
                }
                let rest = bytes.saturating_sub(at);
                let to = start.wrapping_byte_add(at as usize);
                crate::unroll!(U in [0 1 2 3] {
                    let along = U as u32 * stride;
                    if U < UNITS && along + size::<E::Unit>() <= rest {
                        let to = to.wrapping_byte_add(along as usize) as *mut E::Unit;
                        let words = [places[4 * U], places[4 * U + 1], places[4 * U + 2], places[4 * U + 3]];
                        // SAFETY: the caller's obligations; a whole unit of the segment.
                        unsafe { E::unit(words, segment * element).store(to) }
                    }
                });
                segment += step;
            }
            unit += UNITS as u32 * stride;
        }
        if self.has_ends {
            each_end(to, segments, bytes, |segment, start: *mut E, at| {
                let (source, word) = self.tuple.divide(at / size::<E>());
                let place = self.hold(from, source) + segment * element + word * size::<E>();
                // SAFETY: the caller's obligations; a word of the segment.
                unsafe { E::load_shared(place).store(start.wrapping_byte_add(at as usize)) }
            });
        }
    }

    /// Where the words of a unit of the first segment that is stored are held.
    #[inline(always)]
    fn places<E: Word>(&self, from: &Lines<E>, at: u32) -> [u32; 4] {
        let (mut source, mut word) = self.tuple.divide(at / size::<E>());
        let mut hold = self.hold(from, source);
        let mut places = [0; 4];
        crate::unroll!(WORD in [0 1 2 3] {
            if WORD * size_of::<E>() < size_of::<E::Unit>() {
                if WORD != 0 {
                    word += 1;
                    if word == self.tuple.divisor {
                        (source, word) = (source + 1, 0);
                        hold = self.hold(from, source);
                    }
                }
                places[WORD] = hold + word * size::<E>();
            }
        });
        places
    }
}

/// Calls `word` with a segment, its start and a byte of it, for each word before the segment's first whole unit and behind its last.
#[inline(always)]
fn each_end<E: Word>(of: &Lines<E>, segments: u32, bytes: u32, word: impl Fn(u32, *mut E, u32)) {
    let mut number = thread::thread_idx_x();
    while number < 2 * segments {
        let segment = number / 2;
        let start = of.global(segment);
        let ahead = ahead::<E::Unit>(start as u64).min(bytes);
        let behind = ahead + (bytes - ahead) / size::<E::Unit>() * size::<E::Unit>();
        let (mut at, end) = if number.is_multiple_of(2) { (0, ahead) } else { (behind, bytes) };
        while at < end {
            word(segment, start, at);
            at += size::<E>();
        }
        number += thread::block_dim_x();
    }
}
