//! Arithmetic on the way against an oracle, bit for bit, on the simulator and on a GPU.

mod complex;
mod numbers;
mod random;

use complex::{complex_numbers_become_wide, complex_sums_in_windows};
use numbers::{Sample, computed, edges};
use random::{
    Side, laid_out, random_channels, random_complex, random_layouts, random_pixels, random_sums,
    random_windows,
};
use std::collections::HashMap;
use transpose::interop::half::{bf16, f16};
use transpose::interop::num_complex::Complex32;
use transpose::{
    Arithmetic, ArithmeticPlan, ConvertTo, Device, DeviceMatrix, DeviceTensor, E4M3, E5M2, Error,
    NormalizingPlan, Number, TensorLayout,
};
use transpose_tests::{Element, is_ours, offsets, on_both_devices};

on_both_devices! {
    integers_become,
    narrow_numbers_become,
    halves_become,
    wide_numbers_become,
    products_are_rounded,
    sums_are_rounded,
    transposes_of_every_size,
    matrices_of_many_tiles,
    tiles_that_meet,
    sums_of_every_layout,
    sums_in_two_passes,
    moved_and_computed,
    in_boxes,
    bytes_in_order,
    in_runs,
    windows_on_units,
    lines,
    sums_in_boxes,
    sums_in_boxes_apart,
    complex_runs,
    complex_sums_in_boxes,
    complex_sums_in_windows,
    onto_the_destination,
    random_layouts,
    random_sums,
    random_channels,
    random_pixels,
    random_windows,
    random_complex,
    complex_numbers_become_wide,
    pixels_of_few_channels,
    mirrored_pixels,
    cropped_pixels,
    channels_of_their_own,
    channels_in_order,
    channels_by_place,
    tables_of_calls_that_nobody_waits_for,
    complex_numbers,
    complex_factors,
    matrices,
    plans_are_for_layouts,
    kernels_are_chosen,
    nothing_to_compute,
}

/// Factors as the test has them.
trait Factor: Copy {
    fn of(value: f64) -> Self;
}

impl Factor for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Factor for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// Numbers that a test converts to each other: real ones.
trait Real: Sample<Kind = transpose::kind::Real, Factor: Factor> {}
impl<T: Sample<Kind = transpose::kind::Real, Factor: Factor>> Real for T {}

/// Numbers of any bits.
fn any<T: Sample>(len: usize, salt: u64) -> Vec<T> {
    (0..len).map(|index| T::of_bits(u64::scrambled(index, salt))).collect()
}

/// Complex numbers whose parts are between -8 and 9.
fn complex(len: usize, salt: u64) -> Vec<Complex32> {
    let part = |at| (u32::scrambled(at, salt) >> 8) as f32 / 1e6 - 8.0;
    (0..len).map(|at| Complex32::new(part(2 * at), part(2 * at + 1))).collect()
}

/// Elements up to the last one of a layout.
fn extent(layout: &TensorLayout) -> usize {
    offsets(layout).iter().max().map_or(0, |last| last + 1)
}

fn assert_same<U: Sample>(actual: &[U], expected: &[U], what: impl std::fmt::Display) {
    assert_eq!(actual.len(), expected.len());
    for (at, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        let (actual, expected) = (actual.bits(), expected.bits());
        assert!(actual == expected, "{what}: {actual:#x} at {at}, not {expected:#x}");
    }
}

/// The ways that a test runs. A GPU runs all of them; on the simulator two of one kernel, which differ in their tiles or boxes, are enough.
fn enough<P>(
    device: &Device,
    plans: Vec<P>,
    kernels: impl Fn(&P) -> Vec<&'static str>,
) -> impl Iterator<Item = P> {
    let (most, mut ran) = (if device.is_gpu() { usize::MAX } else { 2 }, HashMap::new());
    plans.into_iter().filter(move |plan| {
        let of_kernels: &mut usize = ran.entry(kernels(plan)).or_default();
        *of_kernels += 1;
        *of_kernels <= most
    })
}

/// Computes `α·a`, or `α·a + β·b`, from layout to layout, by all ways that [`enough`] leaves, and compares all of the destination's memory.
fn check_layouts<T: Real, U: Real>(
    device: &Device,
    [alpha, beta]: [f64; 2],
    src: &TensorLayout,
    dst: &TensorLayout,
    other: Option<&TensorLayout>,
) -> Vec<&'static str> {
    if !is_ours() {
        return Vec::new();
    }
    let (from, to) = (offsets(src), offsets(dst));
    let a: Vec<T> = any(extent(src), 1);
    let before: Vec<U> = any(extent(dst) + 5, 2);
    let b: Vec<U> = any(other.map_or(0, extent), 3);
    let mut expected = before.clone();
    let second = other.map(offsets);
    for (at, (&from, &to)) in from.iter().zip(&to).enumerate() {
        let b = second.as_ref().map(|second| (beta, b[second[at]]));
        expected[to] = computed(alpha, a[from], b);
    }
    let scaling = Arithmetic::<U>::scaling(U::Factor::of(alpha));
    let all = Laid { src, dst, other };
    all.by_every_way(device, (scaling, U::Factor::of(beta)), [&b, &before], &a, |plan, results| {
        assert_same(results, &expected, plan);
    })
}

/// Where the elements of a source, a destination, and a second operand, if there is one, lie in memory.
#[derive(Clone, Copy)]
struct Laid<'a> {
    src: &'a TensorLayout,
    dst: &'a TensorLayout,
    other: Option<&'a TensorLayout>,
}

impl Laid<'_> {
    /// Computes by all ways that [`enough`] leaves, each time to what the destination had `before`, and shows `check` all of its memory; the kernels.
    fn by_every_way<T: ConvertTo<U>, U: Number>(
        self,
        device: &Device,
        (operation, beta): (Arithmetic<U>, U::Factor),
        [b, before]: [&[U]; 2],
        a: &[T],
        check: impl Fn(&ArithmeticPlan<T, U>, &[U]),
    ) -> Vec<&'static str> {
        let Laid { src, dst, other } = self;
        let memory = DeviceTensor::from_host(device, &[a.len()], a).unwrap();
        let second = DeviceTensor::from_host(device, &[b.len()], b).unwrap();
        let mut target = DeviceTensor::from_host(device, &[before.len()], before).unwrap();
        let source = memory.window(src).unwrap();
        let operand = other.map(|other| second.window(other).unwrap());
        let window = target.window_mut(dst).unwrap();
        let plans = match operand {
            None => ArithmeticPlan::candidates(&operation, source, window),
            Some(b) => ArithmeticPlan::candidates_adding(&operation, source, beta, b, window),
        };
        let mut kernels = Vec::new();
        for plan in enough(device, plans.unwrap(), ArithmeticPlan::kernel_names) {
            target.copy_from_host(before).unwrap();
            let window = target.window_mut(dst).unwrap();
            match operand {
                None => plan.run(source, window),
                Some(b) => plan.run_adding(source, b, window),
            }
            .unwrap_or_else(|error| panic!("{plan}: {error}"));
            check(&plan, &target.to_host().unwrap());
            kernels.extend(plan.kernel_names());
        }
        kernels
    }
}

/// Computes `b ← α·a + β·b` from layout to layout, by all ways that [`enough`] leaves, one of which is a kernel's, and compares all of the destination's memory.
fn check_onto<T: Real, U: Real>(
    device: &Device,
    src: &TensorLayout,
    dst: &TensorLayout,
    kernel: Option<&str>,
) {
    let (from, to) = (offsets(src), offsets(dst));
    let (a, before): (Vec<T>, Vec<U>) = (any(extent(src), 1), any(extent(dst) + 5, 2));
    let mut expected = before.clone();
    for (&from, &to) in from.iter().zip(&to) {
        expected[to] = computed(0.5, a[from], Some((-2.0, before[to])));
    }
    let memory = DeviceTensor::from_host(device, &[a.len()], &a).unwrap();
    let mut target = DeviceTensor::from_host(device, &[before.len()], &before).unwrap();
    let source = memory.window(src).unwrap();
    let (half, minus_two) = (U::Factor::of(0.5), U::Factor::of(-2.0));
    let scaling = Arithmetic::<U>::scaling(half);
    let window = target.window_mut(dst).unwrap();
    let plans = ArithmeticPlan::<T, U>::candidates_onto(&scaling, source, minus_two, window);
    let plans = plans.unwrap();
    let is_there = |kernel: &str| {
        let is_it = |plan: &ArithmeticPlan<T, U>| {
            plan.kernel_names().iter().any(|name| name.starts_with(kernel))
        };
        plans.iter().any(is_it)
    };
    assert!(kernel.is_none_or(is_there), "{src:?} to {dst:?}");
    for plan in enough(device, plans, ArithmeticPlan::kernel_names) {
        target.copy_from_host(&before).unwrap();
        plan.run_onto(source, target.window_mut(dst).unwrap()).unwrap();
        assert_same(&target.to_host().unwrap(), &expected, plan);
    }
}

fn contiguous(shape: &[usize]) -> TensorLayout {
    TensorLayout::contiguous(shape, 8).unwrap()
}

/// Converts numbers around every value where the result changes, side by side and transposed.
fn check_pair<T: Real, U: Real>(device: &Device) {
    let mut numbers = edges::<T, U>();
    numbers.resize(numbers.len().next_multiple_of(24), T::of_bits(0));
    let expected: Vec<U> = numbers.iter().map(|&a| computed(1.0, a, None)).collect();
    let what = format!("{} to {}", std::any::type_name::<T>(), std::any::type_name::<U>());
    let tensor = DeviceTensor::from_host(device, &[numbers.len() / 24, 24], &numbers).unwrap();
    assert_same(&tensor.converted::<U>().unwrap().to_host().unwrap(), &expected, &what);
    let turned = tensor.view().t().converted::<U>().unwrap();
    assert_same(&turned.transposed().unwrap().to_host().unwrap(), &expected, &what);
}

/// To all formats.
fn check_from<T: Real>(device: &Device) {
    check_pair::<T, u8>(device);
    check_pair::<T, i8>(device);
    check_pair::<T, u16>(device);
    check_pair::<T, i16>(device);
    check_pair::<T, u32>(device);
    check_pair::<T, i32>(device);
    check_pair::<T, E4M3>(device);
    check_pair::<T, E5M2>(device);
    check_pair::<T, f16>(device);
    check_pair::<T, bf16>(device);
    check_pair::<T, f32>(device);
    check_pair::<T, f64>(device);
}

fn integers_become(device: &Device) {
    check_from::<u8>(device);
    check_from::<i8>(device);
    check_from::<u16>(device);
    check_from::<i16>(device);
    check_from::<u32>(device);
    check_from::<i32>(device);
}

fn narrow_numbers_become(device: &Device) {
    check_from::<E4M3>(device);
    check_from::<E5M2>(device);
}

