//! The kernels that transpose a matrix inside its own memory.
//!
//! Every kernel permutes memory that it reads and writes, so each has a way to know that a
//! place has been read before it is overwritten:
//!
//! | file | what it moves | how it knows |
//! |---|---|---|
//! | `square`, `packed`, `square_tuples` | two tiles, mirrored at the diagonal | one block holds both |
//! | `panel` | a panel of rows, or a tile of it | barrier in the block, counters between blocks |
//! | `permute`, `permute_bytes` | super-elements along cycles (100!, 0100!, 1000!) | a flag bit per super-element |
//! | `carry` | the same, through shared memory | the same |
//! | `leaders` | super-elements along short cycles | one warp has the whole cycle |
//! | `fused` | tiles along cycles, transposed on the way | a flag bit per tile |
//! | `flags` | elements along the cycles of a tile (010!, PTTWAC) | a flag bit per element, in shared memory |
//! | `cycle` | elements along cycles (P-IPT) | one thread has the whole cycle |
//! | `rows`, `columns` | rows and columns of the C2R/R2C decomposition | as `panel` |
//! | `staged` | rows of it that are too long for the chip | what is written is another memory |
//!
//! `segments`, `unit_segments` and `units` have how tiles are moved between memory and chip, `slots` has what `permute`, `carry` and `leaders` share, `strong` and `group` why the order of accesses is enough.
//! `docs/in-place.md` explains the algorithms that they are the steps of.
//!
//! `carry`, `fused`, `flags` and `cycle` run only where a caller asks for them: they are a family of their own,
//! `in_place_studies`, and a feature of this crate.
//!
//! Every entry takes the matrix, scratch memory, and a structure of parameters that the host computed.

#[cfg(feature = "in_place_studies")]
pub mod carry;
#[cfg(feature = "in_place")]
pub mod columns;
#[cfg(feature = "in_place_studies")]
pub mod cycle;
#[cfg(feature = "in_place_studies")]
pub mod flags;
#[cfg(feature = "in_place_studies")]
pub mod fused;
#[cfg(feature = "in_place")]
pub mod group;
#[cfg(feature = "in_place")]
pub mod leaders;
#[cfg(feature = "in_place")]
pub mod packed;
#[cfg(feature = "in_place")]
pub mod panel;
#[cfg(feature = "in_place")]
pub mod permute;
#[cfg(feature = "in_place")]
pub mod permute_bytes;
#[cfg(feature = "in_place")]
pub mod rows;
pub mod segments;
pub mod slots;
#[cfg(feature = "in_place")]
pub mod square;
#[cfg(feature = "in_place")]
pub mod square_tuples;
#[cfg(feature = "in_place")]
pub mod staged;
pub mod strong;
pub mod sweep;
#[cfg(feature = "in_place")]
pub mod unit_segments;
#[cfg(feature = "in_place")]
pub mod units;
pub mod unroll;

/// Defines one entry point per element width: its row of the table and its parameters.
macro_rules! in_place_entries {
    ($doc:literal, $row:ident: $params:ident, $kernel:ident => $($name:ident: $element:ty $(, $constant:literal)*);+ $(;)?) => {
        $($crate::in_place::in_place_entry! { $doc, $row: $params, $kernel => $name: $element $(, $constant)* })+
    };
}

/// Defines one entry point of [`in_place_entries!`].
macro_rules! in_place_entry {
    ($doc:literal, $row:ident: $params:ident, $kernel:ident => $name:ident: $element:ty $(, $constant:literal)*) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// - `matrix` and `scratch` are aligned, readable and writable wherever the parameters lead,
        ///   and nothing but this launch accesses them;
        /// - the parameters are those that the host's planner computes for this kernel, and the launch
        ///   has the block, the grid and the dynamic shared memory that belong to them.
        #[cuda_std::kernel]
        pub unsafe fn $name(
            matrix: *mut $element,
            scratch: *mut u32,
            params: kernel_abi::in_place::$params,
        ) {
            $crate::declare! { in_place::$row: kernel_abi::in_place::$params, $name: $element }
            $crate::launch::begin();
            // SAFETY: the caller's obligations are those of the generic kernel.
            unsafe { $kernel::<$element $(, $constant)*>(matrix, scratch, params) }
        }
    };
}

use {in_place_entries, in_place_entry};
