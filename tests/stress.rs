//! The in-place kernels whose threads communicate, over and over: an order of accesses that is missing shows seldom.
//!
//! `cargo test --release --test stress -- --ignored --nocapture` repeats for `TRANSPOSE_STRESS_SECONDS`, 60 if that is
//! not set, on a GPU, in `TRANSPOSE_STRESS_THREADS` threads, 2 if that is not set, each with a `Device::cuda(0)` of its own,
//! and says how often it did what. Several such processes at a time, and sanitizers
//! beside them, make the timing less regular. Otherwise each case is run once, on the simulator.

use std::time::{Duration, Instant};
use transpose::{Carry, Device, DeviceMatrix, Error, InPlace, InPlaceOptions, InPlacePlan};
use transpose_tests::Element;

/// A shape, and how it is transposed; the result is transposed back in the same way.
struct Case {
    shape: (usize, usize),
    algorithm: InPlace,
    options: InPlaceOptions,
}

/// What the kernels that communicate are planned for. Small and odd shapes: a repetition takes microseconds, and
/// the ends of cycles, where parties meet, are a large part of it.
fn cases(is_gpu: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |algorithm, options, shapes: &[(usize, usize)]| {
        cases.extend(shapes.iter().map(|&shape| Case { shape, algorithm, options }));
    };
    let default = InPlaceOptions::default();
    let tile = |rows, cols| default.tile((rows, cols));
    // `flags`, then `permute` or `leaders`.
    for flags in [(1, false), (8, false), (32, true)] {
        let options = default.flags(flags);
        add(InPlace::ThreeStage, options, &[(48, 40), (40, 48), (72, 90)]);
    }
    // `permute`: every length and alignment, and places of several chunks.
    for length in [1, 3, 8, 31, 60] {
        add(InPlace::TwoStage, tile(length, 0), &[(61, 13), (13, 61), (187, 35)]);
    }
    add(InPlace::TwoStage, tile(700, 0), &[(1500, 9), (9, 1500)]);
    // `permute_bytes`, of narrow elements.
    for length in [61, 169, 511] {
        let (long, short) = (3 * length + 5, 13);
        add(InPlace::TwoStage, tile(length, 0), &[(long, short), (short, long)]);
    }
    add(InPlace::ThreeStage, default, &[(120, 90), (128, 64)]);
    add(InPlace::FourStage, default, &[(72, 180)]);
    // `carry`.
    for length in [31, 45] {
        let options = tile(length, 0).carry(Carry::SharedMemory);
        add(InPlace::TwoStage, options, &[(61, 13), (13, 61), (187, 135)]);
    }
    // `fused`.
    add(InPlace::FourStageFused, default, &[(120, 90), (72, 180)]);
    add(InPlace::FourStageFused, tile(4, 6), &[(60, 84)]);
    // `panel` and `columns`: blocks that wait for each other on a GPU, where a small chip leaves them small parts.
    let small = |bytes| default.on_chip_bytes(bytes);
    for bytes in [1 << 10, 4 << 10] {
        add(InPlace::TwoStage, small(bytes), &[(131, 127), (127, 131), (96, 250)]);
        add(InPlace::Decomposed, small(bytes), &[(61, 53), (53, 61), (96, 80)]);
    }
    if is_gpu {
        add(InPlace::Auto, default, &[(523, 541), (1009, 211), (2003, 1501)]);
        add(InPlace::FourStageFused, default, &[(300, 170)]);
        add(InPlace::Decomposed, default, &[(523, 541), (600, 400)]);
    }
    cases
}

/// A matrix with the plans that transpose it there and back.
struct Running<T> {
    matrix: DeviceMatrix<T>,
    there: InPlacePlan,
    back: InPlacePlan,
    host: Vec<T>,
    transposed: Vec<T>,
    name: String,
}

impl<T: Element> Running<T> {
    /// None if the algorithm does not serve the shape or the element.
    fn new(device: &Device, case: &Case) -> Option<Self> {
        let Case { shape: (rows, cols), algorithm, options } = *case;
        let host: Vec<T> = (0..rows * cols).map(|index| T::scrambled(index, 9)).collect();
        let transposed = (0..rows * cols).map(|at| host[at % rows * cols + at / rows]).collect();
        let name = format!("{algorithm} {rows} × {cols} of {} bytes, {options:?}", size_of::<T>());
        let plan = |(rows, cols)| {
            let like = DeviceMatrix::<T>::zeroed(device, rows, cols).unwrap();
            match InPlacePlan::with_options(&like, algorithm, &options) {
                Ok(plan) => Some(plan),
                Err(Error::NotServed { .. }) => None,
                Err(error) => panic!("{name}: {error}"),
            }
        };
        let (there, back) = (plan((rows, cols))?, plan((cols, rows))?);
        let matrix = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
        Some(Running { matrix, there, back, host, transposed, name })
    }

    /// There and back, so many times, compared each time.
    fn run(&mut self, times: usize) {
        for _ in 0..times {
            let Running { matrix, there, back, host, transposed, name } = self;
            for (plan, expected) in [(there, transposed), (back, host)] {
                plan.run(matrix).unwrap_or_else(|error| panic!("{name}: {error}"));
                let actual = matrix.to_host().unwrap();
                let wrong = actual.iter().zip(expected.iter()).position(|(a, b)| a != b);
                assert!(wrong.is_none(), "{name}: element {wrong:?} is wrong\n{plan:?}");
            }
        }
    }
}

/// Something to repeat, of whichever element.
trait Repeat {
    fn repeat(&mut self, times: usize);
}

impl<T: Element> Repeat for Running<T> {
    fn repeat(&mut self, times: usize) {
        self.run(times);
    }
}

/// All cases for elements of one type.
fn of<T: Element>(device: &Device) -> Vec<Box<dyn Repeat>> {
    let running =
        cases(device.is_gpu()).into_iter().filter_map(|case| Running::<T>::new(device, &case));
    running.map(|running| Box::new(running) as Box<dyn Repeat>).collect()
}

/// A number from the environment.
fn number(variable: &str, default: f64) -> f64 {
    let number = std::env::var(variable).map(|text| text.parse());
    number.map_or(default, |number| number.expect("a number"))
}

#[test]
fn once_on_the_simulator() {
    let device = transpose_tests::simulator_of_talking_blocks().unwrap();
    for mut case in of::<u8>(&device).into_iter().chain(of::<u64>(&device)) {
        case.repeat(1);
    }
}

#[test]
#[ignore = "takes a minute of a GPU, or TRANSPOSE_STRESS_SECONDS"]
fn over_and_over_on_a_gpu() {
    if transpose_tests::gpu().is_none() {
        return;
    }
    let limit = Duration::from_secs_f64(number("TRANSPOSE_STRESS_SECONDS", 60.0));
    std::thread::scope(|scope| {
        for _ in 0..number("TRANSPOSE_STRESS_THREADS", 2.0) as usize {
            scope.spawn(|| repeat_for(limit));
        }
    });
}

/// Repeats all cases in turn, on a device of its own.
fn repeat_for(limit: Duration) {
    let device = Device::cuda(0).unwrap();
    let mut cases = of::<u8>(&device);
    cases.extend(of::<u16>(&device));
    cases.extend(of::<u32>(&device));
    cases.extend(of::<u64>(&device));
    cases.extend(of::<u128>(&device));
    cases.extend(of::<[u8; 3]>(&device));
    let start = Instant::now();
    let (count, mut next) = (cases.len(), 0);
    while start.elapsed() < limit {
        cases[next % count].repeat(10);
        next += 1;
    }
    println!("{count} cases, {} transposes, none wrong", next * 20);
}
