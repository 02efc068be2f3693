//! Two passes for any shape: panels transposed on chip, then their columns moved as wholes.
//!
//! Let `K` be the longer side and `L` the shorter, `K = P · m + r`. For a tall matrix (`K` rows):
//!
//! ```text
//! (P, m, L) → (P, L, m)    each panel of m rows is transposed on chip            010!
//! (P, L, m) → (L, P, m)    super-elements of m elements move along their cycles   100!
//! ```
//!
//! For a wide matrix the same backwards: `(L, P, m) → (P, L, m) → (P, m, L)`. That are the stages
//! of Sung et al. without the middle one, which becomes possible when a whole panel is held on
//! chip, by one block or by several together: some megabytes, so that the super-elements are long.
//!
//! The `r` rows (or columns) that fill no panel are saved in scratch memory first and put in place
//! last. Where they will be, gaps are left: the panels' slots already have the final
//! spacing, which costs no pass of its own. `m` is free, so some `m` leaves a small `r` for any
//! `K`, primes included.

use super::launches::{Panels, Slots, flag_bytes};
use super::options::InPlaceOptions;
use super::recipe::{Recipe, Step};
use super::shape::{Shape, scratch_limit};
use crate::Result;
use crate::divide::gcd;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::layout::Layout;
use crate::plan::{Batch, Problem, launches};

/// Bytes that a slot should have: fewer cost more per byte, more need larger groups.
const SLOT_BYTES: usize = 1024;

/// Bytes of an element that may be moved along its cycle by itself.
const SINGLE_BYTES: usize = 64;

/// Bytes of the widest words that slots are moved by.
const VECTOR: usize = 16;

/// Bytes that a segment of a tile should have at least.
const SEGMENT_BYTES: usize = 256;

/// Threads that a multiprocessor has registers for, at 85 registers each, more than the kernel uses:
/// where all blocks must run side by side, no more are planned.
const MULTIPROCESSOR_THREADS: usize = 768;

/// Bytes of a panel that one block holds alone.
const ALONE_BYTES: usize = 48 << 10;

/// What a pass may hold on chip.
#[derive(Clone, Copy, Debug)]
struct OnChip {
    /// Bytes of a block's tile.
    tile: usize,
    /// Bytes that the tile may take at most, with what is between its rows.
    most: usize,
    /// Blocks that one panel should have at most, so that several panels are under way.
    group: usize,
    /// Bytes of scratch memory that the passes may take.
    scratch: usize,
}

impl OnChip {
    /// Two blocks to a multiprocessor: one loads or stores while the other waits.
    fn of(shape: &Shape, facts: &Facts, options: &InPlaceOptions) -> Self {
        let tile = (facts.multiprocessor_shared / 2 - 1024).min(facts.block_shared);
        let most = facts.block_shared.min(options.on_chip_bytes.unwrap_or(usize::MAX));
        let tile = options.on_chip_bytes.map_or(tile, |_| most);
        let per_multiprocessor = (facts.multiprocessor_shared / (tile + 1024)).clamp(1, 4);
        let blocks =
            if facts.side_by_side { facts.multiprocessors * per_multiprocessor } else { 1 };
        let group = options.max_group.unwrap_or(blocks / 4).clamp(1, facts.multiprocessors);
        let group = if facts.side_by_side { group } else { 1 };
        OnChip { tile, most, group, scratch: scratch_limit(shape) }
    }

    /// Whether the blocks that hold a panel are no more than may, and run side by side as far as their shared memory goes.
    fn holds(&self, panels: &Panels, shape: &Shape, facts: &Facts) -> bool {
        let beside = panels.parts().div_ceil(facts.multiprocessors);
        let room = match beside {
            0 | 1 => self.most,
            _ => self.most.min((facts.multiprocessor_shared / beside).saturating_sub(1024)),
        };
        panels.parts() <= self.group && panels.shared_bytes(shape.width) <= room
    }

    /// Tiles of that size, with twice as many blocks to a panel: two panels are under way.
    fn for_two_panels(self, facts: &Facts, options: &InPlaceOptions) -> Option<Self> {
        let free = facts.side_by_side && options.max_group.is_none();
        let group = 2 * self.group;
        (free && group <= facts.multiprocessors).then_some(OnChip { group, ..self })
    }

    /// Tiles of that size, with all of the chip for one panel at a time: for rows so long that it takes that.
    fn for_one_panel(self, facts: &Facts, options: &InPlaceOptions) -> Option<Self> {
        let blocks = facts.multiprocessors * (facts.multiprocessor_shared / (self.tile + 1024));
        let free = facts.side_by_side && options.max_group.is_none();
        (free && blocks > self.group).then_some(OnChip { group: blocks, ..self })
    }