fn halves_become(device: &Device) {
    check_from::<f16>(device);
    check_from::<bf16>(device);
}

fn wide_numbers_become(device: &Device) {
    check_from::<f32>(device);
    check_from::<f64>(device);
}

/// Any numbers by factors, also ones that make them subnormal, infinite or none.
fn products_are_rounded(device: &Device) {
    fn check<T: Real>(device: &Device) {
        for alpha in [-0.3, 1e-30, 1e20, 0.0, f64::INFINITY] {
            check_layouts::<T, T>(
                device,
                [alpha, 0.0],
                &contiguous(&[777]),
                &contiguous(&[777]),
                None,
            );
        }
    }
    check::<i16>(device);
    check::<E4M3>(device);
    check::<f16>(device);
    check::<bf16>(device);
    check::<f32>(device);
    check::<f64>(device);
    check::<i32>(device);
}

fn sums_are_rounded(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        let (row, rows) = (contiguous(&[40, 30]), contiguous(&[30, 40]).t());
        for factors in [[1.0, 1.0], [-0.7, 1.3]] {
            check_layouts::<T, U>(device, factors, &row, &row, Some(&row));
            check_layouts::<T, U>(device, factors, &rows, &row, Some(&row));
        }
    }
    check::<f16, f16>(device);
    check::<bf16, bf16>(device);
    check::<f16, f32>(device);
    check::<f32, f32>(device);
    check::<f64, f64>(device);
    check::<f32, f64>(device);
    check::<u8, E5M2>(device);
}

/// Whole and cut tiles, rows that start on vectors and anywhere, of every size of source and destination.
fn transposes_of_every_size(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        for (rows, cols) in [(64, 96), (33, 70), (129, 5)] {
            let src = contiguous(&[rows, cols]).t();
            check_layouts::<T, U>(device, [0.5, 0.0], &src, &contiguous(&[cols, rows]), None);
            let gaps = TensorLayout::strided(&[cols, rows], &[rows as isize + 3, 1], 3, 8).unwrap();
            check_layouts::<T, U>(device, [0.5, 0.0], &src, &gaps, None);
        }
    }
    fn from<T: Real>(device: &Device) {
        check::<T, u8>(device);
        check::<T, f16>(device);
        check::<T, f32>(device);
        check::<T, f64>(device);
    }
    from::<u8>(device);
    from::<bf16>(device);
    from::<f32>(device);
    from::<f64>(device);
}

/// Matrices and batches of several tiles, of rows that start on vectors and anywhere, alone and with a second operand that lies as the destination or as the
/// source.
fn matrices_of_many_tiles(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, [count, rows, cols]: [usize; 3], adds: bool) {
        let dst = contiguous(&[count, cols, rows]);
        let src = contiguous(&[count, rows, cols]).permute_axes(&[0, 2, 1]).unwrap();
        // As the destination, with gaps that are no whole vectors.
        let strides = [cols * (rows + 3) + 1, rows + 3, 1].map(|stride| stride as isize);
        let gaps = TensorLayout::strided(&[count, cols, rows], &strides, 1, 8).unwrap();
        let others = if adds { vec![Some(&dst), Some(&src), Some(&gaps)] } else { vec![None] };
        for other in others {
            check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, other);
        }
    }
    check::<u8, f16>(device, [1, 300, 530], false);
    check::<u8, f32>(device, [2, 143, 272], false);
    check::<f16, f16>(device, [1, 264, 272], true);
    check::<bf16, bf16>(device, [1, 261, 259], true);
    check::<f32, f32>(device, [2, 160, 132], true);
    check::<f32, f32>(device, [1, 251, 131], true);
    check::<f32, f16>(device, [1, 259, 77], true);
    check::<f32, f16>(device, [2, 259, 251], false);
    check::<f16, f32>(device, [2, 243, 499], false);
    check::<f32, f16>(device, [1, 283, 131], true);
    check::<f32, E4M3>(device, [1, 203, 135], true);
    check::<f16, E4M3>(device, [1, 391, 131], true);
    check::<f64, f64>(device, [3, 66, 70], true);
    check::<f64, f32>(device, [1, 135, 131], true);
    check::<f64, f16>(device, [1, 132, 68], false);
    // Rows that start on units, and not on two of them.
    check::<f64, f32>(device, [1, 134, 66], true);
    check::<f64, i16>(device, [2, 66, 70], false);
    check::<i32, f64>(device, [1, 131, 129], true);
    // Columns that start on units of wider results, but not on vectors of the source's elements, and on no units at all.
    check::<f16, f32>(device, [1, 460, 70], true);
    check::<u8, f32>(device, [1, 452, 70], true);
    check::<u8, f16>(device, [2, 456, 69], true);
    check::<u8, f16>(device, [1, 530, 131], true);
    check::<E4M3, u8>(device, [1, 371, 130], true);
    // Both transposed, of rows that start anywhere.
    check::<f64, f64>(device, [1, 131, 67], true);
    check::<i32, f32>(device, [2, 129, 127], true);
    check::<f16, u16>(device, [3, 7, 5], true);
    // Batches of matrices that boxes have several of.
    check::<f16, f32>(device, [5, 363, 17], false);
    check::<u8, f32>(device, [41, 23, 37], false);
    check::<u8, f16>(device, [40, 19, 101], false);
    check::<bf16, bf16>(device, [40, 19, 101], false);
    check::<E4M3, E5M2>(device, [70, 9, 51], false);
    check::<f32, E4M3>(device, [70, 9, 51], false);
    check::<f32, f64>(device, [70, 9, 51], false);
}

/// Tiles that meet on units of the destination, of runs whose last tile has all its rows or few.
fn tiles_that_meet(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, all: &[usize]) {
        for &rows in all {
            let src = contiguous(&[rows, 68]).t();
            let dst = TensorLayout::strided(&[68, rows], &[rows as isize + 3, 1], 0, 8).unwrap();
            let kernels = check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, Some(&dst));
            assert!(has_kernel(&kernels, Some("compute_tiles")), "{kernels:?}");
        }
    }
    check::<bf16, bf16>(device, &[112, 113, 176, 182, 240, 368]);
    check::<f32, f32>(device, &[120, 121, 184, 247, 248, 376]);
    check::<f32, f16>(device, &[120, 184, 187]);
    check::<u8, f16>(device, &[240, 243, 368]);
    check::<f64, f64>(device, &[60, 61, 92]);
}

/// The second operand lies as the destination, as the source, or as neither.
fn sums_of_every_layout(device: &Device) {
    let dst = contiguous(&[40, 48]);
    let turned = contiguous(&[48, 40]).t();
    let spread = TensorLayout::strided(&[40, 48], &[-2, 81], 78, 8).unwrap();
    let repeated = contiguous(&[48]).broadcast(&[40, 48]).unwrap();
    for src in [&dst, &turned, &spread, &repeated] {
        for other in [&dst, &turned, &spread, &repeated] {
            check_layouts::<f32, f32>(device, [2.0, -0.5], src, &dst, Some(other));
            check_layouts::<u8, f16>(device, [2.0, -0.5], src, &dst, Some(other));
        }
    }
}

/// Three axes, of which source, second operand and destination each have another order: in two passes where these give the same bits.
fn sums_in_two_passes(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, shape: [usize; 3], are_two: bool) {
        let [a, b, c] = shape;
        let src = contiguous(&[c, a, b]).permute_axes(&[1, 2, 0]).unwrap();
        let other = contiguous(&[b, c, a]).permute_axes(&[2, 0, 1]).unwrap();
        let dst = contiguous(&shape);
        let mirrored = dst.slice(2, .., -1).unwrap();
        check_layouts::<T, U>(device, [0.375, -1.75], &src, &mirrored, Some(&other));
        check_layouts::<T, U>(device, [0.375, -1.75], &src, &dst, Some(&other));
        let (x, y) = (zeros::<T>(device, &src), zeros::<U>(device, &other));
        let mut z = zeros::<U>(device, &dst);
        let scaling = Arithmetic::<U>::scaling(U::Factor::of(0.5));
        let (x, y) = (x.window(&src).unwrap(), y.window(&other).unwrap());
        let z = z.window_mut(&dst).unwrap();
        let plan = ArithmeticPlan::adding(&scaling, x, U::Factor::of(2.0), y, z).unwrap();
        assert_eq!(plan.kernel_names().len(), 1 + usize::from(are_two), "{plan}");
    }
    fn zeros<E: Real>(device: &Device, layout: &TensorLayout) -> DeviceTensor<E> {
        DeviceTensor::zeroed(device, &[extent(layout)]).unwrap()
    }
    check::<f32, f32>(device, [40, 48, 36], true);
    check::<u8, f32>(device, [48, 32, 64], true);
    check::<f32, f64>(device, [24, 40, 32], true);
    // The product would be rounded once more: the second operand is moved.
    check::<f16, f16>(device, [40, 48, 36], true);
    check::<f64, f32>(device, [24, 40, 32], true);
}

/// A move and a pass that computes, one after the other: all candidates of `onto` are right, and large batches of small matrices go that way.
fn moved_and_computed(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, shape: [usize; 3], waiting: usize) {
        let [count, rows, cols] = shape;
        let a: Vec<T> = any(count * rows * cols, 1);
        let before: Vec<U> = any(a.len(), 2);
        let mut expected = before.clone();
        for (at, sum) in expected.iter_mut().enumerate() {
            let (matrix, at) = (at / (rows * cols), at % (rows * cols));
            let from = matrix * rows * cols + at % rows * cols + at / rows;
            *sum = computed(0.5, a[from], Some((-2.0, *sum)));
        }
        let source = DeviceTensor::from_host(device, &shape, &a).unwrap();
        let turned = source.view().permute_axes(&[0, 2, 1]).unwrap();
        let mut target = DeviceTensor::from_host(device, &[count, cols, rows], &before).unwrap();
        let (half, minus_two) = (U::Factor::of(0.5), U::Factor::of(-2.0));
        let scaling = Arithmetic::<U>::scaling(half);
        let plans =
            ArithmeticPlan::<T, U>::candidates_onto(&scaling, turned, minus_two, &mut target);
        let plans = plans.unwrap();
        for plan in &plans {
            target.copy_from_host(&before).unwrap();
            plan.run_onto(turned, &mut target).unwrap();
            assert_same(&target.to_host().unwrap(), &expected, plan);
        }
        let most = plans.iter().map(ArithmeticPlan::scratch).max();
        assert_eq!(most, Some(waiting * a.len()), "{shape:?}");
    }
    check::<f32, f32>(device, [70, 7, 9], 4);
    check::<u8, f32>(device, [40, 12, 5], 1);
    check::<bf16, bf16>(device, [33, 3, 14], 2);
    // A part of the sum would be rounded.
    check::<f32, f16>(device, [40, 12, 5], 0);

    fn chosen<T: Real, U: Real>(device: &Device) -> (Vec<&'static str>, usize) {
        let source = DeviceTensor::<T>::zeroed(device, &[200_000, 9, 11]).unwrap();
        let mut target = DeviceTensor::<U>::zeroed(device, &[200_000, 11, 9]).unwrap();
        let turned = source.view().permute_axes(&[0, 2, 1]).unwrap();
        let (scaling, one) = (Arithmetic::<U>::scaling(U::Factor::of(0.5)), U::Factor::of(1.0));
        let plan = ArithmeticPlan::<T, U>::onto(&scaling, turned, one, &mut target).unwrap();
        (plan.kernel_names(), plan.scratch() / (200_000 * 99))
    }
    // What is added to keeps its place: elements wait in between.
    assert_eq!(chosen::<i16, i16>(device), (vec!["batch_b2", "compute_units_b2"], 2));
    assert_eq!(chosen::<i8, f32>(device), (vec!["batch_b1", "compute_units_b1"], 1));
}

