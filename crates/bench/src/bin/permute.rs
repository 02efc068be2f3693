//! The speed of bringing an array's axes into another order, beside a copy and cuTENSOR:
//! `cargo run --release --bin permute -- --shape 64,56,56,64 --axes 0,3,1,2 --element 2`, or `--list literature`
//!
//! On each permutation all contestants take turns: the driver's device-to-device copy of as many bytes, this library's plan, and
//! cuTENSOR's if a libcutensor can be opened. With `--candidates` also every other way that the library has. Every result is
//! compared with the source on the host. On the simulator nothing is timed, but counted.
//!
//! With `--conjugate` elements are complex numbers that are conjugated on the way, and what takes turns is a copy, that, and the
//! permutation without.

use anyhow::{Result, ensure};
use bench::conjugation::{self, Conjugation};
use bench::limits;
use bench::memory::ensure_free;
use bench::moves::{Arena, Move};
use bench::output;
use bench::peers::{self, Peers};
use bench::permutations::{Permutation, layouts, literature};
use bench::program::{self, Common, usage};
use bench::progress;
use bench::svg::{Bar, Chart};
use bench::sweep;
use bench::table::{Cell, Column, Report};
use clap::{Parser, ValueEnum};
use profile::count;
use std::process::ExitCode;
use transpose::simt::Counters;
use transpose::{Device, DeviceTensor, Plan, TensorLayout};

/// Compare the speed of permutations of axes with a copy's.
#[derive(Parser)]
struct Arguments {
    /// The length of each axis, the last one the fastest; images, channels first to last, without this.
    #[arg(long, value_delimiter = ',', requires = "axes")]
    shape: Vec<usize>,
    /// For each axis of the result, which axis of the array it is.
    #[arg(long, value_delimiter = ',', requires = "shape")]
    axes: Vec<usize>,
    /// A list of permutations.
    #[arg(long, conflicts_with = "shape")]
    list: Option<List>,
    /// Bytes of an element.
    #[arg(long, value_delimiter = ',', default_value = "4", value_parser = program::element)]
    element: Vec<usize>,
    /// Turns that each contestant gets.
    #[arg(long, default_value_t = 9, value_parser = limits::times)]
    turns: usize,
    /// Only say what would be done; `info choice` says it as a table.
    #[arg(long, conflicts_with_all = ["json", "csv", "svg"])]
    explain: bool,
    /// Also time every other way that the library has.
    #[arg(long)]
    candidates: bool,
    /// Conjugate complex numbers of 4, 8 or 16 bytes on the way, beside the permutation without.
    #[arg(long, conflicts_with_all = ["explain", "candidates"])]
    conjugate: bool,
    #[command(flatten)]
    peers: peers::Where,
    #[command(flatten)]
    common: Common,
}

/// Permutations that belong together.
#[derive(Clone, Copy, ValueEnum)]
enum List {
    /// The 57 of the papers on tensor transposition.
    Literature,
    /// Channels last and first, attention heads, keys.
    Layouts,
}

impl Arguments {
    /// The permutations that are asked for.
    fn permutations(&self, device: &Device) -> Result<Vec<Permutation>> {
        let all = match self.list {
            Some(List::Literature) => literature(),
            Some(List::Layouts) => layouts(),
            None if self.shape.is_empty() => vec![images(device)],
            None => vec![Permutation { shape: self.shape.clone(), axes: self.axes.clone() }],
        };
        for Permutation { shape, axes } in &all {
            let (mut sorted, rank) = (axes.clone(), shape.len());
            sorted.sort_unstable();
            let no_order = || usage(format!("{axes:?} is no order of {rank} axes from 0 on"));
            ensure!(sorted.into_iter().eq(0..rank), no_order());
            // So many axes, whatever their lengths.
            TensorLayout::contiguous(&vec![1; rank], 1)
                .map_err(|error| usage(error.to_string()))?;
        }
        Ok(all)
    }
}

/// Images, channels first to last; few of them for the simulator.
fn images(device: &Device) -> Permutation {
    let shape = if device.is_gpu() { [64, 64, 56, 56] } else { [2, 64, 28, 28] };
    Permutation { shape: shape.to_vec(), axes: vec![0, 2, 3, 1] }
}

