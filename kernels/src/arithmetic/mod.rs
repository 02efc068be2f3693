//! The kernels that compute on the way: `α·a`, `α·a + β·b`, in another format if that is wanted.
//!
//! | file | what it is about |
//! |---|---|
//! | `real` | the numbers that it is computed in, 32 and 64 bits |
//! | `formats` | numbers out of the bits of a format, and back |
//! | `operation` | what is computed of the elements of a unit |
//! | `pair` | the sizes of elements of source and destination |
//! | `memory` | parts of vectors of global and shared memory |
//! | `units` | any move: units of elements, in the destination's order |
//! | `runs` | what lies together in all memories, in stretches that start anywhere: by units that are slid |
//! | `slid` | what lies together in all memories, on units of the destination and anywhere in the source |
//! | `lines` | rows that lie together in all memories and follow each other in the destination, in units that hold parts of several |
//! | `channels` | what stays in its order without gaps, with a factor and a summand for each channel |
//! | `pixels` | pixels of few channels: gathered from what lies together in the source |
//! | `matrices` | matrices that are transposed: through the tiles of `fast` |
//! | `large` | matrices that are transposed and converted, where rows start anywhere, in larger tiles: for sizes of elements that gain by that |
//! | `by_pairs` | matrices that are transposed and computed, whose rows or columns are channels with pairs of their own, where rows start anywhere |
//! | `beside` | matrices that are transposed and added to what lies as the destination does, where rows start anywhere |
//! | `column` | units of a column of their tiles |
//! | `placed_pairs` | the pairs of elements that say which channel they have by where they lie |
//! | `row_pairs` | the pairs of channels that the rows of a tile have |
//! | `twos` | tiles of whose columns each thread takes two units |
//! | `interleaved` | pixels of two, three or four channels, and planes |
//! | `boxes` | moves along short axes and in any order: through the boxes of `tensor`, computed before they are gathered |
//! | `boxes_beside` | sums along short axes and in any order: computed as they are gathered |
//! | `added` | what is added to boxes, and where it waits |
//! | `tiles` | moves whose fastest axis changes: through the transposed tile of `tensor` |
//! | `tiles_by_pairs` | those of them whose channels have a factor and a summand each |
//!
//! A program loads a family of entry points at a time, and those that compute are four, each a feature: `arithmetic_rows` (`units`, `runs`, `slid`, `lines`, `channels`), `arithmetic_pixels` (`pixels`, `interleaved`),
//! `arithmetic_matrices` (`matrices`, `large`, `by_pairs`, `beside`) and `arithmetic_tensors` (`boxes`, `boxes_beside`, `tiles`, `tiles_by_pairs`). The feature `arithmetic` is what they share.
//!
//! An entry point is for one size of source elements. Formats, and the size of destination elements, are parameters that all threads of a launch have in
//! common: to look at them takes an instruction or two for each unit, and there are five entry points of a kernel, not one for each pair.

pub mod added;
pub mod beside;
pub mod boxes;
pub mod boxes_beside;
pub mod by_pairs;
pub mod channels;
pub mod column;
pub mod fetch;
pub mod formats;
pub mod interleaved;
pub mod large;
pub mod lines;
pub mod matrices;
pub mod memory;
pub mod operation;
pub mod pair;
pub mod pixels;
pub mod placed_pairs;
pub mod real;
pub mod row_pairs;
pub mod runs;
pub mod slid;
pub mod tiles;
pub mod tiles_by_pairs;
pub mod twos;
pub mod units;

/// Defines an entry point: its row of the table and its parameters, and a body.
macro_rules! arithmetic_entry {
    ($doc:literal, $row:ident: $params_type:ident, $name:ident: $element:ty, |$src:ident, $dst:ident, $params:ident| $body:expr) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// - `src` is readable at every element that the parameters lead to, and `dst` is writable at every one; nothing else accesses
        ///   the latter during the launch, and no two indices lead to one of them;
        /// - so is the second operand readable, if there is one; it may be the destination itself, element for element, and so may the source
        ///   of `compute_units` and `compute_runs`, where the same thread loads and stores an element;
        /// - all are aligned to their elements' bytes;
        /// - the parameters, the grid and the dynamic shared memory are those that the kernel's plan gives.
        #[cuda_std::kernel]
        pub unsafe fn $name(
            $src: *const $element,
            $dst: *mut u8,
            $params: kernel_abi::arithmetic::$params_type,
        ) {
            $crate::declare! { arithmetic::$row: kernel_abi::arithmetic::$params_type, $name: $element }
            $crate::launch::begin();
            // SAFETY: the caller's obligations.
            unsafe { $body }
        }
    };
}
use arithmetic_entry;
