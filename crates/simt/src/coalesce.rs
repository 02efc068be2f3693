//! How many pieces of global memory one instruction of a warp moves.
//!
//! A warp's load or store is one *request*, whatever its width. Memory moves in
//! *sectors* of 32 bytes, four to a cache *line* of 128: a request costs as many
//! sectors as its active lanes touch, however many lanes share one. Where all
//! bytes of every sector are wanted the access is perfectly *coalesced*.

use serde::Serialize;

use crate::registers::lanes;

/// How a GPU groups the accesses of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoalesceModel {
    /// Lanes that form a request: 16 or 32.
    pub lanes: u32,
    /// Bytes moved at a time; a power of two from 16 to 4096.
    pub sector_bytes: u32,
    /// Bytes of a cache line; a power of two, at least a sector.
    pub line_bytes: u32,
}

impl CoalesceModel {
    /// Warps, 32-byte sectors, 128-byte lines: every GPU of today.
    pub const CURRENT: CoalesceModel =
        CoalesceModel { lanes: 32, sector_bytes: 32, line_bytes: 128 };
    /// Half-warps and segments of 64 bytes: 32-bit accesses of the first CUDA GPUs.
    pub const HALF_WARP: CoalesceModel =
        CoalesceModel { lanes: 16, sector_bytes: 64, line_bytes: 128 };
}

impl Default for CoalesceModel {
    fn default() -> CoalesceModel {
        CoalesceModel::CURRENT
    }
}

/// What a warp's access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesced {
    /// Requests made: groups of lanes with an active one.
    pub requests: u32,
    /// Distinct lines of each request, summed up.
    pub lines: u32,
    sectors: [u64; 32],
    count: usize,
}

impl Coalesced {
    /// First byte of every sector moved; those of different requests may repeat.
    pub fn sectors(&self) -> &[u64] {
        &self.sectors[..self.count]
    }
}

/// The sectors that an access of the lanes of `mask` at `addresses` touches.
/// Accesses are aligned and at most 16 bytes wide, so that each lies in one sector.
pub fn coalesce(model: &CoalesceModel, addresses: &[u64; 32], mask: u32) -> Coalesced {
    let mut all = Coalesced { requests: 0, lines: 0, sectors: [0; 32], count: 0 };
    let group = u32::MAX >> (32 - model.lanes);
    for first in (0..32).step_by(model.lanes as usize) {
        let members = mask & group << first;
        if members == 0 {
            continue;
        }
        all.requests += 1;
        let start = all.count;
        distinct(addresses, members, model.sector_bytes, &mut all.sectors, &mut all.count);
        let mut lines = [0; 32];
        let mut count = 0;
        let sectors = &all.sectors[start..all.count];
        for &sector in sectors {
            push_new(sector & !(u64::from(model.line_bytes) - 1), &mut lines, 0, &mut count);
        }
        all.lines += count as u32;
    }
    all
}

fn distinct(
    addresses: &[u64; 32],
    mask: u32,
    granule: u32,
    found: &mut [u64; 32],
    count: &mut usize,
) {
    let start = *count;
    for lane in lanes(mask) {
        push_new(addresses[lane] & !(u64::from(granule) - 1), found, start, count);
    }
}

/// Appends `value` unless it is among `found[start..count]`; the latest are looked at first.
fn push_new(value: u64, found: &mut [u64; 32], start: usize, count: &mut usize) {
    if !found[start..*count].iter().rev().any(|known| *known == value) {
        found[*count] = value;
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;

    fn cost(model: &CoalesceModel, mask: u32, address: impl Fn(u64) -> u64) -> (u32, usize, u32) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let all = coalesce(model, &addresses, mask);
        (all.requests, all.sectors().len(), all.lines)
    }

    #[test]
    fn consecutive_lanes_share_sectors() {
        let current = &CoalesceModel::CURRENT;
        assert_eq!(cost(current, ALL, |lane| lane), (1, 1, 1));
        assert_eq!(cost(current, ALL, |lane| 4096 + lane * 4), (1, 4, 1));
        assert_eq!(cost(current, ALL, |lane| 4096 + lane * 16), (1, 16, 4));
        // Off by one element: one sector and one line more.
        assert_eq!(cost(current, ALL, |lane| 4100 + lane * 4), (1, 5, 2));
    }

    #[test]
    fn scattered_lanes_have_their_own() {
        let current = &CoalesceModel::CURRENT;
        assert_eq!(cost(current, ALL, |lane| lane * 8192), (1, 32, 32));
        assert_eq!(cost(current, 0b1011, |lane| lane * 8192), (1, 3, 3));
        assert_eq!(cost(current, ALL, |_| 8192), (1, 1, 1));
        assert_eq!(cost(current, 0, |_| 8192), (0, 0, 0));
    }

    #[test]
    fn half_warps_make_two_requests() {
        let half = &CoalesceModel::HALF_WARP;
        assert_eq!(cost(half, ALL, |lane| lane * 4), (2, 2, 2));
        assert_eq!(cost(half, ALL, |_| 0), (2, 2, 2));
        assert_eq!(cost(half, 0xffff, |lane| lane * 64), (1, 16, 8));
    }
}
