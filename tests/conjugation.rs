//! Moves that conjugate complex numbers against a loop over all indices, bit for bit, on the simulator and on a GPU.

use bytemuck::{Pod, Zeroable};
use proptest::prelude::*;
use std::fmt::Debug;
use transpose::interop::half::{bf16, f16};
use transpose::interop::num_complex::Complex;
use transpose::{
    Conjugate, Device, DeviceMatrix, DeviceTensor, Error, Plan, PlanCache, TensorLayout,
};
use transpose_tests::{Element, cases, offsets, on_both_devices};

on_both_devices! {
    only_a_sign_changes,
    every_order_of_three_axes,
    parts_of_every_kind,
    repeated_elements,
    long_axes,
    pairs_in_wider_words,
    random_moves,
    plans_say_so,
    measured_plans,
    adjoints,
    in_place,
    numbers_of_other_crates,
    nothing_to_conjugate,
    what_does_not_fit_is_refused,
}

/// A complex number of two numbers of 16 bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Half([u16; 2]);

impl Conjugate for Half {}

/// A complex number that tests use.
trait Number: Conjugate + Debug {
    /// What the library should make of it.
    fn expected(self) -> Self;

    /// Any bits, among them those that are no number.
    fn any(index: usize, salt: u64) -> Self {
        let bits = u128::scrambled(index, salt).to_le_bytes();
        bytemuck::pod_read_unaligned(&bits[..size_of::<Self>()])
    }
}

impl Number for Half {
    fn expected(self) -> Self {
        let Half([re, im]) = self;
        Half([re, im ^ 0x8000])
    }
}

impl Number for [f32; 2] {
    fn expected(self) -> Self {
        [self[0], -self[1]]
    }
}

impl Number for [f64; 2] {
    fn expected(self) -> Self {
        [self[0], -self[1]]
    }
}

fn numbers<T: Number>(len: usize, salt: u64) -> Vec<T> {
    (0..len).map(|index| T::any(index, salt)).collect()
}

/// The first place in which two slices differ in a bit.
fn difference<T: Number>(actual: &[T], expected: &[T]) -> Option<usize> {
    assert_eq!(actual.len(), expected.len());
    let same = |at: usize| bytemuck::bytes_of(&actual[at]) == bytemuck::bytes_of(&expected[at]);
    (0..actual.len()).find(|&at| !same(at))
}

/// Moves between two layouts in memories of their own, every way that there is, and compares all of the destination's memory.
fn check<T: Number>(device: &Device, src: &TensorLayout, dst: &TensorLayout) {
    let (from, to) = (offsets(src), offsets(dst));
    // Nothing lies behind the source's last element, and canaries behind the destination's.
    let len = |offsets: &[usize]| offsets.iter().max().map_or(0, |last| last + 1);
    let host: Vec<T> = numbers(len(&from), 1);
    let before: Vec<T> = numbers(len(&to) + 5, 2);
    let mut expected = before.clone();
    for (&from, &to) in from.iter().zip(&to) {
        expected[to] = host[from].expected();
    }
    let memory = DeviceTensor::from_host(device, &[host.len()], &host).unwrap();
    let mut target = DeviceTensor::from_host(device, &[before.len()], &before).unwrap();
    let source = memory.window(src).unwrap();
    let window = target.window_mut(dst).unwrap();
    for plan in Plan::conjugating_candidates(source, window).unwrap() {
        target.copy_from_host(&before).unwrap();
        plan.run(source, target.window_mut(dst).unwrap())
            .unwrap_or_else(|error| panic!("{plan}: {error}"));
        let actual = target.to_host().unwrap();
        if let Some(at) = difference(&actual, &expected) {
            panic!("{plan}: {:?} at {at}, not {:?}", actual[at], expected[at]);
        }
    }
    assert_eq!(difference(&memory.to_host().unwrap(), &host), None, "the source has changed");
}

