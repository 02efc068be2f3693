//! Small kernels, one for each thing that a build can get wrong.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
#![deny(warnings)]

use cuda_std::prelude::*;
use cuda_std::ptr::{
    convert_generic_to_specific_address_space, convert_specific_address_space_to_generic,
    is_in_address_space, AddressSpace,
};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{cfg::ComputeCapability, shared_array, warp};

/// Reverses a block through static shared memory.
///
/// # Safety
/// `values` points to 64 values, one per thread of the only block.
#[kernel]
pub unsafe fn reverse(values: *mut u32) {
    const THREADS: usize = 64;
    let buffer = shared_array![u32; THREADS];
    through(buffer, values, THREADS as u32);
}

/// Two arrays, made by one macro on one line, of which each thread uses both.
///
/// # Safety
/// `values` points to 32 values, one per thread of the only block.
#[kernel]
pub unsafe fn two_arrays(values: *mut u32) {
    macro_rules! pair {
        () => {
            (shared_array![u32; 32], shared_array![[u8; 4]; 96])
        };
    }
    let (first, second) = pair!();
    through(first, values, 32);
    through(second.cast(), values, 32);
}

/// One array that the optimizer meets in three branches, one of them inlined.
///
/// # Safety
/// `values` points to 32 values, one per thread of the only block.
#[kernel]
pub unsafe fn one_array(values: *mut u32, way: u32) {
    #[inline(always)]
    fn array() -> *mut u32 {
        shared_array![u32; 32]
    }
    match way {
        0 => through(array(), values, 32),
        1 => through(array().add(1), values.add(1), 31),
        _ => {
            for _ in 0..3 {
                through(array(), values, 16)
            }
        }
    }
}

/// Reverses a block through dynamic shared memory.
///
/// # Safety
/// `values` points to a value per thread of the only block, and the launch gives
/// four bytes of dynamic shared memory for each.
#[kernel]
pub unsafe fn dynamic(values: *mut u32) {
    through(dynamic_shared_mem(), values, thread::block_dim_x());
}

/// Everything else that needs an intrinsic.
///
/// # Safety
/// `out` points to 16 values.
#[kernel]
pub unsafe fn intrinsics(out: *mut u32) {
    let all = warp::FULL_MASK;
    let index = thread::index();
    out.write(thread::sync_threads_count(index & 1));
    out.add(1).write(thread::sync_threads_and(index));
    out.add(2).write(thread::sync_threads_or(index));
    out.add(3).write(warp::ballot(all, index > 3));
    out.add(4).write(warp::any(all, index > 4) as u32);
    out.add(5).write(warp::all(all, index > 5) as u32);
    out.add(6).write(warp::shuffle(all, index, 1));
    out.add(7).write(warp::shuffle_up(all, index, 1));
    out.add(8).write(warp::shuffle_down(all, index, 1));
    out.add(9).write(warp::shuffle_xor(all, index, 1));
    warp::sync_warp(all);
    thread::system_fence();
    thread::device_fence();
    thread::nanosleep(20);
    out.add(10).write(thread::warp_size() + warp::lane_id());
    out.add(11).write(cuda_std::mem::dynamic_smem_size());
    out.add(12).write(cuda_std::misc::clock() as u32);
    out.add(13).write(ComputeCapability::from_cuda_arch_env() as u32);
    let buffer = shared_array![u32; 4];
    let address = convert_generic_to_specific_address_space(buffer, AddressSpace::Shared);
    let generic = convert_specific_address_space_to_generic(address, AddressSpace::Shared);
    out.add(14).write(is_in_address_space(generic, AddressSpace::Shared) as u32);
    out.add(15).write(cuda_std::mem::total_smem_size());
    if thread::first() {
        cuda_std::misc::profiler_counter(3);
    }
    cuda_std::assert_eq!(thread::index_2d().x, thread::index_1d());
}

/// A bounds check: a panic without a call.
///
/// # Safety
/// `out` points to a value.
#[cfg(feature = "panics")]
#[kernel]
pub unsafe fn checked(out: *mut u32, at: usize) {
    *out = TABLE[at];
}

/// Reads a table, whose name has the hash of the crate in it.
///
/// # Safety
/// `out` points to a value, and `at` is below 5.
#[kernel]
pub unsafe fn table(out: *mut u32, at: usize) {
    *out = *TABLE.get_unchecked(at);
}

static TABLE: [u32; 5] = [3, 1, 4, 1, 5];

/// A multiplication and an addition, which may become one instruction.
///
/// # Safety
/// `out` points to a value.
#[kernel]
pub unsafe fn floats(out: *mut f32, a: f32, b: f32) {
    *out = (a * b + *out) / b;
}

/// `values[i] = values[last - i]`, each by the thread `i`.
#[inline(always)]
unsafe fn through(buffer: *mut u32, values: *mut u32, len: u32) {
    let index = thread::thread_idx_x();
    if index < len {
        *buffer.add(index as usize) = *values.add(index as usize);
    }
    thread::sync_threads();
    if index < len {
        *values.add(index as usize) = *buffer.add((len - 1 - index) as usize);
    }
}