/// Batches of small matrices, short axes in any order, and runs of a few elements: through boxes, to which every size of element and of word comes.
fn in_boxes(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        let turned = |shape: &[usize], order: &[usize]| {
            let src = contiguous(shape).permute_axes(order).unwrap();
            let dst = contiguous(src.shape());
            check_layouts::<T, U>(device, [0.5, 0.0], &src, &dst, None);
        };
        turned(&[5, 7, 9], &[0, 2, 1]);
        turned(&[3, 40, 66], &[0, 2, 1]);
        // Words of two and of four elements.
        turned(&[6, 5, 4, 2], &[2, 1, 0, 3]);
        turned(&[3, 7, 9, 4], &[1, 2, 0, 3]);
        // Stretches long enough to be loaded by whole vectors, which start anywhere.
        turned(&[2, 3, 301], &[2, 1, 0]);
        // Rows with gaps behind them, which a box holds apart: what a thread computes others have loaded.
        let gaps = TensorLayout::strided(&[3, 21, 35], &[21 * 43 + 5, 43, 1], 3, 8).unwrap();
        let src = gaps.permute_axes(&[0, 2, 1]).unwrap();
        let dst = contiguous(src.shape());
        check_layouts::<T, U>(device, [0.5, 0.0], &src, &dst, None);
        // Pictures that are flipped, whose channels are in reverse order, and both on the way to planes; words of two and of four elements; elements and rows that are repeated.
        for (shape, axes) in [
            (&[3, 1201][..], &[1][..]),
            (&[4, 31, 3], &[1]),
            (&[4, 31, 3], &[2]),
            (&[5, 21, 4], &[1, 0]),
            (&[9, 40, 2], &[1]),
        ] {
            let whole = TensorLayout::contiguous(shape, 8).unwrap();
            let flip = |src: TensorLayout, &axis: &usize| src.slice(axis, .., -1).unwrap();
            let src = axes.iter().fold(whole, flip);
            check_layouts::<T, U>(device, [0.5, 0.0], &src, &contiguous(shape), None);
            let last = shape.len() - 1;
            let planes = src.swap_axes(last - 1, last).unwrap();
            check_layouts::<T, U>(device, [0.5, 0.0], &planes, &contiguous(planes.shape()), None);
            let mut many = shape.to_vec();
            many.push(5);
            let src = src.insert_axis(last + 1).unwrap().broadcast(&many).unwrap();
            check_layouts::<T, U>(device, [0.5, 0.0], &src, &contiguous(&many), None);
        }
    }
    fn from<T: Real>(device: &Device) {
        check::<T, u8>(device);
        check::<T, f16>(device);
        check::<T, f32>(device);
        check::<T, f64>(device);
    }
    from::<E5M2>(device);
    from::<i16>(device);
    from::<f32>(device);
    from::<f64>(device);

    /// The kernels of the plan for a large batch of small matrices.
    fn chosen<T: Real, U: Real>(device: &Device) -> Vec<&'static str> {
        let source = DeviceTensor::<T>::zeroed(device, &[200_000, 9, 11]).unwrap();
        let mut target = DeviceTensor::<U>::zeroed(device, &[200_000, 11, 9]).unwrap();
        let turned = source.view().permute_axes(&[0, 2, 1]).unwrap();
        let scaling = Arithmetic::<U>::scaling(U::Factor::of(0.5));
        ArithmeticPlan::<T, U>::new(&scaling, turned, &mut target).unwrap().kernel_names()
    }
    let are_boxes = |names: Vec<&str>| matches!(names[..], [name] if name.starts_with("compute_boxes") || name.starts_with("compute_pieces"));
    assert!(are_boxes(chosen::<f32, f16>(device)));
    assert!(are_boxes(chosen::<bf16, bf16>(device)));
    assert!(are_boxes(chosen::<f16, f32>(device)));
}

/// Windows of arrays in their order: runs that start and end anywhere, in each memory otherwise.
fn in_runs(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        // Rows, elements of each, elements between those of each memory, and where they start.
        let windows = [
            ([3, 70], [1, 2, 5], [0, 0, 0]),
            ([2, 131], [9, 16, 3], [1, 1, 1]),
            ([5, 67], [7, 7, 7], [3, 3, 3]),
            ([4, 64], [16, 0, 8], [5, 2, 1]),
            ([1, 1500], [0, 0, 0], [1, 3, 2]),
            ([2, 1025], [0, 31, 1], [0, 1, 7]),
        ];
        for ([rows, cols], gaps, starts) in windows {
            let layout = |memory: usize| {
                let strides = [(cols + gaps[memory]) as isize, 1];
                TensorLayout::strided(&[rows, cols], &strides, starts[memory], 8).unwrap()
            };
            let [src, dst, other] = [0, 1, 2].map(layout);
            check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, None);
            check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, Some(&other));
            check_onto::<T, U>(device, &src, &dst, Some("compute_runs"));
        }
        // Runs in another order, backwards ones, and more axes.
        let source = contiguous(&[3, 4, 2, 69]);
        let dst = laid_out(&[2, 3, 4, 69], &[0, 1, 2, 3], 0, |gap| Side {
            is_mirrored: false,
            step: 1,
            gap,
        });
        let src = source.permute_axes(&[2, 0, 1, 3]).unwrap().slice(1, .., -1).unwrap();
        check_layouts::<T, U>(device, [1.5, 0.25], &src, &dst, None);
        check_onto::<T, U>(device, &src, &dst, Some("compute_runs"));
    }
    fn from<T: Real>(device: &Device) {
        check::<T, i8>(device);
        check::<T, bf16>(device);
        check::<T, f32>(device);
        check::<T, f64>(device);
    }
    from::<u8>(device);
    from::<f16>(device);
    from::<f32>(device);
    from::<f64>(device);

    let source = DeviceTensor::<f32>::zeroed(device, &[1000, 1003]).unwrap();
    let mut target = DeviceTensor::<f16>::zeroed(device, &[1000, 1001]).unwrap();
    let window = source.view().slice(1, 1..1001, 1).unwrap();
    let scaling = Arithmetic::<f16>::scaling(0.5);
    let plan =
        ArithmeticPlan::new(&scaling, window, target.view_mut().slice(1, ..1000, 1).unwrap());
    assert_eq!(plan.unwrap().kernel_names(), ["compute_runs_b4"]);
}

/// Checks the pairs of types whose numbers have 4 bytes at most, one for each pair of sizes.
macro_rules! check_narrow {
    ($check:ident, $device:ident) => {
        $check::<u8, E4M3>($device);
        $check::<u8, f16>($device);
        $check::<u8, f32>($device);
        $check::<f16, u8>($device);
        $check::<bf16, f16>($device);
        $check::<f16, f32>($device);
        $check::<f32, u8>($device);
        $check::<f32, bf16>($device);
        $check::<f32, f32>($device);
    };
}

/// Checks windows of so many matrices, rows and columns of a source that has `start` columns before them and none behind, or three behind if there are none before: to a destination, from the last row to the first, and with matrices and rows in another order to memory without gaps;
/// with what is added, and with a factor and a summand for each matrix, each row and each column. If a kernel is named, it is one of the ways.
fn check_windows<T: Real, U: Real>(
    device: &Device,
    [matrices, rows, cols]: [usize; 3],
    start: usize,
    dst: TensorLayout,
    kernel: Option<&str>,
) {
    let all = contiguous(&[matrices, rows, start + cols + 3 * usize::from(start == 0)]);
    let window = all.slice(2, start..start + cols, 1).unwrap();
    let upside_down = window.slice(1, .., -1).unwrap();
    let turned = |layout: &TensorLayout| layout.permute_axes(&[1, 0, 2]).unwrap();
    for (src, dst) in [
        (window, dst),
        (upside_down, dst),
        (turned(&window), turned(&contiguous(&[matrices, rows, cols]))),
    ] {
        let kernels = check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, None);
        assert!(has_kernel(&kernels, kernel), "{kernels:?}");
        check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, Some(&dst));
        check_onto::<T, U>(device, &src, &dst, kernel);
        for axis in 0..3 {
            let kernels = check_channels::<T, U>(device, &src, &dst, axis);
            // Lines of several channels are none.
            let named = kernel.filter(|_| axis == 0 && src.shape()[0] > 1);
            assert!(has_kernel(&kernels, named), "{kernels:?}");
        }
    }
}

/// Windows whose rows start on units of the destination, and anywhere in the source: in as many rows as threads have, fewer and more.
fn windows_on_units(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        // Matrices, rows, columns, where columns start in the source, and gaps behind rows of the destination.
        for ([matrices, rows, cols], start, gap) in
            [([1, 5, 72], 1, 0), ([3, 4, 64], 3, 8), ([5, 2, 8], 6, 16), ([2, 9, 136], 0, 0)]
        {
            let dst = contiguous(&[matrices, rows, cols + gap]).slice(2, ..cols, 1).unwrap();
            check_windows::<T, U>(device, [matrices, rows, cols], start, dst, Some("compute_slid"));
        }
    }
    check_narrow!(check, device);
}

/// Windows whose rows follow each other in the destination, or lie between gaps, and start and end inside units on both sides; rows shorter than a unit, too.
fn lines(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        // Matrices, rows, columns, where columns start in the source, and gaps before rows of the destination.
        for ([matrices, rows, cols], start, gap) in [
            ([2, 5, 71], 1, 0),
            ([3, 30, 35], 3, 5),
            ([5, 6, 3], 6, 0),
            ([2, 70, 18], 2, 0),
            ([2, 3, 33], 0, 0),
            ([1, 3, 901], 1, 0),
            ([3, 17, 143], 2, 0),
            ([2, 2, 8], 1, 1),
        ] {
            let dst = contiguous(&[matrices, rows, cols + gap]).slice(2, gap.., 1).unwrap();
            // A warp's rows are as many as it has lanes at most.
            let kernel = (cols >= 71).then_some("compute_lines");
            check_windows::<T, U>(device, [matrices, rows, cols], start, dst, kernel);
        }
    }
    check_narrow!(check, device);
}

