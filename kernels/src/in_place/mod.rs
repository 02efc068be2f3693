//! The kernels that transpose a matrix inside its own memory.
//!
//! Every kernel permutes memory that it reads and writes, so each has a way to know that a
//! place has been read before it is overwritten:
//!
//! | file | what it moves | how it knows |
//! |---|---|---|
//! | `square`, `packed`, `square_tuples` | two tiles, mirrored at the diagonal | one block holds both |
//! | `panel` | a panel of rows, or a tile of it | barrier in the block, counters between blocks |
//! | `permute` | super-elements along cycles (100!, 0100!, 1000!) | a flag bit per super-element |
//! | `carry` | the same, through shared memory | the same |
//! | `leaders` | super-elements along short cycles | one warp has the whole cycle |
//! | `fused` | tiles along cycles, transposed on the way | a flag bit per tile |
//! | `flags` | elements along the cycles of a tile (010!, PTTWAC) | a flag bit per element, in shared memory |
//! | `cycle` | elements along cycles (P-IPT) | one thread has the whole cycle |
//! | `rows`, `columns` | rows and columns of the C2R/R2C decomposition | as `panel` |
//! | `staged` | rows of it that are too long for the chip | what is written is another memory |
//!
//! `docs/in-place.md` explains the algorithms they are the steps of.
//!
//! Every entry takes the matrix, scratch memory, and a structure of 64-bit words that the host computed.

pub mod carry;
pub mod columns;
pub mod cycle;
pub mod divide;
pub mod flags;
pub mod fused;
pub mod group;
pub mod leaders;
pub mod lines;
pub mod packed;
pub mod panel;
pub mod permute;
pub mod rows;
pub mod square;
pub mod square_tuples;
pub mod staged;
pub mod strong;
pub mod sweep;
pub mod unroll;

/// Defines one entry point per element width: the two addresses, then `$words` by value, whose fields are all
/// 64 bits wide and stand in the order named.
macro_rules! in_place_entries {
    ($doc:literal, $kernel:ident of $words:ident $fields:tt => $($name:ident: $element:ty $(, $constant:literal)*);+ $(;)?) => {
        $($crate::in_place::in_place_entry! { $doc, $kernel of $words $fields => $name: $element $(, $constant)* })+
    };
}

/// Defines one entry point of [`in_place_entries!`].
macro_rules! in_place_entry {
    ($doc:literal, $kernel:ident of $words:ident { $($field:ident),* } => $name:ident: $element:ty $(, $constant:literal)*) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// - `matrix` and `scratch` are aligned, readable and writable wherever the words lead,
        ///   and nothing but this launch accesses them;
        /// - the words are those that the host's planner computes for this kernel, and the launch
        ///   has the block, the grid and the dynamic shared memory that belong to them.
        #[cuda_std::kernel]
        pub unsafe fn $name(matrix: *mut $element, scratch: *mut u32, words: $words) {
            $crate::launch::begin();
            // SAFETY: the caller's obligations are those of the generic kernel.
            unsafe { $kernel::<$element $(, $constant)*>(matrix, scratch, words) }
        }
    };
}

use {in_place_entries, in_place_entry};
