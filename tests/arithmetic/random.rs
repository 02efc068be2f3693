//! Random arrays: any lengths, orders, steps, gaps and starts on each side, by all ways.

use super::complex::check_complex;
use super::{Real, check_channels, check_layouts};
use proptest::prelude::*;
use transpose::interop::half::{bf16, f16};
use transpose::interop::num_complex::{Complex32, Complex64};
use transpose::{Device, E4M3, TensorLayout};
use transpose_tests::cases;

/// The most axes that an array has here.
const MOST_AXES: usize = 5;

/// The most elements of an array, on the simulator and on a GPU.
const MOST_ELEMENTS: [usize; 2] = [2500, 30_000];

/// How an axis lies in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Whether its indices go downwards.
    pub is_mirrored: bool,
    /// Elements from one of its indices to the next, in lengths of what is inside it: 0 where all are one.
    pub step: usize,
    /// Elements behind it.
    pub gap: usize,
}

/// How an array lies in memory.
#[derive(Clone, Debug)]
struct Memory {
    /// The axes, the slowest first.
    order: Vec<usize>,
    sides: Vec<Side>,
    /// Elements before the first one.
    start: usize,
}

/// The steps of axes: of what has its elements beside each other, of what may have others between them, and of what may have one element many times.
const WHOLE: &[usize] = &[1];
const APART: &[usize] = &[1, 1, 1, 1, 1, 1, 1, 1, 1, 2];
const REPEATED: &[usize] = &[1, 1, 1, 1, 1, 1, 1, 1, 2, 0];

impl Memory {
    /// Any order and any gaps, most of them none. Axes whose steps may differ may also be mirrored.
    fn any(steps: &'static [usize]) -> impl Strategy<Value = Memory> {
        let is_mirrored = prop::bool::weighted(if steps == WHOLE { 0.0 } else { 0.1 });
        let gap = prop_oneof![6 => Just(0usize), 1 => 1..4usize, 1 => 8..40usize];
        let side = (is_mirrored, prop::sample::select(steps), gap)
            .prop_map(|(is_mirrored, step, gap)| Side { is_mirrored, step, gap });
        let order = Just((0..MOST_AXES).collect::<Vec<_>>()).prop_shuffle();
        let start = prop_oneof![2 => Just(0usize), 1 => 0..33usize];
        (order, prop::collection::vec(side, MOST_AXES), start)
            .prop_map(|(order, sides, start)| Memory { order, sides, start })
    }

    /// The layout of an array of this shape.
    fn of(&self, shape: &[usize]) -> TensorLayout {
        let order: Vec<usize> =
            self.order.iter().copied().filter(|&axis| axis < shape.len()).collect();
        laid_out(shape, &order, self.start, |axis| self.sides[axis])
    }
}

/// An array of `shape` whose axes come in `order`, the slowest first, with `start` elements before it.
pub(super) fn laid_out(
    shape: &[usize],
    order: &[usize],
    start: usize,
    of: impl Fn(usize) -> Side,
) -> TensorLayout {
    let (mut strides, mut offset, mut inside) = (vec![0; shape.len()], start, 1);
    for &axis in order.iter().rev() {
        let Side { is_mirrored, step, gap } = of(axis);
        let stride = step * inside;
        strides[axis] = if is_mirrored { -(stride as isize) } else { stride as isize };
        if is_mirrored {
            offset += (shape[axis] - 1) * stride;
        }
        inside *= shape[axis] * step.max(1);
        inside += gap;
    }
    TensorLayout::strided(shape, &strides, offset, 8).unwrap()
}

