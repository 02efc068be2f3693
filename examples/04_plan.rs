//! Plans a transpose once and runs it often; lets a measurement choose the kernel.
//!
//! `cargo run --release --example plan`

use transpose::{Device, DeviceMatrix, Plan, PlanCache, Result, Strategy};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();
    let (rows, cols) = (500, 300);
    let mut frame = DeviceMatrix::<u32>::zeroed(&device, rows, cols)?;
    let mut turned = DeviceMatrix::zeroed(&device, cols, rows)?;

    // A plan that exists has been checked: running it launches and does nothing else. It serves all matrices that
    // are laid out like these.
    let plan = Plan::new(&frame, &mut turned, Strategy::Auto)?;
    println!("chosen: {plan}");
    for number in 0..3 {
        frame.copy_from_host(&vec![number; rows * cols])?;
        plan.run(&frame, &mut turned)?;
        assert_eq!(turned.to_host()?, vec![number; rows * cols]);
    }

    // `measure` runs every kernel that can serve the matrices, on a GPU, and takes the fastest. The cache remembers it;
    // `PlanCache::open("plans.txt")` and `save` keep it for the next start of the program.
    let mut cache = PlanCache::in_memory();
    let measured = Plan::measure(&frame, &mut turned, &mut cache)?;
    println!("measured: {measured}");
    measured.run(&frame, &mut turned)?;
    device.synchronize()
}
