//! Many small moves queued as one: a CUDA graph, captured once and replayed.
//!
//! `cargo run --release --example graph`

use transpose::{Device, DeviceTensor, Graph, Result, copy_all};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // 64 weights of a model, each with axes that a kernel wants in another order.
    let weight = |index: usize| {
        let host: Vec<f32> = (0..24 * 36).map(|at| (index * 1000 + at) as f32).collect();
        DeviceTensor::from_host(&device, &[24, 36], &host)
    };
    let weights: Vec<_> = (0..64).map(weight).collect::<Result<_>>()?;
    let mut turned: Vec<DeviceTensor<f32>> =
        weights.iter().map(|_| DeviceTensor::zeroed(&device, &[36, 24])).collect::<Result<_>>()?;

    // Once before, so that the kernels are loaded. Then one by one, and as one. The graph has the addresses only: each replay is shown the views again.
    let mut each =
        || copy_all(weights.iter().zip(&mut turned).map(|(src, dst)| (src.view().t(), dst.into())));
    each()?;
    let one_by_one = device.time(each)?;
    let moves = weights.iter().zip(&mut turned).map(|(src, dst)| (src.view().t(), dst.into()));
    let graph = Graph::capture(&device, moves)?;
    let as_one = device.time(|| {
        graph.replay(weights.iter().zip(&mut turned).map(|(s, d)| (s.view().t(), d.into())))
    })?;

    let (first, last) = (turned[0].to_host()?, turned[63].to_host()?);
    assert_eq!(
        (first[24 * 5 + 7], last[24 * 5 + 7]),
        ((36 * 7 + 5) as f32, (63_000 + 36 * 7 + 5) as f32)
    );
    println!("{} moves of 24 × 36 f32 on {device}:", graph.moves());
    match one_by_one.zip(as_one) {
        Some((each, as_one)) => println!("  one by one {each:?}, as a graph {as_one:?}"),
        None => println!("  simulated: a time would mean nothing"),
    }
    Ok(())
}
