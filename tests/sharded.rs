//! Arrays that several devices hold together: whatever the shares, the element and the order of the axes, each destination is the whole
//! permuted array, piece by piece. Simulated devices reach each other's memory, or do not; a GPU stands for several, and several GPUs for
//! themselves.

use proptest::prelude::*;
use transpose::simt::Checks;
use transpose::{
    Allocation, Device, DeviceGroup, DeviceTensor, Error, ExchangeOptions, ShardedMatrix,
    ShardedPlan, ShardedTensor, Shares, TensorLayout,
};
use transpose_tests::{Element, cases, takes_large};

/// Simulated devices that reach each other's memory, with every check on.
fn linked(count: usize) -> Option<DeviceGroup> {
    Some(DeviceGroup::new(&Device::simulated_peers_with(count, Checks::ALL)).unwrap())
}

/// Simulated devices that do not.
fn apart(count: usize) -> Option<DeviceGroup> {
    let device = |_| Device::simulated_with(Checks::ALL);
    Some(DeviceGroup::new(&(0..count).map(device).collect::<Vec<_>>()).unwrap())
}

/// One GPU, as often as asked for.
fn one_gpu(count: usize) -> Option<DeviceGroup> {
    transpose_tests::gpu()?;
    let device = |_| Device::cuda(0).unwrap();
    Some(DeviceGroup::new(&(0..count).map(device).collect::<Vec<_>>()).unwrap())
}

/// All GPUs that there are, over and over; not counted as skipped where there is one, which stands for several elsewhere.
fn all_gpus(count: usize) -> Option<DeviceGroup> {
    transpose_tests::gpu()?;
    let gpus = DeviceGroup::of_gpus().unwrap().count();
    let device = |at| Device::cuda((at % gpus) as u32).unwrap();
    Some(DeviceGroup::new(&(0..count).map(device).collect::<Vec<_>>()).unwrap())
}

macro_rules! on_all_groups {
    ($($test:ident),+ $(,)?) => {
        on_all_groups! { @ linked: $($test),+ }
        on_all_groups! { @ apart: $($test),+ }
        on_all_groups! { @ one_gpu: $($test),+ }
        on_all_groups! { @ all_gpus: $($test),+ }
    };
    (@ $group:ident: $($test:ident),+) => {
        mod $group {
            $(#[test] fn $test() { super::$test(super::$group); })+
        }
    };
}

on_all_groups! {
    matrices_among_two_three_four_and_seven,
    elements_of_every_size,
    any_exchange,
    heads_for_sequences,
    whole_shards_are_copied,
    plans_are_run_again,
    dropped_and_leaked_meanwhile,
    memory_of_others,
    streams_of_one_device,
}

type Group = fn(usize) -> Option<DeviceGroup>;

fn scrambled<T: Element>(count: usize, salt: u64) -> Vec<T> {
    (0..count).map(|index| T::scrambled(index, salt)).collect()
}

/// The transpose of a matrix of so many columns.
fn transposed<T: Element>(cols: usize, elements: &[T]) -> Vec<T> {
    let rows = elements.len().checked_div(cols).unwrap_or(0);
    (0..elements.len()).map(|at| elements[at % rows * cols + at / rows]).collect()
}

/// Transposes a matrix in these shares to one in those, and back in even ones.
fn there_and_back<T: Element>(group: &DeviceGroup, rows: &[usize], cols: &[usize]) {
    let (rows, cols) = (Shares::of_lengths(rows), Shares::of_lengths(cols));
    let host: Vec<T> = scrambled(rows.len() * cols.len(), 1);
    let src = ShardedMatrix::from_host_shared(group, &rows, cols.len(), &host).unwrap();
    let mut dst = ShardedMatrix::zeroed_shared(group, &cols, rows.len()).unwrap();
    src.transpose_into(&mut dst).unwrap();
    let expected = transposed(cols.len(), &host);
    assert!(dst.to_host().unwrap() == expected, "{rows:?} × {cols:?}");
    let back = dst.transposed().unwrap();
    assert_eq!(back.shares(), &Shares::even(rows.len(), group.count()));
    assert!(back.to_host().unwrap() == host, "{rows:?} × {cols:?}");
    // What a device has is rows of the whole.
    let part = dst.as_tensor().shard(1).unwrap().to_host().unwrap();
    let range = cols.range(1);
    assert!(part == expected[range.start * rows.len()..range.end * rows.len()]);
}

fn matrices_among_two_three_four_and_seven(group: Group) {
    let Some(two) = group(2) else { return };
    there_and_back::<u32>(&two, &[64, 64], &[64, 64]);
    there_and_back::<u32>(&two, &[70, 33], &[41, 90]);
    there_and_back::<u32>(&two, &[0, 50], &[60, 0]);
    there_and_back::<u32>(&group(3).unwrap(), &[5, 0, 70], &[0, 64, 31]);
    there_and_back::<u32>(&group(4).unwrap(), &[32, 32, 32, 32], &[1, 2, 3, 130]);
    there_and_back::<u32>(&group(7).unwrap(), &[1, 0, 30, 9, 0, 0, 17], &[0, 0, 11, 8, 1, 40, 3]);
    there_and_back::<u32>(&group(7).unwrap(), &[0; 7], &[1; 7]);
}

fn elements_of_every_size(group: Group) {
    let Some(group) = group(3) else { return };
    let (rows, cols) = ([40, 7, 64], [17, 64, 33]);
    there_and_back::<u8>(&group, &rows, &cols);
    there_and_back::<u16>(&group, &rows, &cols);
    there_and_back::<[u8; 3]>(&group, &rows, &cols);
    there_and_back::<u64>(&group, &rows, &cols);
    there_and_back::<[u32; 3]>(&group, &rows, &cols);
    there_and_back::<u128>(&group, &rows, &cols);
}

/// The array with its axes in another order, element by element.
fn permuted(shape: &[usize], axes: &[usize], elements: &[u16]) -> Vec<u16> {
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    let element = |mut at: usize| {
        let mut offset = 0;
        for (length, &axis) in lengths.iter().zip(axes).rev() {
            offset += at % length * stride(axis);
            at /= length;
        }
        elements[offset]
    };
    (0..elements.len()).map(element).collect()
}

/// Shares of an axis that end at these places, as far as it reaches.
fn cut(length: usize, cuts: &[usize]) -> Shares {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| *cut % (length + 1)).collect();
    ends.sort_unstable();
    ends.push(length);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    Shares::of_lengths(&ends.iter().zip(starts).map(|(end, start)| end - start).collect::<Vec<_>>())
}

