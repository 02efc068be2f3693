//! The registers of one warp, lane beside lane.
//!
//! Each register is an array of 32 values, so that an instruction is a loop over
//! lanes that the compiler turns into vector instructions. Inactive lanes are
//! computed too, where that is harmless, and masked out when written.

use std::sync::Mutex;

use crate::isa::{D, Guard, P, TRUE, W};
use crate::memory::lock;

/// Lanes in a warp.
pub(crate) const LANES: usize = 32;

/// All lanes of a warp.
pub(crate) const ALL: u32 = u32::MAX;

/// One 32-bit value per lane.
pub(crate) type Words = [u32; LANES];
/// One 64-bit value per lane.
pub(crate) type Doubles = [u64; LANES];

/// The registers of one warp.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub words: Vec<Words>,
    pub doubles: Vec<Doubles>,
    pub predicates: Vec<u32>,
}

/// Registers of warps that are done, for those of other launches: to clear thousands of new ones takes longer than many a small launch.
static SPARE: Mutex<Vec<Registers>> = Mutex::new(Vec::new());

/// The warps whose registers are kept, at most, and the bytes of each.
const MOST_SPARE: usize = 64;
const MOST_SPARE_BYTES: usize = 2 << 20;

impl Registers {
    /// Registers for a warp, at least as many of each kind as are asked for. What they hold is not known: a block's start sets the registers that may be read before they are written, and no value is used of lanes that
    /// do not take part in an instruction.
    pub(crate) fn new(words: usize, doubles: usize, predicates: usize) -> Registers {
        let spare = lock(&SPARE).pop();
        let mut registers = spare.unwrap_or_default();
        ensure(&mut registers.words, words);
        ensure(&mut registers.doubles, doubles);
        ensure(&mut registers.predicates, predicates);
        registers.predicates[usize::from(TRUE.0)] = ALL;
        registers
    }

    #[inline(always)]
    pub(crate) fn w(&self, w: W) -> &Words {
        &self.words[usize::from(w.0)]
    }

    #[inline(always)]
    pub(crate) fn d(&self, d: D) -> &Doubles {
        &self.doubles[usize::from(d.0)]
    }

    /// The lanes for which a guard holds.
    #[inline(always)]
    pub(crate) fn guard(&self, guard: Guard) -> u32 {
        self.predicates[usize::from(guard.p.0)] ^ guard.flip
    }

    #[inline(always)]
    pub(crate) fn set_w(&mut self, w: W, mask: u32, values: &Words) {
        blend(&mut self.words[usize::from(w.0)], mask, values);
    }

    #[inline(always)]
    pub(crate) fn set_d(&mut self, d: D, mask: u32, values: &Doubles) {
        blend(&mut self.doubles[usize::from(d.0)], mask, values);
    }

    #[inline(always)]
    pub(crate) fn set_p(&mut self, p: P, mask: u32, lanes: u32) {
        let value = &mut self.predicates[usize::from(p.0)];
        *value = *value & !mask | lanes & mask;
    }
}

/// Makes registers of a kind at least so many.
fn ensure<R: bytemuck::Zeroable>(registers: &mut Vec<R>, count: usize) {
    if registers.len() < count {
        *registers = bytemuck::zeroed_vec(count);
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        let bytes = size_of_val(&self.words[..]) + size_of_val(&self.doubles[..]);
        if (1..=MOST_SPARE_BYTES).contains(&bytes) {
            let mut spare = lock(&SPARE);
            if spare.len() < MOST_SPARE {
                spare.push(std::mem::take(self));
            }
        }
    }
}

/// Writes `values` to the lanes of `mask`.
#[inline(always)]
pub(crate) fn blend<E: Copy>(target: &mut [E; LANES], mask: u32, values: &[E; LANES]) {
    if mask == ALL {
        *target = *values;
    } else {
        for lane in 0..LANES {
            if mask >> lane & 1 == 1 {
                target[lane] = values[lane];
            }
        }
    }
}

/// The lanes of `mask`, lowest first.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(lane)
    })
}
