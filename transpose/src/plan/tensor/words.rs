//! The planner of `words`, which serves every move.

use super::canonical::{Axis, Canonical, divided};
use super::gaps::Gaps;
use super::launch::{Block, launch};
use super::model::{WordTally, cost_of_gaps, cost_of_words, idle};
use super::sectors::{SECTOR, sectors_of_one};
use super::side::{Side, starts_on};
use crate::facts::Facts;
use crate::launch::Launch;
use kernel_abi::tensor::{
    MOST_AXES, Mask, WORDS, WORDS_OF_THREAD, WORDS_THREADS, WORDS_XOR, Words, WordsXor,
};
use smallvec::SmallVec;

/// Bytes of a line of the caches.
const LINE: usize = 128;

/// Bytes that memory moves at a time.
const PIECE: usize = 64;

/// Words of a block.
const OF_BLOCK: usize = (WORDS_THREADS * WORDS_OF_THREAD) as usize;

/// Words of a launch: every thread's number, those past the end included, is below what a kernel divides.
const MOST_WORDS: usize = (1 << 31) - OF_BLOCK;

/// What the model says of moving words one by one.
pub(super) fn cost(canonical: &Canonical, facts: &Facts) -> f64 {
    cost_along(canonical, &counted(canonical), facts)
}

/// What the model says of moving words one by one that are counted along these axes.
pub(super) fn cost_along(canonical: &Canonical, axes: &[Axis], facts: &Facts) -> f64 {
    let word = canonical.word_bytes() as f64;
    let [from, to] = canonical.sides();
    let beside = |side: &Side| (block_bytes(canonical, axes, side, OF_BLOCK) - word).max(0.0);
    // Words in steps of less than a sector: a warp's words lie in sectors that follow each other.
    let is_step = canonical.axes().first().is_some_and(|axis| {
        axis.src.unsigned_abs() > 1 && axis.src.unsigned_abs() * canonical.word_bytes() < SECTOR
    });
    let tally = WordTally {
        words: canonical.words() as f64,
        axes: canonical.axes().len() as f64,
        src: beside(from),
        dst: beside(to),
        is_step,
    };
    let cost = cost_of_words(canonical.word, &tally)
        + cost_of_gaps(canonical, &Gaps::of(canonical), false);
    cost * idle(tally.words / OF_BLOCK as f64, facts)
}

/// What it costs at least.
pub(super) fn least_cost(canonical: &Canonical) -> f64 {
    let (words, axes) = (canonical.words() as f64, canonical.axes().len() as f64);
    cost_of_words(canonical.word, &WordTally { words, axes, src: 0.0, dst: 0.0, is_step: false })
}

/// The axes in the order that words are counted in: the destination's, in which neighbouring threads store what lies together. Where that is one piece of
/// memory, and so it is in the source, the axis along which the source goes on is counted before the one along which the destination does:
/// a block's words then lie together in several pieces on both sides, where they would be far apart in the source.
fn counted(canonical: &Canonical) -> SmallVec<[Axis; MOST_AXES]> {
    let mut axes = SmallVec::from_slice(canonical.axes());
    if let Some(next) = source_goes_on(canonical) {
        axes[1..=next].rotate_right(1);
    }
    axes
}

/// The axis along which the source goes on behind a piece that lies together on both sides, if a block has several indices beside all of its.
fn source_goes_on(canonical: &Canonical) -> Option<usize> {
    /// How many times as many words as along that axis a block has at least. (By axes of 10 and 32 on an H200.)
    const BESIDE: usize = 8;
    let run = canonical.run();
    if run * canonical.word_bytes() != PIECE {
        return None;
    }
    let axes = canonical.axes();
    let next = axes.iter().position(|axis| axis.src == run as isize)?;
    let starts_on_pieces = canonical.sides().iter().all(|side| {
        let others = axes[1..].iter().map(|axis| side.stride(axis));
        starts_on(side.address, others, canonical.word_bytes(), PIECE) == PIECE
    });
    let has_room = run * axes[next].length * BESIDE <= OF_BLOCK;
    (starts_on_pieces && has_room).then_some(next)
}