fn any_exchange(group: Group) {
    let Some(group) = group(3) else { return };
    let shape = proptest::collection::vec(0..9usize, 1..5);
    let case = shape.prop_flat_map(|shape| {
        let rank = shape.len();
        let axes = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
        let cuts = || proptest::collection::vec(0..100usize, 2);
        (Just(shape), axes, 0..rank, 0..rank, cuts(), cuts(), 1..200usize, 1..3usize, any::<bool>())
    });
    let count = if takes_large(&group.devices()[0]) { 200 } else { 40 };
    proptest!(cases(count), |((shape, axes, from, to, src_cuts, dst_cuts, bytes, streams, overlaps) in case)| {
        let host: Vec<u16> = scrambled(shape.iter().product(), 3);
        let shares = cut(shape[from], &src_cuts);
        let src = ShardedTensor::from_host_shared(&group, &shape, from, &shares, &host).unwrap();
        let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
        let shares = cut(lengths[to], &dst_cuts);
        let mut dst = ShardedTensor::zeroed_shared(&group, &lengths, to, &shares).unwrap();
        let options = ExchangeOptions::default().step_bytes(bytes).far_streams(streams).pairs(overlaps);
        let plan = ShardedPlan::with_options(&src, &dst, &axes, options).unwrap();
        plan.run(&src, &mut dst).unwrap();
        prop_assert_eq!(dst.to_host().unwrap(), permuted(&shape, &axes, &host));
        prop_assert_eq!(src.to_host().unwrap(), host);
    });
}

fn heads_for_sequences(group: Group) {
    let Some(group) = group(4) else { return };
    let shape = [2, 37, 8, 16];
    let host: Vec<u32> = scrambled(shape.iter().product(), 4);
    let by_sequence = ShardedTensor::from_host(&group, &shape, 1, &host).unwrap();
    let by_heads = by_sequence.all_to_all(2).unwrap();
    assert_eq!(by_heads.shard(3).unwrap().shape(), [2, 37, 2, 16]);
    assert!(by_heads.to_host().unwrap() == host);
    assert!(by_heads.all_to_all(1).unwrap().to_host().unwrap() == host);
}

