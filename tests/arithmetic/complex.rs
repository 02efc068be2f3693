//! Complex numbers in any layouts, by all ways, against the products and sums of `num-complex`.

use super::{Laid, complex, contiguous, extent};
use std::ops::{Add, Mul};
use transpose::interop::num_complex::{Complex32, Complex64};
use transpose::{Arithmetic, Device, DeviceMatrix, Number, TensorLayout, kind};
use transpose_tests::{is_ours, offsets};

/// A complex number whose products and sums a test knows.
pub(super) trait Known:
    Number<Kind = kind::Complex, Factor = Self> + PartialEq + Mul<Output = Self> + Add<Output = Self>
{
    /// The number whose parts are those of another one.
    fn of(number: Complex32) -> Self;

    /// Its conjugate.
    fn conjugate(self) -> Self;
}

macro_rules! known {
    ($number:ty) => {
        impl Known for $number {
            fn of(number: Complex32) -> Self {
                <$number>::new(number.re.into(), number.im.into())
            }

            fn conjugate(self) -> Self {
                self.conj()
            }
        }
    };
}

known!(Complex32);
known!(Complex64);

/// Computes `α·a`, or `α·a + β·b`, of numbers or their conjugates, from layout to layout, by all ways that [`enough`] leaves, and compares all of the destination's memory.
pub(super) fn check_complex<E: Known>(
    device: &Device,
    src: &TensorLayout,
    dst: &TensorLayout,
    other: Option<&TensorLayout>,
    conjugates: bool,
) -> Vec<&'static str> {
    if !is_ours() {
        return Vec::new();
    }
    let all = |len, salt| complex(len, salt).into_iter().map(E::of).collect::<Vec<E>>();
    let (a, before) = (all(extent(src), 1), all(extent(dst) + 3, 2));
    let b = all(other.map_or(0, extent), 3);
    let (alpha, beta) = (E::of(Complex32::new(0.5, -2.0)), E::of(Complex32::new(-0.25, 1.0)));
    let (mut expected, second) = (before.clone(), other.map(offsets));
    for (at, (from, to)) in offsets(src).into_iter().zip(offsets(dst)).enumerate() {
        let a = if conjugates { a[from].conjugate() } else { a[from] };
        let product = alpha * a;
        expected[to] = second.as_ref().map_or(product, |second| product + beta * b[second[at]]);
    }
    let scaling = Arithmetic::<E>::scaling(alpha);
    let scaling = if conjugates { scaling.conjugated() } else { scaling };
    let all = Laid { src, dst, other };
    all.by_every_way(device, (scaling, beta), [&b, &before], &a, |plan, results| {
        assert!(results == expected, "{plan}");
    })
}

/// Sums in windows of few columns, whose rows start on vectors of which sectors have two.
pub(super) fn complex_sums_in_windows(device: &Device) {
    fn check<E: Known>(device: &Device, kernel: &str) {
        const ROWS: usize = 700;
        for cols in 2..=5 {
            let src = contiguous(&[cols, ROWS]).t();
            for (pitch, start) in
                [(cols, 1), (cols + 1, 0), (cols + 1, 1), (cols + 2, 0), (cols + 2, 1)]
            {
                let strides = [pitch as isize, 1];
                let dst = TensorLayout::strided(&[ROWS, cols], &strides, start, 16).unwrap();
                let kernels = check_complex::<E>(device, &src, &dst, Some(&dst), false);
                assert!(!is_ours() || kernels.contains(&kernel), "{dst:?}: {kernels:?}");
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
