//! The kernels that ship with the library: their PTX and the names of their entry points.

use crate::{Error, Result};

/// A set of kernels that are loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Classic,
    InPlace,
}

impl Family {
    pub const ALL: [Family; 2] = [Family::Classic, Family::InPlace];

    /// The kernels' PTX, built from `kernels/` by `cargo xtask ptx`.
    pub fn ptx(self) -> &'static str {
        match self {
            Family::Classic => include_str!("../ptx/classic.ptx"),
            Family::InPlace => include_str!("../ptx/in_place.ptx"),
        }
    }
}

/// An entry point: its name in the PTX, and the family that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub family: Family,
    pub name: &'static str,
}

/// The bytes of an element that a kernel exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    B1,
    B2,
    B4,
    B8,
    B16,
}

impl Width {
    pub fn of_bytes(bytes: usize) -> Result<Self> {
        match bytes {
            1 => Ok(Width::B1),
            2 => Ok(Width::B2),
            4 => Ok(Width::B4),
            8 => Ok(Width::B8),
            16 => Ok(Width::B16),
            _ => Err(Error::ElementSize { bytes }),
        }
    }

    pub fn bytes(self) -> u64 {
        1 << self as u32
    }

    /// The widest one that divides all of the numbers of bytes.
    pub fn dividing(bytes: impl IntoIterator<Item = usize>) -> Self {
        let all = bytes.into_iter().fold(16, |all, bytes| all | bytes);
        let widths = [Width::B1, Width::B2, Width::B4, Width::B8, Width::B16];
        widths[(all.trailing_zeros() as usize).min(4)]
    }
}

/// What a kernel does with each tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Copy,
    Naive,
    Tiled,
    Padded,
    Diagonal,
}

/// A list of the entry points of one kernel, narrowest element first.
macro_rules! entry_names {
    ($stem:literal) => {
        [
            concat!($stem, "_b1"),
            concat!($stem, "_b2"),
            concat!($stem, "_b4"),
            concat!($stem, "_b8"),
            concat!($stem, "_b16"),
        ]
    };
}

impl Kernel {
    /// The entry point for elements of `width`.
    pub fn entry(self, width: Width) -> Entry {
        let names = match self {
            Kernel::Copy => entry_names!("copy"),
            Kernel::Naive => entry_names!("naive"),
            Kernel::Tiled => entry_names!("tiled"),
            Kernel::Padded => entry_names!("padded"),
            Kernel::Diagonal => entry_names!("diagonal"),
        };
        Entry { family: Family::Classic, name: names[width as usize] }
    }
}

/// A kernel that works inside a matrix's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlaceKernel {
    Square,
    Panel,
    Permute,
    PermuteShort,
    PermuteShortest,
    Fused,
    Flags,
    Cycle,
    Rows,
    Columns,
}

impl InPlaceKernel {
    /// The entry point for elements of `width`.
    pub fn entry(self, width: Width) -> Entry {
        let names = match self {
            InPlaceKernel::Square => entry_names!("square"),
            InPlaceKernel::Panel => entry_names!("panel"),
            InPlaceKernel::Permute => entry_names!("permute"),
            InPlaceKernel::PermuteShort => entry_names!("permute_short"),
            InPlaceKernel::PermuteShortest => entry_names!("permute_shortest"),
            InPlaceKernel::Fused => entry_names!("fused"),
            InPlaceKernel::Flags => entry_names!("flags"),
            InPlaceKernel::Cycle => entry_names!("cycle"),
            InPlaceKernel::Rows => entry_names!("rows"),
            InPlaceKernel::Columns => entry_names!("columns"),
        };
        Entry { family: Family::InPlace, name: names[width as usize] }
    }

    /// The `Square` kernel that accesses 16 bytes at a time.
    pub fn wide_square(width: Width) -> Entry {
        Entry { family: Family::InPlace, name: entry_names!("square_wide")[width as usize] }
    }
}
