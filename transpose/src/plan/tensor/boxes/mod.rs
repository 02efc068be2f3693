//! The planner of `boxes`: which part of which axes a box has, and how its words are numbered on either side.

mod held;
mod launch;
mod tile;

use super::canonical::Canonical;
use super::cuts::{Side, sectors_of_one};
use super::model::{BoxTally, SECTOR, cost_of_boxes, idle, sectors_in_part};
use crate::facts::Facts;
use crate::launch::Launch;
use held::Held;
pub(super) use launch::describe;
use launch::{launch_of, shared_bytes, turns};
use tile::{MOST_IMAGE, MOST_STRETCHES, Stretches, Tile};

/// The most words of a stretch of the destination: each has an entry in a table. What is longer is several.
const MOST_PLACES: usize = 2048;

/// The bytes that lie together on either side of a box are tried with, about.
const TRIED: [usize; 13] =
    [32, 64, 96, 128, 192, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];

/// A choice of box, and what it costs.
#[derive(Clone, Copy)]
struct Choice {
    tile: Tile,
    src: Stretches,
    dst: Stretches,
    cost: f64,
}

/// The `most` cheapest launches that move boxes, and their costs, cheapest first; none where one side has no neighbours, or where there
/// are more axes than the kernel takes.
pub(super) fn best(canonical: &Canonical, facts: &Facts, most: usize) -> Vec<(f64, Launch)> {
    /// Boxes that are looked at for each cut of the destination's side, the largest that fit first.
    const LARGEST: usize = 2;
    let sides = Side::both(canonical);
    let tried = TRIED.map(|bytes| bytes / canonical.word_bytes());
    let [sources, targets] = sides.each_ref().map(|side| side.cuts(canonical, &tried));
    let mut best: Vec<Choice> = Vec::with_capacity(most + 1);
    for target in &targets {
        let tiles = sources.iter().rev().filter_map(|source| Tile::of(canonical, [source, target]));
        let choices = tiles.filter_map(|tile| choice(canonical, facts, tile, &sides));
        for choice in choices.take(LARGEST) {
            if !best.iter().any(|other| other.tile.indices == choice.tile.indices) {
                let at = best.partition_point(|better| better.cost <= choice.cost);
                best.insert(at, choice);
                best.truncate(most);
            }
        }
    }
    let launches = best.iter().map(|Choice { tile, src, dst, cost }| {
        Some((*cost, launch_of(canonical, facts, tile, [src, dst])?))
    });
    launches.flatten().collect()
}

/// What a box would cost, if there can be one.
fn choice(
    canonical: &Canonical,
    facts: &Facts,
    tile: Tile,
    [from, to]: &[Side; 2],
) -> Option<Choice> {
    let word = canonical.word_bytes();
    let src = tile.stretches(canonical, from, usize::MAX)?;
    let dst = tile.stretches(canonical, to, MOST_PLACES)?;
    if src.count.max(dst.count) > MOST_STRETCHES {
        return None;
    }
    let held = Held::of(canonical, &tile, &src, &dst);
    if held.image > MOST_IMAGE {
        return None;
    }
    let all = canonical.words() as f64;
    let boxes = tile.count(canonical) as f64;
    let (sources, targets) = (all / src.together as f64, all / dst.together as f64);
    // Stretches share sectors with others of their box: those of other boxes are moved at another time.
    let nearest = |stretches: &Stretches, side: &Side| {
        let inside = tile.axes(canonical).filter(|&(_, _, indices)| indices > 1);
        let strides = inside.map(|(_, axis, _)| (side.stride)(axis).unsigned_abs());
        strides.filter(|&stride| stride >= stretches.together).min().unwrap_or(usize::MAX)
    };
    let of_one = |stretches: &Stretches, side: &Side| {
        sectors_of_one(stretches.together, nearest(stretches, side), word, stretches.aligned)
    };
    let (bytes, gap) = (dst.together * word, nearest(&dst, to).saturating_sub(dst.together));
    let is_alone = gap.saturating_mul(word) >= SECTOR;
    let shared = shared_bytes(&held, &src, &dst);
    let entries = (src.count + dst.count + dst.words) as f64;
    let has_ends = dst.starts < 4 || !(dst.words * word).is_multiple_of(4);
    let tally = BoxTally {
        moved: sources * of_one(&src, from) + targets * of_one(&dst, to),
        in_part: if is_alone { targets * sectors_in_part(bytes, dst.aligned) } else { 0.0 },
        boxes,
        shared: shared as f64,
        loaded: held.loaded(word, &src),
        gathered: held.gathered(&tile, [&src, &dst], word),
        ends: if has_ends { dst.count as f64 } else { 0.0 },
        entries: entries / turns(boxes as usize, shared, facts) as f64,
    };
    Some(Choice {
        tile,
        src,
        dst,
        cost: cost_of_boxes(canonical.word, &tally) * idle(boxes, facts),
    })
}