/// Bytes of the sectors that a block's words lie in on a side, for each word, of a block of so many; words are counted along these axes.
pub(super) fn block_bytes(
    canonical: &Canonical,
    counted: &[Axis],
    side: &Side,
    of_block: usize,
) -> f64 {
    let mut left = of_block;
    let mut axes: SmallVec<[(usize, usize); MOST_AXES]> = SmallVec::new();
    for axis in counted {
        let indices = axis.length.min(left);
        axes.push((side.stride(axis).unsigned_abs(), indices));
        left /= indices;
        if left <= 1 {
            break;
        }
    }
    axes.sort_unstable();
    let word = canonical.word_bytes();
    let together = axes.iter().try_fold(1, |together, &(stride, indices)| {
        if stride == together { Ok(together * indices) } else { Err(together) }
    });
    let together = together.unwrap_or_else(|together| together);
    // Where what lies together on both sides is whole lines, there is nothing beside it: others were seen to be as slow as what starts anywhere.
    let run = canonical.run();
    let others = canonical.axes().iter().map(|axis| side.stride(axis));
    let others = others.filter(|stride| stride.unsigned_abs() >= run);
    let is_whole =
        (run * word).is_multiple_of(LINE) && starts_on(side.address, others, word, LINE) == LINE;
    // Stretches that lie apart may share sectors all the same.
    let nearest = axes.iter().find(|&&(stride, indices)| stride > together && indices > 1);
    let nearest = nearest.map_or(usize::MAX, |&(stride, _)| stride);
    sectors_of_one(together, nearest, word, if is_whole { SECTOR } else { word }) / together as f64
}

/// The launches that move words one by one, and flip these bits.
pub(super) fn launches(canonical: &Canonical, flips: Option<Mask>) -> Vec<Launch> {
    let one = |part: &[Axis], offsets| one(canonical, flips, part, offsets);
    in_parts(&counted(canonical), MOST_WORDS, &one)
}

/// The launches for all that is counted along these axes, no more than `most` in each; `one` makes that of some axes, so many words further on either side.
pub(super) fn in_parts(
    axes: &[Axis],
    most: usize,
    one: &dyn Fn(&[Axis], [isize; 2]) -> Launch,
) -> Vec<Launch> {
    // The fastest axes that one launch has whole, and how many indices of the next.
    let (mut whole, mut inner) = (0, 1);
    while whole < axes.len() && inner * axes[whole].length <= most {
        inner *= axes[whole].length;
        whole += 1;
    }
    let cut = most / inner;
    // Axes that no launch has whole: counted here, the first of them in steps of `cut`.
    let mut launches = Vec::new();
    let mut index = vec![0; axes.len() - whole];
    loop {
        let mut part = axes[..whole].to_vec();
        let mut offsets = [0isize; 2];
        for (at, axis) in index.iter().zip(&axes[whole..]) {
            offsets[0] += *at as isize * axis.src;
            offsets[1] += *at as isize * axis.dst;
        }
        if let (Some(axis), Some(at)) = (axes.get(whole), index.first()) {
            part.push(Axis { length: cut.min(axis.length - at), ..*axis });
        }
        launches.push(one(&part, offsets));
        let mut step = cut;
        let next = index.iter_mut().zip(&axes[whole..]).any(|(at, axis)| {
            *at += std::mem::replace(&mut step, 1);
            let more = *at < axis.length;
            if !more {
                *at = 0;
            }
            more
        });
        if !next {
            return launches;
        }
    }
}

