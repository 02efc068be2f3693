//! Choices that make no sense, wherever the library lets a caller choose how arrays of the host, or of several devices, are moved: what comes of it
//! is an error, or what comes of it by default.

use crate::absurd::Number;
use bolero::TypeGenerator;
use std::sync::OnceLock;
use transpose::host::{Bus, HostInPlace, HostOptions, HostView, HostViewMut, Workspace, cpu};
use transpose::{Device, DeviceGroup, ExchangeOptions, Result, ShardedMatrix, ShardedPlan, Shares};

/// A matrix, and how it is to be transposed.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Choice {
    /// In host memory: memory, ring, streams, threads, tiles, and how tiles lean.
    Host([u8; 2], [Number; 6], u8),
    /// Over three devices: bytes of a step, streams, shares of both sides.
    Sharded([u8; 2], [Number; 2], [Number; 6], bool),
}

/// Transposes it.
pub fn run(choice: &Choice) {
    let done = match choice {
        Choice::Host(shape, numbers, which) => host(*shape, numbers.map(Number::get), *which),
        Choice::Sharded(shape, numbers, shares, pairs) => {
            sharded(*shape, numbers.map(Number::get), shares.map(Number::get), *pairs)
        }
    };
    // An error is as good as a result; both must come.
    let _ = done;
}

/// A small matrix, and its transpose.
fn matrix([rows, cols]: [u8; 2]) -> ([usize; 2], Vec<u32>, Vec<u32>) {
    let [rows, cols] = [rows, cols].map(|length| usize::from(length) % 40);
    let elements: Vec<u32> = (0..(rows * cols) as u32).collect();
    let transposed = (0..rows * cols).map(|at| elements[at % rows * cols + at / rows]).collect();
    ([rows, cols], elements, transposed)
}

fn host(shape: [u8; 2], numbers: [usize; 6], which: u8) -> Result<()> {
    const BUSES: [Bus; 4] = [Bus::Auto, Bus::Engine, Bus::Kernel, Bus::Fused];
    const ALGORITHMS: [HostInPlace; 5] = [
        HostInPlace::Auto,
        HostInPlace::Pairs,
        HostInPlace::Frontier,
        HostInPlace::ThreeStage,
        HostInPlace::Panels,
    ];
    let ([rows, cols], src, transposed) = matrix(shape);
    let [device_memory, ring_memory, streams, threads, tile_bytes, lean] = numbers;
    let which = usize::from(which);
    let options = HostOptions::default()
        .device_memory(device_memory)
        .ring_memory(ring_memory)
        .streams(streams)
        .threads(threads)
        .cpu_threads([0, 1, 3, threads][which / 32 % 4])
        .tile_bytes(tile_bytes)
        .lean(lean as i32)
        .register(which % 2 == 1)
        .bus(BUSES[which / 2 % 4], BUSES[which / 8 % 4]);
    let mut dst = vec![0; src.len()];
    let to = HostViewMut::matrix(&mut dst, cols, rows)?;
    cpu::transpose_into(HostView::matrix(&src, rows, cols)?, to, threads)?;
    assert!(dst == transposed, "by the CPU: {threads} threads");

    let mut workspace = Workspace::new(&Device::simulated(), options);
    dst.fill(0);
    let to = HostViewMut::matrix(&mut dst, cols, rows)?;
    let moved = workspace.transpose_into(HostView::matrix(&src, rows, cols)?, to);
    assert!(moved.is_err() || dst == transposed, "{options:?}");
    let algorithm = ALGORITHMS[which % ALGORITHMS.len()];
    let mut both = src.clone();
    let done = workspace.transpose_in_place(HostViewMut::matrix(&mut both, rows, cols)?, algorithm);
    assert!(done.is_err() || both == transposed, "{algorithm}: {options:?}");
    moved.and(done)
}

fn sharded(shape: [u8; 2], numbers: [usize; 2], lengths: [usize; 6], pairs: bool) -> Result<()> {
    static GROUP: OnceLock<DeviceGroup> = OnceLock::new();
    let group = GROUP.get_or_init(|| {
        DeviceGroup::new(&Device::simulated_peers(3)).expect("simulated devices make a group")
    });
    let ([rows, cols], src, transposed) = matrix(shape);
    let [step_bytes, far_streams] = numbers;
    let _ = (Shares::even(lengths[0], 3).lengths().sum::<usize>(), Shares::of_lengths(&lengths));
    // The last has what is left, or more than any memory holds.
    let shares = |lengths: &[usize], length: usize| {
        let first = lengths[0] % (length + 1);
        let second = lengths[1] % (length - first + 1);
        let left = length - first - second;
        Shares::of_lengths(&[first, second, if lengths[2] > 1 << 42 { lengths[2] } else { left }])
    };
    let (from, to) = (shares(&lengths[..3], rows), shares(&lengths[3..], cols));
    let src = ShardedMatrix::from_host_shared(group, &from, cols, &src)?;
    let mut dst = ShardedMatrix::zeroed_shared(group, &to, rows)?;
    let options =
        ExchangeOptions::default().step_bytes(step_bytes).far_streams(far_streams).pairs(pairs);
    let plan = ShardedPlan::with_options(src.as_tensor(), dst.as_tensor(), &[1, 0], options)?;
    plan.run(src.as_tensor(), dst.as_tensor_mut())?;
    assert!(dst.to_host()? == transposed, "{options:?}");
    Ok(())
}
