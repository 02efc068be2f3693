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
use bench::device::DeviceChoice;
use bench::moves::{Arena, Move};
use bench::output::Files;
use bench::peers::Peers;
use bench::permutations::{Permutation, layouts, literature};
use bench::svg::{Bar, bar_chart};
use bench::sweep;
use clap::{Parser, ValueEnum};
use profile::count;
use transpose::simt::Counters;
use transpose::{Device, DeviceTensor, TensorLayout, TensorPlan};

/// Compare the speed of permutations of axes with a copy's.
#[derive(Parser)]
struct Arguments {
    /// The length of each axis, the last one the fastest.
    #[arg(long, value_delimiter = ',', requires = "axes")]
    shape: Vec<usize>,
    /// For each axis of the result, which axis of the array it is.
    #[arg(long, value_delimiter = ',', requires = "shape")]
    axes: Vec<usize>,
    /// A list of permutations.
    #[arg(long, conflicts_with = "shape")]
    list: Option<List>,
    /// Bytes of an element.
    #[arg(long, value_delimiter = ',', default_value = "4")]
    element: Vec<usize>,
    /// Turns that each contestant gets.
    #[arg(long, default_value_t = 9)]
    turns: usize,
    /// Only say what would be done.
    #[arg(long)]
    explain: bool,
    /// Also time every other way that the library has.
    #[arg(long)]
    candidates: bool,
    /// Conjugate complex numbers of 4, 8 or 16 bytes on the way, beside the permutation without.
    #[arg(long, conflicts_with_all = ["explain", "candidates"])]
    conjugate: bool,
    #[command(flatten)]
    files: Files,
    /// Where to run: auto, cuda or sim.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
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
    fn permutations(&self) -> Result<Vec<Permutation>> {
        let all = match self.list {
            Some(List::Literature) => literature(),
            Some(List::Layouts) => layouts(),
            None => vec![Permutation { shape: self.shape.clone(), axes: self.axes.clone() }],
        };
        ensure!(!all[0].shape.is_empty(), "nothing to permute: --shape and --axes, or --list");
        Ok(all)
    }
}

/// What was measured.
struct Figures {
    permutation: Permutation,
    element: usize,
    /// Of the plan, one name for launches of the same kernel.
    kernel: String,
    /// In GB/s; `None` on a device without a clock.
    speeds: Option<Speeds>,
    /// Of each way, the kernel and what it does; none on a GPU, which does not tell.
    counts: Vec<(String, Counters)>,
}

struct Speeds {
    copy: f64,
    ours: f64,
    cutensor: Option<f64>,
    /// The library's other ways: the kernel, and the speed.
    others: Vec<(String, f64)>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let permutations = arguments.permutations()?;
    let device = arguments.device.open()?;
    if arguments.explain {
        return explain(&device, &permutations, &arguments.element);
    }
    let peers = Peers::open(&device);
    println!(
        "{:>2} {:<36} {:<12} {:>8} {:>8} {:>7} {:>8}",
        "B", "shape and axes", "kernel", "memcpy", "GB/s", "of copy", "cuTENSOR"
    );
    let sizes = || permutations.iter().map(Permutation::elements);
    let largest = sizes().max().unwrap_or(0) * arguments.element.iter().max().unwrap_or(&1);
    let least = sizes().min().unwrap_or(0) * arguments.element.iter().min().unwrap_or(&1);
    // Complex numbers have memory of their own.
    let mut arena = match arguments.conjugate {
        true => None,
        false => Some(Arena::new(&device, largest, least)?),
    };
    let mut all = Vec::new();
    for &element in &arguments.element {
        let first = all.len();
        for permutation in &permutations {
            let figures = match &mut arena {
                Some(arena) => measure(arena, permutation, element, &peers, &arguments)?,
                None => conjugate(&device, permutation, element, arguments.turns)?,
            };
            println!("{}", row(&figures));
            all.push(figures);
        }
        print_summary(element, &all[first..]);
    }
    let records: Vec<_> = all.iter().map(record).collect();
    arguments.files.write(&HEADER, &records, || chart(&all))
}