/// [`check`]s numbers of every size.
fn check_sizes(device: &Device, src: &TensorLayout, dst: &TensorLayout) {
    check::<Half>(device, src, dst);
    check::<[f32; 2]>(device, src, dst);
    check::<[f64; 2]>(device, src, dst);
}

fn contiguous(shape: &[usize]) -> TensorLayout {
    TensorLayout::contiguous(shape, 16).unwrap()
}

/// Whatever is measured to be fastest conjugates, and is remembered apart from what does not.
fn measured_plans(device: &Device) {
    let host: Vec<[f32; 2]> = numbers(300 * 200, 1);
    let src = DeviceTensor::from_host(device, &[300, 200], &host).unwrap();
    let mut dst = DeviceTensor::zeroed(device, &[200, 300]).unwrap();
    let mut cache = PlanCache::in_memory();
    let moving = Plan::measure_moving(src.view().t(), &mut dst, &mut cache).unwrap();
    let plan = Plan::measure_conjugating(src.view().t(), &mut dst, &mut cache).unwrap();
    assert_ne!(plan.to_string(), moving.to_string());
    assert_eq!(cache.len(), 2 * usize::from(device.is_gpu()));
    dst = DeviceTensor::zeroed(device, &[200, 300]).unwrap();
    plan.run(src.view().t(), &mut dst).unwrap();
    let expected: Vec<[f32; 2]> =
        (0..300 * 200).map(|at| host[at % 300 * 200 + at / 300].expected()).collect();
    assert_eq!(difference(&dst.to_host().unwrap(), &expected), None);
}

/// Moves a tensor without gaps whose axes come in another order to one without gaps.
fn check_order(device: &Device, shape: &[usize], order: &[usize]) {
    let src = contiguous(shape).permute_axes(order).unwrap();
    check_sizes(device, &src, &contiguous(src.shape()));
}

/// Zeros, infinities and what is no number: the real part stays, and of the imaginary part all but the sign.
fn only_a_sign_changes(device: &Device) {
    let special = [0.0, -0.0, 1.5, f32::INFINITY, f32::MIN_POSITIVE / 2.0];
    let bits = special.map(f32::to_bits).into_iter().chain([0x7fc0_0001, 0xff81_2345]);
    let halves: Vec<u32> = bits.flat_map(|bits| [bits, bits ^ 1 << 31]).collect();
    let pairs: Vec<[u32; 2]> =
        halves.iter().flat_map(|&re| halves.iter().map(move |&im| [re, im])).collect();
    let host: &[[f32; 2]] = bytemuck::cast_slice(&pairs);
    let tensor = DeviceTensor::from_host(device, &[halves.len(), halves.len()], host).unwrap();
    for turned in [false, true] {
        let view = if turned { tensor.view().t() } else { tensor.view() };
        let once = view.conjugated().unwrap();
        let actual: Vec<[u32; 2]> = bytemuck::cast_slice(&once.to_host().unwrap()).to_vec();
        let expected = offsets(view.layout()).into_iter().map(|at| pairs[at]);
        assert!(actual.into_iter().eq(expected.map(|[re, im]| [re, im ^ 1 << 31])));
        let twice = once.conjugated().unwrap().to_host().unwrap();
        assert_eq!(difference(&twice, &view.to_host().unwrap()), None);
    }
}

fn every_order_of_three_axes(device: &Device) {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        check_order(device, &[19, 7, 34], &order);
        check_order(device, &[16, 2, 48], &order);
    }
    check_order(device, &[], &[]);
    check_order(device, &[77], &[0]);
    check_order(device, &[2, 3, 2, 3, 2, 3], &[5, 4, 3, 2, 1, 0]);
}

