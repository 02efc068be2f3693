//! More than 2³² elements through every kernel, on request: `cargo test --release --test huge -- --ignored --nocapture`. On an H200 that
//! takes 15 s and 72 GB; on a GPU of less memory, what fits. Sources are filled and results compared on the device.
//!
//! A kernel counts if a plan that launches it moved more than 2³² elements, or words of an element, and each byte came to its place.

mod lying;
mod pattern;

use bytemuck::Pod;
use half::f16;
use lying::Lying;
use pattern::{Origin, fill, mistakes};
use std::collections::BTreeSet;
use std::time::Instant;
use study::Outcome;
use transpose::{
    Arithmetic, ArithmeticPlan, Batch, Carry, Conjugate, ConvertTo, Device, DeviceMatrix,
    DeviceTensor, Error, InPlace, InPlaceOptions, InPlacePlan, MatrixView, MatrixViewMut,
    NormalizingPlan, Number, Plan, Strategy, TensorView,
};

/// Kernels that cannot have so many elements, and why.
const EXCEPT: [(&str, &str); 4] = [
    (
        "compute_tiles_by_pairs",
        "other ways serve: places of channels are counted in 32 bits, of 2³⁰ elements",
    ),
    ("constants", "a launch stores 128 words of 8 bytes, which are among its parameters"),
    ("fused", "refused: the stages count super-elements in 31 bits"),
    ("flags", "refused: the stages count super-elements in 31 bits"),
];

/// What has been run.
struct Tried {
    device: Device,
    /// Kernels, without the bytes of their words.
    kernels: BTreeSet<String>,
    /// Kernels with them: each is run once for a shape that several can serve.
    entries: BTreeSet<String>,
    start: Instant,
}

impl Tried {
    fn new(device: &Device) -> Self {
        let (kernels, entries) = Default::default();
        Tried { device: device.clone(), kernels, entries, start: Instant::now() }
    }

    /// Whether a plan has a kernel that has not been tried.
    fn is_new(&self, names: &[&str]) -> bool {
        names.iter().any(|name| !self.entries.contains(*name))
    }

    /// Notes that these kernels have done such a move without a mistake.
    fn note(&mut self, names: &[&str], what: &str, wrong: u64) {
        assert_eq!(wrong, 0, "{names:?}: bytes of {what} are wrong");
        let kernels: BTreeSet<_> = names.iter().map(|name| name.to_string()).collect();
        let list = kernels.iter().cloned().collect::<Vec<_>>().join(", ");
        println!("{:6.1} s  {list}: {what}", self.start.elapsed().as_secs_f64());
        for name in kernels {
            let (kernel, _) = name.rsplit_once("_b").unwrap_or((&name, ""));
            self.kernels.insert(kernel.to_owned());
            self.entries.insert(name);
        }
    }

