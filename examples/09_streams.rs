//! Uploads, transposes and downloads at the same time, each on a stream of its own, with pinned memory on the host.
//!
//! `cargo run --release --example streams`

use transpose::{Device, DeviceMatrix, PinnedBuffer, Result};

const ROUNDS: usize = 8;

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();
    let (rows, cols) = if device.is_gpu() { (4096, 4096) } else { (64, 48) };

    // Streams of one device: its memory and its kernels are theirs, their queues are their own.
    let (up, down) = (device.new_stream()?, device.new_stream()?);

    // Two buffers each way: one is filled or looked at by the host while the device uses the other.
    let buffer = || PinnedBuffer::<f32>::zeroed(&device, rows * cols);
    let (mut given, mut taken) = ([buffer()?, buffer()?], [buffer()?, buffer()?]);

    let start = device.record()?;
    for round in 0..ROUNDS {
        let slot = round % 2;
        given[slot].write()?.fill(round as f32); // waits for the upload of two rounds ago

        let mut src = DeviceMatrix::zeroed(&up, rows, cols)?;
        src.upload_from(&given[slot])?; // queued on `up`
        src.move_to_stream(&device)?; // the device waits for the upload; `up` goes on
        let mut dst = src.transposed()?;
        dst.move_to_stream(&down)?;
        dst.download_into(&mut taken[slot])?; // queued on `down`

        // What came of the round before, while this one is under way.
        if let Some(before) = round.checked_sub(1) {
            let seen = taken[1 - slot].read()?; // waits for that download alone
            assert!(seen.iter().all(|element| *element == before as f32));
        }
    }
    let stop = down.record()?;
    println!("{ROUNDS} matrices of {rows} × {cols} f32, up, transposed and down again:");
    match stop.elapsed_since(&start)? {
        Some(time) => println!("  {time:.1?}, by the clock of {device}"),
        None => println!("  on {device}, whose time means nothing"),
    }
    Ok(())
}