/// Checks the sums that there are boxes for.
macro_rules! check_sums {
    ($check:ident, $device:ident) => {
        $check::<f16, f16>($device);
        $check::<bf16, bf16>($device);
        $check::<f32, f32>($device);
        $check::<f64, f64>($device);
        $check::<u8, bf16>($device);
        $check::<u8, f16>($device);
        $check::<u8, f32>($device);
        $check::<bf16, f32>($device);
        $check::<f16, f32>($device);
        $check::<f32, bf16>($device);
        $check::<f32, f16>($device);
    };
}

/// The kernel that adds boxes of one type to another one, or to the same.
fn kernel_of_sums<T, U>() -> &'static str {
    match std::any::type_name::<T>() == std::any::type_name::<U>() {
        true => "compute_boxes_beside",
        false => "compute_boxes_mixed",
    }
}

/// Sums of small matrices, of short axes in any order and of long stretches, with what lies as the destination does, and with the destination itself, all ways that there are.
fn sums_in_boxes(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        let both = |src: &TensorLayout, dst: &TensorLayout| {
            check_layouts::<T, U>(device, [0.5, -3.0], src, dst, Some(dst));
            check_onto::<T, U>(device, src, dst, Some(kernel_of_sums::<T, U>()));
        };
        let turned = |shape: &[usize], order: &[usize]| {
            let src = contiguous(shape).permute_axes(order).unwrap();
            both(&src, &contiguous(src.shape()));
        };
        // Stretches that follow each other: of few elements, and of some that are no whole vectors.
        turned(&[5, 7, 9], &[0, 2, 1]);
        turned(&[17, 23, 37], &[0, 2, 1]);
        turned(&[1, 3, 700], &[0, 2, 1]);
        turned(&[2, 19, 501], &[0, 2, 1]);
        // Long ones that do not, words in short runs, and more axes.
        turned(&[3, 21, 350], &[1, 0, 2]);
        turned(&[140, 150], &[1, 0]);
        turned(&[33, 5, 2, 12, 4], &[3, 1, 0, 4, 2]);
        turned(&[6, 5, 14, 2], &[2, 1, 0, 3]);
        turned(&[301, 6, 4], &[1, 0, 2]);
        // Rows with gaps behind them on both sides, and an odd start.
        let rows = |shape: [usize; 3], gap: usize| {
            let [_, rows, cols] = shape;
            let strides = [rows * (cols + gap) + 1, cols + gap, 1].map(|stride| stride as isize);
            TensorLayout::strided(&shape, &strides, 3, 8).unwrap()
        };
        let src = rows([3, 21, 35], 8).permute_axes(&[0, 2, 1]).unwrap();
        both(&src, &rows([3, 35, 21], 0));
        both(&src, &rows([3, 35, 21], 2));
        let src = rows([2, 90, 11], 1).permute_axes(&[0, 2, 1]).unwrap();
        both(&src, &rows([2, 11, 90], 7));
        both(&src.slice(1, .., -1).unwrap(), &rows([2, 11, 90], 1));
        both(&rows([2, 11, 90], 0).slice(2, .., -1).unwrap(), &rows([2, 11, 90], 1));
        both(&rows([3, 40, 5], 0).slice(1, .., -1).unwrap(), &rows([3, 40, 5], 0));
    }
    check_sums!(check, device);

    let source = DeviceTensor::<f32>::zeroed(device, &[200_000, 9, 11]).unwrap();
    let mut target = DeviceTensor::<f32>::zeroed(device, &[200_000, 11, 9]).unwrap();
    let turned = source.view().permute_axes(&[0, 2, 1]).unwrap();
    let scaling = Arithmetic::<f32>::scaling(0.5);
    let plan = ArithmeticPlan::onto(&scaling, turned, 1.0, &mut target).unwrap();
    assert_eq!(plan.kernel_names(), ["compute_boxes_beside_b4"]);
    let mut target = DeviceTensor::<bf16>::zeroed(device, &[200_000, 11, 9]).unwrap();
    let scaling = Arithmetic::<bf16>::scaling(0.5);
    let plan = ArithmeticPlan::onto(&scaling, turned, 1.0, &mut target).unwrap();
    assert_eq!(plan.kernel_names(), ["compute_boxes_mixed_b4"]);
}

/// Sums in boxes with what has its stretches elsewhere than the destination: with other gaps between them, in another order, backwards, or behind an odd start.
fn sums_in_boxes_apart(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device) {
        // Of a shape, the axes in an order of memory, the gaps behind the rows of the last one and behind all of the next, and where it starts.
        let layout = |shape: &[usize], order: &[usize], gaps: [usize; 2], start: usize| {
            let (mut strides, mut step) = (vec![0; shape.len()], 1);
            for (place, &axis) in order.iter().rev().enumerate() {
                strides[axis] = step as isize;
                step = step * shape[axis] + gaps.get(place).copied().unwrap_or(0);
            }
            TensorLayout::strided(shape, &strides, start, 8).unwrap()
        };
        let all = |order: &[usize], of_source: &[usize], shape: &[usize], is_backwards: bool| {
            let in_order: Vec<usize> = (0..shape.len()).collect();
            let src = layout(shape, of_source, [2, 0], 1);
            for (dst, other) in [([0, 0], [3, 0]), ([1, 0], [0, 0]), ([0, 0], [1, 5])] {
                let other = layout(shape, order, other, 3);
                let other = if is_backwards { other.slice(0, .., -1).unwrap() } else { other };
                let dst = layout(shape, &in_order, dst, 1);
                let kernels = check_layouts::<T, U>(device, [0.5, -3.0], &src, &dst, Some(&other));
                let is_there = has_kernel(&kernels, Some(kernel_of_sums::<T, U>()));
                assert!(is_there, "{src:?} to {dst:?} with {other:?}");
            }
        };
        all(&[0, 1, 2], &[0, 2, 1], &[7, 21, 35], false);
        all(&[0, 1, 2], &[0, 2, 1], &[5, 90, 11], true);
        all(&[1, 0, 2], &[2, 0, 1], &[6, 9, 70], false);
        all(&[1, 2, 0, 3], &[3, 1, 0, 2], &[4, 6, 5, 19], true);
        all(&[0, 1], &[1, 0], &[40, 130], false);
        all(&[0, 1], &[1, 0], &[150, 7], true);
        // One stretch for each box, in every memory.
        all(&[0, 1, 2], &[0, 2, 1], &[300, 3, 5], false);
    }
    check_sums!(check, device);
}

/// Conjugates of complex numbers in windows, with complex factors, added to the destination.
fn complex_runs(device: &Device) {
    let (rows, cols) = (9, 43);
    let (a, b) = (complex(rows * (cols + 1), 1), complex(rows * (cols + 2), 2));
    let (alpha, beta) = (Complex32::new(0.3, -1.7), Complex32::new(-0.9, 0.2));
    let source = DeviceTensor::from_host(device, &[rows, cols + 1], &a).unwrap();
    let window = source.view().slice(1, 1.., 1).unwrap();
    let mut sum = DeviceTensor::from_host(device, &[rows, cols + 2], &b).unwrap();
    let conjugating = Arithmetic::scaling(alpha).conjugated();
    let onto = sum.view_mut().slice(1, ..cols, 1).unwrap();
    let plans = ArithmeticPlan::candidates_onto(&conjugating, window, beta, onto).unwrap();
    let names: Vec<_> = plans.iter().flat_map(ArithmeticPlan::kernel_names).collect();
    assert!(names.contains(&"compute_runs_b8"), "{names:?}");
    for plan in plans {
        sum.copy_from_host(&b).unwrap();
        plan.run_onto(window, sum.view_mut().slice(1, ..cols, 1).unwrap()).unwrap();
        for (at, sum) in sum.to_host().unwrap().into_iter().enumerate() {
            let (row, col) = (at / (cols + 2), at % (cols + 2));
            let computed = || alpha * a[row * (cols + 1) + col + 1].conj() + beta * b[at];
            assert_eq!(sum, if col < cols { computed() } else { b[at] }, "{plan}");
        }
    }
}

/// Complex sums of small matrices, of conjugates and with complex factors.
fn complex_sums_in_boxes(device: &Device) {
    let shape = [70, 9, 13];
    let (a, b) = (complex(70 * 9 * 13, 1), complex(70 * 9 * 13, 2));
    let (alpha, beta) = (Complex32::new(0.3, -1.7), Complex32::new(-0.9, 0.2));
    let source = DeviceTensor::from_host(device, &shape, &a).unwrap();
    let turned = source.view().permute_axes(&[0, 2, 1]).unwrap();
    let mut sum = DeviceTensor::from_host(device, &[70, 13, 9], &b).unwrap();
    let conjugating = Arithmetic::scaling(alpha).conjugated();
    let plans = ArithmeticPlan::candidates_onto(&conjugating, turned, beta, &mut sum).unwrap();
    let names: Vec<_> = plans.iter().flat_map(ArithmeticPlan::kernel_names).collect();
    assert!(names.contains(&"compute_boxes_beside_b8"), "{names:?}");
    for plan in plans {
        sum.copy_from_host(&b).unwrap();
        plan.run_onto(turned, &mut sum).unwrap();
        for (at, sum) in sum.to_host().unwrap().into_iter().enumerate() {
            let (matrix, at_in) = (at / 117, at % 117);
            let from = matrix * 117 + at_in % 9 * 13 + at_in / 9;
            assert_eq!(sum, alpha * a[from].conj() + beta * b[at], "{plan}");
        }
    }
    let doubles = source.converted::<[f64; 2]>().unwrap();
    let turned = doubles.view().permute_axes(&[0, 2, 1]).unwrap();
    let mut sum = DeviceTensor::<[f64; 2]>::zeroed(device, &[70, 13, 9]).unwrap();
    let scaling = Arithmetic::scaling([0.0, 2.0]);
    let plans = ArithmeticPlan::candidates_onto(&scaling, turned, [1.0, 0.0], &mut sum).unwrap();
    let names: Vec<_> = plans.iter().flat_map(ArithmeticPlan::kernel_names).collect();
    assert!(names.contains(&"compute_boxes_beside_b16"), "{names:?}");
    for plan in plans {
        sum.copy_from_host(&vec![[1.0, -1.0]; 70 * 117]).unwrap();
        plan.run_onto(turned, &mut sum).unwrap();
        for (at, sum) in sum.to_host().unwrap().into_iter().enumerate() {
            let (matrix, at_in) = (at / 117, at % 117);
            let a = a[matrix * 117 + at_in % 9 * 13 + at_in / 9];
            assert_eq!(sum, [1.0 - 2.0 * f64::from(a.im), 2.0 * f64::from(a.re) - 1.0], "{plan}");
        }
    }
}

