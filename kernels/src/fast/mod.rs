//! The kernels that reach the speed of a copy.
//!
//! They touch global memory in aligned vectors of 16 bytes, both ways, and stage what they move in
//! shared memory. They differ in where the elements change places:
//!
//! | file | for | elements change places |
//! |---|---|---|
//! | `micro` | rows that start on 16 bytes, both ways | in registers, in blocks of up to 4 × 16 |
//! | `rows` | rows that start anywhere | in registers, in blocks of up to 4 × 16 |
//! | `pixels` | triples of 1-byte or 2-byte words in rows that start on 16 bytes: RGB pixels | in registers, in packets of 12 bytes |
//! | `triples` | triples of 1-byte or 2-byte words in rows that start anywhere | in registers, in packets of 12 bytes |
//! | `tuples` | other elements of words of 4 and 8 bytes | reading the staging buffer |
//! | `tall` | few columns: many rows are contiguous in the source | reading the staging buffer |
//! | `tall_bytes` | few columns of 1-byte elements | reading the staging buffer |
//! | `lines` | few rows: many columns are contiguous in the destination | reading the staging buffer |
//! | `wide` | so many rows of 4 bytes that `lines` would load in several rounds | writing the staging buffer |
//! | `batch` | many small matrices, one after the other | reading the staging buffer |
//! | `batch_narrow` | many small matrices of 1-byte and 2-byte elements | reading the staging buffer |
//!
//! `staging` and `row_staging` are the two staging buffers, `spans` is the transposed tile, `band` the columns that a block of `wide`
//! or `lines` moves, `edges` moves vectors that are partly outside; `gather`, `shared` and [`global`](crate::global) are the accesses that all of them are made of.
//! `docs/architecture.md` explains the words.
//!
//! # Spans
//! A vector of 16 bytes can be stored only where 16 bytes of one destination row start on a multiple
//! of 16. So where destination rows start anywhere, a block does not own the same source rows for
//! all of its columns: in destination row `c` its *span* starts `t(c)` elements early, `t(c)`
//! being how far the span's nominal start lies past a multiple of 32 bytes, a sector. All
//! spans are equally long and meet without a gap; whole sectors are stored, except at the two
//! ends of a destination row. The block loads up to `SECTOR - 1` rows more than it
//! stores. Without this, every sector between two blocks would be written in two parts.
//!
//! # Order
//! Consecutive blocks take consecutive tiles *down* the rows of the source, so that what
//! they write is consecutive: the memory likes long writes better than long reads. Where source rows lie a
//! multiple of 128 KiB apart, `micro` takes two columns of tiles in turn
//! ([`walk::in_pairs`](crate::walk::in_pairs)): such rows meet in few banks of the memory.

pub mod band;
pub mod batch;
pub mod batch_narrow;
pub mod edges;
pub mod gather;
pub mod lines;
pub mod micro;
pub mod pixels;
pub mod row_staging;
pub mod rows;
pub mod spans;
pub mod staging;
pub mod tall;
pub mod tall_bytes;
pub mod triples;
pub mod tuples;
pub mod wide;

use crate::element::Element;
use crate::matrices::Matrices;
pub use crate::shared;

pub use kernel_abi::fast::{SECTOR, VECTOR};

/// Elements of a vector.
pub const fn per_vector<E>() -> u32 {
    VECTOR / size_of::<E>() as u32
}

/// How many elements `address` lies past a multiple of [`SECTOR`] bytes.
#[inline(always)]
pub fn past_sector<E: Element>(address: u64) -> u32 {
    (address as u32 % SECTOR) / size_of::<E>() as u32
}

/// How many elements earlier than its nominal start the span of any row of the destination may start: none where all rows
/// start on sectors, or up to one less than a sector's.
#[inline(always)]
pub fn most_early<E: Element>(matrices: &Matrices<E>) -> u64 {
    let size = size_of::<E>() as u32;
    let ends = matrices.dst as u64 as u32 | (matrices.dst_ld as u32).wrapping_mul(size);
    if ends.is_multiple_of(SECTOR) {
        0
    } else {
        (SECTOR / size - 1) as u64
    }
}
