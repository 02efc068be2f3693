//! What is measured: types, shapes, and what is computed of them.

use crate::case::{Case, Second};
use crate::measuring::{measure, measure_channels};
use crate::random::{Crop, Drawn, Images, drawn, drawn_crop, drawn_images, drawn_window};
use crate::told::write;
use crate::{Arguments, Shape};
use fastrand::Rng;
use transpose::E4M3;
use transpose::interop::half::{bf16, f16};

/// Defines a case.
macro_rules! case {
    ($from:literal as $t:ty, $to:literal as $u:ty, $shape:expr, $axes:expr, $alpha:expr, $second:expr) => {
        Case {
            types: [$from, $to],
            shape: $shape.to_vec(),
            axes: $axes.to_vec(),
            alpha: $alpha,
            second: $second,
            gaps: [0, 0],
            inner: [0, 0],
            is_random: false,
            measure: measure::<$t, $u>,
            write: write::<$t, $u>,
        }
    };
}

/// Defines a case with a factor and a summand for each channel, along an axis of the result.
macro_rules! channels {
    ($from:literal as $t:ty, $to:literal as $u:ty, $shape:expr, $axes:expr, $alpha:expr, $axis:expr) => {
        Case {
            measure: measure_channels::<$t, $u>,
            ..case!($from as $t, $to as $u, $shape, $axes, $alpha, Second::Channels($axis))
        }
    };
}

/// Sums of other types than those of [`matrices`], of matrices of a shape whose axes take this order, in place.
fn sums(shape: &[usize], axes: &[usize]) -> Vec<Case> {
    let there = Second::Destination;
    vec![
        case!("bfloat16" as bf16, "bfloat16" as bf16, shape, axes, Some(0.5), there),
        case!("float64" as f64, "float64" as f64, shape, axes, Some(0.5), there),
        case!("float16" as f16, "float32" as f32, shape, axes, Some(0.5), there),
        case!("float32" as f32, "float64" as f64, shape, axes, Some(0.5), there),
        case!("float32" as f32, "float16" as f16, shape, axes, Some(0.5), there),
        case!("uint8" as u8, "float16" as f16, shape, axes, Some(0.5), there),
        case!("uint8" as u8, "float32" as f32, shape, axes, Some(0.5), there),
    ]
}

/// Sums of types that are not listed: whose results are narrower.
fn narrow_sums(shape: &[usize], axes: &[usize]) -> Vec<Case> {
    let there = Second::Destination;
    vec![
        case!("float64" as f64, "float32" as f32, shape, axes, Some(0.5), there),
        case!("float32" as f32, "bfloat16" as bf16, shape, axes, Some(0.5), there),
        case!("float32" as f32, "float8_e4m3fn" as E4M3, shape, axes, Some(0.5), there),
        case!("float32" as f32, "uint8" as u8, shape, axes, Some(0.5), there),
        case!("float16" as f16, "float8_e4m3fn" as E4M3, shape, axes, Some(0.5), there),
    ]
}

/// Sums with other operands than the destination.
fn with_operands(square: [usize; 2], odd: [usize; 2], is_gpu: bool) -> Vec<Case> {
    let cube = if is_gpu { [768, 512, 640] } else { [24, 32, 40] };
    let (turned, gaps) = (Second::Numbers(&[1, 0], 0), Second::Numbers(&[0, 1], 5));
    let third = Second::Numbers(&[2, 0, 1], 0);
    vec![
        case!("float32" as f32, "float32" as f32, square, [1, 0], Some(0.5), turned),
        case!("float16" as f16, "float16" as f16, square, [1, 0], Some(0.5), turned),
        case!("float64" as f64, "float64" as f64, square, [1, 0], Some(0.5), turned),
        case!("complex64" as [f32; 2], "complex64" as [f32; 2], square, [1, 0], Some(0.5), turned),
        case!("float32" as f32, "float32" as f32, odd, [1, 0], Some(0.5), turned),
        case!("float32" as f32, "float32" as f32, square, [1, 0], Some(0.5), gaps),
        case!("float32" as f32, "float32" as f32, odd, [1, 0], Some(0.5), gaps),
        case!("float32" as f32, "float32" as f32, cube, [2, 1, 0], Some(0.5), third),
        case!("bfloat16" as bf16, "bfloat16" as bf16, cube, [2, 1, 0], Some(0.5), third),
    ]
}

