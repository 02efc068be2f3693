//! The kernels that ship with the library: their PTX, their machine code and the names of their entry points.

mod machine_code;

use crate::{Error, Result};

/// A set of kernels that are loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Classic,
    Fast,
    Study,
    InPlace,
}

impl Family {
    #[cfg(feature = "simulator")]
    pub const ALL: [Family; 4] = [Family::Classic, Family::Fast, Family::Study, Family::InPlace];

    /// The kernels' PTX, built from `kernels/` by `cargo xtask ptx`.
    pub fn ptx(self) -> &'static str {
        match self {
            Family::Classic => include_str!("../ptx/classic.ptx"),
            Family::Fast => include_str!("../ptx/fast.ptx"),
            Family::Study => include_str!("../ptx/study.ptx"),
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

    pub const fn bytes(self) -> u64 {
        1 << self as u32
    }

    /// The widest one that divides all of the numbers of bytes.
    pub fn dividing(bytes: impl IntoIterator<Item = usize>) -> Self {
        let all = bytes.into_iter().fold(16, |all, bytes| all | bytes);
        let widths = [Width::B1, Width::B2, Width::B4, Width::B8, Width::B16];
        widths[(all.trailing_zeros() as usize).min(4)]
    }
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

/// The kernels of the classic ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classic {
    Copy,
    Naive,
    Tiled,
    Padded,
    Diagonal,
}

impl Classic {
    /// The entry point for elements of `width`.
    pub fn entry(self, width: Width) -> Entry {
        let names = match self {
            Classic::Copy => entry_names!("copy"),
            Classic::Naive => entry_names!("naive"),
            Classic::Tiled => entry_names!("tiled"),
            Classic::Padded => entry_names!("padded"),
            Classic::Diagonal => entry_names!("diagonal"),
        };
        Entry { family: Family::Classic, name: names[width as usize] }
    }
}

/// A kernel that works inside a matrix's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlaceKernel {
    Square,
    SquareTuples,
    Panel,
    PanelTuples,
    Permute,
    PermuteShort,
    PermuteShortest,
    Leaders,
    LeadersShort,
    Carry,
    Fused,
    Flags,
    Cycle,
    Rows,
    StageRows,
    Columns,
}

impl InPlaceKernel {
    /// The entry point for elements of `width`.
    pub fn entry(self, width: Width) -> Entry {
        let names = match self {
            InPlaceKernel::Square => entry_names!("square"),
            InPlaceKernel::SquareTuples => entry_names!("square_tuples"),
            InPlaceKernel::Panel => entry_names!("panel"),
            InPlaceKernel::PanelTuples => entry_names!("panel_tuples"),
            InPlaceKernel::Permute => entry_names!("permute"),
            InPlaceKernel::PermuteShort => entry_names!("permute_short"),
            InPlaceKernel::PermuteShortest => entry_names!("permute_shortest"),
            InPlaceKernel::Leaders => entry_names!("leaders"),
            InPlaceKernel::LeadersShort => entry_names!("leaders_short"),
            InPlaceKernel::Carry => entry_names!("carry"),
            InPlaceKernel::Fused => entry_names!("fused"),
            InPlaceKernel::Flags => entry_names!("flags"),
            InPlaceKernel::Cycle => entry_names!("cycle"),
            InPlaceKernel::Rows => entry_names!("rows"),
            InPlaceKernel::StageRows => entry_names!("stage_rows"),
            InPlaceKernel::Columns => entry_names!("columns"),
        };
        Entry { family: Family::InPlace, name: names[width as usize] }
    }

    /// The `Square` kernel that accesses 16 bytes at a time.
    pub fn wide_square(width: Width) -> Entry {
        Entry { family: Family::InPlace, name: entry_names!("square_wide")[width as usize] }
    }
}

/// The kernels that reach the speed of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fast {
    Micro,
    Rows,
    Pixels,
    Triples,
    Tuples,
    Elements,
    Tall,
    Wide,
    Lines,
    Batch,
}

impl Fast {
    /// The entry point for elements, or words of elements, of `width`.
    pub fn entry(self, width: Width) -> Entry {
        let names = match self {
            Fast::Micro => entry_names!("micro"),
            Fast::Rows => entry_names!("rows"),
            Fast::Pixels => entry_names!("pixels"),
            Fast::Triples => entry_names!("triples"),
            Fast::Tuples => entry_names!("tuples"),
            Fast::Elements => entry_names!("elements"),
            Fast::Tall => entry_names!("tall"),
            Fast::Wide => entry_names!("wide"),
            Fast::Lines => entry_names!("lines"),
            Fast::Batch => entry_names!("batch"),
        };
        Entry { family: Family::Fast, name: names[width as usize] }
    }
}
