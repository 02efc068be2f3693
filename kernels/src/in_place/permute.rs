//! Super-elements moved along cycles: transpositions 100!, 0100! and 1000!, by PTTWAC.
//!
//! The slots of an instance are a row-major `rows × cols` matrix of super-elements of `length`
//! elements; slot `a · cols + b` moves to slot `b · rows + a`. Slots lie as in `panel`: after every
//! `period` of them `gap` elements are left out.
//!
//! A warp moves a super-element, or a *piece* of one: pieces are permuted independently of
//! each other. Any warp may start anywhere in a cycle, because a flag per piece settles who moves
//! it. Whoever sets the flag of a place owns what stood there, provided that it was read before:
//!
//! ```text
//! read the places p₀, p₁ = next(p₀), … pₙ     all loads in flight together
//! barrier
//! set their flags, a lane each                owned: those whose flag was clear
//! barrier
//! what is owned of pᵢ goes to pᵢ₊₁            read by us, or by the warp that was first
//! carry on from pₙ₊₁ as long as pₙ is owned
//! ```
//!
//! This is the rule of `strong`, with warps for parties: whatever is read of a round is read before its first barrier,
//! whatever is stored is stored after the second, and the flags of all places that are stored to are claimed between.
//! Of a place that was seen taken in advance nothing is read. If something is stored there, its flag is still
//! accessed by the atomic, which then sets nothing ([`claim_if`]). It finds the flag set: a lane saw it set by a load that precedes the
//! atomic in causality order, through a barrier, so the atomic reads no older value. (Or it is a place of the same
//! round, for the second time round a short cycle; then it was claimed the first time.) Looking in advance is a hint
//! and nothing rests on its order.
//!
//! A place that somebody else owns may be overwritten while it is read here; what was read is then
//! thrown away. Source: Sung et al. (PPoPP 2014), section 5.2, which moves one super-element at a
//! time (`carry` does it that way); taking several steps of a cycle at once hides the memory's
//! latency. The flags of the next steps are looked at in advance, so that little is read in vain where
//! a cycle has been cut.

use super::divide::Divisor32;
use super::strong::{claim_if, is_clear, Strong};
use crate::element::B16;
use crate::warp::{ballot, broadcast};
use cuda_std::{thread, warp};

/// What the host says about the slots.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Words {
    /// Rows of the matrix of slots.
    pub rows: u64,
    /// Its columns.
    pub cols: u64,
    /// The 32-bit multiplier of `cols`.
    pub cols_magic: u64,
    /// Elements of a slot.
    pub length: u64,
    /// Elements of a piece; the last piece of a slot may be shorter.
    pub piece: u64,
    /// Pieces of a slot.
    pub pieces: u64,
    /// Slots between two gaps.
    pub period: u64,
    /// The 32-bit multiplier of `period`.
    pub period_magic: u64,
    /// Elements left out after every period.
    pub gap: u64,
    /// Matrices of slots, one after the other, all permuted alike.
    pub instances: u64,
    /// A number without a common divisor with the number of words of flags.
    pub scramble: u64,
    /// The 32-bit multiplier of `rows · cols`.
    pub slots_magic: u64,
}

/// The arithmetic of slots, whose numbers fit 32 bits.
#[derive(Clone, Copy)]
pub struct Slots {
    rows: u32,
    cols: Divisor32,
    length: u32,
    period: Divisor32,
    gap: u32,
}

impl Slots {
    /// The arithmetic of a launch.
    #[inline(always)]
    pub fn new(words: &Words) -> Self {
        Slots {
            rows: words.rows as u32,
            cols: Divisor32::new(words.cols, words.cols_magic),
            length: words.length as u32,
            period: Divisor32::new(words.period, words.period_magic),
            gap: words.gap as u32,
        }
    }

    /// The slot that a slot's content goes to.
    #[inline(always)]
    pub fn next(&self, slot: u32) -> u32 {
        let (row, col) = self.cols.divide(slot);
        col * self.rows + row
    }

    /// Where a slot begins, in elements.
    #[inline(always)]
    pub fn offset(&self, slot: u32) -> usize {
        let elements = slot as u64 * self.length as u64;
        if self.gap == 0 {
            return elements as usize;
        }
        (elements + self.period.divide(slot).0 as u64 * self.gap as u64) as usize
    }
}

/// The pieces of one number in one instance.
pub struct Layer<E> {
    /// The piece of slot 0.
    pub start: *mut E,
    /// Elements of the piece.
    pub length: u32,
    /// The flags of all layers.
    pub flags: *mut u32,
    /// The flag of slot 0.
    pub first_flag: u64,
}