    /// An array for results that is no pattern, or `None`, which is said, where memory is short.
    fn room<T: Pod>(&self, shape: &[usize]) -> Option<DeviceTensor<T>> {
        match DeviceTensor::zeroed(&self.device, shape) {
            Ok(array) => Some(array),
            Err(Error::OutOfMemory { bytes, .. }) => {
                println!("NOT TRIED: {shape:?} of {} bytes needs {bytes} more", size_of::<T>());
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn filled<T: Pod>(&self, shape: &[usize]) -> Option<DeviceTensor<T>> {
        let mut array = self.room(shape)?;
        fill(&mut array);
        Some(array)
    }

    /// An array in another order of axes, by every kernel that can and has not been tried.
    fn permuted<T: Pod>(&mut self, shape: &[usize], order: &[usize]) {
        self.moved::<T>(shape, order, None, |view, dst| Plan::moving_candidates(view, dst));
    }

    /// An array of complex numbers in another order of axes, conjugated on the way.
    fn conjugated<T: Conjugate>(&mut self, shape: &[usize], order: &[usize]) {
        let flipped = Some(size_of::<T>() - 1);
        self.moved::<T>(shape, order, flipped, |view, dst| Plan::conjugating_candidates(view, dst));
    }

    /// An array in another order of axes, by each of these plans whose kernels have not been tried; of each element the top bit of the
    /// byte `flipped` becomes the other one.
    fn moved<T: Pod>(
        &mut self,
        shape: &[usize],
        order: &[usize],
        flipped: Option<usize>,
        candidates: impl Fn(TensorView<'_, T>, &mut DeviceTensor<T>) -> transpose::Result<Vec<Plan>>,
    ) {
        let Some(src) = self.filled::<T>(shape) else { return };
        let Some(mut dst) = self.room::<T>(&ordered(shape, order)) else { return };
        let view = src.view().permute_axes(order).unwrap();
        for plan in candidates(view, &mut dst).unwrap() {
            if self.is_new(&plan.kernel_names()) {
                dst.fill(T::zeroed()).unwrap();
                plan.run(view, &mut dst).unwrap();
                self.compare(&plan.kernel_names(), &dst, shape, order, flipped);
            }
        }
    }

    fn compare<T: Pod>(
        &mut self,
        names: &[&str],
        dst: &DeviceTensor<T>,
        shape: &[usize],
        order: &[usize],
        flipped: Option<usize>,
    ) {
        let axes = Lying::of(shape).axes(order);
        let origin = Origin { axes: &axes, start: 0, source_bytes: size_of::<T>(), flipped };
        let what = format!("{shape:?} by {order:?} of {} bytes", size_of::<T>());
        self.note(names, &what, mistakes(dst, origin));
    }

    /// A matrix by every strategy and every candidate that has not been tried.
    fn transposed<T: Pod>(&mut self, rows: usize, cols: usize) {
        let Some(src) = self.filled::<T>(&[rows, cols]) else { return };
        let Some(mut dst) = self.room::<T>(&[cols, rows]) else { return };
        let from: MatrixView<'_, T> = src.view().try_into().unwrap();
        let mut plans = Plan::candidates(from, matrix(&mut dst)).unwrap();
        for &strategy in Strategy::ALL {
            plans.extend(Plan::new(from, matrix(&mut dst), strategy));
        }
        for plan in plans {
            if self.is_new(&plan.kernel_names()) {
                dst.fill(T::zeroed()).unwrap();
                plan.run(from, matrix(&mut dst)).unwrap();
                self.compare(&plan.kernel_names(), &dst, &[rows, cols], &[1, 0], None);
            }
        }
    }

    /// Small matrices one after the other.
    fn batched<T: Pod>(&mut self, count: usize, side: usize) {
        let rows = [count * side, side];
        let Some(src) = self.filled::<T>(&rows) else { return };
        let Some(dst) = self.room::<T>(&rows) else { return };
        let src = DeviceMatrix::try_from(src).unwrap();
        let mut dst = DeviceMatrix::try_from(dst).unwrap();
        let batch = Batch { count, src_stride: side * side, dst_stride: side * side };
        let from = src.window(0, side, side, side).unwrap();
        let mut to = dst.window_mut(0, side, side, side).unwrap();
        let plan = Plan::batched(from, to.reborrow(), batch).unwrap();
        plan.run(from, to).unwrap();
        let (names, dst) = (plan.kernel_names(), DeviceTensor::from(dst));
        self.compare(&names, &dst, &[count, side, side], &[0, 2, 1], None);
    }

    /// The copy that the classic kernels are measured beside.
    fn copied(&mut self, rows: usize, cols: usize) {
        let Some(src) = self.filled::<u8>(&[rows, cols]) else { return };
        let Some(mut dst) = self.room::<u8>(&[rows, cols]) else { return };
        let from: MatrixView<'_, u8> = src.view().try_into().unwrap();
        let plan = Plan::copy(from, matrix(&mut dst)).unwrap();
        plan.run(from, matrix(&mut dst)).unwrap();
        self.compare(&plan.kernel_names(), &dst, &[rows, cols], &[0, 1], None);
    }

    /// A matrix in its own memory.
    fn in_place<T: Pod>(
        &mut self,
        (rows, cols): (usize, usize),
        algorithm: InPlace,
        options: InPlaceOptions,
    ) {
        let Some(matrix) = self.filled::<T>(&[rows, cols]) else { return };
        let mut matrix = DeviceMatrix::try_from(matrix).unwrap();
        let what = format!("{rows} × {cols} of {} bytes in place, {algorithm}", size_of::<T>());
        let mut plan = match InPlacePlan::with_options(&matrix, algorithm, &options) {
            Ok(plan) => plan,
            Err(Error::NotServed { reason, .. }) => return println!("refused: {what}: {reason}"),
            Err(error) => panic!("{what}: {error}"),
        };
        let steps = plan.run_step_by_step(&mut matrix).unwrap();
        let names: Vec<_> = steps.iter().map(|step| step.0).filter(|n| n.contains("_b")).collect();
        let axes = Lying::of(&[rows, cols]).axes(&[1, 0]);
        let origin = Origin { axes: &axes, start: 0, source_bytes: size_of::<T>(), flipped: None };
        self.note(&names, &what, mistakes(&DeviceTensor::from(matrix), origin));
    }

    /// Numbers that become wider ones on the way, by every kernel that can and has not been tried. The result has `gap` other elements behind what belongs to each index of its first axis.
    fn converted<T: ConvertTo<U> + Pod, U: Number + Pod>(
        &mut self,
        from: Lying<'_>,
        order: &[usize],
        gap: usize,
    ) {
        let lengths = ordered(from.shape(), order);
        let to = Lying::of(&lengths).gap(0, gap);
        let Some(src) = self.filled::<T>(&from.memory()) else { return };
        let Some(mut memory) = self.room::<U>(&to.memory()) else { return };
        let view = from.view(&src).permute_axes(order).unwrap();
        let arithmetic = Arithmetic::converting();
        let plans = ArithmeticPlan::candidates(&arithmetic, view, to.view_mut(&mut memory));
        for plan in plans.unwrap() {
            if self.is_new(&plan.kernel_names()) {
                memory.fill(U::zeroed()).unwrap();
                plan.run(view, to.view_mut(&mut memory)).unwrap();
                self.compare_numbers::<T, U>(&plan.kernel_names(), &memory, (from, to), order);
            }
        }
    }

    /// Numbers that become wider ones, each index of an axis of the result by a factor and a summand of its own, which change nothing.
    fn normalized<T, U>(&mut self, from: Lying<'_>, order: &[usize], axis: usize)
    where
        T: ConvertTo<U> + Number<Kind = transpose::kind::Real> + Pod,
        U: Number + Pod,
    {
        let lengths = ordered(from.shape(), order);
        let to = Lying::of(&lengths);
        let Some(src) = self.filled::<T>(&from.memory()) else { return };
        let Some(mut dst) = self.room::<U>(&to.memory()) else { return };
        let view = from.view(&src).permute_axes(order).unwrap();
        let [factors, summands] = [1.0, 0.0].map(|value| vec![value; lengths[axis]]);
        let results = to.view_mut(&mut dst);
        let plans = NormalizingPlan::candidates(view, axis, &factors, &summands, results).unwrap();
        for plan in plans {
            if self.is_new(&plan.kernel_names()) {
                dst.fill(U::zeroed()).unwrap();
                plan.run(view, to.view_mut(&mut dst)).unwrap();
                self.compare_numbers::<T, U>(&plan.kernel_names(), &dst, (from, to), order);
            }
        }
    }

    /// Compares numbers with those that they were, of which one lies otherwise; what is between results is zero yet.
    fn compare_numbers<T: Pod, U: Pod>(
        &mut self,
        kernels: &[&str],
        memory: &DeviceTensor<U>,
        (from, to): (Lying<'_>, Lying<'_>),
        order: &[usize],
    ) {
        let (shape, what) = (from.shape(), names::<T, U>());
        let what = format!("{shape:?} by {order:?}, {what}");
        let (axes, start) = (from.axes(order), from.start());
        let origin = Origin { axes: &axes, start, source_bytes: size_of::<T>(), flipped: None };
        let [count, all] = to.memory();
        let elements = to.shape()[1..].iter().product();
        if all == elements {
            return self.note(kernels, &what, mistakes(memory, origin));
        }
        let Some(mut results) = self.room::<U>(to.shape()) else { return };
        to.view(memory).copy_into(&mut results).unwrap();
        let between = memory.view().slice(1, elements.., 1).unwrap();
        let Some(mut others) = self.room::<U>(&[count, all - elements]) else { return };
        between.copy_into(&mut others).unwrap();
        let others = others.to_host().unwrap();
        let written = bytemuck::cast_slice::<U, u8>(&others).iter().filter(|&&byte| byte != 0);
        self.note(kernels, &what, mistakes(&results, origin) + written.count() as u64);
    }

    /// Numbers in another order, twice, less what they are themselves as the result's numbers, which lie as the source does or, `beside`, as the result does: by every kernel that can and has not been tried.
    /// Both operands are as long, and each counts. The numbers are those of bytes, which results become again to be compared.
    fn summed<T, U>(&mut self, shape: &[usize], order: &[usize], beside: bool)
    where
        u8: ConvertTo<T>,
        T: ConvertTo<U>,
        U: ConvertTo<u8> + Number<Factor = f32>,
    {
        let lengths = ordered(shape, order);
        let Some(bytes) = self.filled::<u8>(shape) else { return };
        let Some(mut src) = self.room::<T>(shape) else { return };
        bytes.view().convert_into(&mut src).unwrap();
        drop(bytes);
        let Some(mut other) = self.room::<U>(if beside { &lengths } else { shape }) else { return };
        let Some(mut dst) = self.room::<U>(&lengths) else { return };
        let view = src.view().permute_axes(order).unwrap();
        if beside {
            view.convert_into(&mut other).unwrap();
        } else {
            src.view().convert_into(&mut other).unwrap();
        }
        let other = if beside { other.view() } else { other.view().permute_axes(order).unwrap() };
        let twice = Arithmetic::scaling(2.0);
        for plan in ArithmeticPlan::candidates_adding(&twice, view, -1.0, other, &mut dst).unwrap()
        {
            if self.is_new(&plan.kernel_names()) {
                dst.fill(U::zeroed()).unwrap();
                plan.run_adding(view, other, &mut dst).unwrap();
                let Some(mut bytes) = self.room::<u8>(&lengths) else { return };
                dst.view().convert_into(&mut bytes).unwrap();
                let axes = Lying::of(shape).axes(order);
                let origin = Origin { axes: &axes, start: 0, source_bytes: 1, flipped: None };
                let what = format!("2 · {shape:?} by {order:?} − that, {}", names::<T, U>());
                self.note(&plan.kernel_names(), &what, mistakes(&bytes, origin));
            }
        }
    }

    /// The kernels of the texts that move elements as they are. Those that add to fields have the same loop over records.
    fn studies(&mut self, rows: usize, cols: usize) {
        const TILE: usize = 32;
        let Some(src) = self.filled::<u8>(&[rows, cols]) else { return };
        let [all, tile] = [cols, TILE].map(|count| count as isize);
        let (down, across) = ((rows / TILE, tile * all), (cols / TILE, tile));
        for &kernel in study::Kernel::ALL {
            let axes = match kernel.outcome() {
                Outcome::Copy => vec![(rows, all), (cols, 1)],
                Outcome::Transpose => vec![(cols, 1), (rows, all)],
                Outcome::FineGrained => vec![down, (TILE, 1), across, (TILE, all)],
                Outcome::CoarseGrained => vec![across, (TILE, all), down, (TILE, 1)],
                _ => continue,
            };
            let (dst_rows, dst_cols) = kernel.outcome().dst_shape(rows, cols);
            // One with gaps is the library's padded kernel.
            if kernel.dst_ld(1, rows, cols) != dst_cols {
                continue;
            }
            let Some(mut dst) = self.room::<u8>(&[dst_rows, dst_cols]) else { return };
            let from: MatrixView<'_, u8> = src.view().try_into().unwrap();
            study::run(kernel, kernel.default_block(), from, matrix(&mut dst)).unwrap();
            let origin = Origin { axes: &axes, start: 0, source_bytes: 1, flipped: None };
            let name = format!("study {kernel}");
            self.note(&[&name], &format!("{rows} × {cols} of 1 byte"), mistakes(&dst, origin));
        }
    }
}

/// An array of two axes as a matrix to write.
fn matrix<T: Pod>(array: &mut DeviceTensor<T>) -> MatrixViewMut<'_, T> {
    array.view_mut().try_into().unwrap()
}

/// The lengths of an array's axes in another order.
fn ordered(shape: &[usize], order: &[usize]) -> Vec<usize> {
    order.iter().map(|&axis| shape[axis]).collect()
}

/// Which numbers become which.
fn names<T, U>() -> String {
    let [from, to] = [std::any::type_name::<T>(), std::any::type_name::<U>()]
        .map(|name| name.rsplit("::").next().unwrap_or(name));
    format!("{from} to {to}")
}

/// Shapes for every kernel.
fn all(device: &Device) -> Tried {
    let mut tried = Tried::new(device);
    let default = InPlaceOptions::default();
    // The ladder, and the kernels of `Strategy::Auto`.
    tried.copied(65536, 65552);
    tried.transposed::<u8>(65536, 65552);
    tried.transposed::<u8>(65537, 65539);
    tried.transposed::<[u8; 3]>(65536, 65552);
    tried.transposed::<[u8; 3]>(65537, 65539);
    tried.transposed::<[u8; 5]>(65537, 65539);
    tried.transposed::<[u32; 3]>(37841, 37843);
    tried.transposed::<u8>(1_431_655_777, 3);
    tried.transposed::<u8>(3, 1_431_655_777);
    tried.transposed::<u32>(30, 143_165_584);
    // Elements of 300 bytes: of 75 words each.
    tried.transposed::<[u32; 75]>(7777, 8200);
    tried.batched::<u8>(16_777_221, 16);
    // Arrays of any rank.
    tried.permuted::<u8>(&[1 << 20, 17, 3, 81], &[1, 3, 0, 2]);
    tried.permuted::<u8>(&[5, 900_000_001], &[1, 0]);
    tried.permuted::<u16>(&[1625, 1627, 1629], &[1, 0, 2]);
    tried.permuted::<u32>(&[1625, 1627, 1629], &[2, 1, 0]);
    tried.conjugated::<[f16; 2]>(&[1625, 1627, 1629], &[2, 1, 0]);
    // With arithmetic on the way.
    tried.converted::<u8, u16>(Lying::of(&[65536, 65552]), &[1, 0], 0);
    for channels in [2, 3, 4] {
        let pixels = (65552usize).div_ceil(channels);
        tried.converted::<u8, u16>(Lying::of(&[65536, pixels, channels]), &[0, 2, 1], 0);
        tried.summed::<u8, u16>(&[65536, pixels, channels], &[0, 2, 1], true);
        tried.normalized::<u8, u16>(Lying::of(&[65536, pixels, channels]), &[0, 2, 1], 1);
    }
    // Windows, whose rows start on units of the results, and flipped pictures.
    tried.converted::<u8, u16>(Lying::of(&[65536, 65552]).gap(0, 3), &[0, 1], 0);
    for channels in [2, 3, 4] {
        let shape = [65536, (65552usize).div_ceil(channels).next_multiple_of(8), channels];
        tried.converted::<u8, u16>(Lying::of(&shape).gap(0, 3), &[0, 2, 1], 0);
        tried.converted::<u8, u16>(Lying::of(&shape).descending(1), &[0, 2, 1], 0);
    }
    // Windows whose rows start anywhere and follow each other.
    let window = Lying::of(&[4, 16385, 65539]).gap(1, 7);
    tried.converted::<u8, u16>(window, &[0, 1, 2], 5);
    tried.normalized::<u8, u16>(window, &[0, 1, 2], 0);
    tried.converted::<u8, u16>(Lying::of(&[1_431_655_776, 3]), &[1, 0], 0);
    tried.converted::<u8, u16>(Lying::of(&[65537, 65539]), &[0, 1], 0);
    tried.converted::<u8, u16>(Lying::of(&[65537, 65539]).gap(0, 7), &[0, 1], 0);
    tried.converted::<u16, u32>(Lying::of(&[65537, 65539]), &[1, 0], 0);
    tried.normalized::<u8, u16>(Lying::of(&[65536, 65552]), &[1, 0], 0);
    tried.normalized::<u8, u16>(Lying::of(&[65537, 65539]), &[1, 0], 1);
    tried.normalized::<u8, u16>(Lying::of(&[65537, 65539]), &[0, 1], 1);
    tried.normalized::<u8, u32>(Lying::of(&[65537, 65539]), &[0, 1], 1);
    tried.normalized::<u8, u16>(Lying::of(&[1 << 20, 17, 3, 81]), &[1, 3, 0, 2], 0);
    tried.summed::<u16, u16>(&[65536, 65552], &[1, 0], false);
    tried.summed::<u8, u16>(&[65537, 65539], &[1, 0], true);
    tried.summed::<u16, u16>(&[1 << 20, 17, 3, 81], &[1, 3, 0, 2], true);
    tried.summed::<f16, f16>(&[1 << 20, 17, 3, 81], &[0, 3, 2, 1], true);
    tried.summed::<u8, f16>(&[1 << 20, 17, 3, 81], &[0, 3, 2, 1], true);
    // In place.
    tried.in_place::<u8>((65552, 65552), InPlace::Auto, default);
    tried.in_place::<u32>((65537, 65537), InPlace::Auto, default);
    tried.in_place::<[u8; 3]>((65537, 65537), InPlace::Auto, default);
    tried.in_place::<u8>((70000, 61440), InPlace::Auto, default);
    tried.in_place::<u8>((65537, 65539), InPlace::Auto, default);
    tried.in_place::<u32>((1 << 25, 129), InPlace::Auto, default);
    tried.in_place::<u32>((129, 1 << 25), InPlace::Auto, default);
    tried.in_place::<u32>((3, 1_431_655_777), InPlace::Auto, default);
    tried.in_place::<[u8; 7]>((1_431_655_777, 3), InPlace::Auto, default);
    tried.in_place::<u8>((1 << 25, 256), InPlace::TwoStage, default);
    tried.in_place::<u32>((1 << 25, 256), InPlace::TwoStage, default);
    tried.in_place::<u8>((1 << 25, 256), InPlace::TwoStage, default.tile((256, 0)));
    tried.in_place::<u8>((1 << 25, 130), InPlace::TwoStage, default.carry(Carry::SharedMemory));
    tried.in_place::<u8>((65537, 65539), InPlace::Decomposed, default);
    tried.in_place::<u8>((70000, 61440), InPlace::Decomposed, default.stage_rows(true));
    tried.in_place::<u8>((1 << 16, 1 << 17), InPlace::CycleFollowing, default);
    tried.in_place::<u8>((66560, 65536), InPlace::FourStageFused, default);
    tried.in_place::<u8>((66560, 65536), InPlace::ThreeStage, default.flags((1, false)));
    tried.studies(65536, 65568);
    tried
}

/// The kernels that ship, by their PTX.
fn shipped() -> BTreeSet<String> {
    let names = transpose::raw::images().flat_map(|image| {
        let ptx = image.ptx().into_owned();
        let entries = ptx.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
        let kernels = entries.filter_map(|rest| rest.rsplit_once("_b"));
        kernels.map(|(kernel, _)| kernel.to_owned()).collect::<Vec<_>>()
    });
    names.collect()
}

/// The kernels that have moved more than 2³² elements, or computed them, on a GPU.
fn recorded() -> BTreeSet<String> {
    include_str!("kernels.txt").lines().map(str::to_owned).collect()
}

/// Who adds a kernel adds a shape for it to [`all`], and the kernel's name to `kernels.txt` when that shape has been run on a GPU.
#[test]
fn every_kernel_that_ships_is_recorded_or_excepted() {
    let excepted = EXCEPT.iter().map(|(kernel, _)| kernel.to_string());
    assert_eq!(recorded().into_iter().chain(excepted).collect::<BTreeSet<_>>(), shipped());
}

#[test]
#[ignore = "needs 72 GB of a GPU's memory"]
fn on_a_gpu() {
    let Some(device) = transpose_tests::gpu() else { return };
    let tried = all(&device);
    let (studies, kernels): (BTreeSet<_>, BTreeSet<_>) =
        tried.kernels.into_iter().partition(|kernel| kernel.starts_with("study"));
    println!("{} kernels, and {} of the texts", kernels.len(), studies.len());
    assert_eq!(kernels, recorded(), "those that had 2³² elements, and tests/huge/kernels.txt");
}

/// The pattern and the search for mistakes are what they are said to be, where the host can look.
#[test]
fn mistakes_are_counted() {
    fn check<T: Number>(device: &Device) {
        let mut tried = Tried::new(device);
        let mut src = tried.filled::<T>(&[7, 30, 9]).unwrap();
        let host = src.to_host().unwrap();
        let bytes: &[u8] = bytemuck::cast_slice(&host);
        let expected = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        assert!(bytes.iter().enumerate().all(|(at, &byte)| u64::from(byte) == expected(at)));
        tried.permuted::<T>(&[7, 30, 9], &[2, 0, 1]);
        assert!(!tried.kernels.is_empty());
        let axes = Lying::of(&[7, 30, 9]).axes(&[0, 1, 2]);
        let origin = Origin { axes: &axes, start: 0, source_bytes: size_of::<T>(), flipped: None };
        assert_eq!(mistakes(&src, origin), 0);
        // Two elements change places, and a byte is another one.
        let mut wrong = host.clone();
        bytemuck::cast_slice_mut::<T, u8>(&mut wrong)[77 * size_of::<T>()] ^= 4;
        src.copy_from_host(&wrong).unwrap();
        assert_eq!(mistakes(&src, origin), 1);
    }
    let device = Device::simulated();
    check::<u8>(&device);
    check::<u32>(&device);
    check::<f64>(&device);
    let mut tried = Tried::new(&device);
    tried.converted::<u8, u16>(Lying::of(&[48, 160]), &[1, 0], 0);
    tried.converted::<u8, u16>(Lying::of(&[10, 22, 3]), &[0, 2, 1], 0);
    tried.converted::<u8, u16>(Lying::of(&[160, 3]), &[1, 0], 0);
    tried.converted::<u8, u16>(Lying::of(&[41, 51]).gap(0, 7), &[0, 1], 0);
    tried.converted::<u16, u32>(Lying::of(&[41, 51]).gap(0, 3), &[1, 0], 0);
    tried.converted::<u8, u16>(Lying::of(&[10, 24, 3]).descending(1), &[0, 2, 1], 0);
    tried.converted::<u8, u16>(Lying::of(&[4, 11, 51]).gap(1, 7), &[0, 1, 2], 5);
    tried.normalized::<u8, u16>(Lying::of(&[4, 11, 51]).gap(1, 7), &[0, 1, 2], 0);
    tried.normalized::<u8, u32>(Lying::of(&[41, 51]), &[0, 1], 1);
    tried.normalized::<u8, u16>(Lying::of(&[10, 22, 3]), &[0, 2, 1], 1);
    tried.summed::<u16, u16>(&[64, 160], &[1, 0], false);
    tried.summed::<u8, u16>(&[64, 160], &[1, 0], true);
    tried.summed::<f16, f16>(&[30, 17, 3, 11], &[0, 3, 2, 1], true);
    tried.conjugated::<[f16; 2]>(&[40, 50], &[1, 0]);
    tried.transposed::<[u8; 3]>(70, 40);
    tried.batched::<u8>(50, 16);
    tried.copied(64, 40);
    tried.in_place::<u16>((70, 40), InPlace::Auto, InPlaceOptions::default());
    tried.studies(64, 96);
    assert!(tried.kernels.len() > 20, "{:?}", tried.kernels);
}

/// Matrices of so many elements on the simulator, whose results the host compares.
#[test]
#[ignore = "needs minutes and 14 GB"]
fn on_the_simulator() {
    let mut tried = Tried::new(&Device::simulated());
    tried.transposed::<u8>(65536, 65552);
    tried.transposed::<u8>(65537, 65539);
}
