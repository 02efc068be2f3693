//! One side of a move: the axes as memory has them there, and what lies together.

use super::canonical::Canonical;
use super::sectors::SECTOR;
use kernel_abi::tensor::MOST_AXES;

/// An axis: how many indices, and how far they are apart on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Axis {
    pub length: usize,
    pub src: isize,
    pub dst: isize,
}

/// Which side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Which {
    #[default]
    Source,
    Destination,
}

/// One side of a move, as it is found once for all that asks of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    which: Which,
    /// Bytes that the address is known to be a multiple of.
    pub address: usize,
    /// The axes by their numbers, those of lower strides first.
    order: [u8; MOST_AXES],
    /// Words that lie together wherever one does.
    pub together: usize,
    /// Bytes, up to a sector's, that where they start is a multiple of.
    pub aligned: usize,
    /// Words from there to the nearest others that lie together.
    pub pitch: usize,
}

impl Side {
    /// That of a move along these axes, of words of so many bytes.
    pub fn of(which: Which, axes: &[Axis], address: usize, word_bytes: usize) -> Self {
        let mut side = Side { which, address, together: 1, ..Side::default() };
        // Few, and on one side in order already.
        for number in 0..axes.len() {
            let mut place = number;
            let stride = side.stride(&axes[number]);
            while place > 0 && side.stride(&axes[usize::from(side.order[place - 1])]) > stride {
                side.order[place] = side.order[place - 1];
                place -= 1;
            }
            side.order[place] = number as u8;
        }
        for &number in &side.order[..axes.len()] {
            let axis = &axes[usize::from(number)];
            if side.stride(axis) == side.together as isize {
                side.together *= axis.length;
            }
        }
        let together = side.together;
        let others =
            axes.iter().map(|axis| side.stride(axis)).filter(|by| by.unsigned_abs() >= together);
        side.aligned = starts_on(address, others, word_bytes, SECTOR);
        side.pitch = side.nearest(axes, together);
        side
    }

    /// Whether this is the source.
    pub fn is_source(&self) -> bool {
        self.which == Which::Source
    }

    /// Whether this is the source, which is in [descending](Canonical::is_descending) order along an axis.
    pub fn descends(&self, canonical: &Canonical, axis: usize) -> bool {
        self.is_source() && canonical.is_descending(axis)
    }

    /// Whether this is a source, which is repeated along an axis: the words of all its indices are the same ones.
    pub fn repeats(&self, axis: &Axis) -> bool {
        self.stride(axis) == 0
    }

    /// How far the indices of an axis are apart.
    pub fn stride(&self, axis: &Axis) -> isize {
        match self.which {
            Which::Source => axis.src,
            Which::Destination => axis.dst,
        }
    }

    /// The axes by their numbers, of so many, those of lower strides first.
    pub fn order(&self, count: usize) -> &[u8] {
        &self.order[..count]
    }

    /// Words from the start of one stretch of `stretch` words to that of the nearest other.
    pub fn nearest(&self, axes: &[Axis], stretch: usize) -> usize {
        let strides = axes.iter().map(|axis| self.stride(axis).unsigned_abs());
        strides.filter(|&stride| stride >= stretch).min().unwrap_or(usize::MAX)
    }
}

/// Bytes that divide the distance between what starts along any of these axes, on one side, and its address: up to [`SECTOR`] of the
/// address, more of the strides.
pub(super) fn starts_on(
    address: usize,
    strides: impl Iterator<Item = isize>,
    word_bytes: usize,
    most: usize,
) -> usize {
    let all = strides.fold(0, |all, stride| all | (stride.unsigned_abs() * word_bytes));
    let strides = if all == 0 { most } else { 1 << all.trailing_zeros().min(usize::BITS - 2) };
    // What is as well aligned as is ever asked for most likely is better aligned than that.
    let address = if address >= SECTOR { most } else { address };
    strides.min(address).min(most)
}