/// What keeps its axis and its order is stretches of memory: other shares of the same axis.
fn whole_shards_are_copied(group: Group) {
    let Some(group) = group(3) else { return };
    let host: Vec<u64> = scrambled(50 * 8, 5);
    let shares = Shares::of_lengths(&[3, 40, 7]);
    let src = ShardedTensor::from_host_shared(&group, &[50, 8], 0, &shares, &host).unwrap();
    let even = src.all_to_all(0).unwrap();
    assert_eq!(even.shares(), &Shares::even(50, 3));
    assert!(even.to_host().unwrap() == host);
    let plan = ShardedPlan::new(&src, &even, &[0, 1]).unwrap();
    assert!((0..3).all(|device| plan.kernel_names(device).is_empty()), "{plan}");
    // Of 16, 17 and 17 rows the first device had 3, the last 7.
    assert_eq!(plan.link_bytes(), [0, (40 - 17) * 8 * 8, 0]);
}

fn plans_are_run_again(group: Group) {
    let Some(group) = group(2) else { return };
    let mut src = ShardedMatrix::<u32>::zeroed(&group, 130, 70).unwrap();
    let mut dst = ShardedMatrix::zeroed(&group, 70, 130).unwrap();
    let plan = ShardedPlan::new(src.as_tensor(), dst.as_tensor(), &[1, 0]).unwrap();
    for salt in 0..3 {
        let host = scrambled(130 * 70, salt);
        src = ShardedMatrix::from_host(&group, 130, 70, &host).unwrap();
        plan.run(src.as_tensor(), dst.as_tensor_mut()).unwrap();
        assert!(dst.to_host().unwrap() == transposed(70, &host));
    }
    let refused = plan.run(dst.as_tensor(), src.as_tensor_mut());
    assert!(
        matches!(refused, Err(Error::TensorShapeMismatch { .. } | Error::PlanMismatch { .. })),
        "{refused:?}"
    );
    let shares = Shares::of_lengths(&[1, 69]);
    let mut other = ShardedMatrix::zeroed_shared(&group, &shares, 130).unwrap();
    let refused = plan.run(src.as_tensor(), other.as_tensor_mut());
    assert!(matches!(refused, Err(Error::PlanMismatch { .. })), "{refused:?}");
}

/// Sources go, and their memory is used anew, while other devices may still read and write.
fn dropped_and_leaked_meanwhile(group: Group) {
    let Some(group) = group(4) else { return };
    let (rows, cols) = if takes_large(&group.devices()[0]) { (2003, 1501) } else { (67, 53) };
    for round in 0..6 {
        let host: Vec<u32> = scrambled(rows * cols, round);
        let src = ShardedMatrix::from_host(&group, rows, cols, &host).unwrap();
        let mut dst = ShardedMatrix::zeroed(&group, cols, rows).unwrap();
        let plan = ShardedPlan::new(src.as_tensor(), dst.as_tensor(), &[1, 0]).unwrap();
        plan.run(src.as_tensor(), dst.as_tensor_mut()).unwrap();
        drop((src, plan));
        // The memory that was given back, on each device.
        let reused =
            ShardedMatrix::from_host(&group, rows, cols, &scrambled::<u32>(rows * cols, 99))
                .unwrap();
        let again = dst.transposed().unwrap();
        assert!(dst.to_host().unwrap() == transposed(cols, &host));
        std::mem::forget(dst);
        assert!(again.to_host().unwrap() == host);
        drop(reused);
    }
}

