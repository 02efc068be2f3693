//! What the tests share: the two devices, an oracle, and a case with canaries around it.

mod cases;
mod kernels;
mod sanitized;
mod skipped;

pub use cases::cases;
pub use kernels::ptx;
pub use sanitized::{is_ours, is_sanitized, takes_large};

use bytemuck::Pod;
use proptest::strategy::Strategy as Cases;
use std::fmt::Debug;
use transpose::simt::Checks;
use transpose::{Device, DeviceMatrix, Strategy, TensorLayout};

/// The GPU that tests run on, or `None`: the test then counts as skipped.
pub fn gpu() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(sanitized::as_tested(device)),
        Err(reason) => {
            skipped::count(&reason);
            None
        }
    }
}

/// The simulator, always there and with every check on: a defect of a kernel is an error.
pub fn simulator() -> Option<Device> {
    kernels::replace();
    Some(Device::simulated_with(Checks::ALL))
}

/// The simulator for kernels whose blocks hand elements to each other and say so by atomics. It knows
/// of no order between blocks, so it must not take that for a race; every other check is on.
pub fn simulator_of_talking_blocks() -> Option<Device> {
    kernels::replace();
    Some(Device::simulated_with(Checks::ALL.global_read_race(false)))
}

/// Instantiates each test function, one that takes a `&Device`, for the simulator and for a GPU.
#[macro_export]
macro_rules! on_both_devices {
    (simulator: $simulator:ident; $($test:ident),+ $(,)?) => {
        mod simulator {
            $(#[test] fn $test() {
                if let Some(device) = $crate::$simulator() { super::$test(&device) }
            })+
        }
        mod gpu {
            $(#[test] fn $test() {
                if let Some(device) = $crate::gpu() { super::$test(&device) }
            })+
        }
    };
    ($($test:ident),+ $(,)?) => {
        $crate::on_both_devices! { simulator: simulator; $($test),+ }
    };
}

/// The offsets of a layout's elements, in row-major order of their indices: the oracle of what a view sees.
pub fn offsets(layout: &TensorLayout) -> Vec<usize> {
    let mut all = vec![layout.offset()];
    for (&length, &stride) in layout.shape().iter().zip(layout.strides()) {
        let along = |&start: &usize| {
            (0..length as isize).map(move |index| start.wrapping_add_signed(index * stride))
        };
        all = all.iter().flat_map(along).collect();
    }
    all
}

/// An element type that tests use.
pub trait Element: Pod + PartialEq + Debug {
    /// An element that depends on every bit of the index and differs between `salt`s.
    fn scrambled(index: usize, salt: u64) -> Self;
}

/// SplitMix64's finalizer: spreads every input bit over the output.
fn scramble(index: usize, salt: u64) -> u64 {
    let mut z = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

macro_rules! element {
    ($($element:ty),+) => {
        $(impl Element for $element {
            fn scrambled(index: usize, salt: u64) -> Self {
                let high = u128::from(scramble(index, !salt)) << 64;
                (high | u128::from(scramble(index, salt))) as $element
            }
        })+
    };
}

element!(u8, u16, u32, u64, u128);

/// Elements of any other size, as arrays.
impl<E: Element, const N: usize> Element for [E; N]
where
    [E; N]: Pod,
{
    fn scrambled(index: usize, salt: u64) -> Self {
        std::array::from_fn(|part| E::scrambled(index * N + part, salt))
    }
}

/// A source window and a destination window, each somewhere in a larger buffer.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Rows of the source.
    pub rows: usize,
    /// Columns of the source.
    pub cols: usize,
    /// Elements between the end of a source row and the start of the next.
    pub src_slack: usize,
    /// Elements between the end of a destination row and the start of the next.
    pub dst_slack: usize,
    /// Elements in front of the source.
    pub src_offset: usize,
    /// Elements in front of the destination.
    pub dst_offset: usize,
}

