//! Complex numbers in any layouts, by all ways, against the products and sums of `num-complex`.

use super::{Laid, complex, contiguous, extent};
use std::ops::{Add, Mul};
use transpose::interop::num_complex::{Complex32, Complex64};
use transpose::{Arithmetic, ConvertTo, Device, DeviceMatrix, Number, TensorLayout, kind};
use transpose_tests::{is_ours, offsets};

/// A complex number whose products and sums a test knows.
pub(super) trait Known:
    Number<Kind = kind::Complex, Factor = Self> + PartialEq + Mul<Output = Self> + Add<Output = Self>
{
    /// The number whose parts are those of another one.
    fn of(number: Complex32) -> Self;

    /// The number in double precision.
    fn wide(self) -> Complex64;

    /// The number whose parts are nearest to those of another one.
    fn nearest(wide: Complex64) -> Self;

    /// Its conjugate.
    fn conjugate(self) -> Self;
}

macro_rules! known {
    ($number:ty, $part:ty) => {
        impl Known for $number {
            fn of(number: Complex32) -> Self {
                <$number>::new(number.re.into(), number.im.into())
            }

            fn wide(self) -> Complex64 {
                Complex64::new(self.re.into(), self.im.into())
            }

            fn nearest(wide: Complex64) -> Self {
                <$number>::new(wide.re as $part, wide.im as $part)
            }

            fn conjugate(self) -> Self {
                self.conj()
            }
        }
    };
}

known!(Complex32, f32);
known!(Complex64, f64);

const ALPHA: Complex32 = Complex32::new(0.5, -2.0);
const BETA: Complex32 = Complex32::new(-0.25, 1.0);

/// `α·a`, or `α·a + β·b`, of numbers of one type.
fn computed<N: Known>(a: N, b: Option<N>) -> N {
    let product = N::of(ALPHA) * a;
    b.map_or(product, |b| product + N::of(BETA) * b)
}

/// Likewise of two types, in the wider one of both.
fn computed_of_two<T: Known, U: Known>(a: T, b: Option<U>) -> U {
    let narrow = |wide| Complex32::nearest(wide);
    match size_of::<T>().max(size_of::<U>()) {
        8 => U::of(computed(narrow(a.wide()), b.map(|b| narrow(b.wide())))),
        _ => U::nearest(computed(a.wide(), b.map(U::wide))),
    }
}

/// Computes `α·a`, or `α·a + β·b`, of numbers or their conjugates, of one type or two, from layout to layout, by all ways that [`enough`] leaves, and compares all of the destination's memory.
pub(super) fn check_complex<T: Known + ConvertTo<U>, U: Known>(
    device: &Device,
    src: &TensorLayout,
    dst: &TensorLayout,
    other: Option<&TensorLayout>,
    conjugates: bool,
) -> Vec<&'static str> {
    fn all<N: Known>(len: usize, salt: u64) -> Vec<N> {
        complex(len, salt).into_iter().map(N::of).collect()
    }
    if !is_ours() {
        return Vec::new();
    }
    let (a, before) = (all::<T>(extent(src), 1), all::<U>(extent(dst) + 3, 2));
    let b = all::<U>(other.map_or(0, extent), 3);
    let (mut expected, second) = (before.clone(), other.map(offsets));
    for (at, (from, to)) in offsets(src).into_iter().zip(offsets(dst)).enumerate() {
        let a = if conjugates { a[from].conjugate() } else { a[from] };
        expected[to] = computed_of_two(a, second.as_ref().map(|second| b[second[at]]));
    }
    let scaling = Arithmetic::<U>::scaling(U::of(ALPHA));
    let scaling = if conjugates { scaling.conjugated() } else { scaling };
    let all = Laid { src, dst, other };
    all.by_every_way(device, (scaling, U::of(BETA)), [&b, &before], &a, |plan, results| {
        assert!(results == expected, "{plan}");
    })
}

/// Sums in windows of few columns, whose rows start on vectors of which sectors have two.
pub(super) fn complex_sums_in_windows(device: &Device) {
    fn check<E: Known + ConvertTo<E>>(device: &Device, kernel: &str) {
        const ROWS: usize = 700;
        for cols in 2..=5 {
            let src = contiguous(&[cols, ROWS]).t();
            for (pitch, start) in
                [(cols, 1), (cols + 1, 0), (cols + 1, 1), (cols + 2, 0), (cols + 2, 1)]
            {
                let strides = [pitch as isize, 1];
                let dst = TensorLayout::strided(&[ROWS, cols], &strides, start, 16).unwrap();
                let kernels = check_complex::<E, E>(device, &src, &dst, Some(&dst), false);
                // None, if another process has the case.
                assert!(kernels.is_empty() || kernels.contains(&kernel), "{dst:?}: {kernels:?}");
            }
        }
    }
    check::<Complex32>(device, "compute_boxes_beside_b8");
    check::<Complex64>(device, "compute_boxes_beside_b16");
}

/// Numbers of 8 bytes that become 16, with few channels on either side: kernels of pixels store no more than 8.
pub(super) fn complex_numbers_become_wide(device: &Device) {
    for (rows, cols) in [(2, 3), (100, 2), (100, 24), (3, 1000), (24, 25), (239, 3), (16, 16)] {
        let numbers = complex(rows * cols, 4);
        let matrix = DeviceMatrix::from_host(device, rows, cols, &numbers).unwrap();
        let wide = matrix.transposed_converted::<Complex64>().unwrap().to_host().unwrap();
        let expected =
            (0..rows * cols).map(|at| Complex64::of(numbers[at % rows * cols + at / rows]));
        assert!(wide.into_iter().eq(expected), "{rows} × {cols}");
    }
}
