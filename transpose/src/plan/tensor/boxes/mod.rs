//! The planner of `boxes`: which part of which axes a box has, and how its words are numbered on either side.

mod held;
mod launch;
mod share;
mod tile;

use super::canonical::Canonical;
use super::cuts::{Gapped, Side};
use super::gaps::Gaps;
use super::model::{BoxTally, cost_of_boxes, idle};
use super::sectors::{SECTOR, sectors, sectors_in_part, sectors_of_one};
use crate::facts::Facts;
use crate::launch::Launch;
use held::Held;
pub(super) use launch::describe;
use launch::{launch_of, shared_bytes, turns};
use tile::{MOST_IMAGE, MOST_STRETCHES, Stretches, Tile};

/// The most words, or runs, of a stretch of the destination: each has an entry in a table. What is longer is several.
const MOST_PLACES: usize = 2048;

/// The bytes that lie together on either side of a box are tried with, about.
const TRIED: [usize; 11] =
    [32, 64, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];

/// The `most` cheapest launches that move boxes at less than a `limit`, and their costs, cheapest first; none where one side has no neighbours, or
/// where there are more axes than the kernel takes.
pub(super) fn best(
    canonical: &Canonical,
    facts: &Facts,
    most: usize,
    limit: f64,
) -> Vec<(f64, Launch)> {
    /// Boxes that are looked at for each cut of the destination's side, the largest that fit first; and where short rows have gaps behind them.
    const LARGEST: [usize; 2] = [2, 4];
    let has_short_rows = Gaps::of(canonical).has_short_rows;
    let largest = LARGEST[usize::from(canonical.word_bytes() >= 4 && has_short_rows)];
    let sides = Side::both(canonical);
    let tried = TRIED.map(|bytes| bytes / canonical.word_bytes());
    let [from, to] = &sides;
    let sources = from.cuts(canonical, &tried, Gapped::Little);
    // Rows that share sectors are stored by one block, if they can be.
    let targets = to.cuts(canonical, &tried, Gapped::InSector);
    let mut best: Vec<(f64, Choice)> = Vec::with_capacity(most + 1);
    // What many pairs of cuts come to is looked at once; whether it fits.
    let mut seen: Vec<(Tile, bool)> = Vec::with_capacity(4 * targets.len());
    for target in &targets {
        let tiles = sources.iter().rev().filter_map(|source| Tile::of(canonical, [source, target]));
        let mut looked = 0;
        for tile in tiles {
            if looked == largest {
                break;
            }
            if let Some((_, fits)) = seen.iter().find(|(other, _)| *other == tile) {
                looked += usize::from(*fits);
                continue;
            }
            let choice = Choice::of(canonical, tile, &sides);
            let choice = choice.filter(|choice| choice.shared() <= facts.block_shared);
            seen.push((tile, choice.is_some()));
            let Some(mut choice) = choice else { continue };
            looked += 1;
            let limit = if best.len() < most { limit } else { best[most - 1].0 };
            let cost = choice.cost_below(limit, canonical, facts, &sides, has_short_rows);
            if let Some(cost) = cost {
                let at = best.partition_point(|&(better, _)| better <= cost);
                best.insert(at, (cost, choice));
                best.truncate(most);
            }
        }
    }
    let launches = best.iter().map(|(cost, Choice { tile, src, dst, held })| {
        Some((*cost, launch_of(canonical, facts, tile, [src, dst], held)?))
    });
    launches.flatten().collect()
}

/// A choice of box.
struct Choice {
    tile: Tile,
    src: Stretches,
    dst: Stretches,
    held: Held,
}

impl Choice {
    /// That of this tile, if there can be one.
    fn of(canonical: &Canonical, tile: Tile, [from, to]: &[Side; 2]) -> Option<Self> {
        let src = tile.stretches(canonical, from, Gapped::Little, usize::MAX)?;
        let (dst, run) = targets(canonical, &tile, to)?;
        if src.count.max(dst.count) > MOST_STRETCHES {
            return None;
        }
        let held = Held::of(canonical, &src, &tile, run);
        (held.image <= MOST_IMAGE).then_some(Choice { tile, src, dst, held })
    }

    /// Bytes of shared memory that a block takes.
    fn shared(&self) -> usize {
        shared_bytes(&self.held, &self.src, &self.dst)
    }