/// The bytes of each array; none is empty.
fn bytes(permutations: &[Permutation], elements: &[usize]) -> Result<Vec<usize>> {
    let each = elements.iter().flat_map(|&bytes| permutations.iter().map(move |p| (bytes, p)));
    let bytes = each.map(|(element, Permutation { shape, .. })| {
        ensure!(!shape.contains(&0), usage(format!("an array of {shape:?} is empty")));
        let bytes = shape.iter().try_fold(element, |bytes, &length| bytes.checked_mul(length));
        bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(|| {
            usage(format!("{shape:?} of {element} bytes are more bytes than can be addressed"))
        })
    });
    bytes.collect()
}

/// What was measured.
struct Figures {
    permutation: Permutation,
    element: usize,
    /// Of the plan, one name for launches of the same kernel.
    kernel: String,
    /// Each way in a few words.
    ways: Vec<String>,
    /// In GB/s; `None` on a device without a clock.
    speeds: Option<Speeds>,
    /// Of each way, the kernel and what it does; none on a GPU, which does not tell.
    counts: Vec<(String, Counters)>,
}

/// Speeds in GB/s.
struct Speeds {
    copy: f64,
    ours: f64,
    cutensor: Option<f64>,
    /// The library's other ways: the kernel, and the speed.
    others: Vec<(String, f64)>,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    let permutations = arguments.permutations(&device)?;
    let bytes = bytes(&permutations, &arguments.element)?;
    if arguments.conjugate {
        let odd = arguments.element.iter().find(|bytes| ![4, 8, 16].contains(*bytes));
        let said = |odd| usage(format!("complex numbers are of 4, 8 or 16 bytes, not of {odd}"));
        odd.map_or(Ok(()), |odd| Err(said(odd)))?;
    }
    if arguments.explain {
        return explain(&device, &permutations, &arguments.element);
    }
    let largest = bytes.iter().copied().max().unwrap_or(0);
    // The elements, canaries and what is read back; a source, a destination and canaries.
    ensure_free(&device, largest.saturating_mul(3), largest.saturating_mul(3))?;
    let peers = Peers::open(&arguments.common, &device, &arguments.peers);
    // Complex numbers have memory of their own.
    let mut arena = match arguments.conjugate {
        true => None,
        false => Some(Arena::new(&device, largest)?),
    };
    let bar = progress::bar(&arguments.common, bytes.len());
    let columns = columns(device.is_gpu());
    let title = "Axes in another order, all results verified";
    let mut report = Report::new(&arguments.common, &device, title, &columns, &bar);
    let mut bars = Vec::new();
    for &element in &arguments.element {
        let mut all = Vec::new();
        for permutation in &permutations {
            let figures = match &mut arena {
                Some(arena) => measure(arena, permutation, element, &peers, arguments)?,
                None => conjugate(&device, permutation, element, arguments.turns)?,
            };
            rows(&figures).into_iter().for_each(|row| report.row(row));
            bars.extend(bars_of(&figures));
            all.push(figures);
            bar.inc(1);
        }
        summary(element, &all).iter().for_each(|line| report.below(line));
    }
    let unit = if device.is_gpu() { "of a copy's speed" } else { "of the sectors that must move" };
    report.finish(|| Chart::new("Axes in another order", unit, bars))
}

/// Says how each permutation would go.
fn explain(device: &Device, permutations: &[Permutation], elements: &[usize]) -> Result<()> {
    for &element in elements {
        for Permutation { shape, axes } in permutations {
            let src = TensorLayout::contiguous(shape, element)?.permute_axes(axes)?;
            let dst = TensorLayout::contiguous(src.shape(), element)?;
            let bound = Move::new(element, &src, &dst)?.bound();
            let plans = Plan::moving_candidates_for_layouts(element, &src, &dst, device.facts())?;
            output::print(&plans[0])?;
            for plan in &plans[1..] {
                output::print(format_args!("    or {}", sweep::what(plan)))?;
            }
            output::print(format_args!("    its sectors allow {bound:.3} of a copy's speed"))?;
        }
    }
    Ok(())
}