/// Shapes of `axes` axes, short ones as often as long ones, of no more elements than a test has time for.
fn shapes(
    device: &Device,
    axes: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<usize>> {
    let most = MOST_ELEMENTS[usize::from(device.is_gpu())];
    let length = prop_oneof![3 => 1..10usize, 3 => 10..70usize, 1 => 70..400usize];
    prop::collection::vec(length, axes).prop_map(move |mut shape| {
        let mut left = most;
        for length in &mut shape {
            *length = (*length).min(left);
            left /= *length;
        }
        shape
    })
}

/// Calls one of some functions, which are instances of one for pairs of types, with the arguments.
macro_rules! one_of {
    ($number:ident, $check:ident($($argument:expr),*): $($from:ty, $to:ty;)+) => {{
        let checks = [$($check::<$from, $to> as fn(_, _, _, _) -> _),+];
        checks[$number % checks.len()]($($argument),*)
    }};
}

/// Parts, steps, mirrored axes, and sources that repeat what they have.
pub(super) fn random_layouts(device: &Device) {
    let case =
        (shapes(device, 1..=MOST_AXES), Memory::any(REPEATED), Memory::any(APART), any::<usize>());
    fn check<T: Real, U: Real>(device: &Device, src: &TensorLayout, dst: &TensorLayout, _: ()) {
        check_layouts::<T, U>(device, [1.5, 0.25], src, dst, None);
    }
    proptest!(cases(30), |((shape, src, dst, types) in case)| {
        let (src, dst) = (src.of(&shape), dst.of(&shape));
        one_of! { types, check(device, &src, &dst, ()):
            u8, u8; u8, f16; u8, f32; f16, E4M3; bf16, f16; f16, f32; f32, u8; f32, bf16; f32, f32;
            f64, f32; f32, f64; f64, i16; f64, f64;
        }
    });
}

/// Sums with an array that lies like the destination, or in any other way.
pub(super) fn random_sums(device: &Device) {
    let case = (
        shapes(device, 1..=MOST_AXES),
        Memory::any(WHOLE),
        Memory::any(WHOLE),
        prop::option::of(Memory::any(REPEATED)),
        any::<usize>(),
    );
    fn check<T: Real, U: Real>(
        device: &Device,
        src: &TensorLayout,
        dst: &TensorLayout,
        b: &TensorLayout,
    ) {
        check_layouts::<T, U>(device, [1.5, 0.25], src, dst, Some(b));
    }
    proptest!(cases(20), |((shape, src, dst, other, types) in case)| {
        let (src, dst) = (src.of(&shape), dst.of(&shape));
        let other = other.map_or(dst, |other| other.of(&shape));
        one_of! { types, check(device, &src, &dst, &other):
            u8, u8; u8, f16; u8, f32; bf16, bf16; f16, f32; f32, u8; f32, f16; f32, f32; f64, f64; f64, f32;
        }
    });
}

/// Each index of an axis with its own factor and summand.
pub(super) fn random_channels(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, src: &TensorLayout, dst: &TensorLayout, at: usize) {
        check_channels::<T, U>(device, src, dst, at);
    }
    let case = (shapes(device, 2..=4), Memory::any(APART), Memory::any(WHOLE), any::<[usize; 2]>());
    proptest!(cases(30), |((shape, src, dst, [axis, types]) in case)| {
        let (src, dst) = (src.of(&shape), dst.of(&shape));
        one_of! { types, check(device, &src, &dst, axis % shape.len()):
            u8, i8; u8, f16; u8, f32; f16, u8; bf16, bf16; f16, f32; f32, u8; f32, f16; f32, f32;
            i8, E4M3; i32, f64; f64, f32; f32, f64; f64, f64; f64, f16;
        }
    });
}

/// Images of few channels, pixels or channels in descending order in the source, from any way to lie to any other, with gaps and from anywhere: by one factor, and by one of each channel's own.
pub(super) fn random_pixels(device: &Device) {
    let most = MOST_ELEMENTS[usize::from(device.is_gpu())];
    // The slowest axis first: rows, pixels and channels that lie together, or planes of all rows, or of each.
    let order = prop::sample::select(&[[0, 1, 2], [2, 0, 1], [0, 2, 1]][..]);
    let memory = (order, [0..3usize, 0..3, 0..3], 0..20usize);
    let gaps = [0, 0, 8];
    let laid = move |shape: &[usize],
                     (order, gap, start): &([usize; 3], [usize; 3], usize),
                     mirrored: [bool; 3]| {
        let of = |axis: usize| Side {
            is_mirrored: mirrored[axis],
            step: 1,
            // Pixels have no gaps between them.
            gap: if axis == 0 || axis == order[1] { gaps[gap[axis]] } else { 0 },
        };
        laid_out(shape, order, *start, of)
    };
    let case = (
        1..5usize,
        8..500usize,
        2..=4usize,
        memory.clone(),
        memory,
        any::<[bool; 3]>(),
        any::<usize>(),
    );
    proptest!(cases(40), |((rows, pixels, channels, from, to, mirrored, types) in case)| {
        let shape = [rows, pixels.min(most / rows / channels), channels];
        let (src, dst) = (laid(&shape, &from, mirrored), laid(&shape, &to, [false; 3]));
        fn check<T: Real, U: Real>(device: &Device, src: &TensorLayout, dst: &TensorLayout, axis: usize) {
            check_layouts::<T, U>(device, [1.5, 0.25], src, dst, None);
            check_channels::<T, U>(device, src, dst, axis);
        }
        one_of! { types, check(device, &src, &dst, 2usize):
            u8, E4M3; u8, f16; u8, f32; f16, u8; bf16, f16; f16, f32; f32, u8; f32, bf16; f32, f32;
        }
    });
}