/// A factor and a summand for each channel of images: `bytes` of pixels in all, or a little more, for each of the counts of channels.
fn with_channels(counts: &[usize], side: usize, bytes: usize) -> Vec<Case> {
    let (last, first, scale) = ([0, 3, 1, 2], [0, 2, 3, 1], Some(1.0 / 255.0));
    let of = |&channels: &usize| {
        let count = bytes.div_ceil(side * side * channels);
        let (images, planes) = ([count, side, side, channels], [count, channels, side, side]);
        [
            channels!("uint8" as u8, "float16" as f16, images, last, scale, 1),
            channels!("uint8" as u8, "float32" as f32, images, last, scale, 1),
            channels!("uint8" as u8, "float16" as f16, planes, first, scale, 3),
            channels!("uint8" as u8, "float32" as f32, planes, first, scale, 3),
        ]
    };
    counts.iter().flat_map(of).collect()
}

/// Matrices of a shape, of all types, whose axes take this order.
fn matrices(shape: &[usize], axes: &[usize]) -> Vec<Case> {
    vec![
        case!("float32" as f32, "float32" as f32, shape, axes, Some(0.5), Second::None),
        case!("float32" as f32, "float32" as f32, shape, axes, Some(0.5), Second::Destination),
        case!("float32" as f32, "float16" as f16, shape, axes, None, Second::None),
        case!("float16" as f16, "float32" as f32, shape, axes, None, Second::None),
        case!("float32" as f32, "bfloat16" as bf16, shape, axes, None, Second::None),
        case!("bfloat16" as bf16, "bfloat16" as bf16, shape, axes, Some(0.5), Second::None),
        case!("float64" as f64, "float64" as f64, shape, axes, Some(0.5), Second::None),
        case!("float64" as f64, "float32" as f32, shape, axes, None, Second::None),
        case!(
            "complex64" as [f32; 2],
            "complex64" as [f32; 2],
            shape,
            axes,
            Some(0.5),
            Second::None
        ),
        case!("int32" as i32, "float32" as f32, shape, axes, None, Second::None),
        case!("float32" as f32, "float8_e4m3fn" as E4M3, shape, axes, None, Second::None),
        case!("uint8" as u8, "float16" as f16, shape, axes, None, Second::None),
        case!("uint8" as u8, "uint8" as u8, shape, axes, Some(0.5), Second::None),
    ]
}

/// `count` random arrays, each of about `bytes` bytes in source and destination together. Types and what is computed take turns: those that are asked for most, or `others`.
fn random(seed: u64, count: usize, bytes: usize, others: bool) -> Vec<Case> {
    let mut rng = Rng::with_seed(seed);
    let mut next = |number: usize| {
        let scaled = Some(0.5);
        macro_rules! of {
            ($from:literal as $t:ty, $to:literal as $u:ty, $alpha:expr, $second:expr) => {{
                let each = size_of::<$t>() + size_of::<$u>();
                let Drawn { shape, axes } = drawn(&mut rng, bytes / each);
                let case = case!($from as $t, $to as $u, shape, axes, $alpha, $second);
                Case { is_random: true, ..case }
            }};
        }
        match (others, number % 9) {
            (true, 0) => of!("float32" as f32, "float8_e4m3fn" as E4M3, None, Second::None),
            (true, 1) => of!("float16" as f16, "float8_e4m3fn" as E4M3, None, Second::None),
            (true, 2) => of!("float8_e4m3fn" as E4M3, "float16" as f16, None, Second::None),
            (true, 3) => of!("int32" as i32, "float32" as f32, None, Second::None),
            (true, 4) => of!("float64" as f64, "float32" as f32, None, Second::None),
            (true, 5) => of!("float32" as f32, "float64" as f64, None, Second::None),
            (true, 6) => of!("float32" as f32, "uint8" as u8, scaled, Second::None),
            (true, 7) => of!("float64" as f64, "float32" as f32, scaled, Second::Destination),
            (true, _) => of!("uint8" as u8, "uint8" as u8, scaled, Second::None),
            (false, 0) => of!("float32" as f32, "float32" as f32, scaled, Second::None),
            (false, 1) => of!("bfloat16" as bf16, "bfloat16" as bf16, scaled, Second::None),
            (false, 2) => of!("float16" as f16, "float32" as f32, None, Second::None),
            (false, 3) => of!("float32" as f32, "float16" as f16, None, Second::None),
            (false, 4) => of!("uint8" as u8, "float16" as f16, None, Second::None),
            (false, 5) => of!("uint8" as u8, "float32" as f32, scaled, Second::None),
            (false, 6) => of!("float64" as f64, "float64" as f64, scaled, Second::None),
            (false, 7) => of!("float32" as f32, "float32" as f32, scaled, Second::Destination),
            (false, _) => of!("bfloat16" as bf16, "bfloat16" as bf16, scaled, Second::Destination),
        }
    };
    (0..count).map(&mut next).collect()
}