    /// Tiles and groups of that size, with scratch memory for slots of single elements.
    fn with_a_flag_to_each(self, shape: &Shape) -> Self {
        let flags = flag_bytes(shape.rows * shape.cols);
        OnChip { scratch: self.scratch + flags, ..self }
    }

    /// The tile of a `length × width` panel that one block holds.
    fn tile(&self, length: usize, width: usize, bytes: usize) -> (usize, usize) {
        // A pitch of one more, or one word of padding in 32, and the alignment to banks.
        let elements = (self.tile / bytes * 30 / 32).max(1);
        if length * width <= elements {
            return (length, width);
        }
        let segment = SEGMENT_BYTES.div_ceil(bytes).min(elements);
        let tile_width = (elements / length).max(segment).min(width);
        let tile_width = width.div_ceil(width.div_ceil(tile_width));
        // Whole sectors, if that leaves some.
        let sector = 32 / gcd(32, bytes);
        let tile_width =
            if tile_width > 4 * sector { tile_width / sector * sector } else { tile_width };
        let tile_length = (elements / tile_width).clamp(1, length);
        (length.div_ceil(length.div_ceil(tile_length)), tile_width)
    }
}

/// The choice of panels for a shape: `None` if nothing fits the chip and the scratch limit.
pub(super) fn choose(
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Option<(Panels, usize)> {
    let on_chip = OnChip::of(shape, facts, options);
    let with = |on_chip: OnChip| choose_for(&on_chip, shape, facts, options);
    let first = with(on_chip);
    let by_vectors = |(panels, _): &(Panels, usize)| start_on(panels, shape, VECTOR);
    let is_narrow = shape.width.bytes() < 4;
    // Narrow words in slots that are whole vectors move along their cycles so much faster that they are worth a larger group.
    let larger = is_narrow && !first.as_ref().is_some_and(by_vectors);
    let larger = if larger { on_chip.for_two_panels(facts, options) } else { None };
    let vectors = larger.and_then(with).filter(by_vectors);
    let one_panel = on_chip.for_one_panel(facts, options);
    let last_resort = || with(one_panel.unwrap_or(on_chip).with_a_flag_to_each(shape));
    vectors.or(first).or_else(|| with(one_panel?)).or_else(last_resort)
}

/// The choice with such tiles and groups.
fn choose_for(
    on_chip: &OnChip,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Option<(Panels, usize)> {
    let (long, short) = (shape.rows.max(shape.cols), shape.rows.min(shape.cols));
    let to_rows = shape.rows < shape.cols;
    let panels = |length: usize| {
        let (tile_length, tile_width) = on_chip.tile(length, short, shape.element_bytes());
        let (panels, gap) = (long / length, long % length);
        let width = short;
        let (threads, tuple) = (512, shape.tuple);
        Panels { length, width, panels, gap, to_rows, tile_length, tile_width, threads, tuple }
    };
    if options.tile.is_none()
        && let Some(whole) = in_one_pass(on_chip, shape, facts, options)
    {
        return Some((whole, 0));
    }
    let fits = |panels: &Panels| {
        let saved = panels.gap * short * shape.element_bytes();
        slots(panels).refusal(shape.element_bytes(), facts, options).is_none()
            && saved <= scratch_limit(shape)
            && (panels.length == 1 || on_chip.holds(panels, shape, facts))
            && scratch(panels, shape, facts, options) <= on_chip.scratch
    };
    if let Some((length, _)) = options.tile {
        let panels = panels(length.clamp(1, long));
        return fits(&panels).then_some((panels, panels.gap));
    }
    // Short rows: a panel that one block holds, with several blocks to a multiprocessor.
    let alone = on_chip.tile.min(ALONE_BYTES) * 30 / 32 / shape.element_bytes() / short;
    let most = (SLOT_BYTES / shape.element_bytes()).max(alone).clamp(1, long);
    let mut most = most;
    loop {
        // A single row to a panel saves the first pass, if it is long enough to be moved by itself.
        let single = (shape.element_bytes() >= SINGLE_BYTES).then_some(1);
        // Narrow words move faster in shorter panels that are whole vectors.
        let least = if shape.width.bytes() < 4 { most / 3 } else { most / 2 };
        let lengths = (least + 1..=most).chain(single);
        // What fits takes longer to find out than the cost.
        let mut candidates: Vec<_> =
            lengths.map(panels).map(|panels| (cost(&panels, shape), panels)).collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, best)) = candidates.into_iter().find(|(_, panels)| fits(panels)) {
            return Some((best, best.gap));
        }
        if most == 1 {
            return None;
        }
        most /= 2;
    }
}

