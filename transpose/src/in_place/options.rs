//! What a caller may choose of a transposition in place: the algorithm, and sizes.

use crate::{Error, Result};
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
    /// [`FourStage`](Self::FourStage) with the middle two stages as one: three passes. With the feature `in_place_studies`; without it,
    /// [`Error::NotServed`].
    FourStageFused,
    /// Row and column permutations, by Catanzaro, Keller and Garland: two or three passes, one more
    /// if rows are too long for the chip; any shape whose columns fit on it, a few at a time.
    Decomposed,
    /// A thread per cycle: the baseline that the others are measured against. Any shape, slowly. With the feature
    /// `in_place_studies`; without it, [`Error::NotServed`].
    CycleFollowing,
    /// The fastest one known for the shape and the element.
    #[default]
    Auto,
}

impl InPlace {
    /// Every algorithm, [`Auto`](Self::Auto) last.
    pub const ALL: &'static [InPlace] = &[
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
        InPlace::ALL.iter().copied().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            Error::UnknownName {
                kind: "in-place algorithm",
                name: name.to_owned(),
                known: InPlace::ALL
                    .iter()
                    .map(|algorithm| algorithm.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        })
    }
}

/// Sizes and kernels that a caller may choose instead of the planner: for tests, studies and tuning.
///
/// ```
/// use transpose::InPlaceOptions;
/// let options = InPlaceOptions::default().tile((32, 0)).on_chip_bytes(48 << 10);
/// assert_eq!(options.tile, Some((32, 0)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InPlaceOptions {
    /// The tile's rows and columns, `m × n`. The staged algorithms need divisors of the sides;
    /// [`InPlace::TwoStage`] takes the first as the length of its super-elements.
    pub tile: Option<(usize, usize)>,
    /// The most shared memory that a block takes, in bytes. The kernels of squares do not heed it, whose tiles are of fixed sizes, nor do those
    /// that put aside, and back, what fills no panel.
    pub on_chip_bytes: Option<usize>,
    /// The most blocks that hold parts of one whole.
    pub max_group: Option<usize>,
    /// Transposes tiles along their cycles with flags in shared memory (PTTWAC), and with this
    /// spreading factor (a power of two up to 32) and padding. Otherwise whole tiles are held on
    /// chip (BS). With the feature `in_place_studies`.
    pub flags: Option<(usize, bool)>,
    /// Where a warp keeps the super-element that it moves along a cycle.
    pub carry: Carry,
    /// Has [`InPlace::Decomposed`] shuffle rows by way of global memory, as it does with those that do not fit on
    /// chip.
    pub stage_rows: bool,
}

impl InPlaceOptions {
    /// These, with that [`tile`](#structfield.tile), as `(rows, cols)`.
    pub fn tile(mut self, tile: impl Into<Option<(usize, usize)>>) -> Self {
        self.tile = tile.into();
        self
    }

    /// These, with at most so much shared memory to a block, in bytes.
    pub fn on_chip_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.on_chip_bytes = bytes.into();
        self
    }

    /// These, with at most so many blocks to a whole.
    pub fn max_group(mut self, blocks: impl Into<Option<usize>>) -> Self {
        self.max_group = blocks.into();
        self
    }

    /// These, with those [`flags`](#structfield.flags): the spreading factor, and whether they are padded.
    pub fn flags(mut self, flags: impl Into<Option<(usize, bool)>>) -> Self {
        self.flags = flags.into();
        self
    }

    /// These, with super-elements kept there.
    pub fn carry(mut self, carry: Carry) -> Self {
        self.carry = carry;
        self
    }

    /// These, with rows shuffled by way of global memory, or not.
    pub fn stage_rows(mut self, stage_rows: bool) -> Self {
        self.stage_rows = stage_rows;
        self
    }
}

/// Where a warp keeps the super-element that it moves along a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carry {
    /// In registers, several steps of the cycle at a time; long ones in chunks.
    #[default]
    Registers,
    /// In shared memory, a step at a time, as long as it is. With the feature `in_place_studies`.
    SharedMemory,
}
