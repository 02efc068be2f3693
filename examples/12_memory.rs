//! Looks at memory that other code has, takes memory over with what frees it, and gives memory away.
//!
//! `cargo run --release --example memory`

use transpose::{
    Allocation, Device, DeviceMatrix, Layout, MatrixView, Result, TensorLayout, TensorView,
};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // Stands for what another library has on the device: an address, and 24 elements from there on.
    let theirs = DeviceMatrix::from_host(&device, 1, 24, &(0..24).collect::<Vec<u32>>())?;
    let address = theirs.device_address();

    // 1. A look at it: 3 rows of 5, 8 elements apart; and the same memory as a tensor, its axes reversed.
    let layout = Layout::new(3, 5, 8, 4)?;
    let reversed = TensorLayout::strided(&[4, 3, 2], &[1, 4, 12], 0, 4)?;
    // SAFETY: `theirs` has 24 elements at the address, lives until the views are gone, and nothing else is queued meanwhile.
    let (matrix, tensor) = unsafe {
        (
            MatrixView::<u32>::from_raw_parts(&device, address, 24, layout)?,
            TensorView::<u32>::from_raw_parts(&device, address, 24, reversed)?,
        )
    };
    assert_eq!(matrix.transposed()?.to_host()?[..3], [0, 8, 16]);
    assert_eq!(tensor.to_host()?[..4], [0, 12, 4, 16]);

    // 2. It becomes a matrix's own memory. The callback frees it, when all that uses it has been queued.
    let free = move |_: &Device| drop(theirs);
    // SAFETY: the 96 bytes are initialized and nobody else's; to drop their owner frees them in the order of the device's queue.
    let taken = unsafe { Allocation::from_raw(&device, address, 96, free)? };
    let mut matrix = DeviceMatrix::<u32>::from_allocation(taken, Layout::contiguous(4, 6, 4)?)?;
    matrix.transpose_in_place()?;
    assert_eq!(matrix.to_host()?[..4], [0, 6, 12, 18]);

    // 3. It is given away. For code that frees by a callback, the allocation in a box is the callback's context.
    let context = Box::into_raw(Box::new(matrix.into_allocation()));
    extern "C" fn free_boxed(context: *mut Allocation) {
        // SAFETY: the context is the box from above, and is freed once.
        drop(unsafe { Box::from_raw(context) });
    }
    println!("{address:#x} was looked at, taken and given away");
    free_boxed(context);
    Ok(())
}
