//! The planner of `compute_boxes_beside` and `compute_boxes_mixed`: boxes as the moves without arithmetic have them, of elements, and something that is added to them.

use super::super::boxes::{self, Beside, Numbering, others_bytes};
use super::super::canonical::Canonical;
use super::super::launch::params_of;
use super::super::sectors::SECTOR;
use super::operands::{DST, OTHER, Operands, SRC};
use super::part::{Part, entry};
use super::tiles::in_words_of;
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::{Fields, Launch};
use kernel_abi::arithmetic::{
    COMPUTE_BOXES_BESIDE, COMPUTE_BOXES_MIXED, ComputeBoxesBeside, Format, Operation, Step, flags,
};
use kernel_abi::tensor::{BOX_THREADS, BOXES, Boxes, MOST_BLOCK_AXES, MOST_DIGITS};

/// Bytes of the largest unit that narrow words are stored by.
const NARROW_UNIT: usize = 8;

/// The `most` launches that the model expects to be fastest, of those that cost less than a `limit`, with what it says that they cost; none where boxes do not serve.
pub(super) fn best(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
    most: usize,
    limit: f64,
) -> Vec<(f64, Part)> {
    if !serves(operands, operation, facts) {
        return Vec::new();
    }
    // What the model says is of two memories, of which boxes may be as fast as a copy; a sum has three.
    let least = operands.traffic();
    if limit <= least {
        return Vec::new();
    }
    let words = in_words_of(operands, DST).holding(operands.bytes[SRC]);
    let unit = if operands.bytes[DST] < 4 { NARROW_UNIT } else { operands.bytes[DST] };
    let words = match operands.other_is_like_destination_on(unit) {
        true => words.adding(),
        false => words.adding_apart(operands.axes.iter().map(|axis| axis.strides[OTHER])),
    };
    let launches = boxes::best_numbered(&words, facts, most, limit).into_iter();
    let adding = |(cost, launch, numbering)| {
        let part = adding(operands, operation, &words, launch, &numbering)?;
        Some((f64::max(cost, least), part))
    };
    launches.filter_map(adding).collect()
}

/// Whether there are boxes for such elements, on a chip that copies past registers, and what is added lies together where the results do.
fn serves(operands: &Operands, operation: &Operation, facts: &Facts) -> bool {
    const F32: u64 = Format::F32 as u64;
    const F64: u64 = Format::F64 as u64;
    const NARROW: [u64; 2] = [Format::BF16 as u64, Format::F16 as u64];
    let Operation { src, dst, .. } = *operation;
    // Of numbers of 32 bits none is computed in 64.
    let is_wide = operation.flags & flags::WIDE != 0;
    let is_complex = operation.flags & flags::COMPLEX != 0;
    let has_boxes = match dst {
        _ if src == dst => NARROW.contains(&dst) || dst == F64 || dst == F32 && !is_wide,
        _ if is_wide || is_complex => false,
        F32 => NARROW.contains(&src) || src == Format::U8 as u64,
        _ => NARROW.contains(&dst) && (src == F32 || src == Format::U8 as u64),
    };
    let copies = facts.compute_capability >= (8, 0);
    copies && has_boxes && operands.other.is_added() && operands.other_runs_with_destination()
}

/// A launch of a move, to which something is added.
fn adding(
    operands: &Operands,
    operation: &Operation,
    canonical: &Canonical,
    launch: Launch,
    numbering: &Numbering,
) -> Option<Part> {
    let boxes = params_of(&BOXES, &launch)?;
    let word = operands.bytes[DST];
    let each = if boxes.run == 0 { word } else { boxes.run as u32 as usize };
    let (stretches, words) = (boxes.cols as usize, boxes.places as usize * each / word);
    let is_apart = !canonical.is_added_alike();
    let of = |axis| canonical.added_stride(axis);
    let follows = |stride: isize| stride == words as isize;
    let are_one = boxes.targets.count <= 1
        && follows(boxes.targets.digits[0].outside as isize)
        && numbering.targets(of).all(follows);
    let beside = Beside::of(stretches, words * word, word, are_one);
    let tables = if is_apart { others_bytes(stretches) } else { 0 };
    // There is an entry and a sector more room than the tables take, and what is added.
    let behind = launch.dynamic_shared_bytes as usize - tables - beside.bytes();
    let others = if is_apart { behind.next_multiple_of(size_of::<u64>()) } else { 0 };
    let lanes = lanes(&beside);
    let step = |stride: isize| Step { elements: stride as u64 };
    let (mut other_blocks, mut other_targets) =
        ([step(0); MOST_BLOCK_AXES], [step(0); MOST_DIGITS]);
    other_blocks.iter_mut().zip(numbering.blocks(of)).for_each(|(to, of)| *to = step(of));
    other_targets.iter_mut().zip(numbering.targets(of)).for_each(|(to, of)| *to = step(of));
    let params = ComputeBoxesBeside {
        operation: *operation,
        waiting: (behind + tables).next_multiple_of(SECTOR) as u64,
        are_one: u64::from(are_one),
        vector: beside.vector as u64,
        align: beside.align as u64,
        vectors: beside.vectors as u64,
        lanes: packed_divisor(lanes),
        at_once: (BOX_THREADS as usize / lanes) as u64,
        others: others as u64,
        other_blocks,
        other_targets,
        // Sectors that are stored in part are those that are read.
        boxes: Boxes { fetch: 0, ..boxes },
    };
    let kernel = match operation.src == operation.dst {
        true => &COMPUTE_BOXES_BESIDE,
        false => &COMPUTE_BOXES_MIXED,
    };
    let (entry, params) = (entry(kernel, operands.bytes[SRC]), Fields::of(&params));
    Some(Part::of(Launch { entry, params, ..launch }))
}

/// How many threads share the vectors of a stretch, so that a block has all copied in the fewest turns: as many as are counted from a multiple to the next, or some times that.
fn lanes(beside: &Beside) -> usize {
    /// Vectors of a stretch that a thread copies at most, where that leaves fewer threads without any.
    const EACH: usize = 4;
    let (threads, of_multiple) = (BOX_THREADS as usize, beside.align / beside.vector);
    let turns =
        |lanes: usize| beside.vectors.div_ceil(lanes) * beside.stretches.div_ceil(threads / lanes);
    let shared = (1..=EACH).map(|each| beside.vectors.div_ceil(each).next_multiple_of(of_multiple));
    shared.map(|lanes| lanes.min(threads)).min_by_key(|&lanes| turns(lanes)).unwrap_or(1)
}
