//! Segments of narrow words, moved by units of 4 bytes: what `segments` does word by word.
//!
//! A tile's segments are loaded by units and held as far behind a multiple of 4 as they lie in memory. The tile is stored by units too, each put
//! together from the columns of what is held. What a segment has before its first whole unit and behind its last is moved word by word, a
//! thread for each end. So no byte beside the tile is accessed: it may be another block's.
//!
//! A thread moves the same unit of every so many segments. Where those start alike on a unit, it finds out once for all of them where the unit's
//! words are held.

use super::segments::{all_in_flight, Segments};
use super::units::{ahead, hold_vector, size, Word};
use crate::divide::Divisor32;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::opaque::opaque;
use cuda_std::thread;

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
    fn hold<E>(&self, of: &impl Segments<E>, segment: u32) -> u32 {
        let start = opaque(of.global(segment) as u32);
        self.base + segment * self.pitch + start % 4
    }

    /// Loads `segments` segments of `words` words.
    ///
    /// # Safety
    /// Those of [`segments::load`](super::segments::load), for narrow words.
    #[inline(always)]
    pub unsafe fn load<E: Word>(&self, of: &impl Segments<E>, segments: u32, words: u32) {
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

    /// Loads what is whole vectors, or whole units, of segments of so many bytes; a thread has `FLIGHT` of them in flight.
    ///
    /// # Safety
    /// All threads of a block of whole warps call it together.
    #[inline(always)]
    unsafe fn load_by<E: Word, V: Copy, const FLIGHT: usize>(
        &self,
        of: &impl Segments<E>,
        [segments, bytes]: [u32; 2],
        any: V,
        load: impl Fn(*mut E) -> V,
        hold: impl Fn(V, u32),
    ) {
        let (first, step) =
            (thread::thread_idx_x() >> self.load_along, thread::block_dim_x() >> self.load_along);
        let lane = thread::thread_idx_x() & ((1 << self.load_along) - 1);
        let (mut along, lane) = (0, lane * size::<V>());
        while along < bytes {
            let mut across = 0;
            while across < segments {
                let mut held = [any; FLIGHT];
                // A segment, its start, and the vector's first byte in it; whether it has the vector.
                let place = |k: usize, first: u32| {
                    let segment = across + first + k as u32 * step;
                    let start = of.global(segment);
                    let at = along + lane + ahead::<V>(start as u64);
                    (segment < segments && at + size::<V>() <= bytes, segment, start, at)
                };
                crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                    if K < FLIGHT {
                        let (inside, _, start, at) = place(K, first);
                        if inside {
                            held[K] = load(start.wrapping_byte_add(at as usize));
                        }
                    }
                });
                // SAFETY: the loops' bounds are the same for all threads of the block.
                unsafe { all_in_flight() };
                let first = opaque(first);
                crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                    if K < FLIGHT {
                        let (inside, segment, start, at) = place(K, first);
                        if inside {
                            hold(held[K], self.base + segment * self.pitch + start as u32 % 4 + at);
                        }
                    }
                });
                across += FLIGHT as u32 * step;
            }
            along += size::<V>() << self.load_along;
        }
    }

    /// Stores what is held of `from`, taken across its segments: `segments` segments of `words` words.
    ///
    /// # Safety
    /// Those of [`segments::store`](super::segments::store), for narrow words; `from` was loaded.
    #[inline(always)]
    pub unsafe fn store<E: Word>(
        &self,
        from: &impl Segments<E>,
        to: &impl Segments<E>,
        segments: u32,
        words: u32,
    ) {
        let bytes = words * size::<E>();
        let element = self.tuple.divisor * size::<E>();
        let first = thread::thread_idx_x() >> self.store_along;
        let step = thread::block_dim_x() >> self.store_along;
        let lane = thread::thread_idx_x() & ((1 << self.store_along) - 1);
        let mut unit = lane * size::<E::Unit>();
        while unit < bytes {
            let (mut places, mut known) = ([0; 4], u32::MAX);
            let mut segment = first;
            while segment < segments {
                let start = to.global(segment);
                let ahead = ahead::<E::Unit>(start as u64);
                let at = unit + ahead;
                if at + size::<E::Unit>() <= bytes {
                    if ahead != known {
                        (places, known) = (self.places(from, at), ahead);
                    }
                    let to = start.wrapping_byte_add(at as usize) as *mut E::Unit;
                    // SAFETY: the caller's obligations; a whole unit of the segment.
                    unsafe { E::unit(places, segment * element).store(to) }
                }
                segment += step;
            }
            unit += size::<E::Unit>() << self.store_along;
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
    fn places<E: Word>(&self, from: &impl Segments<E>, at: u32) -> [u32; 4] {
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
fn each_end<E: Word>(
    of: &impl Segments<E>,
    segments: u32,
    bytes: u32,
    word: impl Fn(u32, *mut E, u32),
) {
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
