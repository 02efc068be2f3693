//! Ways to compute a case, a copy and cuTENSOR that take turns.

use crate::Arguments;
use crate::case::{Case, Figures, Second};
use crate::factor::FromF32;
use crate::memory::{bytes_of, memories, other_memory, others, source, target};
use crate::verifying::{run_once, some_rows, verified};
use anyhow::{Result, ensure};
use bench::moves::moved_by_memory;
use bench::peers::Peers;
use bench::race::{Contestant, Pairs};
use transpose::bytemuck::{self, Pod};
use transpose::simt::Counters;
use transpose::{ConvertTo, Device, DeviceMatrix, NormalizingPlan, Number};

/// What computes a destination of a source.
type Run<'a> = Box<dyn Fn(&DeviceMatrix<u8>, &mut DeviceMatrix<u8>) -> transpose::Result<()> + 'a>;

/// A way to compute a case's destination of its source.
struct Way<'a> {
    kernel: String,
    run: Run<'a>,
}

/// Measures a case of plans.
pub fn measure<T, U>(
    device: &Device,
    case: &Case,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Vec<Figures>>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let mut pairs = memories::<T, U>(device, case)?;
    let other = other_memory::<U>(device, case)?;
    let plans = verified::<T, U>(case, &mut pairs, &other, arguments.candidates)?;
    let moved = moved::<T, U>(case, &mut pairs, &other)?;
    let other = &other;
    let ways = plans.iter().map(|plan| {
        let mut names = plan.kernel_names();
        names.dedup();
        let run = move |src: &_, dst: &mut _| run_once::<T, U>(plan, case, src, other, dst);
        Way { kernel: names.join("+"), run: Box::new(run) }
    });
    let ways = ways.collect();
    raced::<T, U>(device, case, peers, arguments.turns, &mut pairs, moved, ways)
}

/// Bytes that memory moves for a case.
fn moved<T: Pod, U: Pod>(
    case: &Case,
    pairs: &mut Pairs<DeviceMatrix<u8>>,
    other: &DeviceMatrix<u8>,
) -> Result<usize> {
    let (memory, out) = pairs.first();
    let (src, dst) = (source::<T>(memory, case)?, target::<U>(out, case)?);
    let dst = (size_of::<U>(), dst.layout());
    let mut sources = vec![(size_of::<T>(), src.layout())];
    let other = match case.second {
        Second::Numbers(order, gap) => Some(others::<U>(other, case, order, gap)?),
        _ => None,
    };
    sources.extend(other.as_ref().map(|other| (size_of::<U>(), other.layout())));
    moved_by_memory(&sources, dst, case.second == Second::Destination)
}