/// Windows whose rows are whole units of the destination, and start anywhere in the source: in any order of rows, some of them from the last to the first, or one row many times; with one factor, sums, and a factor and a summand for each index of an axis.
pub(super) fn random_windows(device: &Device) {
    let most = MOST_ELEMENTS[usize::from(device.is_gpu())];
    let rows = prop::collection::vec(prop_oneof![3 => 1..7usize, 1 => 7..30usize], 1..4usize);
    let order = Just(vec![0, 1, 2]).prop_shuffle();
    let memory = (order, [0..40usize, 0..40, 0..40, 0..40], 0..40usize);
    let laid = |shape: &[usize],
                (order, gaps, start): &(Vec<usize>, [usize; 4], usize),
                multiple: usize,
                rows: [(bool, usize); 3]| {
        let last = shape.len() - 1;
        let order: Vec<usize> =
            order.iter().copied().filter(|&axis| axis < last).chain([last]).collect();
        let of = |axis: usize| {
            let (is_mirrored, step) = if axis == last { (false, 1) } else { rows[axis] };
            // Half of the gaps are none.
            Side { is_mirrored, step, gap: gaps[axis].saturating_sub(20) / multiple * multiple }
        };
        laid_out(shape, &order, start / multiple * multiple, of)
    };
    let read = prop::array::uniform3((
        prop::bool::weighted(0.2),
        prop_oneof![9 => Just(1usize), 1 => Just(0)],
    ));
    let case = (rows, 1..20usize, memory.clone(), memory, read, any::<[usize; 2]>());
    proptest!(cases(40), |((mut shape, units, from, to, read, [axis, types]) in case)| {
        let all: usize = shape.iter().product();
        shape.push(8 * units.min(most / all / 8).max(1));
        let (src, dst) = (laid(&shape, &from, 1, read), laid(&shape, &to, 8, [(false, 1); 3]));
        fn check<T: Real, U: Real>(device: &Device, src: &TensorLayout, dst: &TensorLayout, axis: usize) {
            check_layouts::<T, U>(device, [1.5, 0.25], src, dst, None);
            check_layouts::<T, U>(device, [1.5, 0.25], src, dst, Some(dst));
            check_channels::<T, U>(device, src, dst, axis);
        }
        one_of! { types, check(device, &src, &dst, axis % shape.len()):
            u8, E4M3; u8, f16; u8, f32; f16, u8; bf16, f16; f16, f32; f32, u8; f32, bf16; f32, f32;
        }
    });
}

/// Complex numbers and their conjugates, alone or with an array that lies like the destination, or in any other way.
pub(super) fn random_complex(device: &Device) {
    let memories = (Memory::any(APART), Memory::any(WHOLE), Memory::any(REPEATED));
    let case = (shapes(device, 1..=MOST_AXES), memories, 0..3usize, any::<[bool; 3]>());
    proptest!(cases(40), |((shape, (src, dst, other), adds, [from_wide, to_wide, conjugates]) in case)| {
        let (src, dst, other) = (src.of(&shape), dst.of(&shape), other.of(&shape));
        let other = [None, Some(&dst), Some(&other)][adds];
        let check = match (from_wide, to_wide) {
            (false, false) => check_complex::<Complex32, Complex32>,
            (false, true) => check_complex::<Complex32, Complex64>,
            (true, false) => check_complex::<Complex64, Complex32>,
            (true, true) => check_complex::<Complex64, Complex64>,
        };
        check(device, &src, &dst, other, conjugates);
    });
}
