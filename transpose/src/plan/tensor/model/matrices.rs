//! What the kernels of matrices cost, by what they were seen to reach.

use super::super::canonical::Canonical;
use super::super::gaps::Gaps;
use super::super::sectors::SECTOR;
use super::super::side::{Side, starts_on};
use super::{cost_of_gaps, fewest_sectors, idle};
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::fast::Tuning;
use crate::plan::problem::{Problem, VECTOR};
use kernel_abi::fast::Batch;

/// Bytes of an element beyond which `tuples` is slower.
const TUPLE: f64 = 24.0;

/// Rows beyond which `lines_b1` is slower, of a matrix and of each of a batch, and by which power of how many times as many they are. (By nine moves of 88 to 196
/// rows on an H200.)
const LINES: [(f64, f64); 2] = [(80.0, 0.8), (64.0, 1.0)];

/// Rows below which kernels are slower whose rows start anywhere, and by which power of how many times fewer they are: a row of the destination starts and ends
/// inside sectors, and so does what each tile stores of it. (By 29 matrices and 36 random moves on an H200, decision 103.) Of narrow words `rows` is slower by less where all rows of the destination start on
/// 8 bytes, and by least where they start on sectors. (By 190 moves, decision 100.)
const ROWS_B1: [(f64, f64); 3] = [(900.0, 0.26), (900.0, 0.24), (640.0, 0.2)];
const ROWS_B2: [(f64, f64); 3] = [(600.0, 0.2), (600.0, 0.2), (256.0, 0.12)];
/// That of `rows_b1` of fewer rows than these, which start anywhere. (By 101 random moves, decision 071.)
const FEW_ROWS_B1: usize = 300;
const OF_FEW_ROWS_B1: (f64, f64) = (1700.0, 0.34);
/// The fewest rows of the matrices of decision 100.
const KNOWN: usize = 128;
/// `rows` of words of 4 and 8 bytes, by 22 random moves of less than 250 and 100 rows.
const ROWS_B4: (f64, f64) = (250.0, 0.11);
const ROWS_B8: (f64, f64) = (100.0, 0.17);
const TRIPLES_B1: (f64, f64) = (1000.0, 0.27);
/// `triples_b2`, by 53 random moves of 43 rows and more (decision 091).
const TRIPLES_B2: (f64, f64) = (800.0, 0.13);

/// What `lines` reaches in batches of matrices that have one, two and three bands each: the last band is short, and so are all that start and end inside
/// vectors. (By 14 random moves on an H200, of words of 1 to 8 bytes; with two bands they had 0.75 to 0.82, whatever there was to move in them.)
const FEW_BANDS: [f64; 3] = [0.74, 0.80, 0.95];

/// The part that `tall_b16` reads of gaps behind rows of the source. (By 48 random moves on an H200, decision 071. Where words have less, its threads are as many
/// as if gaps were moved, and that says it.)
const TALL_GAPS: f64 = 0.75;

/// What a sector of the destination that a gap follows costs `tall` of narrow words, where no other sector waits for it, and where one does. (By four random batches on an
/// H200, whose rows of 11 to 312 words are 12 to 76 bytes apart.)
const TALL_GAP: [f64; 2] = [220.0, 375.0];

/// Columns of a batch's matrices, of two bands at most, beyond which `tall_b1` reaches so much of what it does otherwise. (By ten batches on an H200, of 34 to 115 columns.)
const WIDE_BATCHES: [(usize, f64); 2] = [(50, 0.55), (30, 0.7)];

/// What `tall_b2` reaches of batches of matrices that start inside vectors or sectors, of what it does otherwise. (By 30 of random moves on an H200; 17 that start
/// on those have 1.02 to 1.06 of a copy, decision 087.) Of fewer rows than these less, by this power of how many times fewer: more of each column is what starts and ends inside vectors.
/// (By twelve random batches of 35 to 137 rows, which have 0.36 to 0.70.)
const OF_BATCHES: f64 = 0.80;
const FEW_ROWS: (f64, f64) = (130.0, 0.6);

/// How rows of the destination start.
#[derive(Clone, Copy)]
enum Starts {
    Anywhere,
    /// On multiples of 8 bytes.
    OnEight,
    OnSectors,
}

impl Starts {
    /// How those of a matrix's destination do.
    fn of(canonical: &Canonical) -> Self {
        let [_, dst] = canonical.sides();
        match rows_start_on(canonical, dst.address) {
            SECTOR.. => Starts::OnSectors,
            8.. => Starts::OnEight,
            _ => Starts::Anywhere,
        }
    }
}

