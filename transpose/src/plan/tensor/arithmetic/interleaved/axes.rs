//! Which axes are those of pixels and of their channels, and how these lie in both memories.

use super::super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::super::pixels::are_channels;
use super::CHANNELS;
use std::borrow::Cow;

/// The order of pixels and channels in the source; in the destination they are in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    /// Which of them are in descending order: at least one. Channels are where they lie together on both sides; planes may be in any order.
    Descending {
        pixels: bool,
        channels: bool,
    },
}

impl Order {
    /// Whether pixels are in descending order.
    pub fn has_descending_pixels(self) -> bool {
        matches!(self, Order::Descending { pixels: true, .. })
    }

    /// Whether channels are.
    pub fn has_descending_channels(self) -> bool {
        matches!(self, Order::Descending { channels: true, .. })
    }
}

/// Where rows of pixels, of channels that lie together or of planes, start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// On units, in both memories.
    Whole,
    /// On units of the destination, and anywhere in the source.
    Slid,
    /// Anywhere in both.
    Ragged,
}

/// The axis of channels, that of pixels, and the others.
pub(super) struct Pixels {
    pub channel: Axis,
    pub pixel: Axis,
    pub others: Vec<Axis>,
    /// Whether channels lie together in the source, and in the destination; or else pixels do, in planes.
    pub together: [bool; 2],
    pub order: Order,
}

impl Pixels {
    /// Those of a move that the kernels serve, if it has such.
    pub fn of(operands: &Operands) -> Option<Self> {
        let numbered = || operands.axes.iter().enumerate();
        let are_few = |(_, axis): &(usize, &Axis)| CHANNELS.contains(&axis.length);
        let of_channels = numbered().filter(are_few).find_map(|(c, channel)| {
            let others = numbered().filter(|&(at, _)| at != c);
            others.clone().find_map(|(p, pixel)| {
                let others = others.clone().filter(|&(at, _)| at != p).map(|(_, axis)| *axis);
                Self::of_axes(*channel, *pixel, others, operands)
            })
        });
        of_channels.or_else(|| Self::of_rows(operands))
    }

    /// These axes, if they are served as what they are said to be.
    fn of_axes(
        channel: Axis,
        pixel: Axis,
        others: impl Iterator<Item = Axis>,
        operands: &Operands,
    ) -> Option<Self> {
        let together = [SRC, DST].map(|side| {
            let apart = pixel.strides[side].unsigned_abs();
            channel.strides[side].unsigned_abs() == 1 && apart == channel.length
        });
        // Of planes that are one and the same, of channels that repeat, there is nothing to tell them by.
        let are_planes =
            |side: usize| pixel.strides[side].unsigned_abs() == 1 && channel.strides[side] != 0;
        let are_pixels_descending = pixel.strides[SRC] < 0;
        let are_channels_descending = together == [true; 2] && channel.strides[SRC] < 0;
        let order = match (are_pixels_descending, are_channels_descending) {
            (false, false) => Order::Ascending,
            (pixels, channels) => Order::Descending { pixels, channels },
        };
        // What stays as it is has no need of these kernels, but for pairs; and those that become planes or pixels in ascending order are all that kernels add.
        let become_another = become_another(order, together);
        let is_moved = become_another || order != Order::Ascending || operands.has_channels();
        let serves = become_another || !operands.other.is_added();
        // Channels that lie together are in ascending order in the destination, and in the source unless they do on both sides.
        let ascend =
            |side: usize| channel.strides[side] == 1 || are_channels_descending && side == SRC;
        // (A move from the end of an axis on descends in the destination along that.)
        let lie = pixel.strides[DST] > 0
            && [SRC, DST].into_iter().all(|side| match together[side] {
                true => ascend(side),
                false => are_planes(side),
            });
        if !(is_moved && serves && lie) {
            return None;
        }
        let all = Pixels { channel, pixel, others: others.collect(), together, order };
        let have_pairs = || are_channels(&channel, all.others.iter().chain([&pixel]));
        (!operands.has_channels() || have_pairs()).then_some(all)
    }