/// One launch, of these axes, that starts so many words further.
fn one(canonical: &Canonical, flips: Option<Mask>, axes: &[Axis], offsets: [isize; 2]) -> Launch {
    let words: usize = axes.iter().map(|axis| axis.length).product();
    let divided = divided(axes).expect("the kernel takes as many axes as a move has");
    let blocks = words.div_ceil(OF_BLOCK);
    let words = Words { axes: divided, count: axes.len() as u64, words: words as u64 };
    let block = Block { threads: WORDS_THREADS, shared: 0 };
    match flips {
        None => launch(&WORDS, canonical.word, blocks, block, offsets, &words),
        Some(mask) => {
            launch(&WORDS_XOR, canonical.word, blocks, block, offsets, &WordsXor { words, mask })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;

    /// Whole lines that lie together on both sides have nothing beside them; half ones have.
    #[test]
    fn whole_lines_cost_what_they_are() {
        let beside = |words: usize| {
            let src = TensorLayout::contiguous(&[30, 40, words], 16).unwrap();
            let src = src.permute_axes(&[1, 0, 2]).unwrap();
            let dst = TensorLayout::contiguous(src.shape(), 16).unwrap();
            let (src_align, dst_align) = (32, 32);
            let problem =
                TensorProblem { element_bytes: 16, src: &src, dst: &dst, src_align, dst_align };
            let canonical = Canonical::of(&problem);
            block_bytes(&canonical, canonical.axes(), &canonical.sides()[0], OF_BLOCK) - 16.0
        };
        assert_eq!([8, 24, 4, 12].map(|words| beside(words) > 0.0), [false, false, true, true]);
    }

    /// Matrices of 5 × 5 of 8 bytes, whose rows are 6 apart: a block has many of them, and rows lie in sectors of the rows before. (314,382 of them have 1.02 of a copy on an H200, and
    /// were taken for as slow as if each row were by itself.)
    #[test]
    fn rows_near_each_other_share_sectors() {
        let layout = |strides| TensorLayout::strided(&[1000, 5, 5], strides, 0, 8).unwrap();
        let (src, dst) = (layout(&[30, 1, 6]), layout(&[25, 5, 1]));
        let problem =
            TensorProblem { element_bytes: 8, src: &src, dst: &dst, src_align: 32, dst_align: 32 };
        let canonical = Canonical::of(&problem);
        let axes = counted(&canonical);
        let bytes =
            canonical.sides().each_ref().map(|side| block_bytes(&canonical, &axes, side, OF_BLOCK));
        assert!((bytes[0] - 8.0 * 6.0 / 5.0).abs() < 1e-9 && bytes[1] < 8.1, "{bytes:?}");
    }

    /// The move that reverses the axes of such an array of so many bytes an element, all but the last `kept` of them.
    fn reversed(shape: &[usize], kept: usize, element_bytes: usize) -> (Canonical, TensorLayout) {
        let turned = shape.len() - kept;
        let order: Vec<usize> = (0..turned).rev().chain(turned..shape.len()).collect();
        let src = TensorLayout::contiguous(shape, element_bytes).unwrap();
        let src = src.permute_axes(&order).unwrap();
        let dst = TensorLayout::contiguous(src.shape(), element_bytes).unwrap();
        let (src_align, dst_align) = (32, 32);
        let problem = TensorProblem { element_bytes, src: &src, dst: &dst, src_align, dst_align };
        (Canonical::of(&problem), src)
    }

    /// Every word is moved by one launch, whatever a launch may have, in whatever order.
    #[test]
    fn parts_are_all_of_it() {
        for (shape, kept, bytes) in [(&[3, 4, 5, 7][..], 0, 4), (&[3, 5, 7, 4], 1, 16)] {
            let (canonical, src) = reversed(shape, kept, bytes);
            assert_eq!(source_goes_on(&canonical).is_some(), kept == 1);
            for most in [1, 2, 3, 4, 11, 12, 30, 59, 60, 100, 420, 1000] {
                let mut moved = vec![None; 420];
                let one = |part: &[Axis], offsets| one(&canonical, None, part, offsets);
                for launch in in_parts(&counted(&canonical), most, &one) {
                    let params: Words = launch.params.to().unwrap();
                    assert!(params.words as usize <= most);
                    for number in 0..params.words {
                        let [mut from, mut to] = launch.offsets.map(|start| start / bytes as u64);
                        let mut rest = number;
                        for axis in &params.axes[..params.count as usize] {
                            let length = u64::from(axis.divisor as u32);
                            from += rest % length * axis.src;
                            to += rest % length * axis.dst;
                            rest /= length;
                        }
                        assert_eq!(moved[to as usize].replace(from), None, "moved twice");
                    }
                }
                let expected = src.offsets().map(|from| Some(from as u64));
                assert!(moved.into_iter().eq(expected), "{shape:?}, {most} words a launch");
            }
        }
    }

    /// Pieces of memory are counted along the source where a block then has several beside each other on both sides, and nothing else is.
    #[test]
    fn pieces_lie_together_on_both_sides() {
        let beside = |shape: &[usize], element_bytes: usize| {
            let (canonical, _) = reversed(shape, 1, element_bytes);
            let bytes = |axes: &[Axis]| {
                canonical
                    .sides()
                    .each_ref()
                    .map(|side| block_bytes(&canonical, axes, side, OF_BLOCK))
            };
            let [src, dst] = bytes(&counted(&canonical));
            let [before, _] = bytes(canonical.axes());
            assert!(src <= before && dst < 1.1 * 16.0, "{shape:?}: {src} of {before}, {dst}");
            src < before
        };
        for cols in [2, 10, 32] {
            assert!(beside(&[100, 7, cols, 16], 4), "{cols}");
        }
        // Too few pieces beside each other in the destination; half a piece, lines, and pieces that start anywhere.
        assert!(!beside(&[100, 7, 33, 16], 4));
        for (run, element_bytes) in [(2, 16), (8, 16), (12, 16), (6, 16)] {
            assert!(!beside(&[100, 7, 10, run], element_bytes), "{run}");
        }
    }
}
