//! What has to move from which device to which, and in what order. Pure arithmetic.
//!
//! All is seen with the axes of the destination. Both sides are spread along one axis each, which may be the same. What device `i` sends
//! to device `j` is then a part of `i`'s shard, cut along the destination's axis, and a part of `j`'s, cut along the source's.
//!
//! In turn `t` device `i` sends to device `i + t`, so that at each time every device has another target: no link idles, and no device is the
//! target of two.

use super::shares::Shares;
use crate::tensor::TensorLayout;
use crate::{Error, Result};

/// One side of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    /// The axis that is spread, in the destination's order of axes.
    pub axis: usize,
    pub shares: Shares,
}

/// An exchange: an array spread one way, to become one spread in another way, with its axes in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub element_bytes: usize,
    /// Of the destination.
    pub shape: Vec<usize>,
    /// Which axis of the source each axis of the destination is.
    pub axes: Vec<usize>,
    pub src: Spread,
    pub dst: Spread,
}

/// What one device sends to one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub src: usize,
    pub dst: usize,
    /// Where it lies in the source's shard, and in the destination's: the same shape.
    pub layouts: [TensorLayout; 2],
}

impl Exchange {
    /// The exchange that makes an array of a shape, spread one way, one of another shape, spread another way, whose axis `i` is axis
    /// `axes[i]` of the first.
    pub fn between(
        element_bytes: usize,
        (from, src): (&[usize], &Spread),
        axes: &[usize],
        (to, dst): (&[usize], &Spread),
    ) -> Result<Self> {
        let permuted = TensorLayout::contiguous(from, element_bytes)?.permute_axes(axes)?;
        if permuted.shape() != to {
            let (src, dst) = (permuted.shape().to_vec(), to.to_vec());
            return Err(Error::TensorShapeMismatch { src, dst });
        }
        // A permutation names each axis.
        let axis = axes.iter().position(|&axis| axis == src.axis);
        let axis = axis.ok_or(Error::NoSuchAxis { axis: src.axis, axes: axes.len() })?;
        let (shape, axes) = (to.to_vec(), axes.to_vec());
        let src = Spread { axis, shares: src.shares.clone() };
        Ok(Exchange { element_bytes, shape, axes, src, dst: dst.clone() })
    }

    /// The pieces, turn by turn; the first turn is what stays where it is. None of them is empty.
    pub fn pieces(&self) -> Result<Vec<Piece>> {
        let devices = self.src.shares.count();
        let turns = (0..devices)
            .flat_map(|turn| (0..devices).map(move |src| (src, (src + turn) % devices)));
        let mut pieces = Vec::new();
        for (src, dst) in turns {
            let layouts = self.layouts(src, dst)?;
            if !layouts[0].is_empty() {
                pieces.push(Piece { src, dst, layouts });
            }
        }
        Ok(pieces)
    }

    /// Where what device `src` sends to device `dst` lies on either side.
    fn layouts(&self, src: usize, dst: usize) -> Result<[TensorLayout; 2]> {
        let (mine, theirs) = (self.src.shares.range(src), self.dst.shares.range(dst));
        let (from, to) = (self.src_shard(src)?, self.dst_shard(dst)?);
        if self.src.axis != self.dst.axis {
            let part = from.slice(self.dst.axis, theirs, 1)?;
            return Ok([part, to.slice(self.src.axis, mine, 1)?]);
        }
        let start = mine.start.max(theirs.start);
        let end = mine.end.min(theirs.end).max(start);
        let within = |start_of: usize, length: usize| {
            let at = start.saturating_sub(start_of).min(length);
            at..(at + end - start).min(length)
        };
        let axis = self.src.axis;
        let part = from.slice(axis, within(mine.start, mine.len()), 1)?;
        Ok([part, to.slice(axis, within(theirs.start, theirs.len()), 1)?])
    }

    /// A shard of the source, its axes in the destination's order.
    fn src_shard(&self, device: usize) -> Result<TensorLayout> {
        let mut shape = vec![0; self.shape.len()];
        for (to, &from) in self.axes.iter().enumerate() {
            shape[from] = self.shape[to];
        }
        shape[self.axes[self.src.axis]] = self.src.shares.range(device).len();
        TensorLayout::contiguous(&shape, self.element_bytes)?.permute_axes(&self.axes)
    }

    fn dst_shard(&self, device: usize) -> Result<TensorLayout> {
        let mut shape = self.shape.clone();
        shape[self.dst.axis] = self.dst.shares.range(device).len();
        TensorLayout::contiguous(&shape, self.element_bytes)
    }

    /// Refuses what is not an exchange among so many devices.
    pub fn require(&self, devices: usize) -> Result<()> {
        for side in [&self.src, &self.dst] {
            let length = self.shape.get(side.axis).copied();
            let length =
                length.ok_or(Error::NoSuchAxis { axis: side.axis, axes: self.shape.len() })?;
            side.shares.require(devices, length)?;
        }
        Ok(())
    }
}

/// A piece in steps of at most `most` bytes, if an element has no more: cut along its longest axis but the destination's fastest, so that rows
/// of the destination stay whole where they can.
pub(super) fn steps(
    layouts: [TensorLayout; 2],
    element_bytes: usize,
    most: usize,
) -> Result<Vec<[TensorLayout; 2]>> {
    let mut steps = Vec::new();
    cut(layouts, element_bytes, most, &mut steps)?;
    Ok(steps)
}