/// Measures a permutation of elements of a size.
fn measure(
    arena: &mut Arena,
    permutation: &Permutation,
    element: usize,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Figures> {
    let Permutation { shape, axes } = permutation;
    let of = Move::permutation(element, shape, axes)?;
    let mut plans = arena.candidates(&of)?;
    if !arguments.candidates {
        plans.truncate(1);
    }
    let mut counts = Vec::new();
    for plan in &plans {
        let counted = arena.verify(&of, plan, |device, run| count(device, run))?;
        counts.extend(counted.map(|counted| (kernel_of(plan), counted)));
    }
    let cutensor = peers.permutation(element, shape, axes, DeviceTensor::device_address);
    let timings = arena.race(&of, &plans, cutensor, arguments.turns)?;
    let speeds = timings.map(|timings| {
        let speeds: Vec<f64> = timings.iter().map(|timing| timing.gb_per_s(of.bytes())).collect();
        let others = plans.iter().map(kernel_of).zip(speeds[1..].iter().copied()).skip(1);
        let cutensor = speeds.get(1 + plans.len()).copied();
        Speeds { copy: speeds[0], ours: speeds[1], cutensor, others: others.collect() }
    });
    let (kernel, ways) = (kernel_of(&plans[0]), plans.iter().map(sweep::what).collect());
    Ok(Figures { permutation: permutation.clone(), element, kernel, ways, speeds, counts })
}

/// Measures a permutation on which numbers are conjugated; the other way is the one that only permutes.
fn conjugate(
    device: &Device,
    permutation: &Permutation,
    element: usize,
    turns: usize,
) -> Result<Figures> {
    let Conjugation { plan, plain, counted, timings } =
        conjugation::race(device, permutation, element, turns)?;
    let bytes = permutation.elements() * element;
    let speeds = timings.map(|timings| {
        let speed = |which: usize| timings[which].gb_per_s(bytes);
        let others = vec![(kernel_of(&plain), speed(2))];
        Speeds { copy: speed(0), ours: speed(1), cutensor: None, others }
    });
    let (permutation, kernel) = (permutation.clone(), kernel_of(&plan));
    let counts = counted.into_iter().map(|counted| (kernel.clone(), counted)).collect();
    let ways = [&plan, &plain].map(sweep::what).to_vec();
    Ok(Figures { permutation, element, kernel, ways, speeds, counts })
}

/// The kernels of a plan, one name for launches of the same.
fn kernel_of(plan: &Plan) -> String {
    let mut names = plan.kernel_names();
    names.dedup();
    if names.is_empty() { "memcpy".to_owned() } else { names.join("+") }
}

/// The columns: times of a GPU, or counts of the simulator. Counts are for 4 bytes, or of the fewest possible.
fn columns(is_gpu: bool) -> Vec<Column> {
    let timed = |key, heading| match is_gpu {
        true => Column::number(key, heading, 7),
        false => Column::unseen(key),
    };
    let counted = |key, heading| match is_gpu {
        true => Column::unseen(key),
        false => Column::number(key, heading, 7),
    };
    vec![
        Column::number("element_bytes", "element, bytes", 0),
        Column::text("name", "shape to axes", 36),
        Column::unseen("shape"),
        Column::unseen("axes"),
        Column::unseen("way"),
        Column::text("kernel", "kernel", 12),
        timed("memcpy_gb_s", "memcpy, GB/s"),
        timed("gb_s", "GB/s"),
        timed("of_copy", "of copy"),
        timed("cutensor_gb_s", "cuTENSOR, GB/s"),
        timed("cutensor_of_copy", "of copy"),
        counted("instructions_for_4_bytes", "instructions for 4 bytes"),
        counted("loaded_of_least", "loaded sectors, of least"),
        counted("stored_of_least", "stored sectors, of least"),
        counted("wavefronts_of_least", "wavefronts, of least"),
        Column::unseen("what"),
    ]
}

/// A row for each way that the axes can go, the library's own first.
fn rows(figures: &Figures) -> Vec<Vec<Cell>> {
    let Figures { permutation, element, kernel, ways, speeds, counts } = figures;
    let joined =
        |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let row = |way: usize, kernel: &str, figures: [Cell; 9]| {
        let Permutation { shape, axes } = permutation;
        let mut cells = vec![Cell::from(*element), permutation.name().into()];
        cells.extend([joined(shape).into(), joined(axes).into(), way.into(), kernel.into()]);
        cells.extend(figures);
        cells.push(ways.get(way).map_or(Cell::Nothing, |what| what.clone().into()));
        cells
    };
    const NONE: Cell = Cell::Nothing;
    let Some(Speeds { copy, ours, cutensor, others }) = speeds else {
        let words = (permutation.elements() * element).div_ceil(4);
        let counted = counts.iter().enumerate().map(|(way, (kernel, counters))| {
            let [instructions, loaded, stored, wavefronts] = counted(words, counters);
            row(
                way,
                kernel,
                [NONE, NONE, NONE, NONE, NONE, instructions, loaded, stored, wavefronts],
            )
        });
        return counted.collect();
    };
    let timed = |speed: &f64, cutensor: &Option<f64>| {
        let fraction = Cell::fraction(cutensor.map(|speed| speed / copy));
        let ours = [Cell::speed(*copy), Cell::speed(*speed), Cell::fraction(speed / copy)];
        let [copy, speed, of_copy] = ours;
        [copy, speed, of_copy, Cell::speed(*cutensor), fraction, NONE, NONE, NONE, NONE]
    };
    let others = others.iter().enumerate();
    let others = others.map(|(way, (kernel, speed))| row(way + 1, kernel, timed(speed, &None)));
    std::iter::once(row(0, kernel, timed(ours, cutensor))).chain(others).collect()
}

/// What a kernel does that moves `words` words of 4 bytes: instructions of lanes for a word; sectors loaded and stored over the fewest
/// possible; and wavefronts in shared memory over the fewest possible.
fn counted(words: usize, counters: &Counters) -> [Cell; 4] {
    if counters.thread_instructions == 0 {
        // The driver copies.
        return [const { Cell::Nothing }; 4];
    }
    let [loaded, stored] = of_least(words, counters);
    let (load, store) = (&counters.shared_load, &counters.shared_store);
    let ideal = load.ideal_wavefronts + store.ideal_wavefronts;
    let wavefronts = (load.wavefronts + store.wavefronts) as f64 / ideal as f64;
    let number = |value| Cell::Number(value, 2, 3);
    [
        Cell::Number(counters.thread_instructions as f64 / words as f64, 1, 2),
        number(loaded),
        number(stored),
        if ideal > 0 { number(wavefronts) } else { Cell::Nothing },
    ]
}

/// Sectors loaded and stored, over the fewest that hold so many words of 4 bytes.
fn of_least(words: usize, counters: &Counters) -> [f64; 2] {
    let least = (words * 4).div_ceil(32) as f64;
    [counters.global_load, counters.global_store].map(|side| side.sectors as f64 / least)
}

/// The lowest and the mean fraction of a copy.
fn summary(element: usize, all: &[Figures]) -> Vec<String> {
    let speeds = || all.iter().filter_map(|figures| figures.speeds.as_ref());
    let said = |name: &str, fractions: Vec<f64>| {
        let lowest = fractions.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = fractions.iter().sum::<f64>() / fractions.len() as f64;
        let line = format!("{element} bytes, {name}: lowest {lowest:.3}, mean {mean:.3} of a copy");
        (fractions.len() > 1).then_some(line)
    };
    let ours = said("this library", speeds().map(|speeds| speeds.ours / speeds.copy).collect());
    let cutensor = |speeds: &Speeds| speeds.cutensor.map(|speed| speed / speeds.copy);
    let theirs = said("cuTENSOR", speeds().filter_map(cutensor).collect());
    [ours, theirs].into_iter().flatten().collect()
}

/// A row of bars: speeds, or what is loaded and stored.
fn bars_of(figures: &Figures) -> Vec<Bar> {
    let Figures { permutation, element, speeds, counts, .. } = figures;
    let label = format!("{element} B  {}", permutation.name());
    match speeds {
        Some(Speeds { copy, ours, cutensor, .. }) => {
            let cutensor = cutensor.map(|speed| Bar::plain("", "cuTENSOR", speed / copy));
            std::iter::once(Bar::plain(label, "permute", ours / copy)).chain(cutensor).collect()
        }
        None => {
            let words = (permutation.elements() * element).div_ceil(4);
            let counted = counts.first().map(|(_, counters)| of_least(words, counters));
            let bars = counted.map(|[loaded, stored]| {
                [Bar::plain(label, "loads", loaded), Bar::plain("", "stores", stored)]
            });
            bars.into_iter().flatten().collect()
        }
    }
}
