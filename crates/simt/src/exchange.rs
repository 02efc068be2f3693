//! What lanes of a warp tell each other: shuffles, votes, matches, reductions.
//!
//! The caller has made sure that every lane that an instruction names takes part.

use crate::atomic::apply;
use crate::isa::{AtomicOp, Guard, Match, Reg, Shuffle, ShuffleMode, Vote, W};
use crate::registers::{LANES, Registers, lanes};

/// Executes a shuffle; returns a lane that read from one not taking part.
pub(crate) fn shuffle(r: &mut Registers, s: &Shuffle, mask: u32) -> Option<usize> {
    let a = *r.w(s.a);
    let (mut out, mut in_range, mut stray) = ([0; LANES], 0, None);
    for lane in lanes(mask) {
        let (source, hit) = source_lane(s.mode, lane as u32, r.w(s.b)[lane], r.w(s.c)[lane]);
        out[lane] = a[source as usize];
        in_range |= u32::from(hit) << lane;
        if mask >> source & 1 == 0 {
            stray = stray.or(Some(lane));
        }
    }
    r.set_w(s.d, mask, &out);
    if let Some(p) = s.in_range {
        r.set_p(p, mask, in_range);
    }
    stray
}

/// The lane that `lane` reads and whether that lies in its segment of the warp.
/// `c` holds the segment mask in bits 8 to 12 and the clamp in bits 0 to 4.
fn source_lane(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let highest = lane & segment | clamp & !segment;
    let lowest = lane & segment;
    let (source, hit) = match mode {
        ShuffleMode::Up => {
            let source = lane as i32 - b as i32;
            (source, source >= highest as i32)
        }
        ShuffleMode::Down => ((lane + b) as i32, lane + b <= highest),
        ShuffleMode::Butterfly => ((lane ^ b) as i32, lane ^ b <= highest),
        ShuffleMode::Index => {
            let source = lowest | b & !segment;
            (source as i32, source <= highest)
        }
    };
    if hit { (source as u32, true) } else { (lane, false) }
}

/// Executes a vote.
pub(crate) fn vote(r: &mut Registers, vote: Vote, p: Guard, mask: u32) {
    let ayes = r.guard(p) & mask;
    let spread = |yes: bool| if yes { u32::MAX } else { 0 };
    match vote {
        Vote::All(d) => r.set_p(d, mask, spread(ayes == mask)),
        Vote::Any(d) => r.set_p(d, mask, spread(ayes != 0)),
        Vote::Uniform(d) => r.set_p(d, mask, spread(ayes == 0 || ayes == mask)),
        Vote::Ballot(d) => r.set_w(d, mask, &[ayes; LANES]),
    }
}

/// Executes `match.any` or `match.all`.
pub(crate) fn match_lanes(r: &mut Registers, m: &Match, mask: u32) {
    let values: [u64; LANES] = match m.a {
        Reg::W(w) => r.w(w).map(u64::from),
        Reg::D(d) => *r.d(d),
    };
    let equal = |to: usize| {
        lanes(mask)
            .filter(|&lane| values[lane] == values[to])
            .fold(0, |all, lane| all | 1u32 << lane)
    };
    let mut out = [0; LANES];
    for lane in lanes(mask) {
        out[lane] = equal(lane);
    }
    if m.all {
        let all = lanes(mask).next().is_some_and(|first| out[first] == mask);
        let value = if all { mask } else { 0 };
        out = [value; LANES];
        if let Some(p) = m.p {
            r.set_p(p, mask, if all { u32::MAX } else { 0 });
        }
    }
    r.set_w(m.d, mask, &out);
}

/// Executes `redux.sync`.
pub(crate) fn reduce(r: &mut Registers, op: AtomicOp, d: W, a: W, mask: u32) {
    let values = *r.w(a);
    let all = lanes(mask).map(|lane| u64::from(values[lane]));
    let reduced = all.reduce(|all, value| apply(op, 4, all, value, 0) & u64::from(u32::MAX));
    r.set_w(d, mask, &[reduced.unwrap_or(0) as u32; LANES]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clamp and mask that CUDA passes for segments of `width` lanes.
    fn c(mode: ShuffleMode, width: u32) -> u32 {
        let clamp = if matches!(mode, ShuffleMode::Up) { 0 } else { 31 };
        (32 - width) << 8 | clamp
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        for width in [1, 2, 4, 8, 16, 32] {
            for lane in 0..32u32 {
                for b in 0..32u32 {
                    let start = lane / width * width;
                    let segment = i64::from(start)..i64::from(start + width);
                    let check = |mode, wanted: i64, hit: bool| {
                        let expected = if hit { (wanted as u32, true) } else { (lane, false) };
                        assert_eq!(source_lane(mode, lane, b, c(mode, width)), expected);
                    };
                    let up = i64::from(lane) - i64::from(b);
                    check(ShuffleMode::Up, up, segment.contains(&up));
                    let down = i64::from(lane + b);
                    check(ShuffleMode::Down, down, segment.contains(&down));
                    // A butterfly may read from a lower segment, never from a higher one.
                    let across = i64::from(lane ^ b);
                    check(ShuffleMode::Butterfly, across, across < segment.end);
                    check(ShuffleMode::Index, i64::from(start + b % width), true);
                }
            }
        }
    }
}
