//! Transposition of a matrix inside its own memory.
//!
//! `docs/in-place.md` explains the algorithms. `plan` chooses one and puts it together from steps;
//! the files of index arithmetic know nothing of devices:
//!
//! | file | what it is about |
//! |---|---|
//! | `cycles` | where an element goes, and the cycles that this makes |
//! | `decomposition` | the row and column permutations of C2R and R2C |
//! | `divide` | multipliers for division by invariant numbers |
//! | `tiles` | tile sizes for the staged algorithms |
//! | `panels`, `stages`, `decomposed` | the algorithms as steps |
//! | `launches` | each kernel's words, block, grid and shared memory |
//! | `recipe` | steps, and running them |
//! | `layouts` | arrays of structures and their conversions |

mod cycles;
mod decomposed;
mod decomposition;
mod launches;
mod layouts;
mod panels;
mod plan;
mod recipe;
mod stages;
mod tiles;

pub use cycles::census;
pub use plan::InPlacePlan;

use crate::{DeviceMatrix, Error, Result};
use bytemuck::Pod;
use std::fmt;
use std::str::FromStr;

/// How a matrix is transposed in its own memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InPlace {
    /// Tiles change places across the diagonal, in one pass. Square matrices only.
    Square,
    /// Panels are transposed on chip, then super-elements move along cycles. Two passes, one if
    /// the chip holds the whole matrix; any shape.
    TwoStage,
    /// 100!, 0010!, 0100!, by Sung et al.: three passes. The sides need useful divisors.
    ThreeStage,
    /// 0100!, 0010!, 1000!, 0100!, by Gustavson, Karlsson and Kågström: four passes.
    FourStage,
    /// The same with the middle two as one: three passes.
    FourStageFused,
    /// Row and column permutations, by Catanzaro, Keller and Garland: two or three passes, one more
    /// if rows are too long for the chip; any shape whose columns fit on it, a few at a time.
    Decomposed,
    /// A thread per cycle: the baseline that the others are measured against. Any shape, slowly.
    CycleFollowing,
    /// The fastest one known for the shape and the element.
    #[default]
    Auto,
}

impl InPlace {
    /// Every algorithm, [`Auto`](Self::Auto) last.
    pub const ALL: [InPlace; 8] = [
        InPlace::Square,
        InPlace::TwoStage,
        InPlace::ThreeStage,
        InPlace::FourStage,
        InPlace::FourStageFused,
        InPlace::Decomposed,
        InPlace::CycleFollowing,
        InPlace::Auto,
    ];

    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            InPlace::Square => "square",
            InPlace::TwoStage => "two-stage",
            InPlace::ThreeStage => "three-stage",
            InPlace::FourStage => "four-stage",
            InPlace::FourStageFused => "four-stage-fused",
            InPlace::Decomposed => "decomposed",
            InPlace::CycleFollowing => "cycle-following",
            InPlace::Auto => "auto",
        }
    }
}

impl fmt::Display for InPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for InPlace {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        InPlace::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            Error::UnknownName {
                kind: "in-place algorithm",
                name: name.to_owned(),
                known: InPlace::ALL.map(InPlace::name).join(", "),
            }
        })
    }
}

/// Sizes and kernels that a caller may choose instead of the planner: for tests, studies and tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPlaceOptions {
    /// The tile's rows and columns, `m × n`. The staged algorithms need divisors of the sides;
    /// [`InPlace::TwoStage`] takes the first as the length of its super-elements.
    pub tile: Option<(usize, usize)>,
    /// The most shared memory that a block takes, in bytes.
    pub on_chip_bytes: Option<usize>,
    /// The most blocks that hold parts of one whole.
    pub max_group: Option<usize>,
    /// Transposes tiles along their cycles with flags in shared memory (PTTWAC), and with this
    /// spreading factor (a power of two up to 32) and padding. Otherwise whole tiles are held on
    /// chip (BS).
    pub flags: Option<(usize, bool)>,
    /// Where a warp keeps the super-element that it moves along a cycle.
    pub carry: Carry,
    /// Has [`InPlace::Decomposed`] shuffle rows by way of global memory, as it does with those that do not fit on
    /// chip.
    pub stage_rows: bool,
}

/// Where a warp keeps the super-element that it moves along a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// In registers, several steps of the cycle at a time; long ones in pieces.
    #[default]
    Registers,
    /// In shared memory, a step at a time, as long as it is.
    SharedMemory,
}

impl<T: Pod> DeviceMatrix<T> {
    /// Transposes the matrix in its own memory: rows and columns change places.
    ///
    /// Elements may have any size. Extra device memory is taken for the time of the call: at most a
    /// thousandth of the matrix and 1 MiB (five thousandths, if even the shorter rows are too long for
    /// the chip). [`InPlacePlan`] keeps it for many calls, and reports how much it is.
    ///
    /// # Errors
    /// [`Error::GapsInPlace`] for rows with gaps, unless the matrix is square;
    /// [`Error::OutOfMemory`], and what the device reports. After
    /// [`Error::Interrupted`] the contents are unspecified; after any other error they are as
    /// before.
    pub fn transpose_in_place(&mut self) -> Result<()> {
        self.transpose_in_place_with(InPlace::Auto)
    }

    /// Transposes the matrix in its own memory by the given algorithm.
    ///
    /// # Errors
    /// As [`transpose_in_place`](Self::transpose_in_place), and [`Error::NotServed`] for a shape
    /// that the algorithm does not serve.
    pub fn transpose_in_place_with(&mut self, algorithm: InPlace) -> Result<()> {
        InPlacePlan::new(self, algorithm)?.run(self)
    }
}