/// `count` random batches of images, each of about `bytes` bytes in source and destination together, whose channels have a factor and a summand each: channels last to first and back, and as
/// they are. Types and orders take turns; of `others` all are computed in 64 bits.
fn each_channel(seed: u64, bytes: usize, arguments: &Arguments) -> Vec<Case> {
    /// Rows, and columns, of an image at most.
    const MOST: usize = 300;
    let Arguments { count, ref channels, side, others, .. } = *arguments;
    let (counts, most) = (channels, side.unwrap_or(MOST));
    let mut rng = Rng::with_seed(seed);
    let mut next = |number: usize| {
        macro_rules! of {
            ($from:literal as $t:ty, $to:literal as $u:ty) => {{
                let each = size_of::<$t>() + size_of::<$u>();
                let Images { shape, axes, channels } =
                    drawn_images(&mut rng, bytes / each, counts, most);
                let case = channels!($from as $t, $to as $u, shape, axes, Some(0.5), channels);
                Case { is_random: true, ..case }
            }};
        }
        match (others, number % 7) {
            (true, 0 | 4) => of!("float64" as f64, "float64" as f64),
            (true, 1 | 5) => of!("float64" as f64, "float32" as f32),
            (true, 2 | 6) => of!("float32" as f32, "float64" as f64),
            (true, _) => of!("int32" as i32, "float32" as f32),
            (false, 0) => of!("uint8" as u8, "float16" as f16),
            (false, 1) => of!("uint8" as u8, "float32" as f32),
            (false, 2) => of!("float32" as f32, "uint8" as u8),
            (false, 3) => of!("float16" as f16, "float32" as f32),
            (false, 4) => of!("float32" as f32, "float16" as f16),
            (false, 5) => of!("float32" as f32, "float32" as f32),
            (false, _) => of!("bfloat16" as bf16, "bfloat16" as bf16),
        }
    };
    (0..count).map(&mut next).collect()
}

/// `count` random batches of windows cut out of images, each of about `bytes` bytes in source and destination together. Types, orders and what is computed take turns; of `others` bytes stay bytes.
fn cropped(seed: u64, bytes: usize, arguments: &Arguments) -> Vec<Case> {
    let Arguments { count, others, padded, .. } = *arguments;
    let mut rng = Rng::with_seed(seed);
    let mut next = |number: usize| {
        macro_rules! of {
            ($from:literal as $t:ty, $to:literal as $u:ty) => {{
                let each = size_of::<$t>() + size_of::<$u>();
                let Crop { images, gaps, inner } = drawn_crop(&mut rng, bytes / each, padded);
                let Images { shape, axes, channels } = images;
                let case = match number % 3 {
                    0 => channels!($from as $t, $to as $u, shape, axes, Some(0.5), channels),
                    1 => case!($from as $t, $to as $u, shape, axes, Some(0.5), Second::None),
                    _ => case!($from as $t, $to as $u, shape, axes, Some(0.5), Second::Destination),
                };
                Case { is_random: true, gaps, inner, ..case }
            }};
        }
        match number / 3 % 8 {
            _ if others => of!("uint8" as u8, "uint8" as u8),
            0 => of!("uint8" as u8, "float16" as f16),
            1 => of!("uint8" as u8, "float32" as f32),
            2 => of!("float16" as f16, "float32" as f32),
            3 => of!("float32" as f32, "float16" as f16),
            4 => of!("float32" as f32, "float32" as f32),
            5 => of!("bfloat16" as bf16, "bfloat16" as bf16),
            6 => of!("float32" as f32, "uint8" as u8),
            _ => of!("float16" as f16, "float8_e4m3fn" as E4M3),
        }
    };
    (0..count).map(&mut next).collect()
}

/// The axes of a result in their own order.
const IN_ORDER: &[usize] = &[0, 1, 2, 3, 4, 5];

