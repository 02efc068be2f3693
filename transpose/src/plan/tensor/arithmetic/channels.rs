//! The planner of `compute_channels` and `compute_wide_channels`: numbers that stay in their order, without gaps, and have the factor and summand of their channel.

use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use crate::divide::{gcd, packed_divisor};
use kernel_abi::arithmetic::{
    CHANNEL_THREADS, CHANNEL_UNITS, COMPUTE_CHANNELS, COMPUTE_WIDE_CHANNELS, ComputeChannels,
    Operation, flags,
};

/// Elements of a launch at most: every unit's number, those past the end included, and every element's are below what a kernel divides.
const MOST: usize = 1 << 30;

/// Elements from a thread's first unit to behind its last at most.
const MOST_OF_THREAD: usize = 1 << 28;

/// Bytes that pairs of a table start on for two to be loaded at a time.
const TWO_PAIRS: usize = 16;

/// Which channel an element has.
#[derive(Clone, Copy)]
struct Channels {
    /// Elements.
    all: usize,
    /// Elements of a channel that follow each other.
    inner: usize,
    channels: usize,
}

impl Channels {
    /// Those of elements that lie together, in one order, in source and destination, if each has the channel of its index of one axis.
    fn of(axes: &[Axis]) -> Option<Self> {
        let (mut all, mut of_axis) = (1usize, None);
        for &Axis { length, strides } in axes {
            if [SRC, DST].iter().any(|&side| strides[side] != all as isize) {
                return None;
            }
            match (strides[OTHER], of_axis) {
                (0, _) => {}
                (1, None) => of_axis = Some((all, length)),
                _ => return None,
            }
            all = all.checked_mul(length)?;
        }
        // One channel has no axis.
        let (inner, channels) = of_axis.unwrap_or((all, 1));
        Some(Channels { all, inner, channels })
    }

    /// Units behind which channels come again.
    fn period(&self, unit: usize) -> usize {
        let elements = self.inner * self.channels;
        elements / gcd(elements, unit)
    }

    /// Units from one of a thread to its next.
    fn apart(&self, unit: usize) -> usize {
        let step = if self.are_planes(unit) { 1 } else { self.period(unit) };
        (CHANNEL_THREADS as usize).next_multiple_of(step)
    }

    /// Whether a channel has as many elements in a row as a unit.
    fn are_planes(&self, unit: usize) -> bool {
        self.inner >= unit
    }
}

/// The launches; `None` where the kernel does not serve.
pub(super) fn launches(operands: &Operands, operation: &Operation) -> Option<Vec<Part>> {
    let serves = operands.has_channels() && operands.start_on_units(&[], &[SRC, DST]);
    let channels = serves.then(|| Channels::of(&operands.axes)).flatten()?;
    let unit = operands.unit();
    // What a launch begins with is the first of the first channel, and on units.
    let step = channels.period(unit) * unit;
    let most = if channels.all <= MOST { channels.all } else { MOST / step * step };
    if most == 0 || channels.apart(unit) > MOST_OF_THREAD / (CHANNEL_UNITS as usize * unit) {
        return None;
    }
    let firsts = (0..channels.all).step_by(most);
    let launch = |first: usize| {
        let part = Channels { all: most.min(channels.all - first), ..channels };
        one(operands, operation, part, first)
    };
    Some(firsts.map(launch).collect())
}

/// The launch of some elements, behind `first` others.
fn one(operands: &Operands, operation: &Operation, channels: Channels, first: usize) -> Part {
    let unit = operands.unit();
    let units = channels.all.div_ceil(unit);
    let apart = channels.apart(unit);
    let is_wide = operation.flags & flags::WIDE != 0;
    let by_twos = !is_wide
        && channels.inner == 1
        && channels.channels.is_multiple_of(2)
        && operands.aligned[OTHER] >= TWO_PAIRS;
    let params = ComputeChannels {
        operation: *operation,
        elements: channels.all as u64,
        inner: packed_divisor(channels.inner),
        channels: packed_divisor(channels.channels),
        apart: packed_divisor(apart),
        are_planes: u64::from(channels.are_planes(unit)),
        by_twos: u64::from(by_twos),
    };
    let threads = units.div_ceil(apart * CHANNEL_UNITS as usize) * apart;
    let offsets = [first as isize, first as isize, 0];
    let bytes = operands.bytes.map(|bytes| bytes as isize);
    let blocks = threads.div_ceil(CHANNEL_THREADS as usize);
    let kernel = if is_wide { &COMPUTE_WIDE_CHANNELS } else { &COMPUTE_CHANNELS };
    Part::counted(kernel, blocks, CHANNEL_THREADS, [offsets, bytes], &params)
}

#[cfg(test)]
mod tests {
    use super::super::operands::{Operand, Other};
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;
    use kernel_abi::arithmetic::Format;

    /// The launches for an array of bytes that become numbers of 2, whose axis `axis` is that of the channels.
    fn of(shape: &[usize], axis: usize) -> Option<Vec<Part>> {
        let none = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let dst = Format::F16 as u64;
        let operation = Operation { dst, dst_bytes: 2, flags: flags::CHANNELS, ..none };
        let operand = |element_bytes| {
            let layout = TensorLayout::contiguous(shape, element_bytes).unwrap();
            Operand { layout, element_bytes, align: 16 }
        };
        let mut strides = vec![0; shape.len()];
        strides[axis] = 1;
        let layout = TensorLayout::strided(shape, &strides, 0, 8).unwrap();
        let table = Other::Channels(Operand { layout, element_bytes: 8, align: 16 });
        launches(&Operands::of(&operand(1), &operand(2), &table), &operation)
    }

    #[test]
    fn launches_have_all_elements_and_begin_with_the_first_channel() {
        for (shape, axis) in
            [(&[7, 5, 33][..], 1), (&[3_000_000, 1001], 1), (&[3, 999, 1 << 20], 1), (&[70, 9], 0)]
        {
            let (period, mut elements) = (shape[axis..].iter().product::<usize>(), 0);
            for part in of(shape, axis).unwrap() {
                let params: ComputeChannels = part.launch.params.to().unwrap();
                assert_eq!(part.launch.offsets, [elements, 2 * elements]);
                assert!(elements.is_multiple_of(period as u64) && elements.is_multiple_of(8));
                assert!(params.elements <= MOST as u64);
                let threads = u64::from(part.launch.grid[0]) * u64::from(CHANNEL_THREADS);
                assert!(threads * 4 * 8 >= params.elements);
                elements += params.elements;
            }
            assert_eq!(elements, shape.iter().product::<usize>() as u64);
        }
    }

    #[test]
    fn units_of_a_thread_have_like_channels_where_these_change_within_one() {
        for (shape, axis) in [(&[700, 13][..], 1), (&[600, 19, 3], 1), (&[5, 512], 1)] {
            let [part] = &of(shape, axis).unwrap()[..] else { panic!("one launch") };
            let params: ComputeChannels = part.launch.params.to().unwrap();
            let apart = params.apart as u32 as usize;
            let period = shape[axis..].iter().product::<usize>();
            assert!(params.are_planes == 0 && apart >= CHANNEL_THREADS as usize);
            assert!((apart * 8).is_multiple_of(period), "{shape:?}");
        }
    }

    #[test]
    fn what_is_too_large_for_a_launch_goes_another_way() {
        assert!(of(&[2, 1 << 23], 1).is_some());
        assert!(of(&[2, 1 << 28], 1).is_none());
    }
}