/// Says how each permutation would go.
fn explain(device: &Device, permutations: &[Permutation], elements: &[usize]) -> Result<()> {
    for &element in elements {
        for Permutation { shape, axes } in permutations {
            let src = TensorLayout::contiguous(shape, element)?.permute_axes(axes)?;
            let dst = TensorLayout::contiguous(src.shape(), element)?;
            let bound = Move::new(element, &src, &dst)?.bound();
            let plans = TensorPlan::candidates_for_layouts(element, &src, &dst, device.facts())?;
            println!("{}", plans[0]);
            for plan in &plans[1..] {
                println!("    or {}", sweep::what(plan));
            }
            println!("    its sectors allow {bound:.3} of a copy's speed");
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
    let kernel = kernel_of(&plans[0]);
    Ok(Figures { permutation: permutation.clone(), element, kernel, speeds, counts })
}

/// Measures a permutation on which numbers are conjugated; the other way is the one that only permutes.
fn conjugate(
    device: &Device,
    permutation: &Permutation,
    element: usize,
    turns: usize,
) -> Result<Figures> {
    let Conjugation { plan, plain, timings } =
        conjugation::race(device, permutation, element, turns)?;
    let bytes = permutation.elements() * element;
    let speeds = timings.map(|timings| {
        let speed = |which: usize| timings[which].gb_per_s(bytes);
        let others = vec![(kernel_of(&plain), speed(2))];
        Speeds { copy: speed(0), ours: speed(1), cutensor: None, others }
    });
    let (permutation, kernel) = (permutation.clone(), kernel_of(&plan));
    Ok(Figures { permutation, element, kernel, speeds, counts: Vec::new() })
}

/// The kernels of a plan, one name for launches of the same.
fn kernel_of(plan: &TensorPlan) -> String {
    let mut names = plan.kernel_names();
    names.dedup();
    if names.is_empty() { "memcpy".to_owned() } else { names.join("+") }
}

fn row(figures: &Figures) -> String {
    let Figures { permutation, element, kernel, speeds, counts } = figures;
    let start = format!("{element:>2} {:<36} {kernel:<12}", permutation.name());
    let Some(Speeds { copy, ours, cutensor, others }) = speeds else {
        let words = (permutation.elements() * element).div_ceil(4);
        let counts = counts.iter().map(|(kernel, counts)| counted(kernel, words, counts));
        return start + &counts.collect::<Vec<_>>().join("; ");
    };
    let cutensor = cutensor.map_or("–".to_owned(), |speed| format!("{:.3}", speed / copy));
    let mut row = format!("{start} {copy:>8.0} {ours:>8.0} {:>7.3} {cutensor:>8}", ours / copy);
    for (kernel, speed) in others {
        row += &format!("  {kernel} {:.3}", speed / copy);
    }
    row
}

/// What a kernel does that moves `words` words of 4 bytes: instructions of lanes for a word, sectors over the fewest possible, and
/// wavefronts in shared memory over the fewest possible.
fn counted(kernel: &str, words: usize, counters: &Counters) -> String {
    let Counters { thread_instructions, global_load, global_store, .. } = counters;
    let instructions = *thread_instructions as f64 / words as f64;
    let least = (words * 4).div_ceil(32) as f64;
    let [loaded, stored] = [global_load, global_store].map(|side| side.sectors as f64 / least);
    let (load, store) = (&counters.shared_load, &counters.shared_store);
    let ideal = (load.ideal_wavefronts + store.ideal_wavefronts).max(1) as f64;
    let wavefronts = (load.wavefronts + store.wavefronts) as f64 / ideal;
    format!(
        "{kernel} {instructions:.1} instructions for 4 bytes, {loaded:.2} and {stored:.2} of the sectors, {wavefronts:.2} of the wavefronts"
    )
}

/// The lowest and the mean fraction of a copy.
fn print_summary(element: usize, all: &[Figures]) {
    let speeds = || all.iter().filter_map(|figures| figures.speeds.as_ref());
    let say = |name: &str, fractions: Vec<f64>| {
        if fractions.len() > 1 {
            let lowest = fractions.iter().copied().fold(f64::INFINITY, f64::min);
            let mean = fractions.iter().sum::<f64>() / fractions.len() as f64;
            println!("{element} bytes, {name}: lowest {lowest:.3}, mean {mean:.3} of a copy");
        }
    };
    say("this library", speeds().map(|speeds| speeds.ours / speeds.copy).collect());
    let cutensor = |speeds: &Speeds| speeds.cutensor.map(|speed| speed / speeds.copy);
    say("cuTENSOR", speeds().filter_map(cutensor).collect());
}

/// The fields of [`record`].
const HEADER: [&str; 7] =
    ["element_bytes", "shape", "axes", "kernel", "memcpy_gb_s", "gb_s", "cutensor_gb_s"];

fn record(figures: &Figures) -> Vec<String> {
    let Figures { permutation: Permutation { shape, axes }, element, kernel, speeds, .. } = figures;
    let joined =
        |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut fields = vec![element.to_string(), joined(shape), joined(axes), kernel.clone()];
    let speeds = speeds.as_ref();
    let copy = speeds.map(|speeds| speeds.copy);
    let ours = speeds.map(|speeds| speeds.ours);
    let cutensor = speeds.and_then(|speeds| speeds.cutensor);
    let number = |speed: Option<f64>| speed.map_or(String::new(), |speed| format!("{speed:.1}"));
    fields.extend([copy, ours, cutensor].map(number));
    fields
}

/// For each permutation a row of bars.
fn chart(all: &[Figures]) -> String {
    let mut bars = Vec::new();
    for Figures { permutation, element, speeds, .. } in all {
        let Some(Speeds { copy, ours, cutensor, .. }) = speeds else { continue };
        let bar = |label, group: &str, speed: f64| {
            let value = speed / copy;
            Bar { label, group: group.to_owned(), value, spread: (value, value) }
        };
        bars.push(bar(format!("{element} B  {}", permutation.name()), "permute", *ours));
        bars.extend(cutensor.map(|speed| bar(String::new(), "cuTENSOR", speed)));
    }
    bar_chart("Fraction of a device-to-device copy", "of the copy", &bars)
}