impl Case {
    /// A case whose windows are whole buffers.
    pub fn tight(rows: usize, cols: usize) -> Self {
        Case { rows, cols, src_slack: 0, dst_slack: 0, src_offset: 0, dst_offset: 0 }
    }

    /// Any case with so many rows and columns, and up to 39 elements of everything else.
    pub fn any(sizes: impl Cases<Value = usize> + Clone) -> impl Cases<Value = Self> {
        (sizes.clone(), sizes, 0..40usize, 0..40usize, 0..40usize, 0..40usize).prop_map(
            |(rows, cols, src_slack, dst_slack, src_offset, dst_offset)| Case {
                rows,
                cols,
                src_slack,
                dst_slack,
                src_offset,
                dst_offset,
            },
        )
    }

    fn src_ld(&self) -> usize {
        self.cols + self.src_slack
    }

    fn dst_ld(&self) -> usize {
        self.rows + self.dst_slack
    }
}

/// Elements behind the end of each window.
const TAIL: usize = 7;

/// The element with every bit flipped.
fn complement<T: Pod>(mut element: T) -> T {
    bytemuck::bytes_of_mut(&mut element).iter_mut().for_each(|byte| *byte = !*byte);
    element
}

/// Runs `transpose` on the case and compares *everything* in the destination's buffer with the
/// oracle: the elements, and the canaries before, between and behind the rows. Every element of
/// the destination starts as the complement of what it should become, so one that is not
/// written never passes for right.
pub fn check<T: Element>(
    device: &Device,
    case: Case,
    transpose: impl FnOnce(transpose::MatrixView<'_, T>, transpose::MatrixViewMut<'_, T>),
) {
    let Case { rows, cols, src_offset, dst_offset, .. } = case;
    let src_len = src_offset + rows * case.src_ld() + TAIL;
    let dst_len = dst_offset + cols * case.dst_ld() + TAIL;
    let src: Vec<T> = (0..src_len).map(|index| T::scrambled(index, 1)).collect();
    let mut expected: Vec<T> = (0..dst_len).map(|index| T::scrambled(index, 2)).collect();
    let mut before = expected.clone();
    for row in 0..rows {
        for col in 0..cols {
            let element = src[src_offset + row * case.src_ld() + col];
            expected[dst_offset + col * case.dst_ld() + row] = element;
            before[dst_offset + col * case.dst_ld() + row] = complement(element);
        }
    }

    let src_buffer = DeviceMatrix::from_host(device, 1, src_len, &src).unwrap();
    let mut dst_buffer = DeviceMatrix::from_host(device, 1, dst_len, &before).unwrap();
    transpose(
        src_buffer.window(src_offset, rows, cols, case.src_ld()).unwrap(),
        dst_buffer.window_mut(dst_offset, cols, rows, case.dst_ld()).unwrap(),
    );

    let actual = dst_buffer.to_host().unwrap();
    if let Some(index) = (0..dst_len).find(|&index| actual[index] != expected[index]) {
        let unwritten = if actual[index] == before[index] { ", as before" } else { "" };
        panic!(
            "{case:?} of {} bytes: the destination's buffer holds {:?} at {index}{unwritten}, \
             not {:?}",
            size_of::<T>(),
            actual[index],
            expected[index]
        );
    }
    assert!(src_buffer.to_host().unwrap() == src, "{case:?}: the source has changed");
}

/// [`check`]s one strategy, if the case is this process's.
pub fn check_strategy<T: Element>(device: &Device, strategy: Strategy, case: Case) {
    if is_ours() {
        check::<T>(device, case, |src, dst| src.transpose_into_with(dst, strategy).unwrap());
    }
}

/// [`check_strategy`] for every element width.
pub fn check_widths(device: &Device, strategy: Strategy, case: Case) {
    check_strategy::<u8>(device, strategy, case);
    check_strategy::<u16>(device, strategy, case);
    check_strategy::<u32>(device, strategy, case);
    check_strategy::<u64>(device, strategy, case);
    check_strategy::<u128>(device, strategy, case);
}