fn onto_the_destination(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, rows: usize, cols: usize) {
        let (a, b): (Vec<T>, Vec<U>) = (any(rows * cols, 1), any(rows * cols, 2));
        let mut expected = b.clone();
        for at in 0..rows * cols {
            let from = at % rows * cols + at / rows;
            expected[at] = computed(0.5, a[from], Some((-2.0, b[at])));
        }
        let source = DeviceMatrix::from_host(device, rows, cols, &a).unwrap();
        let mut target = DeviceMatrix::from_host(device, cols, rows, &b).unwrap();
        let (alpha, beta) = (U::Factor::of(0.5), U::Factor::of(-2.0));
        source.view().add_transposed_to(alpha, beta, &mut target).unwrap();
        assert_same(&target.to_host().unwrap(), &expected, "onto the destination");
    }
    check::<f32, f32>(device, 70, 96);
    check::<f64, f64>(device, 33, 47);
    check::<f16, f32>(device, 64, 64);
    check::<bf16, bf16>(device, 57, 31);
}

/// Bytes that stay bytes in their order: single ones, units, and vectors of two units, in one row and in rows with gaps of as many, also from and onto memory that starts inside a vector.
fn bytes_in_order(device: &Device) {
    fn check<T: Real, U: Real>(
        device: &Device,
        [rows, cols]: [usize; 2],
        gap: usize,
        start: usize,
    ) {
        let at = |start| {
            TensorLayout::strided(&[rows, cols], &[(cols + gap) as isize, 1], start, 1).unwrap()
        };
        let (src, dst) = (at(start), at(0));
        for (src, dst) in [(&src, &dst), (&dst, &src)] {
            check_layouts::<T, U>(device, [0.5, 0.0], src, dst, None);
            check_layouts::<T, U>(device, [0.5, -3.0], src, dst, Some(src));
            check_onto::<T, U>(device, src, dst, None);
        }
    }
    for cols in [1, 8, 15, 16, 24, 48, 1040, 4097, 70_000] {
        for (rows, gap, start) in
            [(1, 0, 0), (1, 0, 8), (3, 16, 0), (3, 16, 16), (2, 8, 0), (3, 1, 3)]
        {
            check::<u8, u8>(device, [rows, cols], gap, start);
        }
        check::<u8, E4M3>(device, [3, cols], 32, 16);
        check::<i8, u8>(device, [3, cols], 32, 16);
    }
}

/// Channels behind each other to planes and back, of every size, in whole and cut blocks, from and to memory that starts anywhere.
fn pixels_of_few_channels(device: &Device) {
    /// Two images whose channels lie behind each other, and two of planes.
    fn both(pixels: usize, channels: usize) -> [TensorLayout; 2] {
        [contiguous(&[2, pixels, channels]), contiguous(&[2, channels, pixels])]
    }
    fn turned(layout: &TensorLayout) -> TensorLayout {
        layout.permute_axes(&[0, 2, 1]).unwrap()
    }
    fn check<T: Real, U: Real>(device: &Device, pixels: usize, channels: usize) {
        let [behind, planes] = both(pixels, channels);
        check_layouts::<T, U>(device, [0.5, 0.0], &turned(&behind), &planes, None);
        check_layouts::<T, U>(device, [0.5, 0.0], &turned(&planes), &behind, None);
    }
    /// What has other strides than contiguous arrays.
    fn check_strides<T: Real, U: Real>(device: &Device, pixels: usize, channels: usize) {
        let [behind, planes] = both(pixels, channels);
        // One plane for all channels.
        let repeated = [pixels as isize, 1, 0];
        let repeated =
            TensorLayout::strided(&[2, pixels, channels], &repeated, 0, size_of::<T>()).unwrap();
        check_layouts::<T, U>(device, [0.5, 0.0], &repeated, &behind, None);
        // Channels in reverse order.
        for (src, dst) in [(&behind, &planes), (&planes, &behind)] {
            let channel = if std::ptr::eq(src, &behind) { 2 } else { 1 };
            let src = turned(&src.slice(channel, .., -1).unwrap());
            check_layouts::<T, U>(device, [0.5, 0.0], &src, dst, None);
            check_layouts::<T, U>(device, [0.5, -3.0], &src, dst, Some(dst));
        }
        // A part of each, which starts anywhere.
        let part = |layout: &TensorLayout, axis| layout.slice(axis, 3.., 1).unwrap();
        check_layouts::<T, U>(
            device,
            [0.5, 0.0],
            &turned(&part(&behind, 1)),
            &part(&planes, 2),
            None,
        );
        check_layouts::<T, U>(
            device,
            [0.5, 0.0],
            &turned(&part(&planes, 2)),
            &part(&behind, 1),
            None,
        );
    }
    /// With what lies as the destination does, and with the destination itself.
    fn check_sums<T: Real, U: Real>(device: &Device, pixels: usize, channels: usize) {
        let [behind, planes] = both(pixels, channels);
        for (src, dst) in [(turned(&behind), &planes), (turned(&planes), &behind)] {
            check_layouts::<T, U>(device, [0.5, -3.0], &src, dst, Some(dst));
            check_onto::<T, U>(device, &src, dst, Some("compute_interleaved_sums"));
        }
    }
    macro_rules! check_units {
        ($($from:ty, $to:ty: $whole:literal, $anywhere:literal;)+) => {
            for channels in 2..=4 {
                $(
                    // Whole units, of more pixels than a warp has.
                    check::<$from, $to>(device, $whole, channels);
                    check_sums::<$from, $to>(device, $whole, channels);
                    check_strides::<$from, $to>(device, $whole, channels);
                    // Rows that start anywhere, and have parts of units.
                    check::<$from, $to>(device, $anywhere, channels);
                    check_sums::<$from, $to>(device, $anywhere, channels);
                    check_strides::<$from, $to>(device, $anywhere, channels);
                )+
            }
        };
    }
    check_units! {
        u8, E4M3: 136, 515; u8, f16: 264, 523; u8, f32: 136, 517;
        f16, u8: 264, 521; bf16, f16: 264, 525; f16, f32: 136, 519;
        f32, u8: 136, 513; f32, bf16: 136, 518; f32, f32: 136, 527;
    }
    check::<u8, f16>(device, 1000, 3);
    check::<u8, f32>(device, 640, 4);
    check::<u8, f64>(device, 77, 2);
    check::<f16, u8>(device, 500, 3);
    check::<bf16, f32>(device, 333, 5);
    check::<f32, i16>(device, 130, 16);
    check::<f32, f32>(device, 257, 3);
    check::<f64, f16>(device, 99, 3);
    check::<f32, f64>(device, 64, 23);
}

/// Pixels in descending order, channels in reverse order, and both: of channels that lie together and of planes, to either; whole units and rows that start anywhere, also in the source alone, with one factor, and with numbers of each channel's own.
fn mirrored_pixels(device: &Device) {
    /// Three rows, so that rows that have parts of units start at several places.
    const ROWS: usize = 3;
    fn check<T: Real, U: Real>(
        device: &Device,
        pixels: usize,
        starts: [usize; 2],
        channels: usize,
    ) {
        // Rows, pixels, channels.
        let [from, to] = starts.map(|start| {
            let together = contiguous(&[ROWS, start + pixels, channels]);
            let planes = contiguous(&[ROWS, channels, start + pixels]);
            let planes = planes.permute_axes(&[0, 2, 1]).unwrap();
            [together, planes].map(|all| all.slice(1, start.., 1).unwrap())
        });
        for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
            let mirrored = from.slice(1, .., -1).unwrap();
            let reversed = from.slice(2, .., -1).unwrap();
            for src in [*from, mirrored, reversed, mirrored.slice(2, .., -1).unwrap()] {
                check_layouts::<T, U>(device, [0.5, 0.0], &src, to, None);
                check_channels::<T, U>(device, &src, to, 2);
            }
        }
    }
    macro_rules! check_units {
        ($($from:ty, $to:ty: $whole:literal, $anywhere:literal;)+) => {
            for channels in 2..=4 {
                $(
                    check::<$from, $to>(device, $whole, [0, 0], channels);
                    check::<$from, $to>(device, $whole, [3, 0], channels);
                    check::<$from, $to>(device, $anywhere, [0, 0], channels);
                    check::<$from, $to>(device, $anywhere, [3, 3], channels);
                )+
            }
        };
    }
    check_units! {
        u8, E4M3: 136, 515; u8, f16: 264, 523; u8, f32: 136, 517;
        f16, u8: 264, 521; bf16, f16: 264, 525; f16, f32: 136, 519;
        f32, u8: 136, 513; f32, bf16: 136, 518; f32, f32: 136, 527;
    }
    // Rows that have no channels, some of which are planes together; and sums, which go another way.
    for (rows, kernel) in
        [(12, "compute_mirrored4"), (6, "compute_mirrored3"), (2, "compute_mirrored2")]
    {
        let all = contiguous(&[5, rows, 272]);
        let mirrored = all.slice(2, .., -1).unwrap();
        let kernels = check_layouts::<u8, f16>(device, [0.5, 0.0], &mirrored, &all, None);
        assert!(has_kernel(&kernels, Some(kernel)), "{kernels:?}");
        check_layouts::<u8, f16>(device, [0.5, 2.0], &mirrored, &all, Some(&all));
    }
}

