//! A driver library that hands back what it was called with. It has few of the functions
//! of a real one, and one that cust_raw does not know.
#![allow(non_snake_case)]

use std::ffi::c_void;

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: u32) -> u32 {
    flags
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) -> u32 {
    unsafe { bytes.write(1_000_000_007 * device as usize) };
    0
}

/// Writes the six arguments to where the last one points.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: u64,
    from: u64,
    from_context: u64,
    count: usize,
    stream: *mut [u64; 6],
) -> u32 {
    let given = [to, to_context, from, from_context, count as u64, stream as u64];
    unsafe { stream.write(given) };
    0
}

/// Writes the eleven arguments to where the last one points.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: u64,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: u64,
    parameters: u64,
    extra: *mut [u64; 11],
) -> u32 {
    let [gx, gy, gz] = [grid_x, grid_y, grid_z].map(u64::from);
    let [bx, by, bz] = [block_x, block_y, block_z].map(u64::from);
    let (shared, last) = (u64::from(shared), extra as u64);
    let given = [function, gx, gy, gz, bx, by, bz, shared, stream, parameters, last];
    unsafe { extra.write(given) };
    7
}

/// Writes the offset and the value to where the first argument points.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuParamSetf(function: *mut (i32, f32), offset: i32, value: f32) -> u32 {
    unsafe { function.write((offset, value)) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuNewerThanCustRaw(argument: *const c_void) -> usize {
    argument as usize + 1
}
