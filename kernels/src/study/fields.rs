//! A structure of arrays against an array of structures: records of two `f32`, `x` and `y`.
//!
//! An array of structures is an `n × 2` matrix, a structure of arrays a `2 × n` one; a transpose
//! turns either into the other. The first two kernels touch both fields; of an array of
//! structures they use every byte that they fetch, in two strided accesses. The other two
//! touch `x` alone, and the array of structures then wastes half of every sector.
//!
//! The grid and the block have only an x axis, a thread for each record.
//!
//! Source: Grossi, "GPU Computing", lecture 7: `testInnerStruct`, `testInnerArray`.

use crate::matrices::Matrices;
use crate::walk;
use cuda_std::thread;

/// What is added to a record's `x`.
const TO_X: f32 = 10.0;

/// What is added to a record's `y`.
const TO_Y: f32 = 20.0;

/// The sum, from bits to bits.
#[inline(always)]
fn plus(bits: u32, addend: f32) -> u32 {
    (f32::from_bits(bits) + addend).to_bits()
}

/// The record that is this thread's.
#[inline(always)]
fn record() -> u64 {
    walk::cartesian().col * thread::block_dim_x() as u64 + thread::thread_idx_x() as u64
}

/// # Safety
/// The obligations of the entry points; both matrices are `n × 2`.
#[inline(always)]
unsafe fn inner_struct(matrices: Matrices<u32>) {
    let record = record();
    // SAFETY: the caller's obligations.
    unsafe {
        let (x, y) = (matrices.read(record, 0), matrices.read(record, 1));
        matrices.write_copied(record, 0, plus(x, TO_X));
        matrices.write_copied(record, 1, plus(y, TO_Y));
    }
}

/// # Safety
/// The obligations of the entry points; both matrices are `2 × n`.
#[inline(always)]
unsafe fn inner_array(matrices: Matrices<u32>) {
    let record = record();
    // SAFETY: the caller's obligations.
    unsafe {
        let (x, y) = (matrices.read(0, record), matrices.read(1, record));
        matrices.write_copied(0, record, plus(x, TO_X));
        matrices.write_copied(1, record, plus(y, TO_Y));
    }
}

/// # Safety
/// The obligations of the entry points; the source is `n × 2`, the destination `1 × n`.
#[inline(always)]
unsafe fn inner_struct_x(matrices: Matrices<u32>) {
    let record = record();
    // SAFETY: the caller's obligations. What is at (record, 0) is written to (0, record).
    unsafe {
        let x = matrices.read(record, 0);
        matrices.write_transposed(record, 0, plus(x, TO_X));
    }
}

/// # Safety
/// The obligations of the entry points; the source is `2 × n`, the destination `1 × n`.
#[inline(always)]
unsafe fn inner_array_x(matrices: Matrices<u32>) {
    let record = record();
    // SAFETY: the caller's obligations.
    unsafe {
        let x = matrices.read(0, record);
        matrices.write_copied(0, record, plus(x, TO_X));
    }
}

crate::entries! { "Adds to both fields of an array of structures.", study::INNER_STRUCT, inner_struct => inner_struct_b4: u32 }
crate::entries! { "Adds to both fields of a structure of arrays.", study::INNER_ARRAY, inner_array => inner_array_b4: u32 }
crate::entries! { "Adds to `x` of an array of structures.", study::INNER_STRUCT_X, inner_struct_x => inner_struct_x_b4: u32 }
crate::entries! { "Adds to `x` of a structure of arrays.", study::INNER_ARRAY_X, inner_array_x => inner_array_x_b4: u32 }
