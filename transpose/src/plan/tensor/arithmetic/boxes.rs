//! The planner of `compute_boxes` and `compute_pieces`: boxes as the moves without arithmetic have them, of words of the destination.

use super::super::boxes;
use super::super::canonical::{self, Canonical};
use super::super::launch::params_of;
use super::operands::{Axis, DST, Operands, Other, SRC, scaled_alignment};
use super::part::{Part, entry};
use crate::facts::Facts;
use crate::launch::{Fields, Launch};
use crate::plan::problem::VECTOR;
use kernel_abi::Width;
use kernel_abi::arithmetic::{
    COMPUTE_BOXES, COMPUTE_PIECES, ComputeBoxes, ComputePieces, Computed, Operation,
};
use kernel_abi::tensor::{BOXES, Boxes, PIECES};

/// How many times as long boxes take as the model, which is told of words, says of words of several single bytes, which are computed by fours, of single bytes that become 4, and of what becomes single bytes (decision 125).
const BYTES_OF_WORDS: f64 = 1.35;
const WIDE_BYTES: f64 = 1.12;
const TO_BYTES: f64 = 0.82;

/// The `most` launches that the model expects to be fastest, of those that cost less than a `limit`, with what it says that they cost; none where boxes do not serve: with something beside the source, between single bytes and 8, and of 2 bytes that become 8.
pub(super) fn best(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
    most: usize,
    limit: f64,
) -> Vec<(f64, Part)> {
    let [src_bytes, dst_bytes, _] = operands.bytes;
    let Some((each, canonical)) = serves(operands).then(|| in_words(operands)).flatten() else {
        return Vec::new();
    };
    let computed = Computed {
        operation: *operation,
        src_bytes: src_bytes as u64,
        src_word: u64::from((each * src_bytes).ilog2()),
        waiting: 0,
    };
    let slower = match (src_bytes, dst_bytes) {
        (1, 1) if each > 1 => BYTES_OF_WORDS,
        (1, 4) => WIDE_BYTES,
        (2 | 4, 1) => TO_BYTES,
        _ => 1.0,
    };
    let launches = boxes::best(&canonical, facts, most, limit / slower).into_iter();
    launches
        .filter_map(|(cost, launch)| Some((cost * slower, of_move(&canonical, computed, launch)?)))
        .collect()
}

/// Whether there are boxes of such elements.
fn serves(operands: &Operands) -> bool {
    let [src_bytes, dst_bytes, _] = operands.bytes;
    let is_alone = matches!(operands.other, Other::None);
    is_alone && !matches!((src_bytes, dst_bytes), (1 | 2, 8) | (8, 1))
}

/// The move in words of the destination, of as many elements each as lie together on both sides wherever one does, and how many those are; `None` without axes.
fn in_words(operands: &Operands) -> Option<(usize, Canonical)> {
    let (first, others) = operands.axes.split_first()?;
    let each = elements_of_word(operands);
    let bytes = [SRC, DST].map(|side| operands.bytes[side] * each);
    let word = Width::of_bytes(bytes[DST])?;
    let of_words = |axis: &Axis| canonical::Axis {
        length: axis.length,
        src: axis.strides[SRC] / each as isize,
        dst: axis.strides[DST] / each as isize,
    };
    let first = match each {
        1 => of_words(first),
        _ => canonical::Axis { length: first.length / each, src: 1, dst: 1 },
    };
    let axes = [first].into_iter().filter(|axis| axis.length > 1 || each == 1);
    let axes = axes.chain(others.iter().map(of_words));
    let src = scaled_alignment(operands.aligned[SRC], bytes[SRC], bytes[DST]);
    let canonical = Canonical::of_elements(axes, word, [src, operands.aligned[DST]]);
    Some((each, canonical.computing(bytes[SRC])))
}

/// How many elements a word has.
fn elements_of_word(operands: &Operands) -> usize {
    let Some((first, others)) = operands.axes.split_first() else { return 1 };
    if [SRC, DST].map(|side| first.strides[side]) != [1, 1] {
        return 1;
    }
    let strides = others.iter().flat_map(|axis| [SRC, DST].map(|side| axis.strides[side]));
    let all = strides.fold(first.length, |all, stride| all | stride.unsigned_abs());
    let most = [SRC, DST].map(|side| operands.aligned[side] / operands.bytes[side]);
    (1 << all.trailing_zeros().min(most[SRC].min(most[DST]).max(1).ilog2())) as usize
}

/// A launch of a move, that computes.
fn of_move(canonical: &Canonical, computed: Computed, launch: Launch) -> Option<Part> {
    let word = canonical.word_bytes();
    let (entry, params) = if let Some(boxes) = params_of(&BOXES, &launch) {
        let computed = waiting(canonical, computed, &boxes, &launch);
        (entry(&COMPUTE_BOXES, word), Fields::of(&ComputeBoxes { computed, boxes }))
    } else {
        let pieces = params_of(&PIECES, &launch)?;
        let computed = waiting(canonical, computed, &pieces.boxes, &launch);
        (entry(&COMPUTE_PIECES, word), Fields::of(&ComputePieces { computed, pieces }))
    };
    Some(Part::of(Launch { entry, params, ..launch }))
}

/// What is computed, with where what is loaded waits: behind the tables, if elements do not keep their size.
fn waiting(canonical: &Canonical, computed: Computed, boxes: &Boxes, launch: &Launch) -> Computed {
    if !canonical.changes_width() {
        return computed;
    }
    // There is a vector more room than what waits takes.
    let bytes = boxes.rows * u64::from(boxes.vectors as u32) * boxes.vector;
    let behind = u64::from(launch.dynamic_shared_bytes) - bytes;
    Computed { waiting: behind - behind % VECTOR as u64, ..computed }
}