/// Gaps, odd starts, steps and mirrors: of the source, of the destination, and of both.
fn parts_of_every_kind(device: &Device) {
    let whole = contiguous(&[9, 14, 33]);
    for (axis, step) in [(0, -2), (1, 3), (2, 1), (2, -1), (2, 2)] {
        let some = whole.slice(axis, 1.., step).unwrap();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let turned = some.permute_axes(&order).unwrap();
            check_sizes(device, &turned, &contiguous(turned.shape()));
            check_sizes(device, &contiguous(turned.shape()), &turned);
            check_sizes(device, &turned, &contiguous(some.shape()).permute_axes(&order).unwrap());
            check_sizes(device, &turned, &turned.slice(0, .., -1).unwrap());
        }
    }
}

fn repeated_elements(device: &Device) {
    let row = contiguous(&[37]);
    for src in [
        row.broadcast(&[20, 37]).unwrap(),
        row.broadcast(&[20, 37]).unwrap().t(),
        row.insert_axis(1).unwrap().broadcast(&[3, 37, 5]).unwrap(),
        row.index_axis(0, 3).unwrap().broadcast(&[6, 50]).unwrap(),
    ] {
        check_sizes(device, &src, &contiguous(src.shape()));
    }
}

/// Several tiles along each axis.
fn long_axes(device: &Device) {
    check_order(device, &[130, 3, 140], &[2, 1, 0]);
    check_order(device, &[2, 1500, 4], &[2, 0, 1]);
}

/// Numbers that stay together fill wider words, of which each has several signs.
fn pairs_in_wider_words(device: &Device) {
    for shape in [[30, 5, 40, 2], [30, 5, 40, 4]] {
        check_order(device, &shape, &[2, 1, 0, 3]);
    }
    let names = |shape: [usize; 4]| {
        let tensor = DeviceTensor::<[f32; 2]>::zeroed(device, &shape).unwrap();
        let turned = tensor.view().permute_axes(&[2, 1, 0, 3]).unwrap();
        let mut dst = DeviceTensor::zeroed(device, turned.shape()).unwrap();
        Plan::conjugating(turned, &mut dst).unwrap().kernel_names()
    };
    assert_eq!(names([300, 5, 400, 2]), ["tiles_xor_b16"]);
    assert_eq!(names([300, 5, 400, 4]), ["words_xor_b16"]);
}

/// An axis of a move: indices, and on each side elements more that its memory has there, and a step.
type Axis = (usize, [(usize, isize); 2]);

/// A part of a memory whose axes come in such an order.
fn part(axes: &[Axis], order: &[usize], side: usize) -> TensorLayout {
    let of = |axis: usize| {
        let (length, sides) = axes[axis];
        let (more, step) = sides[side];
        (length * step.unsigned_abs(), more, step)
    };
    let whole: Vec<usize> = order.iter().map(|&axis| of(axis).0 + of(axis).1).collect();
    let mut layout = contiguous(&whole);
    let mut back = vec![0; axes.len()];
    for (place, &axis) in order.iter().enumerate() {
        let (length, more, step) = of(axis);
        layout = layout.slice(place, more / 2..more / 2 + length, step).unwrap();
        back[axis] = place;
    }
    layout.permute_axes(&back).unwrap()
}

fn random_moves(device: &Device) {
    let side = || (0..3usize, prop_oneof![4 => Just(1isize), 1 => Just(-1), 1 => Just(2)]);
    let axis = (1..=9usize, (side(), side())).prop_map(|(length, (src, dst))| (length, [src, dst]));
    let orders = |rank: usize| {
        let order = || Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
        (order(), order())
    };
    let case = proptest::collection::vec(axis, 1..=6)
        .prop_flat_map(move |axes| (orders(axes.len()), Just(axes)));
    proptest!(cases(100), |(((src, dst), axes) in case)| {
        // No more than some thousand elements.
        let mut left = 3000;
        let axes: Vec<Axis> = axes.into_iter().map(|(length, sides)| {
            let length = length.min(left);
            left /= length;
            (length, sides)
        }).collect();
        check_sizes(device, &part(&axes, &src, 0), &part(&axes, &dst, 1));
    });
}