/// Shards of memory that other code has allocated are not reached from elsewhere: what goes there is staged.
fn memory_of_others(group: Group) {
    let Some(group) = group(2) else { return };
    let shard = |device: &Device| {
        let owner = DeviceTensor::<u32>::zeroed(device, &[40, 60]).unwrap();
        let address = owner.device_address();
        // SAFETY: the memory is that of `owner`, which the callback drops in the order of the device.
        let memory = unsafe {
            Allocation::from_raw(device, address, 40 * 60 * 4, move |_| drop(owner)).unwrap()
        };
        let layout = TensorLayout::contiguous(&[40, 60], 4).unwrap();
        DeviceTensor::from_allocation(memory, layout).unwrap()
    };
    let shards = group.devices().iter().map(shard).collect();
    let mut dst = ShardedTensor::from_shards(&group, 0, shards).unwrap();
    let host: Vec<u32> = scrambled(60 * 80, 6);
    let src = ShardedTensor::from_host(&group, &[60, 80], 0, &host).unwrap();
    src.permute_into(&[1, 0], &mut dst).unwrap();
    assert!(dst.to_host().unwrap() == transposed(80, &host));
    let ours = ShardedTensor::<u32>::zeroed(&group, &[80, 60], 0).unwrap();
    let plan = ShardedPlan::new(&src, &ours, &[1, 0]).unwrap();
    assert!(matches!(plan.run(&src, &mut dst), Err(Error::PlanMismatch { .. })));
}

/// Streams of one device are a group too.
fn streams_of_one_device(group: Group) {
    let Some(group) = group(1) else { return };
    let device = &group.devices()[0];
    let streams = [device.clone(), device.new_stream().unwrap(), device.new_stream().unwrap()];
    let group = DeviceGroup::new(&streams).unwrap();
    assert!((0..9).all(|pair| group.reaches(pair / 3, pair % 3)));
    there_and_back::<u32>(&group, &[50, 3, 20], &[9, 40, 30]);
    group.synchronize().unwrap();
}

#[test]
fn devices_that_reach_each_other() {
    let (linked, apart) = (linked(3).unwrap(), apart(3).unwrap());
    for pair in 0..9 {
        let (from, to) = (pair / 3, pair % 3);
        assert!(linked.reaches(from, to));
        assert_eq!(apart.reaches(from, to), from == to);
    }
    assert!(!linked.reaches(0, 3) && !linked.reaches(3, 0));
}

#[test]
fn what_is_no_array_of_a_group_is_refused() {
    let group = linked(2).unwrap();
    assert!(matches!(DeviceGroup::new(&[]), Err(Error::EmptyGroup)));
    let elements = [0u8; 12];
    let shares = Shares::of_lengths(&[1, 2, 1]);
    let refused = ShardedMatrix::from_host_shared(&group, &shares, 3, &elements).map(drop);
    assert!(matches!(refused, Err(Error::Shares { devices: 2, length: 4, .. })), "{refused:?}");
    let refused = ShardedMatrix::from_host(&group, 4, 4, &elements).map(drop);
    assert!(matches!(refused, Err(Error::TensorLength { .. })), "{refused:?}");
    let refused = ShardedTensor::from_host(&group, &[3, 4], 2, &elements).map(drop);
    assert!(matches!(refused, Err(Error::NoSuchAxis { axis: 2, axes: 2 })), "{refused:?}");

    let a = ShardedMatrix::from_host(&group, 4, 3, &elements).unwrap();
    let mut other = ShardedMatrix::zeroed(&linked(2).unwrap(), 3, 4).unwrap();
    assert!(matches!(a.transpose_into(&mut other), Err(Error::GroupMismatch)));
    let mut wrong = ShardedMatrix::zeroed(&group, 4, 3).unwrap();
    assert!(matches!(a.transpose_into(&mut wrong), Err(Error::ShapeMismatch { .. })));
    let mut right = ShardedTensor::zeroed(&group, &[3, 4], 0).unwrap();
    let refused = a.as_tensor().permute_into(&[0, 0], &mut right);
    assert!(matches!(refused, Err(Error::NotAPermutation { .. })), "{refused:?}");

    let [first, second] = [0, 1].map(|at| group.devices()[at].clone());
    let shard =
        |device: &Device, shape: &[usize]| DeviceTensor::<u8>::zeroed(device, shape).unwrap();
    let refusals = [
        vec![shard(&first, &[2, 3])],
        vec![shard(&second, &[2, 3]), shard(&first, &[2, 3])],
        vec![shard(&first, &[2, 3]), shard(&second, &[2, 4])],
        vec![shard(&first, &[2, 3]), shard(&second, &[2])],
    ];
    for shards in refusals {
        let refused = ShardedTensor::from_shards(&group, 0, shards).map(drop);
        assert!(matches!(refused, Err(Error::Shard { .. })), "{refused:?}");
    }
    let tensor = ShardedTensor::<u8>::zeroed(&group, &[4, 4], 1).unwrap();
    assert!(matches!(ShardedMatrix::from_tensor(tensor), Err(Error::Shard { .. })));
}

