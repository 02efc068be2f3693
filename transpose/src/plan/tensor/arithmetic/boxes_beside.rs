//! The planner of `compute_boxes_beside`: boxes as the moves without arithmetic have them, of elements, and something that is added to them.

use super::super::boxes::{self, Beside};
use super::super::launch::params_of;
use super::super::sectors::SECTOR;
use super::operands::{DST, OTHER, Operands, Other, SRC};
use super::part::{Part, entry};
use super::tiles::in_words;
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::{Fields, Launch};
use kernel_abi::arithmetic::{COMPUTE_BOXES_BESIDE, ComputeBoxesBeside, Format, Operation, flags};
use kernel_abi::tensor::{BOX_THREADS, BOXES, Boxes};

/// What sums cost, as a part of what the model says of boxes to which something is added: of narrow words, and of wider ones.
const NARROW: f64 = 0.99;
const WIDE: f64 = 0.89;

/// Bytes of the largest unit that narrow words are stored by.
const NARROW_UNIT: usize = 8;

/// The `most` launches that the model expects to be fastest, of those that cost less than a `limit`, with what it says that they cost; none where boxes do not serve: where elements change their
/// format, or are integers or of 8 bits, or what is added lies otherwise than the destination.
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
    let longer = if operands.bytes[DST] < 4 { NARROW } else { WIDE };
    // What the model says is of two memories, of which boxes may be as fast as a copy; a sum has three.
    let least = operands.traffic();
    if limit <= least {
        return Vec::new();
    }
    let launches = boxes::best(&in_words(operands).adding(), facts, most, limit / longer);
    let adding = |(cost, launch)| {
        Some((f64::max(cost * longer, least), adding(operands, operation, launch)?))
    };
    launches.into_iter().filter_map(adding).collect()
}

/// Whether there are boxes for such elements, and such a second operand, on a chip that copies past registers.
fn serves(operands: &Operands, operation: &Operation, facts: &Facts) -> bool {
    let formats = [Format::BF16, Format::F16, Format::F32, Format::F64].map(|format| format as u64);
    let is_one = operation.src == operation.dst && formats.contains(&operation.dst);
    // Of numbers of 32 bits none is computed in 64.
    let is_wide = operation.flags & flags::WIDE != 0 && operation.dst == Format::F32 as u64;
    let units_meet = |side: usize| {
        let bytes = operands.bytes[DST];
        operands.aligned[side] >= if bytes < 4 { NARROW_UNIT } else { bytes }
    };
    let lies_alike = match operands.other {
        Other::None | Other::Channels(_) => false,
        Other::Destination => true,
        Other::Numbers(_) => {
            operands.axes.iter().all(|axis| axis.strides[OTHER] == axis.strides[DST])
                && units_meet(DST)
                && units_meet(OTHER)
        }
    };
    let copies = facts.compute_capability >= (8, 0);
    copies && is_one && !is_wide && lies_alike && operands.bytes[SRC] == operands.bytes[DST]
}

/// A launch of a move, to which something is added.
fn adding(operands: &Operands, operation: &Operation, launch: Launch) -> Option<Part> {
    let boxes = params_of(&BOXES, &launch)?;
    let word = operands.bytes[DST];
    let each = if boxes.run == 0 { word } else { boxes.run as u32 as usize };
    let (stretches, words) = (boxes.cols as usize, boxes.places as usize * each / word);
    let are_one = boxes.targets.count <= 1 && boxes.targets.digits[0].outside == words as u64;
    let beside = Beside::of(stretches, words * word, word, are_one);
    // There is a sector more room than what waits takes.
    let behind = launch.dynamic_shared_bytes as usize - beside.bytes();
    let lanes = lanes(&beside);
    let params = ComputeBoxesBeside {
        operation: *operation,
        waiting: behind.next_multiple_of(SECTOR) as u64,
        are_one: u64::from(are_one),
        vector: beside.vector as u64,
        align: beside.align as u64,
        vectors: beside.vectors as u64,
        lanes: packed_divisor(lanes),
        at_once: (BOX_THREADS as usize / lanes) as u64,
        // Sectors that are stored in part are those that are read.
        boxes: Boxes { fetch: 0, ..boxes },
    };
    let entry = entry(&COMPUTE_BOXES_BESIDE, word);
    Some(Part::of(Launch { entry, params: Fields::of(&params), ..launch }))
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
