//! How the indices of an axis are shared out among devices. Pure arithmetic.

use crate::{Error, Result};
use std::ops::Range;

/// Starts of shares are multiples of so many indices where an axis is long enough: then rows of every shard start on vectors, and tiles are
/// whole.
const WHOLE: usize = 64;

/// The consecutive indices of an axis that each device of a group has: in order, of any lengths, 0 too.
///
/// ```
/// use transpose::Shares;
/// let shares = Shares::even(1000, 3);
/// assert_eq!(shares.lengths().collect::<Vec<_>>(), [384, 320, 296]);
/// let shares = Shares::of_lengths(&[10, 0, 5]);
/// assert_eq!((shares.range(2), shares.len()), (10..15, 15));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Where each share ends, up to the last that is not empty.
    ends: Vec<usize>,
    /// How many there are, with those behind.
    count: usize,
}

impl Shares {
    /// Equal shares of an axis of `length` indices, as nearly as whole tiles permit: shares of long axes differ by up to 64.
    ///
    /// # Panics
    /// For so many devices that the host has no memory for where the share of each ends that has one.
    pub fn even(length: usize, devices: usize) -> Self {
        // Short axes are shared out index by index.
        let unit = if length >= devices.saturating_mul(4 * WHOLE) { WHOLE } else { 1 };
        let units = length.div_ceil(unit);
        let (each, more) = match devices {
            0 => (0, 0),
            devices => (units / devices, units % devices),
        };
        // Whole tiles may end behind the axis, and behind what can be counted.
        let end = |device: usize| ((device + 1) * each + more.min(device + 1)).saturating_mul(unit);
        let ends = (0..devices.min(units)).map(|device| end(device).min(length));
        Shares { ends: ends.collect(), count: devices }
    }

    /// Shares of these lengths, whose sum saturates at the largest number.
    pub fn of_lengths(lengths: &[usize]) -> Self {
        let mut end = 0usize;
        let ends = lengths.iter().map(|length| {
            end = end.saturating_add(*length);
            end
        });
        let mut ends: Vec<usize> = ends.collect();
        let filled = ends.partition_point(|&start| start < end) + 1;
        ends.truncate(if end > 0 { filled } else { 0 });
        Shares { ends, count: lengths.len() }
    }

    /// How many shares there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The length of the axis.
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether all shares are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices of one device; an empty range at the end for a device that there is not.
    pub fn range(&self, device: usize) -> Range<usize> {
        let end = |device: usize| self.ends.get(device).copied().unwrap_or(self.len());
        device.checked_sub(1).map_or(0, end)..end(device)
    }

    /// The lengths of the shares.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count()).map(|device| self.range(device).len())
    }

    /// Refuses shares that are not one for each of so many devices, of an axis of `length` indices.
    pub(super) fn require(&self, devices: usize, length: usize) -> Result<()> {
        if self.count() == devices && self.len() == length {
            return Ok(());
        }
        // However many are empty behind the others, one more than there are devices says what is wrong.
        let told = self.ends.len().max(devices).saturating_add(1);
        Err(Error::Shares { shares: self.lengths().take(told).collect(), devices, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_axis_may_be_as_long_as_can_be_counted() {
        for length in [usize::MAX, usize::MAX - 1, usize::MAX - WHOLE] {
            let shares = Shares::even(length, 3);
            assert_eq!((shares.len(), shares.lengths().sum::<usize>()), (length, length));
        }
    }

    /// Nothing is kept of empty shares behind all others.
    #[test]
    fn devices_may_be_more_than_indices() {
        let shares = Shares::even(5, usize::MAX);
        assert_eq!((shares.count(), shares.len(), shares.range(7)), (usize::MAX, 5, 5..5));
        assert_eq!(shares.lengths().take(7).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 0, 0]);
        let refused = shares.require(3, 5).unwrap_err();
        assert!(matches!(refused, Error::Shares { shares, .. } if shares == [1, 1, 1, 1, 1, 0]));
        assert_eq!(Shares::even(0, usize::MAX).len(), 0);
        assert_eq!(Shares::of_lengths(&[1, 1, 0, 0]), Shares::even(2, 4));
        assert_eq!(Shares::of_lengths(&[usize::MAX, 3]).lengths().sum::<usize>(), usize::MAX);
        assert_ne!(Shares::of_lengths(&[0, 0]), Shares::of_lengths(&[0]));
    }

    proptest! {
        #[test]
        fn even_shares_cover_an_axis_and_differ_by_a_tile(length in 0..100_000usize, devices in 1..9usize) {
            let shares = Shares::even(length, devices);
            prop_assert_eq!((shares.count(), shares.len()), (devices, length));
            let lengths: Vec<usize> = shares.lengths().collect();
            prop_assert_eq!(lengths.iter().sum::<usize>(), length);
            let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
            prop_assert!(most - least <= 2 * WHOLE, "{lengths:?}");
            if length >= devices * 4 * WHOLE {
                prop_assert!((0..devices).all(|device| shares.range(device).start.is_multiple_of(WHOLE)));
            } else {
                prop_assert!(most - least <= 1, "{lengths:?}");
            }
        }

        #[test]
        fn ranges_follow_each_other(lengths in proptest::collection::vec(0..9usize, 0..9)) {
            let shares = Shares::of_lengths(&lengths);
            let mut next = 0;
            for (device, length) in lengths.iter().enumerate() {
                prop_assert_eq!(shares.range(device), next..next + length);
                next += length;
            }
            prop_assert_eq!(shares.range(lengths.len()), next..next);
        }
    }
}
