//! The registers of one warp, lane beside lane.
//!
//! Each register is an array of 32 values, so that an instruction is a loop over
//! lanes that the compiler turns into vector instructions. Inactive lanes are
//! computed too, where that is harmless, and masked out when written.

use crate::isa::{D, Guard, P, TRUE, W};

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

impl Registers {
    pub(crate) fn new(words: usize, doubles: usize, predicates: usize) -> Registers {
        let mut registers = Registers {
            // Of thousands a warp touches few: what the allocator has as zeros need not be cleared.
            words: bytemuck::zeroed_vec(words),
            doubles: bytemuck::zeroed_vec(doubles),
            predicates: vec![0; predicates],
        };
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