/// Bytes, up to a sector's, that rows of the destination start on multiples of, if it starts on `address`.
fn rows_start_on(canonical: &Canonical, address: usize) -> usize {
    let strides = canonical.axes().iter().skip(1).map(|axis| axis.dst);
    starts_on(address, strides, canonical.word_bytes(), SECTOR)
}

/// Whether matrices of a batch, of 2-byte words, start on vectors of the source, and their columns on sectors of the destination.
fn is_on_sectors(canonical: &Canonical) -> bool {
    let matrices = canonical.axes().iter().skip(2).map(|axis| axis.src);
    rows_start_on(canonical, SECTOR) == SECTOR
        && starts_on(SECTOR, matrices, canonical.word_bytes(), VECTOR) == VECTOR
}

/// What `batch` of narrow words reaches whose threads find each vector anew, and in blocks of 256 threads and of more, of what it does otherwise. (By 400 batches on an
/// H200, decision 083.)
const OF_BATCH_B1: [f64; 3] = [0.60, 0.95, 0.85];
const OF_BATCH_B2: [f64; 3] = [0.77, 1.0, 1.0];

/// That of such a launch.
fn of_narrow_batch(launch: &Launch, [anew, of_256, of_512]: [f64; 3]) -> f64 {
    let steps = launch.params.to::<Batch>().is_none_or(|params| params.gatherers > 0);
    match launch.block[0] {
        _ if !steps => anew,
        0..256 => 1.0,
        256..512 => of_256,
        _ => of_512,
    }
}

/// What kernels of few columns or rows of bytes reach where the matrices of a batch start anywhere, of what they reach where all start alike. (By eight
/// random moves on an H200.)
const OF_ODD_BATCHES: f64 = 0.6;

/// That, or 1 where matrices start alike.
fn of_odd_batches(canonical: &Canonical) -> f64 {
    let apart = canonical.axes().get(2);
    match apart.is_some_and(|axis| (axis.src | axis.dst) % 4 != 0) {
        true => OF_ODD_BATCHES,
        false => 1.0,
    }
}

/// Columns beyond which `tall_b1` is slower.
const TALL: f64 = 96.0;

/// What part of its speed `tall_b1` has left where rows of the source start in two of the banks, and neither is the number of columns a multiple of four nor `dst_ld` even: its kernel knows no order of the
/// bytes that keeps lanes out of one bank there. (By 63 columns in rows 64 bytes apart on an H200.)
const OF_FEW_BANKS: f64 = 0.45;

/// [`OF_FEW_BANKS`] where that is so, else 1.
fn of_few_banks(canonical: &Canonical) -> f64 {
    let &[rows, columns, ..] = canonical.axes() else { return 1.0 };
    let meet = rows.src % 64 == 0 && columns.length % 4 != 0 && columns.dst % 2 != 0;
    if meet { OF_FEW_BANKS } else { 1.0 }
}

/// What the launches of a matrix's plan cost: as many threads as they have take their time, whether there is much for each to move or little.
pub(in super::super) fn cost_of_matrix(
    canonical: &Canonical,
    facts: &Facts,
    launches: &[Launch],
) -> f64 {
    let efficiency = Efficiency::of(launches);
    let bytes = (canonical.words() * canonical.word_bytes()) as f64;
    // A single row or column has no axis, and elements of several words have one of their own.
    let first = usize::from(canonical.run() > 1);
    let length = |axis: usize| canonical.axes().get(first + axis).map_or(1, |axis| axis.length);
    let shape = [0, 1, 2].map(length);
    let alike = match efficiency.kernel {
        "lines_b1" => of_odd_batches(canonical),
        "tall_b1" if shape[2] > 1 && launches[0].grid[0] <= 2 => {
            let wide = WIDE_BATCHES.iter().find(|(columns, _)| shape[1] > *columns);
            wide.map_or(1.0, |&(_, reached)| reached)
        }
        "tall_b1" => of_few_banks(canonical),
        "tall_b2" if shape[2] > 1 && !is_on_sectors(canonical) => {
            let (rows, power) = FEW_ROWS;
            OF_BATCHES * (shape[0] as f64 / rows).min(1.0).powf(power)
        }
        "batch_b1" => of_narrow_batch(&launches[0], OF_BATCH_B1),
        "batch_b2" => of_narrow_batch(&launches[0], OF_BATCH_B2),
        _ => 1.0,
    };
    let element_bytes = canonical.run() * canonical.word_bytes();
    let most = alike * efficiency.most_of(element_bytes, shape, Starts::of(canonical));
    let filled = efficiency.filled(bytes, facts, launches);
    let power = efficiency.power_of(shape[2]);
    let filled = if power == 1.0 { filled } else { filled.powf(power) };
    let read = fewest_sectors(canonical) + efficiency.gaps_read(canonical);
    let reached = (most * filled).min(efficiency.of_bands(launches));
    let cost = (read / most).max(2.0 * bytes / reached);
    let gaps = Gaps::of(canonical);
    let of_gaps = match efficiency.kernel {
        "tall_b1" | "tall_b2" => gaps.sectors * TALL_GAP[usize::from(gaps.fetch)],
        _ => cost_of_gaps(canonical, &gaps, false),
    };
    (cost + of_gaps) * idle(blocks(launches), facts)
}