/// The whole matrix as one panel, if all blocks together can hold it: as many blocks as can.
fn in_one_pass(
    on_chip: &OnChip,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Option<Panels> {
    let (length, width) = (shape.rows.max(shape.cols), shape.rows.min(shape.cols));
    let panel = |(tile_length, tile_width), threads| Panels {
        length,
        width,
        panels: 1,
        gap: 0,
        to_rows: shape.rows < shape.cols,
        tile_length,
        tile_width,
        threads,
        tuple: shape.tuple,
    };
    if !facts.side_by_side || options.on_chip_bytes.is_some() || options.max_group.is_some() {
        let whole = panel(on_chip.tile(length, width, shape.element_bytes()), 512);
        return (whole.parts() == 1 && on_chip.holds(&whole, shape, facts)).then_some(whole);
    }
    let bytes = (length * width * shape.element_bytes()).saturating_mul(32) / 30;
    (1..=4).rev().find_map(|per_multiprocessor| {
        let room = facts.multiprocessor_shared / per_multiprocessor - 1024;
        let blocks = facts.multiprocessors * per_multiprocessor;
        let tile = (bytes / blocks * 17 / 16).max(4 << 10).min(facts.block_shared);
        let tile = OnChip { tile, ..*on_chip }.tile(length, width, shape.element_bytes());
        let threads = (MULTIPROCESSOR_THREADS / per_multiprocessor / 32 * 32).min(512);
        let whole = panel(tile, threads);
        let shared = whole.shared_bytes(shape.width);
        (shared <= room.min(facts.block_shared) && whole.parts() <= blocks).then_some(whole)
    })
}

/// Whether all slots start on multiples of so many bytes.
fn start_on(panels: &Panels, shape: &Shape, unit: usize) -> bool {
    let starts = [panels.length, panels.length * panels.panels + panels.gap];
    starts.into_iter().all(|elements| (elements * shape.element_bytes()).is_multiple_of(unit))
}

/// The estimated time of the passes, relative to a copy of the matrix.
fn cost(panels: &Panels, shape: &Shape) -> f64 {
    let bytes = shape.element_bytes();
    let slot = panels.length * bytes;
    let aligned = |unit: usize| start_on(panels, shape, unit);
    // A slot that shares sectors with its neighbours moves them twice.
    let shared_sectors = if aligned(32) { 0.0 } else { 32.0 / slot as f64 };
    // Lanes without a word: of slots that start anywhere in 4 bytes, or of rows of 32.
    let (held, words) = match aligned(4) {
        false => (slot.next_multiple_of(Slots::MOST_BYTES), slot),
        true => ((panels.length * shape.tuple).next_multiple_of(32), panels.length * shape.tuple),
    };
    let idle = held as f64 / words as f64 - 1.0;
    let saved = panels.gap as f64 / (panels.length * panels.panels) as f64;
    // Slots are moved by the widest words that they are aligned to.
    let narrow = match [16, 4].into_iter().find(|&unit| aligned(unit)) {
        Some(16) => 0.0,
        Some(4) => 0.02,
        _ => 0.8,
    };
    // Tiles of narrow words are loaded by vectors if all of them start on one.
    let singly = if shape.width.bytes() < 4 && !aligned(16) { 0.5 } else { 0.0 };
    // A step of a cycle costs about as much as 200 bytes.
    let steps = 200.0 / slot as f64;
    let passes = if panels.length == 1 { 1.0 } else { 2.0 };
    passes + shared_sectors + 0.2 * idle + 8.0 * saved + narrow + singly + steps
}

/// The bytes of scratch memory for counters, flags and what is saved.
fn scratch(panels: &Panels, shape: &Shape, facts: &Facts, options: &InPlaceOptions) -> usize {
    let flags = slots(panels).launch(shape.element_bytes(), facts, options).1;
    coordination(panels, flags) + panels.gap * panels.width * shape.element_bytes()
}

/// Where the saved rows begin: behind counters and flags.
fn coordination(panels: &Panels, flags: usize) -> usize {
    flags.max(panels.counter_bytes()).next_multiple_of(256)
}

/// The super-elements that the second pass (or, for wide matrices, the first) moves.
fn slots(panels: &Panels) -> Slots {
    let Panels { length, width, panels, gap, to_rows, .. } = *panels;
    let (rows, cols) = if to_rows { (width, panels) } else { (panels, width) };
    Slots { rows, cols, length, period: panels, gap, instances: 1 }
}

/// The steps for a choice of panels.
pub(super) fn recipe(
    panels: &Panels,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Result<Recipe> {
    let mut recipe = Recipe { tile: Some((panels.length, panels.width)), ..Recipe::default() };
    let panel_launch = panels.launch(shape.width);
    let counters = panels.counter_bytes();
    if panels.panels == 1 && panels.gap == 0 {
        recipe.pass_together(panel_launch, panels.parts(), counters);
        return Ok(recipe);
    }
    let (permute_launch, flags) = slots(panels).launch(shape.element_bytes(), facts, options);
    if panels.length == 1 {
        recipe.pass(permute_launch, flags);
        return Ok(recipe);
    }
    let saved = coordination(panels, flags);
    let bytes = shape.element_bytes();
    let (gap, width) = (panels.gap, panels.width);
    let done = panels.length * panels.panels;
    recipe.scratch = saved + gap * width * bytes;
    let gap_bytes = gap * width * bytes;
    // The elements behind the panels, in the order in which they are contiguous.
    let contiguous = done * width * bytes;
    let strided = Layout { rows: width, cols: gap, ld: done + gap };
    let packed = Layout { rows: gap, cols: width, ld: width };
    if panels.to_rows {
        if gap > 0 {
            for mut launch in out_of_place(shape, strided, packed, facts)? {
                launch.offsets[0] += (done * bytes) as u64;
                launch.offsets[1] += saved as u64;
                recipe.steps.push(Step::Launch(launch));
            }
        }
        recipe.pass(permute_launch, flags);
        recipe.pass_together(panel_launch, panels.parts(), counters);
        if gap > 0 {
            recipe.steps.push(Step::Restore {
                scratch: saved,
                matrix: contiguous,
                bytes: gap_bytes,
            });
        }
    } else {
        if gap > 0 {
            recipe.steps.push(Step::Save { matrix: contiguous, scratch: saved, bytes: gap_bytes });
        }
        recipe.pass_together(panel_launch, panels.parts(), counters);
        recipe.pass(permute_launch, flags);
        if gap > 0 {
            for mut launch in out_of_place(shape, packed, strided, facts)? {
                launch.offsets[0] += saved as u64;
                launch.offsets[1] += (done * bytes) as u64;
                recipe.steps.push(Step::FromScratch(launch));
            }
        }
    }
    Ok(recipe)
}

/// The launches that transpose between the matrix and the scratch memory.
fn out_of_place(shape: &Shape, src: Layout, dst: Layout, facts: &Facts) -> Result<Vec<Launch>> {
    let element_bytes = shape.element_bytes();
    let align = shape.width.bytes();
    let (src_align, dst_align) = (align, align);
    let problem = Problem { element_bytes, src, dst, src_align, dst_align, batch: Batch::ONE };
    launches(&problem, facts)
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use crate::in_place::shape::Shape;
    use crate::kernels::width_dividing;

    /// The choice on an H200, and the blocks that a panel's group has.
    fn chosen(rows: usize, cols: usize, bytes: usize) -> (Panels, usize) {
        let (multiprocessors, side_by_side) = (132, true);
        let facts = Facts { multiprocessors, side_by_side, ..Facts::simulated() };
        let width = width_dividing([bytes]);
        let shape = Shape { rows, cols, ld: cols, width, tuple: bytes / width.bytes() };
        let (panels, _) = choose(&shape, &facts, &InPlaceOptions::default()).unwrap();
        (panels, panels.parts())
    }

    /// A quarter of the blocks that run at a time hold a panel, or half of them where that makes slots of whole vectors.
    #[test]
    fn narrow_words_in_whole_vectors_have_larger_groups() {
        for (rows, cols) in [(15104, 23600), (23600, 15104)] {
            let (panels, group) = chosen(rows, cols, 3);
            assert_eq!((panels.length * 3 % VECTOR, panels.gap * 3 % VECTOR), (0, 0));
            assert!((67..=132).contains(&group), "{group}");
        }
        // Vectors already, or nowhere; and words of 4 bytes.
        for (rows, cols, bytes) in [(10000, 16000, 6), (15401, 9857, 7), (15104, 23600, 12)] {
            let (_, group) = chosen(rows, cols, bytes);
            assert!(group <= 66, "{group} for {bytes} bytes");
        }
    }
}