impl<E> Layer<E> {
    /// The layer of a number.
    ///
    /// # Safety
    /// The obligations of the entry points; there is such a layer.
    #[inline(always)]
    pub unsafe fn of(matrix: *mut E, flags: *mut u32, words: &Words, number: u64) -> Self {
        let slots = words.rows * words.cols;
        let (instance, piece) = (number / words.pieces, number % words.pieces);
        let start = instance * slots * words.length + piece * words.piece;
        Layer {
            // SAFETY: the caller's obligations.
            start: unsafe { matrix.add(start as usize) },
            length: words.piece.min(words.length - piece * words.piece) as u32,
            flags,
            first_flag: number * slots,
        }
    }
}

/// Moves what is unmoved, through registers.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn permute<E: Strong, const ELEMENTS: usize, const STEPS: usize>(
    matrix: *mut E,
    flags: *mut u32,
    words: Words,
) {
    // SAFETY: the caller's obligations; a start lies in its layer, and is clear.
    unsafe {
        each_start(matrix, flags, words, |slots, layer, slot| {
            follow::<E, ELEMENTS, STEPS>(slots, layer, slot)
        })
    }
}

/// Calls `follow` with the slots, the layer and a place to start from, wherever a flag is clear.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
pub unsafe fn each_start<E>(
    matrix: *mut E,
    flags: *mut u32,
    words: Words,
    follow: impl Fn(&Slots, &Layer<E>, u32),
) {
    let slots = words.rows * words.cols;
    let arithmetic = Slots::new(&words);
    let units = slots * words.pieces * words.instances;
    let flag_words = units.div_ceil(32);
    let warps_per_block = thread::block_dim_x() as u64 / 32;
    let warps = thread::grid_dim_x() as u64 * warps_per_block;
    let own = thread::block_idx_x() as u64 * warps_per_block + thread::thread_idx_x() as u64 / 32;
    // The words of flags are taken in a scrambled order: places at equal distances would be mapped to
    // places at equal distances, and the cycles cut into many short pieces. Warps beyond the words
    // share some, and start at different bits.
    let sharers = (warps / flag_words).max(1);
    let turn = if sharers > 1 { own / flag_words * 32 / (sharers + 1) } else { 0 } as u32 & 31;
    let mut index = if sharers > 1 { own % flag_words } else { own };
    while index < flag_words {
        let word = index * words.scramble % flag_words;
        let valid = if units - word * 32 >= 32 { u32::MAX } else { (1 << (units - word * 32)) - 1 };
        loop {
            // A hint, as `is_clear` is. After `follow` the bit is set, and seen by all lanes.
            // SAFETY: the word is inside the flags.
            let clear = !unsafe { u32::load_strong(flags.add(word as usize)) } & valid;
            // Lanes may have read different states of the word: all follow the first lane's.
            // SAFETY: the whole warp is here.
            let clear = unsafe { broadcast(clear) };
            if clear == 0 {
                break;
            }
            let bit = (clear.rotate_right(turn).trailing_zeros() + turn) & 31;
            let unit = word * 32 + bit as u64;
            let (layer, slot) = (unit / slots, unit % slots);
            // SAFETY: the caller's obligations.
            let layer = unsafe { Layer::of(matrix, flags, &words, layer) };
            follow(&arithmetic, &layer, slot as u32);
        }
        index += warps;
    }
}

/// Which of the first `steps` places of a cycle nobody owns, one bit each.
///
/// # Safety
/// All lanes of a warp call it together; `start` lies in the layer.
#[inline(always)]
unsafe fn look_ahead<E>(slots: &Slots, layer: &Layer<E>, start: u32, steps: u32) -> u32 {
    let lane = thread::thread_idx_x() & 31;
    let mut place = start;
    let mut step = 0;
    while step < lane && step < steps {
        place = slots.next(place);
        step += 1;
    }
    // SAFETY: the flag of a slot of the layer; all lanes are here.
    unsafe {
        let free = lane < steps && is_clear(layer.flags, layer.first_flag + place as u64);
        // A short cycle comes back to its start: each place of it once.
        let back = ballot(lane > 0 && lane < steps && place == start);
        let once = if back == 0 { u32::MAX } else { (back & back.wrapping_neg()) - 1 };
        ballot(free) & once
    }
}