/// `count` random arrays with gaps between their rows, each of about `bytes` bytes in source and destination together, which are drawn for a number of elements. Types and what is computed
/// take turns.
fn with_gaps(
    seed: u64,
    count: usize,
    bytes: usize,
    draw: fn(&mut Rng, usize) -> Drawn,
) -> Vec<Case> {
    let mut rng = Rng::with_seed(seed);
    let mut next = |number: usize| {
        let scaled = Some(0.5);
        macro_rules! of {
            ($from:literal as $t:ty, $to:literal as $u:ty) => {{
                let each = size_of::<$t>() + size_of::<$u>();
                let Drawn { shape, axes } = draw(&mut rng, bytes / each);
                let [src, dst, other] = [(); 3].map(|()| rng.usize(1..12));
                let second = match number % 3 {
                    0 => Second::None,
                    1 => Second::Destination,
                    _ => Second::Numbers(&IN_ORDER[..shape.len()], other),
                };
                let case = case!($from as $t, $to as $u, shape, axes, scaled, second);
                Case { is_random: true, gaps: [src, dst], ..case }
            }};
        }
        match number / 3 % 8 {
            0 => of!("float32" as f32, "float32" as f32),
            1 => of!("bfloat16" as bf16, "bfloat16" as bf16),
            2 => of!("float16" as f16, "float32" as f32),
            3 => of!("float32" as f32, "float16" as f16),
            4 => of!("uint8" as u8, "float16" as f16),
            5 => of!("uint8" as u8, "float32" as f32),
            6 => of!("float64" as f64, "float64" as f64),
            _ => of!("complex64" as [f32; 2], "complex64" as [f32; 2]),
        }
    };
    (0..count).map(&mut next).collect()
}

/// The cases: of a size for a GPU, or small ones.
pub fn cases(is_gpu: bool, arguments: &Arguments) -> Vec<Case> {
    let bytes = if is_gpu { 256 << 20 } else { 64 << 10 };
    if let Some(seed) = arguments.sweep {
        return random(seed, arguments.count, bytes, arguments.others);
    }
    if let Some(seed) = arguments.windows {
        return with_gaps(seed, arguments.count, bytes, drawn_window);
    }
    if let Some(seed) = arguments.crops {
        return cropped(seed, bytes, arguments);
    }
    if let Some(seed) = arguments.turned {
        return with_gaps(seed, arguments.count, bytes, drawn);
    }
    if let Some(seed) = arguments.each {
        return each_channel(seed, bytes, arguments);
    }
    if !arguments.shape.is_empty() {
        let both = |Shape(shape): &Shape| {
            let (turned, in_order): (&[usize], &[usize]) = match shape.len() {
                2 => (&[1, 0], &[0, 1]),
                _ => (&[0, 2, 1], &[0, 1, 2]),
            };
            let [moves, sums, narrow] = [matrices, sums, narrow_sums].map(|of| of(shape, turned));
            [moves, sums, narrow, matrices(shape, in_order)]
        };
        return arguments.shape.iter().flat_map(both).flatten().collect();
    }
    let [square, odd] = if is_gpu { [[16384; 2], [10007, 9973]] } else { [[256; 2], [507, 493]] };
    let images = if is_gpu { 128 } else { 1 };
    let side = if is_gpu { 224 } else { 128 };
    let all_matrices = [(square, [1, 0]), (odd, [1, 0]), (square, [0, 1])];
    let mut all: Vec<Case> =
        all_matrices.into_iter().flat_map(|(shape, axes)| matrices(&shape, &axes)).collect();
    for (channels, images) in [(3, images), (4, images * 3 / 4 + 1), (64, images / 8 + 1)] {
        let (last, first) = ([images, side, side, channels], [images, channels, side, side]);
        for (shape, axes) in [(last, [0, 3, 1, 2]), (first, [0, 2, 3, 1])] {
            all.extend([
                case!(
                    "uint8" as u8,
                    "float16" as f16,
                    shape,
                    axes,
                    Some(1.0 / 255.0),
                    Second::None
                ),
                case!(
                    "uint8" as u8,
                    "float32" as f32,
                    shape,
                    axes,
                    Some(1.0 / 255.0),
                    Second::None
                ),
                case!("float16" as f16, "float32" as f32, shape, axes, None, Second::None),
            ]);
        }
    }
    all.extend(sums(&odd, &[1, 0]));
    all.extend(with_operands(square, odd, is_gpu));
    let side = arguments.side.unwrap_or(side);
    let bytes = if is_gpu { 17 * 224 * 224 * 64 } else { 1 << 20 };
    let counts =
        if arguments.channels.is_empty() { &[64, 128, 256] } else { &arguments.channels[..] };
    all.extend(with_channels(counts, side, bytes));
    all
}