fn plans_say_so(device: &Device) {
    let tensor = DeviceTensor::<[f32; 2]>::zeroed(device, &[128, 160, 192]).unwrap();
    let mut dst = DeviceTensor::zeroed(device, &[192, 160, 128]).unwrap();
    let plan = Plan::conjugating(tensor.view().t(), &mut dst).unwrap();
    assert_eq!(plan.kernel_names(), ["tiles_xor_b8"]);
    let text = plan.to_string();
    assert!(text.contains(", conjugated: tiles_xor_b8 on") && text.contains("tiles of"), "{text}");
    dst.reshape(&[128, 160, 192]).unwrap();
    let copy = Plan::conjugating(&tensor, &mut dst).unwrap();
    assert_eq!(copy.kernel_names(), ["words_xor_b16"]);
    assert!(!Plan::moving(&tensor, &mut dst).unwrap().to_string().contains("conjugated"));
}

/// Matrices and windows on them, with gaps, against the transpose.
fn adjoints(device: &Device) {
    fn check_adjoint<T: Number>(device: &Device, (rows, cols): (usize, usize)) {
        let host: Vec<T> = numbers(rows * cols, 1);
        let conjugates: Vec<T> = host.iter().map(|&number| number.expected()).collect();
        let matrix = DeviceMatrix::from_host_with_ld(device, rows, cols, cols + 3, &host).unwrap();
        let expected = DeviceMatrix::from_host(device, rows, cols, &conjugates).unwrap();
        let expected = expected.transposed().unwrap().to_host().unwrap();
        let adjoint = matrix.adjoint().unwrap();
        assert_eq!(adjoint.shape(), (cols, rows));
        assert_eq!(difference(&adjoint.to_host().unwrap(), &expected), None);
        assert_eq!(difference(&adjoint.adjoint().unwrap().to_host().unwrap(), &host), None);

        // Into a window, and what lies beside it stays.
        let canaries: Vec<T> = numbers((cols + 1) * (rows + 5), 2);
        let mut target = DeviceMatrix::from_host(device, cols + 1, rows + 5, &canaries).unwrap();
        matrix.adjoint_into(target.window_mut(2, cols, rows, rows + 5).unwrap()).unwrap();
        let mut all = canaries;
        for (row, elements) in expected.chunks(rows).enumerate() {
            all[2 + row * (rows + 5)..][..rows].copy_from_slice(elements);
        }
        assert_eq!(difference(&target.to_host().unwrap(), &all), None);

        let mut copy = DeviceMatrix::zeroed(device, rows, cols).unwrap();
        matrix.conjugate_into(&mut copy).unwrap();
        assert_eq!(difference(&copy.to_host().unwrap(), &conjugates), None);
    }
    for shape in [(1, 1), (64, 64), (67, 131), (3, 500), (500, 2)] {
        check_adjoint::<Half>(device, shape);
        check_adjoint::<[f32; 2]>(device, shape);
        check_adjoint::<[f64; 2]>(device, shape);
    }
}

/// Every element of a part of a tensor is conjugated where it is, and what lies beside it stays.
fn in_place(device: &Device) {
    fn check_in_place<T: Number>(device: &Device, layout: &TensorLayout, len: usize) {
        let host: Vec<T> = numbers(len, 1);
        let mut expected = host.clone();
        offsets(layout).into_iter().for_each(|at| expected[at] = host[at].expected());
        let mut tensor = DeviceTensor::from_host(device, &[len], &host).unwrap();
        tensor.window_mut(layout).unwrap().conjugate_in_place().unwrap();
        let at = difference(&tensor.to_host().unwrap(), &expected);
        assert_eq!(at, None, "{layout:?} of {} bytes", size_of::<T>());
    }
    let whole = contiguous(&[7, 33, 30]);
    let some = whole.slice(1, 1.., -3).unwrap().slice(2, 3..28, 1).unwrap();
    for layout in [whole, some, some.t(), some.slice(2, .., 2).unwrap()] {
        check_in_place::<Half>(device, &layout, whole.len());
        check_in_place::<[f32; 2]>(device, &layout, whole.len());
        check_in_place::<[f64; 2]>(device, &layout, whole.len());
    }

    let host: Vec<[f64; 2]> = numbers(30, 1);
    let mut matrix = DeviceMatrix::from_host_with_ld(device, 5, 6, 9, &host).unwrap();
    matrix.conjugate_in_place().unwrap();
    let expected: Vec<_> = host.iter().map(|number| number.expected()).collect();
    assert_eq!(difference(&matrix.to_host().unwrap(), &expected), None);
    let mut tensor = DeviceTensor::from(matrix);
    tensor.conjugate_in_place().unwrap();
    assert_eq!(difference(&tensor.to_host().unwrap(), &host), None);
}