/// Measures a case of factors and summands for each index of an axis: by a plan that has the table on the device, and by calls that bring it there.
pub fn measure_channels<T, U>(
    device: &Device,
    case: &Case,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Vec<Figures>>
where
    T: ConvertTo<U> + Number<Kind = transpose::kind::Real>,
    U: Number,
{
    let Second::Channels(axis) = case.second else { return Ok(Vec::new()) };
    let channels = case.shape[case.axes[axis]];
    let alpha = f64::from(case.alpha.unwrap_or(1.0));
    let factors: Vec<f64> = (0..channels).map(|at| alpha * (1.0 + at as f64 / 64.0)).collect();
    let summands: Vec<f64> = (0..channels).map(|at| at as f64 / 32.0 - 1.0).collect();
    let mut pairs = memories::<T, U>(device, case)?;
    let (memory, out) = pairs.first();
    let (src, dst) = (source::<T>(memory, case)?, target::<U>(out, case)?);
    let mut plans = NormalizingPlan::candidates(src, axis, &factors, &summands, dst)?;
    plans.truncate(if arguments.candidates { plans.len() } else { 1 });
    let called = |src: &DeviceMatrix<u8>, dst: &mut DeviceMatrix<u8>| {
        source::<T>(src, case)?.normalize_into(axis, &factors, &summands, target::<U>(dst, case)?)
    };
    let planned = plans.iter().map(|plan| {
        let run = |src: &DeviceMatrix<u8>, dst: &mut DeviceMatrix<u8>| {
            plan.run(source::<T>(src, case)?, target::<U>(dst, case)?)
        };
        Way { kernel: plan.kernel_names().join("+"), run: Box::new(run) }
    });
    let called = Way { kernel: "normalize_into".into(), run: Box::new(called) };
    let ways: Vec<_> = planned.chain([called]).collect();
    for way in &ways {
        out.view_mut().fill(0)?;
        (way.run)(memory, out)?;
        let (src, dst) = (source::<T>(memory, case)?, target::<U>(out, case)?);
        for row in some_rows(src.shape()[0]) {
            // In two passes: moved, and computed.
            let moved = src.index_axis(0, row)?.to_tensor()?;
            let expected =
                moved.view().normalized::<U>(axis - 1, &factors, &summands)?.to_host()?;
            let actual = dst.view().index_axis(0, row)?.to_host()?;
            let same =
                bytemuck::cast_slice::<U, u8>(&actual) == bytemuck::cast_slice::<U, u8>(&expected);
            ensure!(same, "{}: row {row} is wrong: {}", case.name(), way.kernel);
        }
    }
    let moved = moved::<T, U>(case, &mut pairs, &DeviceMatrix::zeroed(device, 1, 1)?)?;
    raced::<T, U>(device, case, peers, arguments.turns, &mut pairs, moved, ways)
}

/// Lets a copy, cuTENSOR where it computes the case, and these ways take turns.
fn raced<T, U>(
    device: &Device,
    case: &Case,
    peers: &Peers,
    turns: usize,
    pairs: &mut Pairs<DeviceMatrix<u8>>,
    moved: usize,
    ways: Vec<Way<'_>>,
) -> Result<Vec<Figures>> {
    let [src_bytes, dst_bytes] = bytes_of::<T, U>(case);
    let copied = (src_bytes + dst_bytes) / 2;
    let mut instructions = Vec::new();
    for way in &ways {
        let (src, dst) = pairs.first();
        let counted = profile::count(device, || (way.run)(src, dst))?;
        let all = |counters: Counters| counters.thread_instructions as f64;
        instructions.push(counted.map(|counters| all(counters) / case.elements() as f64));
    }
    let mut contestants: Vec<Contestant<'_, DeviceMatrix<u8>>> = vec![Box::new(move |src, dst| {
        src.submatrix(.., ..copied)?.copy_into(dst.submatrix_mut(.., ..copied)?)
    })];
    for way in &ways {
        contestants.push(Box::new(move |src, dst| (way.run)(src, dst)));
    }
    if case.is_told() {
        let (alpha, adds) = (case.alpha.unwrap_or(1.0), case.second == Second::Destination);
        let of = [&case.shape[..], &case.axes];
        let address = DeviceMatrix::device_address;
        contestants.extend(peers.computing(case.types, of, alpha.into(), adds, address));
    }
    let timings = pairs.race(&mut contestants, turns, 3)?;
    let bytes = src_bytes + dst_bytes * (1 + usize::from(case.adds()));
    let speed = |which: usize, bytes: usize| {
        let timing = timings.as_ref()?.get(which)?;
        Some(bytes as f64 / timing.median.as_secs_f64() / 1e9)
    };
    let cutensor = speed(1 + ways.len(), bytes);
    let figures = ways.iter().zip(instructions).enumerate().map(|(way, (of_way, counted))| {
        let speeds = speed(0, 2 * copied).zip(speed(1 + way, bytes));
        let cutensor = cutensor.filter(|_| way == 0);
        let speeds = speeds.map(|(copy, ours)| [copy, ours]);
        let kernel = of_way.kernel.clone();
        Figures { kernel, bytes, moved, speeds, cutensor, instructions: counted }
    });
    Ok(figures.collect())
}