/// Windows of pixels and of planes of two, three and four channels that become images of their own: rows of few pixels and of many, up to the source's last element, mirrored, upside down and with channels in reverse order.
fn cropped_pixels(device: &Device) {
    fn check<T: Real, U: Real>(device: &Device, channels: usize) {
        // Images, rows, pixels, and where these start in the source.
        for ([images, rows, pixels], start) in [
            ([2, 5, 37], 1),
            ([1, 3, 259], 2),
            ([3, 4, 6], 0),
            ([1, 40, 1], 3),
            ([2, 3, 66], 5),
            ([1, 24, 65], 2),
        ] {
            let all = start + pixels + 3 * usize::from(start == 0);
            let as_pixels = |cols: usize| contiguous(&[images, rows, cols, channels]);
            let as_planes = |cols: usize| {
                contiguous(&[images, channels, rows, cols]).permute_axes(&[0, 2, 3, 1]).unwrap()
            };
            let window = |all: TensorLayout| all.slice(2, start..start + pixels, 1).unwrap();
            let from = [window(as_pixels(all)), window(as_planes(all))];
            let to = [as_pixels(pixels), as_planes(pixels)];
            for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
                let turned = |axis: usize| from.slice(axis, .., -1).unwrap();
                let both = turned(1).slice(2, .., -1).unwrap();
                for src in [*from, turned(1), turned(2), turned(3), both] {
                    check_layouts::<T, U>(device, [0.5, 0.0], &src, to, None);
                    let kernels = check_channels::<T, U>(device, &src, to, 3);
                    let are_pixels =
                        [src, *to].iter().all(|all| all.strides()[2..] == [channels as isize, 1]);
                    // Rows of two and of four channels may start on units.
                    let is_line = are_pixels && channels == 3 && pixels >= 37;
                    let named = is_line.then_some("compute_lines_by_pairs");
                    assert!(has_kernel(&kernels, named), "{kernels:?}");
                    // Pixels become planes, or planes pixels, in their order.
                    let [from_pixels, to_pixels] =
                        [src.strides()[3], to.strides()[3]].map(|step| step == 1);
                    let is_cropped = from_pixels != to_pixels
                        && src.strides()[2] > 0
                        && pixels >= 37
                        && !(channels == 4 && size_of::<T>() == 4);
                    let cropped = ["compute_cropped2", "compute_cropped3", "compute_cropped4"];
                    let named =
                        (is_cropped && src.strides()[3] > 0).then_some(cropped[channels - 2]);
                    assert!(has_kernel(&kernels, named), "{kernels:?}");
                }
            }
        }
    }
    macro_rules! check_types {
        ($($from:ty, $to:ty;)+) => {
            for channels in 2..=4 {
                $(check::<$from, $to>(device, channels);)+
            }
        };
    }
    check_types! {
        u8, u8; u8, f16; bf16, f16; f16, f32; f32, bf16; f32, f32;
    }
    // All numbers of pixels around what a warp has at a time: a unit of each lane, or of each but one.
    fn check_groups<T: Real, U: Real>(device: &Device, groups: [usize; 2]) {
        for pixels in groups.into_iter().flat_map(|group| group - 9..=group + 1) {
            let as_pixels = contiguous(&[1, pixels, 3]);
            let as_planes = contiguous(&[3, 1, pixels]).permute_axes(&[1, 2, 0]).unwrap();
            for (from, to) in [(as_pixels, as_planes), (as_planes, as_pixels)] {
                let kernels = check_channels::<T, U>(device, &from, &to, 2);
                assert!(has_kernel(&kernels, Some("compute_cropped3")), "{kernels:?}");
            }
        }
    }
    check_groups::<u8, f16>(device, [248, 256]);
    check_groups::<f32, f32>(device, [124, 128]);
}

/// Checks that each index of an axis has its own factor and summand, by all ways that [`enough`] leaves; their kernels.
fn check_channels<T: Real, U: Real>(
    device: &Device,
    src: &TensorLayout,
    dst: &TensorLayout,
    axis: usize,
) -> Vec<&'static str> {
    if !is_ours() {
        return Vec::new();
    }
    let length = src.shape()[axis];
    let factors: Vec<f64> = (0..length).map(|at| (at as f64 - 1.3) * 0.37).collect();
    let summands: Vec<f64> = (0..length).map(|at| at as f64 * 3.1 - 2.0).collect();
    let a: Vec<T> = any(extent(src), 1);
    let before: Vec<U> = any(extent(dst) + 5, 2);
    let mut expected = before.clone();
    let inner: usize = src.shape()[axis + 1..].iter().product();
    for (at, (&from, &to)) in offsets(src).iter().zip(&offsets(dst)).enumerate() {
        let channel = at / inner % length;
        let (factor, summand, a) = (factors[channel], summands[channel], a[from].value());
        expected[to] = U::rounded(if T::WIDE || U::WIDE {
            a * factor + summand
        } else {
            f64::from(a as f32 * factor as f32 + summand as f32)
        });
    }
    let memory = DeviceTensor::from_host(device, &[a.len()], &a).unwrap();
    let mut target = DeviceTensor::from_host(device, &[before.len()], &before).unwrap();
    let window = target.window_mut(dst).unwrap();
    memory.window(src).unwrap().normalize_into(axis, &factors, &summands, window).unwrap();
    assert_same(&target.to_host().unwrap(), &expected, format!("{src:?} to {dst:?}, axis {axis}"));
    // A plan's table stays for the next tensors, of its layouts alone.
    let window = target.window_mut(dst).unwrap();
    let from = memory.window(src).unwrap();
    let plans = NormalizingPlan::candidates(from, axis, &factors, &summands, window).unwrap();
    let plans = enough(device, plans, NormalizingPlan::kernel_names);
    let mut kernels = Vec::new();
    for (number, plan) in plans.enumerate() {
        let what = format!("{src:?} to {dst:?}, axis {axis}, {plan}");
        kernels.extend(plan.kernel_names());
        target.copy_from_host(&before).unwrap();
        for _ in 0..if number == 0 { 2 } else { 1 } {
            let done = plan.run(from, target.window_mut(dst).unwrap());
            done.unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        assert_same(&target.to_host().unwrap(), &expected, what);
    }
    kernels
}

/// Whether a kernel is among these, if one is named; or there are none, because another process has the case.
fn has_kernel(kernels: &[&str], kernel: Option<&str>) -> bool {
    let is_there = |kernel: &str| kernels.iter().any(|name| name.starts_with(kernel));
    kernels.is_empty() || kernel.is_none_or(is_there)
}

/// Each channel has its own factor and summand, wherever the axis is.
fn channels_of_their_own(device: &Device) {
    /// One type for each pair of sizes that has kernels of its own.
    fn check_sizes(device: &Device, src: &TensorLayout, dst: &TensorLayout, axis: usize) {
        check_channels::<u8, f32>(device, src, dst, axis);
        check_channels::<u8, f16>(device, src, dst, axis);
        check_channels::<i8, u8>(device, src, dst, axis);
        check_channels::<f32, u8>(device, src, dst, axis);
        check_channels::<f16, u8>(device, src, dst, axis);
    }
    fn check_types(device: &Device, src: &TensorLayout, dst: &TensorLayout, axis: usize) {
        check_sizes(device, src, dst, axis);
        check_channels::<u8, i32>(device, src, dst, axis);
        check_channels::<i32, f64>(device, src, dst, axis);
        check_channels::<f64, f32>(device, src, dst, axis);
    }
    for (channels, pixels) in [(2, 136), (3, 130), (3, 136), (4, 130), (4, 136), (5, 136)] {
        let (last, first) =
            (contiguous(&[2, pixels, channels]), contiguous(&[2, channels, pixels]));
        check_types(device, &last.permute_axes(&[0, 2, 1]).unwrap(), &first, 1);
        check_types(device, &first.permute_axes(&[0, 2, 1]).unwrap(), &last, 2);
        check_types(device, &last, &last, 2);
        check_types(device, &first, &first, 1);
        check_types(device, &last, &last, 0);
        // Channels in reverse order, and mirrored pixels, to planes, to pixels and from each to the same.
        for (src, dst) in [(&last, &last), (&first, &first)] {
            for axis in [1, 2] {
                let src = src.slice(axis, .., -1).unwrap();
                let channel = if std::ptr::eq(dst, &last) { 2 } else { 1 };
                check_sizes(device, &src, dst, channel);
            }
            check_sizes(device, &src.slice(1, .., -1).unwrap().slice(2, .., -1).unwrap(), dst, 1);
        }
        let mirrored = [(&last, 1), (&first, 2)]
            .map(|(src, axis)| src.slice(axis, .., -1).unwrap().permute_axes(&[0, 2, 1]).unwrap());
        check_types(device, &mirrored[0], &first, 1);
        check_types(device, &mirrored[1], &last, 2);
        let [from_last, from_first] = [(&last, 2), (&first, 1)]
            .map(|(src, axis)| src.slice(axis, .., -1).unwrap().permute_axes(&[0, 2, 1]).unwrap());
        check_types(device, &from_last, &first, 1);
        check_types(device, &from_first, &last, 2);
        check_types(device, &from_last.slice(2, .., -1).unwrap(), &first, 1);
        check_types(device, &from_last, &first.slice(1, .., -1).unwrap(), 1);
        check_sizes(device, &from_last, &first, 2);
    }
    // Matrices: rows that start on vectors and anywhere, and an axis that is mirrored.
    let shapes = [
        [3, 40, 36],
        [1, 128, 272],
        [2, 121, 131],
        [1, 64, 530],
        // Few rows, few columns, and tiles that are not full.
        [1, 64, 544],
        [1, 56, 272],
        [1, 544, 64],
        [1, 200, 304],
        // More channels than a tile has, and fewer than half of them.
        [1, 144, 272],
        [1, 272, 144],
        [2, 32, 272],
        [2, 272, 32],
    ];
    for shape @ [images, rows, cols] in shapes {
        let src = contiguous(&shape).permute_axes(&[0, 2, 1]).unwrap();
        let dst = contiguous(&[images, cols, rows]);
        for axis in 0..3 {
            let is_small = rows * cols < 2000;
            let check = if is_small || device.is_gpu() { check_types } else { check_sizes };
            check(device, &src, &dst, axis);
            if images > 1 {
                check_sizes(device, &src, &dst.slice(axis, .., -1).unwrap(), axis);
            }
        }
    }
    let image = DeviceTensor::from_host(device, &[4, 3], &[1u8; 12]).unwrap();
    let refused = image.view().normalized::<f32>(1, &[1.0; 2], &[0.0; 3]);
    assert!(matches!(refused, Err(Error::TensorLength { .. })), "{refused:?}");
    let refused = image.view().normalized::<f32>(2, &[1.0; 3], &[0.0; 3]);
    assert!(matches!(refused, Err(Error::NoSuchAxis { .. })), "{refused:?}");
    // A plan refuses other shapes, also those without its axis.
    let mut planes = DeviceTensor::<f32>::zeroed(device, &[4, 3]).unwrap();
    let plan = NormalizingPlan::new(&image, 1, &[1.0; 3], &[0.0; 3], &mut planes).unwrap();
    for shape in [&[3, 4][..], &[12], &[4, 3, 1]] {
        let other = image.view().reshape(shape).unwrap();
        let refused = plan.run(other, planes.view_mut().reshape(shape).unwrap());
        assert!(refused.is_err(), "{shape:?}: {refused:?}");
    }
    // A table of another queue is waited for, and waits to be freed.
    let stream = device.new_stream().unwrap();
    let image = DeviceTensor::from_host(&stream, &[4, 3], &[1u8; 12]).unwrap();
    let mut planes = DeviceTensor::<f32>::zeroed(&stream, &[4, 3]).unwrap();
    plan.run(&image, &mut planes).unwrap();
    drop(plan);
    assert_eq!(planes.to_host().unwrap(), [1.0; 12]);
}

