//! The planner of `words`, which serves every move.

use super::canonical::{Axis, Canonical, divided};
use super::gaps::Gaps;
use super::launch::{Block, launch};
use super::model::{WordTally, cost_of_gaps_by_words, cost_of_words, idle};
use super::sectors::{LINE, PIECE, SECTOR, float, pieces};
use super::side::{Side, starts_on};
use crate::facts::Facts;
use crate::launch::Launch;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::{
    MOST_AXES, Mask, WORDS, WORDS_OF_THREAD, WORDS_THREADS, WORDS_XOR, Words, WordsXor,
};
use smallvec::SmallVec;

/// Words of a block.
const OF_BLOCK: usize = (WORDS_THREADS * WORDS_OF_THREAD) as usize;

/// Words of a launch: every thread's number, those past the end included, is below what a kernel divides.
const MOST_WORDS: usize = (1 << 31) - OF_BLOCK;

/// Bytes of the cache that all multiprocessors share, of those that are read and stored, behind which it reads a sector again. (Half of an H200's: each half keeps what its own
/// multiprocessors ask for. By 7000 moves, decision 094.)
const CACHED: f64 = (24 << 20) as f64;

/// What the model says of moving words one by one.
pub(super) fn cost(canonical: &Canonical, facts: &Facts) -> f64 {
    cost_along(canonical, &counted(canonical), facts)
}

/// What the model says of moving words one by one that are counted along these axes.
pub(super) fn cost_along(canonical: &Canonical, axes: &[Axis], facts: &Facts) -> f64 {
    let word = canonical.word_bytes() as f64;
    let [from, to] = canonical.sides();
    let source = Counted::of(canonical, axes, from);
    let lines = |words: usize| source.bytes(words, LINE) / LINE as f64;
    // The words of which the cache keeps all that is read for them and stored.
    let kept = ((CACHED / (source.bytes(OF_BLOCK, SECTOR) + word)) as usize).max(OF_BLOCK);
    // Sectors that are stored in part are what gaps cost.
    let gaps = Gaps::of(canonical);
    let are_whole = gaps.sectors == 0.0 && to.pitch < usize::MAX;
    let destination = are_whole.then(|| Counted::of(canonical, axes, to));
    let written = destination.map_or(word, |destination| destination.bytes(kept, PIECE));
    let tally = WordTally {
        words: canonical.words() as f64,
        axes: canonical.axes().len() as f64,
        warp_lines: lines(WARP as usize),
        block_lines: lines(OF_BLOCK),
        own: word / canonical.repeated() as f64,
        descends: axes.iter().any(|axis| axis.src < 0 && axis.dst < WARP as isize),
        read: source.bytes(kept, PIECE),
        written,
        gaps: cost_of_gaps_by_words(&gaps),
    };
    cost_of_words(canonical.word, &tally) * idle(tally.words / OF_BLOCK as f64, facts)
}

/// What it costs at least.
pub(super) fn least_cost(canonical: &Canonical) -> f64 {
    let (words, axes) = (canonical.words() as f64, canonical.axes().len() as f64);
    cost_of_words(canonical.word, &WordTally { words, axes, ..WordTally::default() })
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
    Counted::of(canonical, counted, side).bytes(of_block, SECTOR)
}

/// The words of a side, as they are counted along some axes.
struct Counted<'a> {
    axes: &'a [Axis],
    side: &'a Side,
    word_bytes: usize,
    /// Whether what lies together on both sides is whole lines: there is nothing beside it. (Others were seen to be as slow as what starts anywhere.)
    is_whole: bool,
}

impl<'a> Counted<'a> {
    fn of(canonical: &Canonical, axes: &'a [Axis], side: &'a Side) -> Self {
        let (run, word_bytes) = (canonical.run(), canonical.word_bytes());
        let others = canonical.axes().iter().map(|axis| side.stride(axis));
        let others = others.filter(|stride| stride.unsigned_abs() >= run);
        let is_whole = (run * word_bytes).is_multiple_of(LINE)
            && starts_on(side.address, others, word_bytes, LINE) == LINE;
        Counted { axes, side, word_bytes, is_whole }
    }

    /// For each word, bytes of the pieces of memory, each of `size` bytes, that `words` words lie in which are counted one after the other.
    fn bytes(&self, words: usize, size: usize) -> f64 {
        let Counted { side, word_bytes, is_whole, .. } = *self;
        let mut left = words;
        let mut axes: SmallVec<[(usize, usize); MOST_AXES]> = SmallVec::new();
        for axis in self.axes {
            let indices = axis.length.min(left);
            axes.push((side.stride(axis).unsigned_abs(), indices));
            left /= indices;
            if left <= 1 {
                break;
            }
        }
        axes.sort_unstable();
        // From the first word to behind the last of those between which no piece is left out, and how many they are.
        let (mut extent, mut inside) = (1, 1);
        for (stride, indices) in axes {
            if stride >= extent + size / word_bytes {
                break;
            }
            extent += stride * (indices - 1);
            inside *= indices;
        }
        let aligned = if is_whole { size } else { word_bytes };
        float(pieces(size, extent * word_bytes, aligned)) / float(inside)
    }
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

#[cfg(all(test, feature = "simulator"))]
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
        assert!((bytes[0] - 8.0 * 6.0 / 5.0).abs() < 0.03 && bytes[1] < 8.1, "{bytes:?}");
    }

    /// Elements of 48 bytes start inside sectors, whose rest the next column has: 200 rows of them are in the cache until then, a million are not. (On an H200 the one has 0.91 to 0.96 of a copy, the
    /// other 0.63 to 0.73.)
    #[test]
    fn what_the_cache_has_is_not_read_again() {
        let cost = |rows: usize, cols: usize| {
            let src = TensorLayout::contiguous(&[rows, cols], 48).unwrap().t();
            let dst = TensorLayout::contiguous(src.shape(), 48).unwrap();
            let (src, dst) = (&src, &dst);
            let problem =
                TensorProblem { element_bytes: 48, src, dst, src_align: 32, dst_align: 32 };
            let canonical = Canonical::of(&problem);
            cost(&canonical, &Facts::h200()) / (canonical.words() * canonical.word_bytes()) as f64
        };
        let [near, far] = [cost(200, 10_000), cost(1_000_000, 2)];
        assert!(near < 2.3 && far > 1.2 * near, "{near}, {far}");
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
