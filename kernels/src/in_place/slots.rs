//! Slots that move along the cycles of their transposition, and their chunks: what `permute`, `leaders` and `carry` share.
//!
//! The slots of an instance are a row-major `rows × cols` matrix of super-elements of `length`
//! elements; slot `a · cols + b` moves to slot `b · rows + a`. Slots lie as in `panel`: after every
//! `period` of them `gap` elements are left out. A warp moves a slot, or a *chunk* of one: chunks are permuted
//! independently of each other. The chunks of one number in one instance are a *layer*.

use super::strong::Strong;
use crate::divide::Divisor32;
use crate::warp::broadcast;
use cuda_std::thread;
use kernel_abi::in_place::Slots;

/// The arithmetic of slots, whose numbers fit 32 bits.
#[derive(Clone, Copy)]
pub struct Cycles {
    rows: u32,
    cols: Divisor32,
    length: u32,
    period: Divisor32,
    gap: u32,
}

impl Cycles {
    /// The arithmetic of a launch.
    #[inline(always)]
    pub fn new(params: &Slots) -> Self {
        Cycles {
            rows: params.rows as u32,
            cols: params.cols.into(),
            length: params.length as u32,
            period: params.period.into(),
            gap: params.gap as u32,
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

/// The chunks of one number in one instance.
pub struct Layer<E> {
    /// The chunk of slot 0.
    pub start: *mut E,
    /// Elements of the chunk.
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
    pub unsafe fn of(matrix: *mut E, flags: *mut u32, params: &Slots, number: u64) -> Self {
        let slots = params.slots.divisor;
        let (instance, chunk) = (number / params.chunks, number % params.chunks);
        let start = instance * slots * params.length + chunk * params.chunk;
        Layer {
            // SAFETY: the caller's obligations.
            start: unsafe { matrix.add(start as usize) },
            length: params.chunk.min(params.length - chunk * params.chunk) as u32,
            flags,
            first_flag: number * slots,
        }
    }
}

/// Calls `follow` with the cycles, the layer and a place to start from, wherever a flag is clear.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
pub unsafe fn each_start<E>(
    matrix: *mut E,
    flags: *mut u32,
    params: Slots,
    follow: impl Fn(&Cycles, &Layer<E>, u32),
) {
    let slots = params.slots.divisor;
    let cycles = Cycles::new(&params);
    let units = slots * params.chunks * params.instances;
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
        let word = index * params.scramble % flag_words;
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
            let layer = unsafe { Layer::of(matrix, flags, &params, layer) };
            follow(&cycles, &layer, slot as u32);
        }
        index += warps;
    }
}

/// Calls `access` with the number and the position of each element of a chunk that is this lane's: every 32nd, `ELEMENTS` at
/// most. An element of a chunk is the same lane's wherever the chunk is.
#[inline(always)]
pub fn each_element<const ELEMENTS: usize>(length: u32, mut access: impl FnMut(usize, usize)) {
    let lane = thread::thread_idx_x() & 31;
    crate::unroll!(K in [0 1 2 3 4 5 6 7] {
        let position = lane + 32 * K as u32;
        if K < ELEMENTS && position < length {
            access(K, position as usize);
        }
    });
}