/// Channels that change places along short axes, in arrays without and with gaps.
fn channels_by_place(device: &Device) {
    fn check_types(device: &Device, src: &TensorLayout, dst: &TensorLayout, axis: usize) {
        check_channels::<u8, i8>(device, src, dst, axis);
        check_channels::<u8, f16>(device, src, dst, axis);
        check_channels::<u8, f32>(device, src, dst, axis);
        check_channels::<f16, u8>(device, src, dst, axis);
        check_channels::<bf16, bf16>(device, src, dst, axis);
        check_channels::<f16, f32>(device, src, dst, axis);
        check_channels::<f32, u8>(device, src, dst, axis);
        check_channels::<f32, f16>(device, src, dst, axis);
        check_channels::<f32, f32>(device, src, dst, axis);
    }
    for (channels, pixels) in [(5, 48), (7, 131), (18, 60), (40, 26), (70, 17)] {
        let (last, first) =
            (contiguous(&[3, pixels, channels]), contiguous(&[3, channels, pixels]));
        check_types(device, &last.permute_axes(&[0, 2, 1]).unwrap(), &first, 1);
        check_types(device, &first.permute_axes(&[0, 2, 1]).unwrap(), &last, 2);
    }
    // Destinations that start further behind a unit's start than a pixel has channels, in images that are moved as a whole and in part.
    for (channels, pixels, start) in [(4, 50, 7), (5, 48, 6), (5, 3000, 7), (6, 9, 7), (7, 40, 7)] {
        let starting = |shape: &[usize; 3]| {
            let strides = [shape[1] * shape[2], shape[2], 1].map(|stride| stride as isize);
            TensorLayout::strided(shape, &strides, start, 1).unwrap()
        };
        let (last, first) = ([2, pixels, channels], [2, channels, pixels]);
        let turned = |shape| contiguous(shape).permute_axes(&[0, 2, 1]).unwrap();
        for (src, dst, axis) in
            [(turned(&first), starting(&last), 2), (turned(&last), starting(&first), 1)]
        {
            check_channels::<bf16, f16>(device, &src, &dst, axis);
            check_channels::<u8, f16>(device, &src, &dst, axis);
            check_layouts::<f16, u8>(device, [0.5, 0.0], &src, &dst, None);
            check_layouts::<f32, f32>(device, [0.5, 0.0], &src, &dst, None);
        }
    }
    // Planes of less than a vector, of more images than a block has room for, and more channels than it has room for with their distances.
    for (images, channels, pixels) in [(700, 5, 6), (1, 256, 70), (2, 128, 65)] {
        let src = contiguous(&[images, channels, pixels]).permute_axes(&[0, 2, 1]).unwrap();
        let dst = contiguous(&[images, pixels, channels]);
        check_channels::<u8, f16>(device, &src, &dst, 2);
        check_channels::<f32, f32>(device, &src, &dst, 2);
    }
    // Gaps behind rows of whole pixels, of pixels in part, and behind planes.
    let of =
        |shape: &[usize], strides: &[isize]| TensorLayout::strided(shape, strides, 3, 1).unwrap();
    let last = of(&[2, 9, 7, 10], &[1000, 100, 10, 1]);
    let uneven = of(&[2, 9, 7, 10], &[700, 73, 10, 1]);
    let first = of(&[2, 10, 9, 7], &[900, 80, 8, 1]);
    let images = [2, 10, 9, 7];
    for pixels in [last, uneven] {
        check_types(device, &pixels.permute_axes(&[0, 3, 1, 2]).unwrap(), &contiguous(&images), 1);
        check_types(device, &pixels.permute_axes(&[0, 3, 1, 2]).unwrap(), &first, 1);
        check_types(device, &first.permute_axes(&[0, 2, 3, 1]).unwrap(), &pixels, 3);
    }
}

/// What stays in its order: channels that change within a unit, and planes that end in one; of as many elements as units have, and others.
fn channels_in_order(device: &Device) {
    /// Each pair of sizes that is computed in 64 bits, by the kernel for them.
    fn check_wide(device: &Device, layout: &TensorLayout, axis: usize) {
        macro_rules! check {
            ($($from:ty, $to:ty;)+) => { $(
                let kernels = check_channels::<$from, $to>(device, layout, layout, axis);
                assert!(has_kernel(&kernels, Some("compute_wide_channels")), "{layout:?}: {kernels:?}");
            )+ };
        }
        check! { u8, f64; f16, f64; f32, f64; f64, E4M3; f64, bf16; f64, f32; f64, f64; i8, u32; f16, i32; i32, u8; u32, f16; i32, f32; }
    }
    fn check_types(device: &Device, shape: &[usize], axis: usize) {
        let layout = contiguous(shape);
        check_wide(device, &layout, axis);
        check_channels::<u8, u8>(device, &layout, &layout, axis);
        check_channels::<u8, f16>(device, &layout, &layout, axis);
        check_channels::<u8, f32>(device, &layout, &layout, axis);
        check_channels::<f16, i8>(device, &layout, &layout, axis);
        check_channels::<bf16, bf16>(device, &layout, &layout, axis);
        check_channels::<f16, f32>(device, &layout, &layout, axis);
        check_channels::<f32, u8>(device, &layout, &layout, axis);
        check_channels::<f32, bf16>(device, &layout, &layout, axis);
        check_channels::<f32, f32>(device, &layout, &layout, axis);
    }
    for inner in [1, 2, 3, 7, 8, 9, 25, 300] {
        for channels in [2, 3, 6, 8, 17] {
            check_types(device, &[5, channels, inner], 1);
        }
    }
    for (shape, axis) in [
        (&[700, 13][..], 1),
        (&[90, 600], 1),
        (&[3, 1001], 1),
        (&[1, 5000], 1),
        (&[5000, 1], 0),
        (&[3, 5, 1, 7], 2),
        (&[2, 3, 4, 5, 6], 2),
    ] {
        check_types(device, shape, axis);
    }
    // Rows that start on units and end within one, with gaps behind them.
    for axis in 0..3 {
        let rows = TensorLayout::strided(&[2, 5, 13], &[80, 16, 1], 0, 1).unwrap();
        check_channels::<u8, f32>(device, &rows, &rows, axis);
        check_channels::<f32, f16>(device, &rows, &rows, axis);
        check_channels::<f64, f64>(device, &rows, &rows, axis);
    }
    // Axes that are in another order than the memory, but in the same one on both sides.
    for axis in 0..3 {
        let turned = contiguous(&[7, 40, 11]).permute_axes(&[2, 0, 1]).unwrap();
        check_wide(device, &turned, axis);
        check_channels::<u8, f16>(device, &turned, &turned, axis);
        check_channels::<f32, f32>(device, &turned, &turned, axis);
    }
}

/// A table comes with each call, and goes with it, and nobody waits in between: each call has its own numbers though all may have one memory for their tables.
fn tables_of_calls_that_nobody_waits_for(device: &Device) {
    let (rows, channels) = if device.is_gpu() { (3000, 100) } else { (9, 100) };
    let a: Vec<u8> = (0..rows * channels).map(|at| (at * 7 % 251) as u8).collect();
    let src = DeviceTensor::from_host(device, &[rows, channels], &a).unwrap();
    let factor = |call: usize, channel: usize| (call * 3 + channel % 7) as f64;
    let results: Vec<DeviceTensor<f32>> = (0..40)
        .map(|call| {
            let factors: Vec<f64> = (0..channels).map(|channel| factor(call, channel)).collect();
            let summands = vec![call as f64; channels];
            // In their order, and transposed.
            let view = if call % 2 == 0 { src.view() } else { src.view().t() };
            view.normalized(1 - call % 2, &factors, &summands).unwrap()
        })
        .collect();
    for (call, result) in results.iter().enumerate() {
        let view = if call % 2 == 0 { result.view() } else { result.view().t() };
        for (at, actual) in view.to_host().unwrap().into_iter().enumerate() {
            let expected = f64::from(a[at]) * factor(call, at % channels) + call as f64;
            assert_eq!(f64::from(actual), expected, "call {call}, element {at}");
        }
    }
}

/// Complex numbers become wider and narrower ones, conjugated or not.
fn complex_numbers(device: &Device) {
    let parts: Vec<f64> = edges::<f64, f32>();
    let numbers: Vec<[f64; 2]> = parts.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let wide = DeviceTensor::from_host(device, &[numbers.len()], &numbers).unwrap();
    let narrow = wide.converted::<[f32; 2]>().unwrap();
    let nearest = |part: f64| -> f32 { computed(1.0, part, None) };
    let expected: Vec<[f32; 2]> = numbers.iter().map(|parts| parts.map(nearest)).collect();
    assert_parts(&narrow.to_host().unwrap(), &expected);
    let back = narrow.converted::<[f64; 2]>().unwrap().to_host().unwrap();
    let same = |part: f32| -> f64 { computed(1.0, part, None) };
    let expected: Vec<[f64; 2]> = expected.iter().map(|parts| parts.map(same)).collect();
    assert_parts(&back, &expected);
    let conjugates = wide.view().conjugated_scaled([-2.0, 0.0]).unwrap().to_host().unwrap();
    let conjugate = |[re, im]: &[f64; 2]| [computed(-2.0, *re, None), computed(-2.0, -*im, None)];
    assert_parts(&conjugates, &numbers.iter().map(conjugate).collect::<Vec<_>>());
}

fn assert_parts<T: Sample>(actual: &[[T; 2]], expected: &[[T; 2]]) {
    assert_same(actual.as_flattened(), expected.as_flattened(), "parts");
}

/// Products of complex numbers are those of `num-complex`.
fn complex_factors(device: &Device) {
    let (rows, cols) = (37, 52);
    let a = complex(rows * cols, 1);
    let b = complex(rows * cols, 2);
    let (alpha, beta) = (Complex32::new(0.3, -1.7), Complex32::new(-0.9, 0.2));
    let source = DeviceMatrix::from_host(device, rows, cols, &a).unwrap();
    let other = DeviceMatrix::from_host(device, cols, rows, &b).unwrap();
    let mut sum = DeviceMatrix::zeroed(device, cols, rows).unwrap();
    source.view().add_transposed_into(alpha, &other, beta, &mut sum).unwrap();
    let adjoint = source.view().adjoint_scaled(alpha).unwrap().to_host().unwrap();
    let sum = sum.to_host().unwrap();
    for at in 0..rows * cols {
        let a = a[at % rows * cols + at / rows];
        assert_eq!(sum[at], alpha * a + beta * b[at]);
        assert_eq!(adjoint[at], alpha * a.conj());
    }
    // Both transposed, of rows that start anywhere, the first one conjugated.
    let (rows, cols) = (rows + 2, cols - 3);
    let shape = [rows, cols];
    let [first, second] =
        [&a, &b].map(|all| DeviceTensor::from_host(device, &shape, &all[..rows * cols]).unwrap());
    let conjugating = Arithmetic::scaling(alpha).conjugated();
    let mut sum = DeviceTensor::zeroed(device, &[cols, rows]).unwrap();
    let (x, y) = (first.view().t(), second.view().t());
    let plan = ArithmeticPlan::adding(&conjugating, x, beta, y, &mut sum).unwrap();
    plan.run_adding(x, y, &mut sum).unwrap();
    for (at, sum) in sum.to_host().unwrap().into_iter().enumerate() {
        let from = at % rows * cols + at / rows;
        assert_eq!(sum, alpha * a[from].conj() + beta * b[from]);
    }
    let (rows, cols) = source.shape();
    let doubles = source.converted::<[f64; 2]>().unwrap();
    let turned = doubles.transposed_scaled([0.0, 2.0]).unwrap().to_host().unwrap();
    for at in 0..rows * cols {
        let a = a[at % rows * cols + at / rows];
        assert_eq!(turned[at], [-2.0 * f64::from(a.im), 2.0 * f64::from(a.re)]);
    }
}

