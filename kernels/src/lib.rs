//! Matrix transposition kernels, compiled to PTX by `cargo xtask ptx`.
//!
//! A kernel moves opaque elements of 1, 2, 4, 8 or 16 bytes from a row-major `rows × cols`
//! source to a row-major `cols × rows` destination. It knows sizes, never types, so every
//! bit pattern arrives as it left. The names of the entry points are the strategy and
//! the bytes of an element: `padded_b4` transposes 4-byte elements.
//!
//! Every entry takes two addresses and one structure of parameters. `kernel_abi`, which the host shares, has the
//! structures, the shapes of tiles and blocks, and a row for every kernel.
//!
//! | file | what it is about |
//! |---|---|
//! | `divide` | division by a number that a launch does not change |
//! | `element` | the five element widths and how each is moved |
//! | `global` | vectors of global memory |
//! | `launch` | launches that overlap, and registers |
//! | `matrices` | source and destination: addresses, shape, leading dimensions, edges |
//! | `micro_block` | what a thread transposes in registers |
//! | `multiply` | the high half of a product |
//! | `opaque` | keeping the compiler from computing early what is needed late |
//! | `shared` | accesses to shared memory as wide as they are needed |
//! | `slide` | bytes that start anywhere, out of aligned ones |
//! | `tile` | a tile in shared memory |
//! | `walk` | which tile a block takes |
//! | `warp` | what the lanes of a warp tell each other |
//! | `classic` | the kernels of the classic ladder: copy, naive, tiled, padded, diagonal |
//! | `in_place` | the kernels that transpose a matrix inside its own memory |
//! | `fast` | the kernels that reach the speed of a copy |
//! | `study` | the kernels of the texts that this project grew from, for blocks of many shapes |
//! | `tensor` | the kernels that move arrays of any rank |
//! | `arithmetic` | the kernels that compute on the way: four families, `arithmetic_rows`, `_pixels`, `_matrices` and `_tensors` |

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![cfg_attr(
    all(
        target_arch = "nvptx64",
        any(
            feature = "fast",
            feature = "in_place",
            feature = "in_place_studies",
            feature = "tensor",
            feature = "arithmetic"
        )
    ),
    feature(link_llvm_intrinsics)
)]
// The intrinsics that are declared under their LLVM names are in `warp`.
#![allow(internal_features)]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![deny(clippy::undocumented_unsafe_blocks)]
// What threads hold is indexed in unrolled loops: an array taken apart by an iterator goes through
// local memory.
#![allow(clippy::needless_range_loop)]
// A build of one family has no use for the others' macros, nor for all that they share.
#![cfg_attr(
    not(all(
        feature = "classic",
        feature = "fast",
        feature = "study",
        feature = "in_place",
        feature = "in_place_studies",
        feature = "tensor",
        feature = "arithmetic_rows",
        feature = "arithmetic_pixels",
        feature = "arithmetic_matrices",
        feature = "arithmetic_tensors"
    )),
    allow(unused_macros, unused_imports, dead_code)
)]

#[cfg(any(
    feature = "in_place",
    feature = "in_place_studies",
    feature = "tensor",
    feature = "arithmetic"
))]
pub mod divide;
pub mod element;
#[cfg(any(
    feature = "fast",
    feature = "in_place",
    feature = "in_place_studies",
    feature = "tensor",
    feature = "arithmetic"
))]
pub mod global;
pub mod launch;
pub mod matrices;
#[cfg(any(feature = "fast", feature = "tensor", feature = "arithmetic"))]
pub mod micro_block;
pub mod multiply;
#[cfg(any(
    feature = "fast",
    feature = "in_place",
    feature = "in_place_studies",
    feature = "tensor",
    feature = "arithmetic"
))]
pub mod opaque;
#[cfg(any(feature = "fast", feature = "tensor", feature = "arithmetic"))]
pub mod parts;
#[cfg(any(feature = "fast", feature = "in_place", feature = "tensor", feature = "arithmetic"))]
pub mod shared;
#[cfg(any(feature = "fast", feature = "tensor", feature = "arithmetic"))]
pub mod slide;
pub mod tile;
pub mod walk;
#[cfg(any(
    feature = "fast",
    feature = "in_place",
    feature = "in_place_studies",
    feature = "tensor",
    feature = "arithmetic"
))]
pub mod warp;

#[cfg(feature = "arithmetic")]
pub mod arithmetic;
#[cfg(feature = "classic")]
pub mod classic;
#[cfg(any(feature = "fast", feature = "arithmetic"))]
pub mod fast;
#[cfg(feature = "study")]
pub mod study;
#[cfg(any(feature = "tensor", feature = "arithmetic"))]
pub mod tensor;

#[cfg(any(feature = "in_place", feature = "in_place_studies"))]
pub mod in_place;

pub use kernel_abi::classic::{BLOCK_ROWS, TILE};

/// The elements that a thread moves: every eighth of a tile's column.
pub const ROWS_PER_THREAD: usize = (TILE / BLOCK_ROWS) as usize;

/// Says in the PTX in which blocks an entry point runs, and checks that it is what its row of the table says: its name, its
/// element's bytes and its parameters.
macro_rules! declare {
    ($family:ident::$row:ident: $params:ty, $name:ident: $element:ty) => {
        const BLOCK: kernel_abi::Block = {
            let row: &kernel_abi::Kernel<$params> = &kernel_abi::$family::$row;
            row.implemented(stringify!($name), size_of::<$element>())
        };
        const NUMBERS: ([u32; 3], bool) = $crate::launch::numbers(BLOCK);
        $crate::launch::runs_in::<
            { NUMBERS.0[0] },
            { NUMBERS.0[1] },
            { NUMBERS.0[2] },
            { NUMBERS.1 },
        >();
    };
}

