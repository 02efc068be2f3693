//! How many cycles shared memory needs for one instruction of a warp.
//!
//! Shared memory is a row of 32 *banks*, each 32 bits wide; word `w` lies in
//! bank `w mod 32`. In one cycle every bank can deliver one word, to any number
//! of lanes. A cycle's worth of work is a *wavefront*.
//!
//! - Accesses of up to 32 bits: all 32 lanes go together. Lanes that want
//!   *different words of one bank* must take turns, so the instruction takes as
//!   many wavefronts as the busiest bank has distinct words. Lanes that want the
//!   same word, or different bytes of it, share.
//! - 64 bits: 32 lanes want more than a cycle can deliver, so each half-warp
//!   goes by itself, under the same rule. 128 bits: each quarter-warp.
//! - Unless they load, and the lanes of every pair (`i` and `i ^ 1`, or else `i` and `i ^ 2`)
//!   want the same address, or one of the two is idle: then twice as many lanes
//!   go together. Stores always go in their groups.
//! - A group without active lanes takes no wavefront.
//!
//! A *conflict* is a wavefront beyond one per group. All of this is as measured on an H200, access
//! by access (`tests/hardware`).

use serde::Serialize;

use crate::registers::lanes;

/// The shape of a GPU's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BankModel {
    /// Banks of 32 bits each; a power of two, at most 32.
    pub banks: u32,
    /// Lanes that go together when they access 32 bits each: 16 or 32.
    pub lanes: u32,
    /// Whether pairs of lanes with equal addresses let wide accesses go two groups at a time.
    pub pairs: bool,
}

impl BankModel {
    /// 32 banks and whole warps: every GPU of today.
    pub const CURRENT: BankModel = BankModel { banks: 32, lanes: 32, pairs: true };
    /// 16 banks and half-warps: the first CUDA GPUs, of which NVIDIA's paper on
    /// the matrix transpose speaks.
    pub const HALF_WARP: BankModel = BankModel { banks: 16, lanes: 16, pairs: false };
}

impl Default for BankModel {
    fn default() -> BankModel {
        BankModel::CURRENT
    }
}

/// What an access costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankCost {
    /// Cycles needed.
    pub wavefronts: u32,
    /// Cycles that would do if no two lanes wanted different words of one bank.
    pub ideal: u32,
}

/// The cost of a load, or else a store, of `bytes` bytes per lane of `mask`, at `addresses`.
pub fn bank_cost(
    model: &BankModel,
    loads: bool,
    addresses: &[u64; 32],
    mask: u32,
    bytes: u32,
) -> BankCost {
    let words = (bytes / 4).max(1);
    let mut together = (model.lanes / words).max(1);
    if words > 1 && loads && model.pairs && pairs_agree(addresses, mask) {
        together *= 2;
    }
    let group = u32::MAX >> (32 - together);
    let mut cost = BankCost::default();
    for first in (0..32).step_by(together as usize) {
        let members = mask & group << first;
        if members != 0 {
            cost.wavefronts += busiest_bank(model.banks, addresses, members, words);
            cost.ideal += 1;
        }
    }
    cost
}

/// The bank that an address lies in.
pub fn bank_of(model: &BankModel, address: u64) -> u32 {
    (address / 4 % u64::from(model.banks)) as u32
}

/// Whether lanes `i` and `i ^ 1`, or `i` and `i ^ 2`, want the same address wherever both are active.
fn pairs_agree(addresses: &[u64; 32], mask: u32) -> bool {
    [1, 2].into_iter().any(|distance| {
        lanes(mask).all(|lane| {
            let partner = lane ^ distance;
            mask >> partner & 1 == 0 || addresses[lane] == addresses[partner]
        })
    })
}