    /// What it costs, if that is less than `limit`; then its stretches are shared out and spread over the banks.
    fn cost_below(
        &mut self,
        limit: f64,
        canonical: &Canonical,
        facts: &Facts,
        sides: &[Side; 2],
        has_short_rows: bool,
    ) -> Option<f64> {
        let mut tally = self.tally(canonical, facts, sides, has_short_rows);
        let cost =
            |tally: &BoxTally| cost_of_boxes(canonical.word, tally) * idle(tally.boxes, facts);
        // Each of what follows takes longer than all before, and makes it no cheaper.
        if cost(&tally) >= limit {
            return None;
        }
        let Choice { tile, src, dst, held } = self;
        held.share_out(canonical, dst);
        (tally.gathered, tally.joints) = (held.share.issued, held.share.joints);
        tally.ends = held.share.ends;
        if cost(&tally) >= limit {
            return None;
        }
        tally.gathered = held.spread(canonical, tile, [src, dst]);
        tally.loaded = held.loaded(canonical.word_bytes(), src);
        let shared = self.shared();
        tally.shared = shared as f64;
        Some(cost(&tally)).filter(|&cost| cost < limit && shared <= facts.block_shared)
    }

    /// What it takes, as if nothing were gathered.
    fn tally(
        &self,
        canonical: &Canonical,
        facts: &Facts,
        [from, to]: &[Side; 2],
        has_short_rows: bool,
    ) -> BoxTally {
        let Choice { tile, src, dst, held } = self;
        let word = canonical.word_bytes();
        let all = canonical.words() as f64;
        let boxes = tile.count(canonical);
        let sources = all / src.moved as f64;
        let (extent, of_cluster) = tile.cluster(canonical, to);
        let targets = all / of_cluster as f64;
        let aligned = if extent == dst.together { dst.aligned } else { word };
        // Stretches share sectors with others of their box: those of other boxes are moved at another time.
        let inside = tile.axes(canonical).filter(|&(_, _, indices)| indices > 1);
        let strides = inside.map(|(_, axis, _)| (from.stride)(axis).unsigned_abs());
        let nearest = strides.filter(|&stride| stride >= src.together).min();
        let of_source =
            sectors_of_one(src.together, nearest.unwrap_or(usize::MAX), word, src.aligned);
        let is_even = src.aligned >= SECTOR && (src.together * word).is_multiple_of(2 * SECTOR);
        let shared = self.shared();
        let entries = (src.count + dst.count + dst.words / held.run) as f64;
        BoxTally {
            moved: sources * of_source + targets * sectors(extent * word, aligned),
            in_part: targets * sectors_in_part(extent * word, aligned),
            uneven: if is_even { 0.0 } else { sources },
            boxes: boxes as f64,
            shared: shared as f64,
            loaded: held.loaded(word, src),
            gathered: 0.0,
            joints: 0.0,
            ends: 0.0,
            entries: entries / turns(boxes, shared, facts) as f64,
            has_short_rows,
        }
    }
}

/// The destination's stretches of a box, and the words of the runs by which they are gathered: by runs if stretches are short otherwise.
fn targets(canonical: &Canonical, tile: &Tile, side: &Side) -> Option<(Stretches, usize)> {
    /// Bytes of a stretch with which gathering it word by word takes fewer instructions.
    const LONG: usize = 256;
    let word = canonical.word_bytes();
    let by_words = tile.stretches(canonical, side, Gapped::No, MOST_PLACES);
    let run = if canonical.run() > 1 { tile.has(0) } else { 1 };
    let is_long = by_words.is_some_and(|stretches| stretches.words * word >= LONG);
    // Units of 4 bytes have no more than two runs.
    if is_long || word >= 4 || run * word < 4 {
        return by_words.map(|stretches| (stretches, 1));
    }
    let by_runs = tile.stretches(canonical, side, Gapped::No, MOST_PLACES * run);
    match (by_words, by_runs) {
        (Some(words), Some(runs)) if words.words == runs.words => Some((words, 1)),
        (words, None) => words.map(|stretches| (stretches, 1)),
        (_, Some(runs)) => Some((runs, run)),
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::canonical::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;

    #[test]
    fn no_more_shared_memory_than_a_block_may_have() {
        let least = 48 << 10;
        // Pairs of words with a gap behind each on both sides: as many stretches as there may be, of as few bytes as fit.
        let shape = [3000, 300, 2];
        let layout = |strides| TensorLayout::strided(&shape, strides, 0, 16).unwrap();
        let (src, dst) = (layout(&[1200, 4, 1]), layout(&[4, 12_000, 1]));
        let (src_align, dst_align) = (16, 16);
        let problem = TensorProblem { element_bytes: 16, src, dst, src_align, dst_align };
        let most = |block_shared: usize| {
            let facts = Facts { block_shared, ..Facts::simulated() };
            let launches = best(&Canonical::of(&problem), &facts, 100, f64::INFINITY).into_iter();
            launches.map(|(_, launch)| launch.dynamic_shared_bytes as usize).max()
        };
        assert!(most(227 << 10) > Some(least), "{:?}", most(227 << 10));
        assert!(most(least) <= Some(least), "{:?}", most(least));
    }
}