/// Moves a cycle from `start` on, until somebody else moves the rest.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp agree on the arguments.
#[inline(always)]
unsafe fn follow<E: Strong, const ELEMENTS: usize, const STEPS: usize>(
    slots: &Slots,
    layer: &Layer<E>,
    start: u32,
) {
    let lane = thread::thread_idx_x() & 31;
    let mut carried = [E::ANY; ELEMENTS];
    let mut carrying = false;
    let mut slot = start;
    // The places, of those that come, which nobody owned when last looked at: only they are read.
    // SAFETY: all lanes are here; the flags of slots of the layer.
    let mut promising = unsafe { look_ahead(slots, layer, start, STEPS as u32) };
    loop {
        let mut places = [slot; STEPS];
        let mut held = [[E::ANY; ELEMENTS]; STEPS];
        let mut mine = slot;
        crate::unroll!(STEP in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if STEP < STEPS {
                places[STEP] = slot;
                if lane == STEP as u32 {
                    mine = slot;
                }
                if promising >> STEP & 1 != 0 {
                    // SAFETY: the caller's obligations.
                    unsafe { load(layer, slots.offset(slot), lane, &mut held[STEP]) };
                }
                slot = slots.next(slot);
            }
        });
        // The places of the next round are looked at by other lanes while the flags are set.
        let mut ahead = slot;
        crate::unroll!(STEP in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if STEP < STEPS {
                if lane == (STEPS + STEP) as u32 {
                    mine = ahead;
                }
                ahead = slots.next(ahead);
            }
        });
        // Where something may be stored, and be it known to belong to somebody else.
        let reached = promising | promising << 1 | u32::from(carrying);
        // What any lane read is read before any flag says so.
        // SAFETY: the whole warp is here.
        unsafe { warp::sync_warp(u32::MAX) };
        let flag = layer.first_flag + mine as u64;
        let mut free = false;
        if lane < STEPS as u32 {
            if reached >> lane & 1 != 0 {
                // SAFETY: the flag of a slot of the layer.
                free = unsafe { claim_if(promising >> lane & 1 != 0, layer.flags, flag) };
            }
        } else if lane < 2 * STEPS as u32 {
            // SAFETY: as above.
            free = unsafe { is_clear(layer.flags, flag) };
        }
        // SAFETY: the whole warp is here.
        let free = unsafe {
            // What any lane stores is stored after all flags were seen.
            warp::sync_warp(u32::MAX);
            ballot(free)
        };
        let owned = free & !(u32::MAX << STEPS);
        if carrying {
            // SAFETY: the caller's obligations; the place was claimed and a barrier stands between.
            unsafe { store(layer, slots.offset(places[0]), lane, &carried) };
        }
        crate::unroll!(STEP in [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if STEP < STEPS && owned >> (STEP - 1) & 1 != 0 {
                // SAFETY: as above.
                unsafe { store(layer, slots.offset(places[STEP]), lane, &held[STEP - 1]) };
            }
        });
        if owned >> (STEPS - 1) & 1 == 0 {
            return;
        }
        carried = held[STEPS - 1];
        carrying = true;
        promising = free >> STEPS;
    }
}

/// Loads a lane's elements of a piece.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn load<E: Strong, const ELEMENTS: usize>(
    layer: &Layer<E>,
    offset: usize,
    lane: u32,
    held: &mut [E; ELEMENTS],
) {
    crate::unroll!(K in [0 1 2 3 4 5 6 7] {
        let position = lane + 32 * K as u32;
        if K < ELEMENTS && position < layer.length {
            // SAFETY: inside the piece.
            held[K] = unsafe { E::load_strong(layer.start.add(offset + position as usize)) };
        }
    });
}

/// Stores a lane's elements of a piece.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn store<E: Strong, const ELEMENTS: usize>(
    layer: &Layer<E>,
    offset: usize,
    lane: u32,
    held: &[E; ELEMENTS],
) {
    crate::unroll!(K in [0 1 2 3 4 5 6 7] {
        let position = lane + 32 * K as u32;
        if K < ELEMENTS && position < layer.length {
            // SAFETY: inside the piece.
            unsafe { held[K].store_strong(layer.start.add(offset + position as usize)) };
        }
    });
}

/// Defines the entry points of a kernel that moves slots: one list of what the host says about them.
macro_rules! slot_entries {
    ($doc:literal, $kernel:ident => $($entries:tt)*) => {
        crate::in_place::in_place_entries! {
            $doc,
            $kernel of Words { rows, cols, cols_magic, length, piece, pieces, period, period_magic,
                gap, instances, scramble, slots_magic } =>
            $($entries)*
        }
    };
}
pub(super) use slot_entries;

slot_entries! {
    "Moves super-elements along the cycles of their transposition, four steps at a time.",
    permute =>
        permute_b1: u8, 8, 4; permute_b2: u16, 8, 4; permute_b4: u32, 8, 4; permute_b8: u64, 8, 4;
        permute_b16: B16, 4, 4
}

slot_entries! {
    "Moves shorter super-elements along cycles, eight steps at a time.",
    permute =>
        permute_short_b1: u8, 4, 8; permute_short_b2: u16, 4, 8; permute_short_b4: u32, 4, 8;
        permute_short_b8: u64, 4, 8; permute_short_b16: B16, 2, 8
}

slot_entries! {
    "Moves the shortest super-elements along cycles, sixteen steps at a time.",
    permute =>
        permute_shortest_b1: u8, 2, 16; permute_shortest_b2: u16, 2, 16;
        permute_shortest_b4: u32, 2, 16; permute_shortest_b8: u64, 2, 16;
        permute_shortest_b16: B16, 1, 16
}