/// Another array in a matrix's place has a shape, and what needs a matrix says that it is none.
#[test]
fn arrays_in_the_place_of_a_matrix() {
    let group = linked(2).unwrap();
    for (shape, axis, expected) in
        [(vec![5], 0, (5, 1)), (vec![5, 2, 3], 0, (5, 6)), (vec![4, 6], 1, (4, 6))]
    {
        let mut matrix = ShardedMatrix::<u8>::zeroed(&group, 2, 3).unwrap();
        *matrix.as_tensor_mut() = ShardedTensor::zeroed(&group, &shape, axis).unwrap();
        assert_eq!(matrix.shape(), expected);
        let transposed = matrix.transposed().map(|matrix| matrix.shape());
        assert_eq!(transposed.is_ok(), shape.len() == 2, "{transposed:?}");
        assert!(matches!(matrix.into_shards(), Err(Error::Shard { .. })), "{shape:?}");
    }
}

/// Only what is staged takes memory: a buffer for what a device sends, and one for what it receives.
#[test]
fn memory_beside_source_and_destination() {
    let extra = |group: Option<DeviceGroup>, cols: &[usize]| {
        let group = group.unwrap();
        let src = ShardedMatrix::<u32>::zeroed(&group, 64, cols.iter().sum()).unwrap();
        let shares = Shares::of_lengths(cols);
        let dst = ShardedMatrix::zeroed_shared(&group, &shares, 64).unwrap();
        ShardedPlan::new(src.as_tensor(), dst.as_tensor(), &[1, 0]).unwrap().extra_bytes()
    };
    assert_eq!(extra(linked(2), &[40, 24]), [0, 0]);
    let [sent, received] = [32 * 24 * 4, 32 * 40 * 4];
    assert_eq!(extra(apart(2), &[40, 24]), [sent + received; 2]);
    assert_eq!(extra(apart(2), &[64, 0]), [32 * 64 * 4; 2]);
}

/// What a device keeps and what it sends first go in one launch, whose blocks take turns; and what is left of either in others.
#[test]
fn what_stays_goes_with_what_is_sent() {
    use std::{cell::RefCell, rc::Rc};
    use transpose::simulator::{Launched, Observer};

    #[derive(Default)]
    struct Launches(RefCell<Vec<(&'static str, u32)>>);

    impl Observer for Launches {
        fn launched(&self, launch: Launched) {
            self.0.borrow_mut().push((launch.kernel, launch.grid[0]));
        }
    }

    let group = linked(2).unwrap();
    let of_rows = |rows: usize, cols: &[usize], pairs: bool| {
        let src = ShardedMatrix::<u32>::zeroed(&group, rows, cols.iter().sum()).unwrap();
        let shares = Shares::of_lengths(cols);
        let mut dst = ShardedMatrix::zeroed_shared(&group, &shares, rows).unwrap();
        let options = ExchangeOptions::default().pairs(pairs);
        let plan =
            ShardedPlan::with_options(src.as_tensor(), dst.as_tensor(), &[1, 0], options).unwrap();
        let seen = Rc::new(Launches::default());
        group.devices()[0].observe(seen.clone(), || {
            plan.run(src.as_tensor(), dst.as_tensor_mut()).unwrap();
        });
        seen.0.take()
    };
    let launches = |cols: &[usize], pairs: bool| of_rows(512, cols, pairs);
    let [(kernel, blocks)] = launches(&[256, 256], true)[..] else { panic!("one launch") };
    assert!(kernel == "tiles_b4" && blocks % 2 == 0);
    // Rows that start anywhere, shares that do too.
    let [(kernel, blocks)] = of_rows(511, &[257, 257], true)[..] else { panic!("one launch") };
    assert!(kernel == "rows_b4" && blocks % 2 == 0);
    assert_eq!(of_rows(511, &[257, 257], false).len(), 2);
    assert_eq!(launches(&[256, 256], false).len(), 2);
    assert_eq!(launches(&[256, 320], true).len(), 2);
    assert_eq!(launches(&[512, 0], true).len(), 1);
}
