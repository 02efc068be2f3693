//! A program that drives the GPU through cudarc: its slices transposed in place of a copy, on its own stream; and a tensor of this library as
//! a view of cudarc.
//!
//! `cargo run --release --example cudarc`

use cudarc::driver::CudaContext;
use transpose::interop::cudarc as interop;
use transpose::{Device, DeviceTensor, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    // cudarc panics where there is no driver.
    if let Err(reason) = Device::cuda(0) {
        println!("cudarc has no GPU here: {reason}");
        return Ok(());
    }
    let stream = CudaContext::new(0)?.new_stream()?;
    let device = interop::device(stream.clone())?; // its queue is that stream

    // 32 heads of 128 × 64, from slices of cudarc to slices of cudarc: heads × rows × cols to rows × heads × cols.
    let (heads, rows, cols) = (32, 128, 64);
    let host: Vec<f32> = (0..heads * rows * cols).map(|index| index as f32).collect();
    let src = stream.clone_htod(&host)?;
    let mut dst = stream.alloc_zeros::<f32>(host.len())?;
    interop::with_view(&device, src.as_view(), |src| {
        interop::with_view_mut(&device, dst.as_view_mut(), |dst| {
            let src = src.reshape(&[heads, rows, cols])?.permute_axes(&[1, 0, 2])?;
            src.copy_into(dst.reshape(&[rows, heads, cols])?)
        })
    })?;
    let back = stream.clone_dtoh(&dst)?;
    let at = |head: usize, row: usize, col: usize| host[(head * rows + row) * cols + col];
    assert_eq!(back[(77 * heads + 5) * cols + 9], at(5, 77, 9));

    // The other way round: what cudarc has functions for, on memory of this library.
    let mut tensor = DeviceTensor::<f32>::zeroed(&device, &[rows, cols])?;
    interop::with_cuda_view_mut(tensor.view_mut(), &stream, |mut view| {
        Ok(stream.memcpy_dtod(&src.slice(..rows * cols), &mut view)?)
    })?;
    assert_eq!(tensor.transposed()?.to_host()?[9 * rows + 77], at(0, 77, 9));
    println!("{heads} heads of {rows} × {cols} f32, moved in slices of cudarc by {device}");
    Ok(())
}