/// What these crates call the conjugate.
fn numbers_of_other_crates(device: &Device) {
    let wide = Complex::new(1.5f64, -2.0);
    let narrow = Complex::new(bf16::from_f32(1.5), bf16::from_f32(-2.0));
    let pair = [1.5, -2.0].map(f16::from_f32);
    let matrix = DeviceMatrix::from_host(device, 1, 1, &[wide]).unwrap();
    assert_eq!(matrix.adjoint().unwrap().to_host().unwrap(), [wide.conj()]);
    let matrix = DeviceMatrix::from_host(device, 1, 1, &[narrow]).unwrap();
    assert_eq!(matrix.adjoint().unwrap().to_host().unwrap(), [Complex::new(narrow.re, -narrow.im)]);
    let matrix = DeviceMatrix::from_host(device, 1, 1, &[pair]).unwrap();
    assert_eq!(matrix.adjoint().unwrap().to_host().unwrap(), [[pair[0], -pair[1]]]);

    // Parts that follow each other, seen as complex numbers.
    let parts = DeviceMatrix::from_host(device, 1, 4, &[1.0f32, 2.0, 3.0, -4.0]).unwrap();
    let adjoint = parts.view().cast::<Complex<f32>>().unwrap().adjoint().unwrap();
    assert_eq!(adjoint.to_host().unwrap(), [Complex::new(1.0, -2.0), Complex::new(3.0, 4.0)]);
    let behind_one = parts.window(1, 1, 2, 2).unwrap().cast::<[f32; 2]>();
    assert!(matches!(behind_one, Err(Error::Misaligned { needed: 8, .. })), "{behind_one:?}");
}

fn nothing_to_conjugate(device: &Device) {
    let mut nothing = DeviceTensor::<[f32; 2]>::zeroed(device, &[4, 0, 3]).unwrap();
    assert_eq!(nothing.view().t().conjugated().unwrap().shape(), [3, 0, 4]);
    nothing.conjugate_in_place().unwrap();
    let matrix = DeviceMatrix::<[f64; 2]>::zeroed(device, 0, 5).unwrap();
    assert_eq!(matrix.adjoint().unwrap().shape(), (5, 0));
}

fn what_does_not_fit_is_refused(device: &Device) {
    let src = DeviceMatrix::<[f32; 2]>::zeroed(device, 4, 6).unwrap();
    let mut dst = DeviceMatrix::<[f32; 2]>::zeroed(device, 4, 6).unwrap();
    let refused = src.adjoint_into(&mut dst);
    assert!(matches!(refused, Err(Error::ShapeMismatch { src_rows: 4, dst_rows: 4, .. })));
    let mut dst = DeviceMatrix::zeroed(device, 6, 4).unwrap();
    assert!(matches!(src.conjugate_into(&mut dst), Err(Error::CopyShapeMismatch { .. })));
    let tensor = DeviceTensor::<[f32; 2]>::zeroed(device, &[4, 6]).unwrap();
    assert!(matches!(tensor.conjugate_into(&mut dst), Err(Error::TensorShapeMismatch { .. })));
    let mut elsewhere = DeviceMatrix::zeroed(&Device::simulated(), 6, 4).unwrap();
    assert!(matches!(src.adjoint_into(&mut elsewhere), Err(Error::DeviceMismatch { .. })));
}
