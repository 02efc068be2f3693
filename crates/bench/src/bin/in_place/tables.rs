//! What each table has: shapes, elements, and who transposes them.

use bench::in_place::Entrant;
use clap::ValueEnum;
use transpose::InPlace;

/// The tables.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// Square matrices of every element width.
    Square,
    /// Batches of squares, in one launch each.
    Batches,
    /// The paper's six sizes, beside its Table 2.
    Paper,
    /// Large sizes with many divisors.
    Large,
    /// Sizes with no useful divisors.
    Primes,
    /// Few columns, or few rows.
    Skinny,
    /// Elements that are no power of two wide, and wider ones.
    Tuples,
    /// Rows that do not fit on chip.
    Staged,
    /// 010! by flags in shared memory: spreading factors and padding.
    Spreading,
    /// 100! through registers and through shared memory.
    Carrying,
}

/// A matrix, and who transposes it.
pub struct Job {
    /// Rows and columns.
    pub shape: (usize, usize),
    /// Bytes of an element.
    pub bytes: usize,
    /// Who transposes it.
    pub entrants: Vec<Entrant>,
    /// What others reached.
    pub note: Option<String>,
}

const STAGED: [InPlace; 5] = [
    InPlace::Auto,
    InPlace::Decomposed,
    InPlace::ThreeStage,
    InPlace::FourStage,
    InPlace::FourStageFused,
];

/// Rows, columns, and GB/s of the 3-stage, 4-stage and fused 4-stage algorithms on a Tesla K20:
/// Sung et al. (PPoPP 2014), Table 2. That card's memory has a peak of 208 GB/s.
const PAPER: [(usize, usize, [f64; 3]); 6] = [
    (7200, 1800, [20.59, 7.11, 7.67]),
    (5100, 2500, [18.49, 6.87, 7.38]),
    (4000, 3200, [20.73, 7.23, 7.79]),
    (3300, 3900, [18.80, 7.23, 7.79]),
    (2500, 5100, [17.29, 6.86, 7.37]),
    (1800, 7200, [18.70, 7.07, 7.60]),
];

impl Table {
    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            Table::Square => "Square",
            Table::Batches => "Batches of squares",
            Table::Paper => "The paper's sizes",
            Table::Large => "Large",
            Table::Primes => "Sizes without useful divisors",
            Table::Skinny => "Few columns, few rows",
            Table::Tuples => "Elements of several words",
            Table::Staged => "Rows that do not fit on chip",
            Table::Spreading => "010! by flags in shared memory, and by barriers",
            Table::Carrying => "100! through registers and through shared memory",
        }
    }

    /// What it measures; `size` is a length as the device can take it. Those of batches and of single steps have none.
    pub fn jobs(self, size: &dyn Fn(usize) -> usize) -> Vec<Job> {
        let auto = &[InPlace::Auto][..];
        let two = &[InPlace::Auto, InPlace::Decomposed][..];
        let job = |(rows, cols), bytes, algorithms: &[InPlace]| Job {
            shape: (size(rows), size(cols)),
            bytes,
            entrants: algorithms.iter().map(|&algorithm| algorithm.into()).collect(),
            note: None,
        };
        let each = |shapes: &[(usize, usize)], bytes: &[usize], algorithms: &[InPlace]| {
            let all = shapes.iter().flat_map(|&shape| bytes.iter().map(move |&b| (shape, b)));
            all.map(|(shape, bytes)| job(shape, bytes, algorithms)).collect()
        };
        match self {
            Table::Square => each(&[(16384, 16384)], &[4, 8, 16, 1, 2], auto),
            Table::Paper => {
                PAPER.map(|(rows, cols, k20)| paper(job((rows, cols), 4, &STAGED), k20)).into()
            }
            Table::Large => {
                each(&[(20000, 10000), (16384, 8192), (30000, 17000)], &[4, 8], &STAGED)
            }
            Table::Primes => each(
                &[(10007, 9973), (9973, 10007), (10006, 9974), (2 * 5003, 10000)],
                &[4, 8],
                two,
            ),
            Table::Skinny => {
                let fields = [2, 3, 4, 8, 16, 32, 64];
                let shapes = fields.into_iter().flat_map(|fields| {
                    let records = size(1_000_000);
                    [(records, fields), (fields, records)]
                });
                shapes.map(|shape| Job { shape, ..job((1, 1), 4, two) }).collect()
            }
            Table::Tuples => tuples(size),
            Table::Staged => each(&[(16000, 15000), (15000, 16000), (14951, 14939)], &[16], two),
            Table::Batches | Table::Spreading | Table::Carrying => Vec::new(),
        }
    }
}

/// A job with what the paper says of it.
fn paper(job: Job, k20: [f64; 3]) -> Job {
    let of = k20.map(|speed| format!("{speed} GB/s ({:.3} of its peak)", speed / 208.0));
    let [three, four, fused] = of;
    Job {
        note: Some(format!("    a Tesla K20: 3 stages {three}, 4 {four}, 4 fused {fused}")),
        ..job
    }
}

fn tuples(size: &dyn Fn(usize) -> usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut add = |shape, bytes| {
        jobs.push(Job { shape, bytes, entrants: vec![InPlace::Auto.into()], note: None });
    };
    for bytes in [3, 6, 7, 12, 24, 32, 48, 128, 512] {
        let side = ((1 << 30) / bytes) as f64;
        let side = size(side.sqrt() as usize / 80 * 80);
        let (long, short) = (side * 5 / 4, side * 4 / 5);
        // The last has no divisors to make use of, and rows that begin anywhere.
        for shape in [(side, side), (long, short), (short, long), (long | 1, short | 1)] {
            add(shape, bytes);
        }
    }
    let records = size(1_000_000);
    add((records, 8), 12);
    add((8, records), 12);
    jobs
}