fn cut(
    [from, to]: [TensorLayout; 2],
    element_bytes: usize,
    most: usize,
    steps: &mut Vec<[TensorLayout; 2]>,
) -> Result<()> {
    /// Cuts are at multiples of so many indices, so that tiles are whole.
    const WHOLE: usize = 64;
    let bytes = from.len().saturating_mul(element_bytes);
    let slow = from.rank().saturating_sub(1);
    let longest = (0..slow).max_by_key(|&axis| from.shape()[axis]);
    // Where no other axis can be cut, the fastest.
    let axis = longest.filter(|&axis| from.shape()[axis] > 1).unwrap_or(slow);
    let length = from.shape().get(axis).copied().unwrap_or(1);
    if bytes <= most || length <= 1 {
        steps.push([from, to]);
        return Ok(());
    }
    let fits = (most / (bytes / length).max(1)).max(1);
    let unit = if fits >= WHOLE { WHOLE } else { 1 };
    let count = length.div_ceil(fits / unit * unit);
    let step = length.div_ceil(count).next_multiple_of(unit);
    for start in (0..length).step_by(step) {
        let range = start..(start + step).min(length);
        let part = [from.slice(axis, range.clone(), 1)?, to.slice(axis, range, 1)?];
        cut(part, element_bytes, most, steps)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// An exchange of an array of up to four axes among up to five devices, shares of any lengths.
    fn exchanges() -> impl Strategy<Value = Exchange> {
        let shape = proptest::collection::vec(1..6usize, 1..5);
        (shape, 1..6usize)
            .prop_flat_map(|(shape, devices)| {
                let rank = shape.len();
                let axes = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
                let cuts = || proptest::collection::vec(0..6usize, devices - 1);
                (Just(shape), axes, 0..rank, 0..rank, cuts(), cuts())
            })
            .prop_map(|(shape, axes, src, dst, src_cuts, dst_cuts)| {
                let spread = |axis: usize, mut cuts: Vec<usize>| {
                    cuts.iter_mut().for_each(|cut| *cut = (*cut).min(shape[axis]));
                    cuts.sort_unstable();
                    cuts.push(shape[axis]);
                    let starts = std::iter::once(0).chain(cuts.iter().copied());
                    let lengths: Vec<usize> =
                        cuts.iter().zip(starts).map(|(end, start)| end - start).collect();
                    Spread { axis, shares: Shares::of_lengths(&lengths) }
                };
                let (src, dst) = (spread(src, src_cuts), spread(dst, dst_cuts));
                Exchange { element_bytes: 1, shape, axes, src, dst }
            })
    }

    /// Which index of the whole array each element of a shard is, in the destination's order of axes.
    fn indices(
        exchange: &Exchange,
        side: &Spread,
        device: usize,
        shard: TensorLayout,
    ) -> BTreeMap<usize, usize> {
        let start = side.shares.range(device).start;
        let whole = TensorLayout::contiguous(&exchange.shape, 1).unwrap();
        let part = whole.slice(side.axis, start..start + shard.shape()[side.axis], 1).unwrap();
        shard.offsets().zip(part.offsets()).collect()
    }

    proptest! {
        /// Every element of every destination is written once, with the element of the same index; also if pieces are cut.
        #[test]
        fn pieces_are_the_exchange(exchange in exchanges(), most in 1..40usize) {
            let devices = exchange.src.shares.count();
            exchange.require(devices).unwrap();
            let mut written = 0;
            let mut seen = BTreeMap::new();
            for Piece { src, dst, layouts } in exchange.pieces().unwrap() {
                let from = indices(&exchange, &exchange.src, src, exchange.src_shard(src).unwrap());
                let to = indices(&exchange, &exchange.dst, dst, exchange.dst_shard(dst).unwrap());
                for [part, place] in steps(layouts, 1, most).unwrap() {
                    prop_assert!(part.len() <= most);
                    prop_assert_eq!(part.shape(), place.shape());
                    for (a, b) in part.offsets().zip(place.offsets()) {
                        prop_assert_eq!(from[&a], to[&b]);
                        prop_assert!(seen.insert((dst, b), ()).is_none());
                        written += 1;
                    }
                }
            }
            prop_assert_eq!(written, exchange.shape.iter().product::<usize>());
        }

        /// In each turn no two devices have one target.
        #[test]
        fn targets_are_distinct(devices in 1..9usize) {
            let shares = Shares::of_lengths(&vec![1; devices]);
            let spread = |axis| Spread { axis, shares: shares.clone() };
            let shape = vec![devices, devices];
            let exchange = Exchange { element_bytes: 1, shape, axes: vec![1, 0], src: spread(1), dst: spread(0) };
            let pieces = exchange.pieces().unwrap();
            prop_assert_eq!(pieces.len(), devices * devices);
            for (turn, pieces) in pieces.chunks(devices).enumerate() {
                let mut targets: Vec<usize> = pieces.iter().map(|piece| piece.dst).collect();
                prop_assert!(pieces.iter().all(|piece| piece.dst == (piece.src + turn) % devices));
                targets.sort_unstable();
                prop_assert_eq!(targets, (0..devices).collect::<Vec<_>>());
            }
        }
    }
}