    /// Rows in descending order, of which some make a pixel's planes.
    fn of_rows(operands: &Operands) -> Option<Self> {
        let numbered = || operands.axes.iter().enumerate();
        let (p, pixel) = numbered().find(|(_, axis)| axis.strides[..OTHER] == [-1, 1])?;
        let rows = || numbered().filter(move |&(at, _)| at != p);
        CHANNELS.rev().find_map(|few| {
            let (r, row) = rows().find(|(_, axis)| axis.length.is_multiple_of(few))?;
            let strides = row.strides.map(|stride| stride * few as isize);
            let left = Axis { length: row.length / few, strides };
            let others = rows().filter(|&(at, _)| at != r).map(|(_, axis)| *axis);
            let channel = Axis { length: few, ..*row };
            Self::of_axes(channel, *pixel, others.chain([left]), operands)
        })
    }

    /// Whether pixels become planes, or planes pixels, all in ascending order: what `compute_interleaved2` and its like serve.
    pub fn become_another(&self) -> bool {
        become_another(self.order, self.together)
    }

    /// Elements from one plane to the next in a memory, a number that wraps around; 0 where channels lie together.
    pub fn plane(&self, side: usize) -> u64 {
        if self.together[side] { 0 } else { self.channel.strides[side] as u64 }
    }

    /// The move from the lowest pixel of each of the source's rows on, and from the lowest channel of a pixel if channels lie together.
    pub fn at_lowest<'a>(&self, operands: &'a Operands) -> Cow<'a, Operands> {
        let is_descending = |axis: &Axis| {
            *axis == self.pixel && self.order.has_descending_pixels()
                || *axis == self.channel && self.order.has_descending_channels()
        };
        let mut all = Cow::Borrowed(operands);
        while let Some(other) = all.counted_from_end(is_descending) {
            all = Cow::Owned(other);
        }
        all
    }

    /// Where rows start and end, by the move from the source's lowest pixels on, and the move itself.
    pub fn rows(&self, ascending: &Operands, operands: &Operands) -> Rows {
        let starts_on_units = |operands: &Operands, side: usize| {
            let planes = (!self.together[side]).then_some(self.channel);
            let axes: Vec<Axis> = self.others.iter().copied().chain(planes).collect();
            operands.start_on_units(&axes, &[side])
        };
        let are_units = self.pixel.length.is_multiple_of(operands.unit());
        match are_units && starts_on_units(operands, DST) {
            true if starts_on_units(ascending, SRC) => Rows::Whole,
            // What is added is loaded by units, and is no part of kernels that slide what they load of the source.
            true if !operands.other.is_added() => Rows::Slid,
            _ => Rows::Ragged,
        }
    }

    /// Whether in each row some pixel starts with a unit, where channels lie together: of three channels there is always such a one, of two and four only where rows start on as many elements.
    pub fn start_on_pixels(&self, ascending: &Operands, operands: &Operands) -> bool {
        let mut sides = [(SRC, ascending), (DST, operands)].into_iter();
        // Between planes units are slid only if they are turned around.
        let are_slid = self.together != [false; 2] || self.order.has_descending_pixels();
        are_slid
            && sides
                .all(|(side, operands)| self.start_on_pixels_along(&self.others, operands, side))
    }

    /// Whether behind each start along these axes some pixel starts with a unit of a memory, where channels lie together there.
    pub fn start_on_pixels_along(&self, axes: &[Axis], operands: &Operands, side: usize) -> bool {
        let step = if self.channel.length == 3 { 1 } else { self.channel.length };
        !self.together[side] || operands.start_on(step * operands.bytes[side], axes, side)
    }
}

/// Whether what lies together on these sides becomes planes, or the other way round, all in ascending order.
fn become_another(order: Order, together: [bool; 2]) -> bool {
    order == Order::Ascending && together[SRC] != together[DST]
}