/// Of what these launches of a matrix's plan cost, what others must cost at most to be taken instead, for a model errs: less where a thread has less than
/// `full` of what it could move, of which the cost is guessed, than where the kernel was never seen to be fast for such elements. `None` where neither is so.
pub(in super::super) fn if_poor(
    problem: &Problem,
    facts: &Facts,
    launches: &[Launch],
    full: f64,
) -> Option<f64> {
    /// The fraction of a copy's speed from which on a kernel is fast.
    const FAST: f64 = 0.9;
    let efficiency = Efficiency::of(launches);
    let filled = efficiency.filled(problem.bytes() as f64, facts, launches);
    let shape = [problem.src.rows, problem.src.cols, problem.batch.count];
    let is_slow = efficiency.most_of(problem.element_bytes, shape, Starts::Anywhere) < FAST;
    if filled < full { Some(CLEARLY) } else { is_slow.then_some(0.9) }
}

/// Of what a matrix's plan costs, what others must cost at most to be taken instead where that is guessed.
const CLEARLY: f64 = 0.8;

/// Blocks of launches.
fn blocks(launches: &[Launch]) -> f64 {
    launches.iter().map(|launch| product(launch.grid)).sum()
}

/// Threads of launches.
fn threads(launches: &[Launch]) -> f64 {
    launches.iter().map(|launch| product(launch.grid) * product(launch.block)).sum()
}

fn product(sizes: [u32; 3]) -> f64 {
    sizes.iter().map(|&size| f64::from(size)).product()
}

/// How fast a kernel of the other planners is, measured on 400 random moves on an H200.
struct Efficiency {
    /// Its name, with the bytes of its word.
    kernel: &'static str,
    /// The fraction of a copy's speed that it reaches at most.
    most: f64,
    /// The bytes that a thread moves there. With fewer it is slower, by this power of how many times fewer they are.
    full: f64,
    power: f64,
}

/// Bytes of a thread, at least, where small moves are shared out: a vector, for the last bands have less than others.
const SHARED_OUT: f64 = 16.0;

/// What has not been measured is taken to be good.
const UNKNOWN: Efficiency = Efficiency { kernel: "", most: 1.0, full: 20.0, power: 1.0 };

const EFFICIENCIES: [Efficiency; 25] = {
    const fn of(kernel: &'static str, most: f64, full: f64, power: f64) -> Efficiency {
        Efficiency { kernel, most, full, power }
    }
    [
        of("tuples_b4", 0.98, 49.0, 1.0),
        of("tuples_b8", 1.00, 40.0, 1.0),
        // A full tile is 24 KiB for 512 threads. Small matrices leave most of it empty: 64 × 64 and 48 × 48 of 3 bytes have 0.52 and 0.35 of a copy in batches.
        of("pixels_b1", 1.00, 48.0, 0.85),
        of("pixels_b2", 1.00, 48.0, 0.85),
        of("triples_b1", 0.91, 80.0, 0.8),
        of("triples_b2", 0.97, 40.0, 1.0),
        of("rows_b1", 0.95, 88.0, 0.6),
        of("rows_b2", 0.985, 78.0, 0.5),
        of("rows_b4", 1.00, 87.0, 1.0),
        of("rows_b8", 1.03, 36.8, 1.0),
        of("micro_b16", 1.03, 20.6, 1.0),
        of("tall_b1", 1.00, 52.6, 1.0),
        of("tall_b2", 1.02, 37.8, 1.0),
        of("tall_b4", 1.02, 31.9, 1.0),
        of("tall_b8", 1.03, 31.2, 1.0),
        of("tall_b16", 1.03, 28.6, 1.0),
        of("lines_b1", 1.02, 61.8, 1.0),
        of("lines_b2", 1.05, 52.5, 1.0),
        of("lines_b4", 1.05, 45.7, 1.0),
        of("lines_b8", 1.05, 43.8, 1.0),
        of("wide_b4", 1.03, 34.3, 1.0),
        of("batch_b1", 1.00, 66.7, 1.0),
        of("batch_b2", 1.00, 64.5, 0.4),
        of("batch_b4", 1.05, 52.5, 1.0),
        of("batch_b8", 1.05, 52.5, 1.0),
    ]
};