/// Defines one entry point per element width of a kernel of the classic ladder or of the study.
///
/// The entries differ in nothing but the width; the generic function named does the work. A
/// kernel that stages a tile names the tile's pitch in elements, or the elements of a tile whose
/// shape it decides later: the array is declared here because shared memory belongs to an entry
/// point.
macro_rules! entries {
    ($doc:literal, $family:ident::$row:ident, $kernel:path => $($name:ident: $element:ty),+ $(,)?) => {
        $($crate::entry! { $doc, $family::$row, $name: $element, |matrices| $kernel(matrices) })+
    };
    ($doc:literal, $family:ident::$row:ident, $kernel:path, pitch $pitch:expr => $($name:ident: $element:ty),+ $(,)?) => {
        $($crate::entry! { $doc, $family::$row, $name: $element, |matrices| {
            let memory = cuda_std::shared_array![$element; ($crate::TILE * $pitch) as usize];
            $kernel(matrices, $crate::tile::Tile::<$element, { $pitch }>::new(memory))
        } })+
    };
    ($doc:literal, $family:ident::$row:ident, $kernel:path, shared $len:expr => $($name:ident: $element:ty),+ $(,)?) => {
        $($crate::entry! { $doc, $family::$row, $name: $element, |matrices| {
            let memory = cuda_std::shared_array![$element; $len];
            $kernel(matrices, $crate::study::shared::SharedArray::new(memory))
        } })+
    };
}

/// Defines one entry point that takes two addresses and [`Matrices`](kernel_abi::classic::Matrices), and a body.
macro_rules! entry {
    ($doc:literal, $family:ident::$row:ident, $name:ident: $element:ty, |$matrices:ident| $body:expr) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// - `src` is readable at `row * src_ld + col` for all `row < rows` and `col < cols`;
        /// - `dst` is writable at every element of the result, and nothing else accesses those
        ///   elements during the launch;
        /// - both are aligned to the element's width;
        /// - the grid covers the matrix as `walk` describes, and dynamic shared memory is as large as
        ///   the kernel says.
        #[cuda_std::kernel]
        pub unsafe fn $name(
            src: *const $element,
            dst: *mut $element,
            params: kernel_abi::classic::Matrices,
        ) {
            $crate::declare! { $family::$row: kernel_abi::classic::Matrices, $name: $element }
            let kernel_abi::classic::Matrices { rows, cols, src_ld, dst_ld } = params;
            let $matrices = $crate::matrices::Matrices { src, dst, rows, cols, src_ld, dst_ld };
            // SAFETY: the caller's obligations are those of the generic kernel, and its array is
            // as long as it wants it.
            unsafe { $body }
        }
    };
}

/// Defines an entry point of the fast kernels: its row of the table and its parameters, and a body that is given the
/// matrices of this block's number in the batch.
macro_rules! fast_entry {
    ($doc:literal, $row:ident: $params_type:ident, $name:ident: $element:ty, |$matrices:ident, $params:ident| $body:expr) => {
        $crate::fast_entry! {
            $doc, $row: $params_type, $name: $element, |$params| cuda_std::thread::block_idx_z(), |$matrices| $body
        }
    };
    ($doc:literal, $row:ident: $params_type:ident, $name:ident: $element:ty, |$params:ident| $number:expr, |$matrices:ident| $body:expr) => {
        #[doc = $doc]
        ///
        /// The block's z index is the number of its matrix in the batch.
        ///
        /// # Safety
        /// - `src` is readable at `row * src_ld + col` for all `row < rows` and `col < cols`, and at
        ///   all between the first and the last of those;
        /// - `dst` is writable at every element of the result, and nothing else accesses those
        ///   elements during the launch;
        /// - both are aligned to the element's width, for every matrix of the batch;
        /// - the grid is the one that the kernel's plan gives.
        #[cfg(feature = "fast")]
        #[cuda_std::kernel]
        pub unsafe fn $name(
            src: *const $element,
            dst: *mut $element,
            $params: kernel_abi::fast::$params_type,
        ) {
            $crate::declare! { fast::$row: kernel_abi::fast::$params_type, $name: $element }
            $crate::launch::begin();
            let batched = $params.matrices;
            // SAFETY: the caller's obligations.
            unsafe {
                let number = u64::from($number);
                let $matrices = $crate::matrices::Matrices {
                    // Two matrices that take turns may lie in memories of two devices.
                    src: src.wrapping_add(number.wrapping_mul(batched.src_batch) as usize),
                    dst: dst.wrapping_add(number.wrapping_mul(batched.dst_batch) as usize),
                    rows: batched.rows,
                    cols: batched.cols,
                    src_ld: batched.src_ld,
                    dst_ld: batched.dst_ld,
                };
                $body
            }
        }
    };
}

/// Defines entry points of fast kernels whose blocks move a band of rows or columns, as many as the parameter `$band`
/// says, through dynamic shared memory.
macro_rules! band_entries {
    ($doc:literal, $row:ident: $params_type:ident.$band:ident, $transpose:ident => $($name:ident: $element:ty),+) => {
        $($crate::fast_entry! {
            $doc, $row: $params_type,
            $name: $element, |matrices, params| {
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = $crate::tile::shared_address(memory);
                $transpose::<$element>(matrices, params.$band as u32, base)
            }
        })+
    };
}

pub(crate) use {band_entries, declare, entries, entry, fast_entry};