fn matrices(device: &Device) {
    let host: Vec<f32> = (0..12).map(|at| at as f32).collect();
    let a = DeviceMatrix::from_host(device, 3, 4, &host).unwrap();
    let b = a.scaled(2.0).unwrap();
    assert!(b.to_host().unwrap().iter().zip(&host).all(|(b, a)| *b == 2.0 * a));
    let c = a.transposed_converted::<u8>().unwrap();
    assert_eq!((c.shape(), c.to_host().unwrap()[..4].to_vec()), ((4, 3), vec![0, 4, 8, 1]));
    let mut d = DeviceMatrix::<f16>::zeroed(device, 4, 3).unwrap();
    a.submatrix(1.., 2..)
        .unwrap()
        .transpose_converted_into(d.submatrix_mut(..2, 1..).unwrap())
        .unwrap();
    let d: Vec<f32> = d.to_host().unwrap().into_iter().map(f16::to_f32).collect();
    assert_eq!(d[..6], [0.0, 6.0, 10.0, 0.0, 7.0, 11.0]);
    let mut wrong = DeviceMatrix::<f16>::zeroed(device, 3, 4).unwrap();
    let refused = a.view().transpose_converted_into(&mut wrong);
    assert!(matches!(refused, Err(Error::ShapeMismatch { .. })), "{refused:?}");
    assert_eq!(a.converted::<i32>().unwrap().to_host().unwrap()[11], 11);
}

/// A plan serves other memories of its layouts, and no others.
fn plans_are_for_layouts(device: &Device) {
    let a = DeviceTensor::from_host(device, &[4, 6], &[1u8; 24]).unwrap();
    let mut b = DeviceTensor::<f32>::zeroed(device, &[6, 4]).unwrap();
    let scaling = Arithmetic::scaling(2.0);
    let plan = ArithmeticPlan::new(&scaling, a.view().t(), &mut b).unwrap();
    assert!(plan.to_string().contains("compute_"), "{plan}");
    plan.run(a.view().t(), &mut b).unwrap();
    assert_eq!(b.to_host().unwrap(), [2.0; 24]);
    let mut other = DeviceTensor::<f32>::zeroed(device, &[4, 6]).unwrap();
    let refused = plan.run(&a, &mut other);
    assert!(matches!(refused, Err(Error::PlanMismatch { .. })), "{refused:?}");
    let refused = plan.run_onto(a.view().t(), &mut b);
    assert!(matches!(refused, Err(Error::PlanMismatch { .. })), "{refused:?}");
    let refused = ArithmeticPlan::new(&scaling, &a, &mut b);
    assert!(matches!(refused, Err(Error::TensorShapeMismatch { .. })), "{refused:?}");
}

/// Which kernel serves what first.
fn kernels_are_chosen(device: &Device) {
    fn kernel<T: Real, U: Real>(
        device: &Device,
        src: &TensorLayout,
        dst: &TensorLayout,
        other: Option<&TensorLayout>,
    ) -> &'static str {
        let a = DeviceTensor::<T>::zeroed(device, &[extent(src)]).unwrap();
        let b = DeviceTensor::<U>::zeroed(device, &[other.map_or(1, extent)]).unwrap();
        let mut c = DeviceTensor::<U>::zeroed(device, &[extent(dst)]).unwrap();
        let (a, c) = (a.window(src).unwrap(), c.window_mut(dst).unwrap());
        let scaling = Arithmetic::<U>::scaling(U::Factor::of(0.5));
        let plan = match other {
            None => ArithmeticPlan::<T, U>::new(&scaling, a, c),
            Some(other) => {
                let b = b.window(other).unwrap();
                ArithmeticPlan::<T, U>::adding(&scaling, a, U::Factor::of(2.0), b, c)
            }
        };
        plan.unwrap().kernel_names()[0]
    }
    let turned = |shape: &[usize]| contiguous(shape).t();
    let (rows, aligned) = (contiguous(&[256, 256]), turned(&[256, 256]));
    assert_eq!(kernel::<f32, f32>(device, &rows, &rows, None), "compute_units_b4");
    assert_eq!(kernel::<f32, f16>(device, &aligned, &rows, None), "compute_micro_b4");
    assert_eq!(kernel::<f32, f32>(device, &aligned, &rows, Some(&rows)), "compute_micro_b4");
    // The operands change places, or both are transposed.
    assert_eq!(kernel::<f32, f32>(device, &rows, &rows, Some(&aligned)), "compute_micro_b4");
    assert_eq!(kernel::<f32, f32>(device, &aligned, &rows, Some(&aligned)), "compute_sums_b4");
    let odd = (turned(&[331, 355]), contiguous(&[355, 331]));
    assert_eq!(kernel::<f64, f32>(device, &odd.0, &odd.1, None), "compute_rows_b8");
    // What is added waits in shared memory, if there are tiles at no edge.
    let long = (turned(&[555, 355]), contiguous(&[355, 555]));
    let added = kernel::<f16, f16>(device, &long.0, &long.1, Some(&long.1));
    assert_eq!(added, "compute_rows_beside_b2");
    assert_eq!(kernel::<f16, f16>(device, &odd.0, &odd.1, Some(&odd.1)), "compute_tiles_b2");
    assert_eq!(kernel::<f32, f32>(device, &odd.0, &odd.1, Some(&odd.0)), "compute_sum_rows_b4");
    // Larger tiles, if there are enough elements and they leave no more of them empty.
    for (shape, expected) in [
        ([2051, 2479], "compute_rows_large_b2"),
        ([1021, 2479], "compute_rows_b2"),
        ([17001, 254], "compute_rows_b2"),
    ] {
        let (src, dst) = (turned(&shape), contiguous(&[shape[1], shape[0]]));
        let names = (
            kernel::<f16, f32>(device, &src, &dst, None),
            kernel::<f32, f16>(device, &src, &dst, None),
        );
        assert_eq!(names, (expected, "compute_rows_b4"), "{shape:?}");
    }
    // Few columns leave tiles empty.
    let tall = (turned(&[300, 40]), contiguous(&[40, 300]));
    assert_eq!(kernel::<u8, f32>(device, &tall.0, &tall.1, None), "compute_tiles_b1");
    for (pixels, channels, expected) in [
        (4096, 3, "compute_interleaved3_b1"),
        (4099, 3, "compute_interleaved3_b1"),
        (4099, 4, "compute_interleaved4_b1"),
        (4096, 5, "compute_pixels_b1"),
    ] {
        let image = contiguous(&[pixels, channels]).t();
        let planes = contiguous(&[channels, pixels]);
        assert_eq!(kernel::<u8, f16>(device, &image, &planes, None), expected);
        let reversed = contiguous(&[pixels, channels]).slice(1, .., -1).unwrap().t();
        if channels < 5 {
            assert_eq!(kernel::<u8, f16>(device, &reversed, &planes, None), expected);
        }
        // As much for channels with numbers of their own.
        let image = DeviceTensor::<u8>::zeroed(device, &[pixels, channels]).unwrap();
        let mut planes = DeviceTensor::<f16>::zeroed(device, &[channels, pixels]).unwrap();
        let (image, table) = (image.view().slice(1, .., -1).unwrap().t(), vec![1.0; channels]);
        let plan = NormalizingPlan::new(image, 0, &table, &table, &mut planes).unwrap();
        assert_eq!(plan.kernel_names()[0], expected, "{channels}: {plan}");
    }
    // Windows that start anywhere in the source, and on units in the destination.
    let windows = [3, 4].map(|channels| {
        let images = contiguous(&[64, 256, 256, channels]);
        let window = images.slice(1, 3..227, 1).unwrap().slice(2, 7..231, 1).unwrap();
        let planes = contiguous(&[64, channels, 224, 224]).permute_axes(&[0, 2, 3, 1]).unwrap();
        let together = contiguous(&[64, 224, 224, channels]);
        let to_planes = kernel::<u8, f16>(device, &window, &planes, None);
        (to_planes, kernel::<u8, f16>(device, &window, &together, None))
    });
    let expected =
        [("compute_windows3_b1", "compute_slid_b1"), ("compute_windows4_b1", "compute_slid_b1")];
    assert_eq!(windows, expected);
    // Of an image that starts at its second byte no pixel starts on a unit; of one that starts a pixel later some do.
    let image = |start: usize| TensorLayout::strided(&[4, 4099], &[1, 4], start, 1).unwrap();
    let planes = contiguous(&[4, 4099]);
    assert_eq!(kernel::<u8, f16>(device, &image(1), &planes, None), "compute_pixels_b1");
    assert_eq!(kernel::<u8, f16>(device, &image(4), &planes, None), "compute_interleaved4_b1");
    // Channels of their own, of which threads hold the pairs, however many there are; of fewer it is told by what the ways cost on a chip.
    let expected = [
        (32, "compute_short_b1", "compute_narrow_b1"),
        (128, "compute_short_b1", "compute_narrow_b1"),
        (1024, "compute_short_b1", "compute_short_b1"),
    ];
    let chosen = expected.map(|(channels, ..)| {
        let of = |shape: [usize; 2], axis| {
            let pixels = DeviceTensor::<u8>::zeroed(device, &shape).unwrap();
            let mut dst = DeviceTensor::<f32>::zeroed(device, &[shape[1], shape[0]]).unwrap();
            let (pixels, table) = (pixels.view().t(), vec![1.0; channels]);
            let plan = NormalizingPlan::new(pixels, axis, &table, &table, &mut dst).unwrap();
            plan.kernel_names()[0]
        };
        (channels, of([channels, 1024], 1), of([1024, channels], 0))
    });
    assert_eq!(chosen, expected);
}

fn nothing_to_compute(device: &Device) {
    let none = DeviceTensor::<f32>::zeroed(device, &[3, 0]).unwrap();
    assert_eq!(none.view().t().converted::<f16>().unwrap().shape(), [0, 3]);
    let one = DeviceTensor::from_host(device, &[1, 1], &[2.5f32]).unwrap();
    assert_eq!(one.converted::<u8>().unwrap().to_host().unwrap(), [2]);
}