impl Efficiency {
    /// The fraction of a copy's speed that it reaches at most of elements of so many bytes, and of so many rows and columns of so many matrices. Of what a kernel
    /// is good for up to some number, or from some number on, more, or less, is slower by a power of how many times as much, or as little, it is.
    fn most_of(
        &self,
        element_bytes: usize,
        [rows, cols, count]: [usize; 3],
        starts: Starts,
    ) -> f64 {
        let up_to =
            |good: f64, number: usize, power: f64| (good / number as f64).min(1.0).powf(power);
        let from = |(good, power): (f64, f64)| (rows as f64 / good).min(1.0).powf(power);
        // Of fewer rows than `KNOWN` only such were measured that start anywhere.
        let of = |[anywhere, on_eight, on_sectors]: [(f64, f64); 3]| match starts {
            Starts::OnSectors if rows >= KNOWN => on_sectors,
            Starts::OnEight if rows >= KNOWN => on_eight,
            _ => anywhere,
        };
        self.most
            * match self.kernel {
                kernel if kernel.starts_with("tuples") => up_to(TUPLE, element_bytes, 0.3),
                "lines_b1" => {
                    let (good, power) = LINES[usize::from(count > 1)];
                    up_to(good, rows, power)
                }
                "tall_b1" => up_to(TALL, cols, 0.3),
                "rows_b1" if rows < FEW_ROWS_B1 => {
                    let [_, on_eight, on_sectors] = ROWS_B1;
                    from(of([OF_FEW_ROWS_B1, on_eight, on_sectors]))
                }
                "rows_b1" => from(of(ROWS_B1)),
                "rows_b2" => from(of(ROWS_B2)),
                "rows_b4" => from(ROWS_B4),
                "rows_b8" => from(ROWS_B8),
                "triples_b1" => from(TRIPLES_B1),
                "triples_b2" => from(TRIPLES_B2),
                _ => 1.0,
            }
    }

    /// By which power of how many times fewer bytes a thread moves than it could the kernel is slower, of so many matrices. Where few columns, or rows, of a single matrix leave lanes
    /// idle, other threads move meanwhile; small matrices have no others. (By 24 single matrices of two kernels of few columns and one of few rows, which have 0.85 to 1.08 of a copy
    /// where their threads have 0.5 to 0.95 of what they could; decision 082.)
    fn power_of(&self, count: usize) -> f64 {
        const OF_ONE: f64 = 0.4;
        let is_known =
            matches!(self.kernel, "tall_b1" | "tall_b2") || self.kernel.starts_with("lines");
        if count == 1 && is_known { OF_ONE } else { self.power }
    }

    /// Of what the threads of launches could move, the part that so many bytes are, 1 at most: what [few](Tuning::few_blocks) blocks of `lines` move is shared out among more
    /// of them on purpose, until their threads have little more than a vector each.
    fn filled(&self, bytes: f64, facts: &Facts, launches: &[Launch]) -> f64 {
        let few = facts.multiprocessors * Tuning::of(facts.compute_capability).few_blocks;
        let are_few = self.kernel.starts_with("lines") && blocks(launches) < 2.0 * few as f64;
        let of_thread = bytes / threads(launches);
        if are_few && of_thread >= SHARED_OUT { 1.0 } else { (of_thread / self.full).min(1.0) }
    }

    /// The fraction of a copy's speed that it reaches at most in so few bands of each matrix of a batch.
    fn of_bands(&self, launches: &[Launch]) -> f64 {
        let few = |launch: &Launch| {
            let [bands, _, matrices] = launch.grid;
            let is_batch = self.kernel.starts_with("lines") && matrices > 1;
            is_batch.then(|| FEW_BANDS.get((bands as usize).wrapping_sub(1)).copied()).flatten()
        };
        launches.first().and_then(few).unwrap_or(f64::INFINITY)
    }

    /// Bytes of gaps behind rows of the source that it reads.
    fn gaps_read(&self, canonical: &Canonical) -> f64 {
        if self.kernel != "tall_b16" {
            return 0.0;
        }
        let [Side { together, pitch, .. }, _] = *canonical.sides();
        let rows = canonical.words() as f64 / together as f64;
        let gap = if pitch == usize::MAX { 0 } else { pitch - together };
        rows * (gap * canonical.word_bytes()) as f64 * TALL_GAPS
    }

    /// That of the kernel that these launches start with.
    fn of(launches: &[Launch]) -> &'static Self {
        let name = launches.first().map_or("", |launch| launch.entry.name);
        EFFICIENCIES.iter().find(|known| known.kernel == name).unwrap_or(&UNKNOWN)
    }
}