/// The most distinct words that any bank is asked for.
fn busiest_bank(banks: u32, addresses: &[u64; 32], mask: u32, words: u32) -> u32 {
    // Per bank the words already asked for, as a chain through `wanted`.
    let mut wanted = [(0u64, usize::MAX); 128];
    let mut last = [usize::MAX; 32];
    let mut load = [0u32; 32];
    let mut used = 0;
    for lane in lanes(mask) {
        for part in 0..u64::from(words) {
            let word = addresses[lane] / 4 + part;
            let bank = (word % u64::from(banks)) as usize;
            let mut at = last[bank];
            while at != usize::MAX && wanted[at].0 != word {
                at = wanted[at].1;
            }
            if at == usize::MAX {
                wanted[used] = (word, last[bank]);
                last[bank] = used;
                load[bank] += 1;
                used += 1;
            }
        }
    }
    load.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;

    fn cost(bytes: u32, mask: u32, address: impl Fn(u64) -> u64) -> (u32, u32) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let cost = bank_cost(&BankModel::CURRENT, true, &addresses, mask, bytes);
        (cost.wavefronts, cost.ideal)
    }

    #[test]
    fn consecutive_words_do_not_conflict() {
        assert_eq!(cost(4, ALL, |lane| lane * 4), (1, 1));
        assert_eq!(cost(8, ALL, |lane| lane * 8), (2, 2));
        assert_eq!(cost(16, ALL, |lane| lane * 16), (4, 4));
        assert_eq!(cost(2, ALL, |lane| lane * 2), (1, 1));
        assert_eq!(cost(1, ALL, |lane| lane), (1, 1));
    }

    #[test]
    fn a_stride_conflicts_as_often_as_it_shares_with_the_banks() {
        for stride in 1..=64u64 {
            let expected = 32 - (32 - greatest_common_divisor(stride, 32)) as u32;
            assert_eq!(cost(4, ALL, |lane| lane * stride * 4), (expected, 1), "stride {stride}");
        }
    }

    fn greatest_common_divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { greatest_common_divisor(b, a % b) }
    }

    #[test]
    fn equal_words_are_broadcast() {
        assert_eq!(cost(4, ALL, |_| 64), (1, 1));
        assert_eq!(cost(4, ALL, |lane| lane % 2 * 128), (2, 1));
        assert_eq!(cost(1, ALL, |lane| lane % 4 + lane / 4 * 4), (1, 1));
        // Bytes of 32 different rows of one bank.
        assert_eq!(cost(1, ALL, |lane| lane * 128 + 3), (32, 1));
    }

    #[test]
    fn wide_accesses_go_in_groups() {
        // A column of 64-bit elements, rows of 32 elements: all in two banks.
        assert_eq!(cost(8, ALL, |lane| lane * 256), (32, 2));
        // The same, padded by one element: 16 lanes cover all banks.
        assert_eq!(cost(8, ALL, |lane| lane * 264), (2, 2));
        // A column of 128-bit elements, rows of 8 elements: eight rows meet in four banks.
        assert_eq!(cost(16, ALL, |lane| lane * 128), (32, 4));
        assert_eq!(cost(16, ALL, |lane| lane * 144), (4, 4));
    }

    #[test]
    fn equal_pairs_go_two_groups_at_a_time() {
        assert_eq!(cost(8, ALL, |lane| lane / 2 * 8), (1, 1));
        assert_eq!(cost(8, ALL, |lane| (lane / 4 * 2 + lane % 2) * 8), (1, 1));
        assert_eq!(cost(8, ALL, |lane| lane / 4 * 8), (1, 1));
        assert_eq!(cost(16, ALL, |lane| lane / 2 * 16), (2, 2));
        assert_eq!(cost(8, 0x5555_5555, |lane| lane * 4), (1, 1));
        // Pairs at distance 4 do not count.
        assert_eq!(cost(8, ALL, |lane| (lane % 4 + lane / 8 * 4) * 8), (2, 2));
    }

    #[test]
    fn stores_go_in_their_groups() {
        let store = |bytes: u32, mask: u32| {
            let addresses = std::array::from_fn(|lane| lane as u64 / 4 * u64::from(bytes));
            let cost = bank_cost(&BankModel::CURRENT, false, &addresses, mask, bytes);
            (cost.wavefronts, cost.ideal)
        };
        assert_eq!(store(4, ALL), (1, 1));
        assert_eq!(store(8, ALL), (2, 2));
        assert_eq!(store(16, ALL), (4, 4));
        assert_eq!(store(16, 0x5555_5555), (4, 4));
    }

    #[test]
    fn idle_lanes_cost_nothing() {
        assert_eq!(cost(4, 0, |lane| lane), (0, 0));
        assert_eq!(cost(4, 0b11, |lane| lane * 128), (2, 1));
        assert_eq!(cost(16, 0xff, |lane| lane * 16), (1, 1));
        assert_eq!(cost(16, 0xffff_0000, |lane| lane * 16), (2, 2));
    }

    #[test]
    fn the_papers_half_warps() {
        let half = |stride: u64| {
            let addresses = std::array::from_fn(|lane| lane as u64 * stride * 4);
            bank_cost(&BankModel::HALF_WARP, true, &addresses, ALL, 4)
        };
        assert_eq!(half(32), BankCost { wavefronts: 32, ideal: 2 }, "16-way in each half");
        assert_eq!(half(33), BankCost { wavefronts: 2, ideal: 2 });
        assert_eq!(bank_of(&BankModel::HALF_WARP, 4 * 17), 1);
    }
}
