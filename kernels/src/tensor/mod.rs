//! The kernels that move arrays of any rank. Those that compute on the way have their tiles and boxes from here.
//!
//! | file | what it is about |
//! |---|---|
//! | `words` | any move: a word a thread at a time, in the destination's order |
//! | `runs` | moves of long stretches that lie together on both sides, and start anywhere |
//! | `tiles` | moves whose fastest axis changes: through a transposed tile, as `micro` of `fast` does |
//! | `tile` | what is known of a tile: its place, where rows and columns lie, how shared memory holds it |
//! | `tile_units` | loads and stores tiles of narrow words that start on 4 or 8 bytes, and stores those of whole vectors |
//! | `tile_rows` | loads tiles of narrow words whose rows start anywhere |
//! | `tile_columns` | stores tiles of narrow words whose columns start anywhere |
//! | `boxes` | moves of elements of several words, and along short axes: gathered from a box in shared memory |
//! | `pieces` | moves of narrow words that `boxes` would store in stretches of a few words, or in very long ones |
//! | `vector` | vectors out of single words |
//! | `on_the_way` | what `words` and `tiles` do to words on the way: nothing, or bits are flipped |
//! | `axes` | indices and offsets out of a number, by division |
//! | `constants` | words that a launch has among its parameters |

pub mod axes;
pub mod boxes;
#[cfg(feature = "tensor")]
pub mod constants;
pub mod on_the_way;
pub mod pieces;
#[cfg(feature = "tensor")]
pub mod runs;
pub mod tile;
pub mod tile_columns;
pub mod tile_rows;
pub mod tile_units;
pub mod tiles;
pub mod vector;
#[cfg(feature = "tensor")]
pub mod words;

/// Defines an entry point: its row of the table and its parameters, and a body.
macro_rules! tensor_entry {
    ($doc:literal, $row:ident: $params_type:ident, $name:ident: $element:ty, |$src:ident, $dst:ident, $params:ident| $body:expr) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// - `src` is readable at every word that the parameters lead to, and `dst` is writable at every one; nothing else accesses
        ///   the latter during the launch, and no two indices lead to one of them;
        /// - both are aligned to the word's width;
        /// - the parameters, the grid and the dynamic shared memory are those that the kernel's plan gives.
        #[cfg(feature = "tensor")]
        #[cuda_std::kernel]
        pub unsafe fn $name(
            $src: *const $element,
            $dst: *mut $element,
            $params: kernel_abi::tensor::$params_type,
        ) {
            $crate::declare! { tensor::$row: kernel_abi::tensor::$params_type, $name: $element }
            $crate::launch::begin();
            // SAFETY: the caller's obligations.
            unsafe { $body }
        }
    };
}
use tensor_entry;
