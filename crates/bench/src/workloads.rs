//! Every kernel that ships, each with a matrix that makes the library launch it.
//!
//! A workload is made for `rows × cols` elements; where a kernel wants another shape (few rows, a
//! batch of small matrices) it gets as many elements in that shape.

use crate::kernels::Run;
use crate::with_element;
use ::profile::{Inspection, LaunchReport};
use anyhow::{Result, ensure};
use bytemuck::Pod;
use std::fmt;
use std::str::FromStr;
use study::Kernel;
use transpose::{
    Batch, Carry, Device, DeviceMatrix, InPlace, InPlaceOptions, InPlacePlan, MatrixView,
    MatrixViewMut, Plan, Strategy,
};

/// A kernel, and how to have it launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The copy kernel.
    Copy,
    /// A strategy that has one kernel.
    Classic(Strategy),
    /// A kernel that [`Strategy::Auto`] chooses between.
    Fast(Fast),
    /// A kernel of the texts, in the blocks that its text runs it in.
    Study(Kernel),
    /// An algorithm that works in the matrix's own memory; it may take several launches.
    InPlace(InPlace),
    /// The same, by kernels that it takes only if asked to, or for elements of several words.
    Asked(Asked),
}

/// Ways to transpose in place that [`InPlace::Auto`] does not take for elements of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Tiles transposed by flags in shared memory.
    Flags,
    /// Super-elements moved through shared memory.
    Carried,
    /// Rows shuffled by way of global memory.
    Staged,
    /// Elements of five words, in a square.
    SquareTuples,
    /// Elements of five words.
    Tuples,
}

/// The kernels of [`Strategy::Auto`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fast {
    /// Rows that start on 16 bytes, on both sides.
    Micro,
    /// Rows that start anywhere.
    Rows,
    /// Few columns.
    Tall,
    /// Few rows.
    Wide,
    /// More rows, and narrow elements.
    Lines,
    /// Many small matrices.
    Batch,
    /// Elements of 3 and 6 bytes, in rows that start on 16 bytes.
    Pixels,
    /// The same in rows that start anywhere.
    Triples,
    /// Elements of five words.
    Tuples,
    /// Elements of 127 words.
    Elements,
}

use Fast::{Elements, Lines, Micro, Pixels, Rows, Tall, Triples, Tuples, Wide};

/// Columns of the workload of [`Tall`].
const FEW: usize = 8;
/// Rows of the workload of [`Wide`].
const FEWER: usize = 7;
/// Rows of the workload of [`Lines`].
const LINES: usize = 20;
/// The side of the matrices of the batch.
const SMALL: usize = 16;
/// The words of an element of [`Triples`], of [`Tuples`] and its like in place, and of [`Elements`].
const TRIPLE: usize = 3;
const TUPLE: usize = 5;
const LARGE: usize = 127;
/// How [`Asked::Flags`] spreads its flags, and whether it pads them.
const FLAGS: (usize, bool) = (8, true);

impl Workload {
    /// All of them, in the order of the library's files.
    pub fn all() -> Vec<Workload> {
        let strategies = Strategy::ALL.into_iter().filter(|strategy| *strategy != Strategy::Auto);
        let in_place = InPlace::ALL.into_iter().filter(|algorithm| *algorithm != InPlace::Auto);
        let fast = [Micro, Rows, Tall, Wide, Lines, Fast::Batch, Pixels, Triples, Tuples, Elements];
        std::iter::once(Workload::Copy)
            .chain(strategies.map(Workload::Classic))
            .chain(fast.map(Workload::Fast))
            .chain(Kernel::ALL.iter().copied().filter(is_no_strategy).map(Workload::Study))
            .chain(in_place.map(Workload::InPlace))
            .chain(Asked::ALL.map(Workload::Asked))
            .collect()
    }

    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Copy => "copy",
            Workload::Classic(strategy) => strategy.name(),
            Workload::Fast(Micro) => "micro",
            Workload::Fast(Rows) => "rows",
            Workload::Fast(Tall) => "tall",
            Workload::Fast(Wide) => "wide",
            Workload::Fast(Lines) => "lines",
            Workload::Fast(Fast::Batch) => "batch",
            Workload::Fast(Pixels) => "pixels",
            Workload::Fast(Triples) => "triples",
            Workload::Fast(Tuples) => "tuples",
            Workload::Fast(Elements) => "elements",
            Workload::Study(kernel) => kernel.name(),
            Workload::InPlace(algorithm) => algorithm.name(),
            Workload::Asked(Asked::Flags) => "four-stage-flags",
            Workload::Asked(Asked::Carried) => "three-stage-carried",
            Workload::Asked(Asked::Staged) => "decomposed-staged",
            Workload::Asked(Asked::SquareTuples) => "square-tuples",
            Workload::Asked(Asked::Tuples) => "two-stage-tuples",
        }
    }

    /// Launches the kernel on elements of that width and returns what the simulator saw; `None`
    /// on a GPU.
    ///
    /// # Errors
    /// A width without such a kernel, and what the device reports.
    pub fn run(
        self,
        device: &Device,
        (rows, cols): (usize, usize),
        element_bytes: usize,
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        if device.is_gpu() && matches!(self, Workload::Fast(_)) {
            // Is this the kernel that the library will choose? The simulator says.
            self.run(&Device::simulated(), (rows, cols), element_bytes, Inspection::default())?;
        }
        let seen = with_element!(
            element_bytes,
            T => self.run_on::<T>(device, rows, cols, inspection),
            bytes => Err(transpose::Error::ElementSize { bytes }.into())
        )?;
        if let (Workload::Fast(_), Some(launches)) = (self, &seen) {
            let wanted = format!("{self}_b{element_bytes}");
            ensure!(
                launches.iter().all(|launch| launch.kernel == wanted),
                "no matrix of {element_bytes}-byte elements needs the kernel {wanted}"
            );
        }
        Ok(seen)
    }

    fn run_on<T: Pod>(
        self,
        device: &Device,
        rows: usize,
        cols: usize,
        inspection: Inspection,
    ) -> study::Result<Option<Vec<LaunchReport>>> {
        let all = rows * cols;
        Ok(match self {
            Workload::Copy => {
                let src = DeviceMatrix::<T>::zeroed(device, rows, cols)?;
                let mut dst = DeviceMatrix::zeroed(device, rows, cols)?;
                ::profile::inspect(device, inspection, || {
                    Plan::copy(&src, &mut dst)?.run(&src, &mut dst)
                })?
            }
            Workload::Classic(strategy) => {
                transposed::<T>(device, (rows, cols), 1, inspection, |src, dst| {
                    src.transpose_into_with(dst, strategy)
                })?
            }
            // Leading dimensions that are a multiple of 16 bytes, and ones that are not.
            Workload::Fast(Micro) => auto::<T>(device, (rows, cols), 16, inspection)?,
            Workload::Fast(Rows) => {
                auto::<T>(device, ((rows - 1) | 1, (cols - 1) | 1), 1, inspection)?
            }
            Workload::Fast(Tall) => auto::<T>(device, (all / FEW, FEW), 1, inspection)?,
            Workload::Fast(Wide) => {
                // Of narrow elements it moves more rows than are worth counting: asked for, it takes these.
                let shape = (FEWER, (all / FEWER).next_multiple_of(16));
                transposed::<T>(device, shape, 1, inspection, |src, dst| by(src, dst, "wide_"))?
            }
            Workload::Fast(Lines) => {
                auto::<T>(device, (LINES, (all / LINES).next_multiple_of(16)), 1, inspection)?
            }
            Workload::Fast(Pixels) => auto::<[T; TRIPLE]>(device, (rows, cols), 16, inspection)?,
            Workload::Fast(Triples) => {
                auto::<[T; TRIPLE]>(device, ((rows - 1) | 1, (cols - 1) | 1), 1, inspection)?
            }
            Workload::Fast(Tuples) => auto::<[T; TUPLE]>(device, (rows, cols), 1, inspection)?,
            Workload::Fast(Elements) => {
                auto::<[T; LARGE]>(device, (rows, cols.div_ceil(LARGE)), 1, inspection)?
            }
            Workload::Fast(Fast::Batch) => {
                let each = SMALL * SMALL;
                let count = all / each;
                let batch = Batch { count, src_stride: each, dst_stride: each };
                let src = DeviceMatrix::<T>::zeroed(device, 1, count * each)?;
                let mut dst = DeviceMatrix::<T>::zeroed(device, 1, count * each)?;
                ::profile::inspect(device, inspection, || {
                    let from = src.window(0, SMALL, SMALL, SMALL)?;
                    let mut to = dst.window_mut(0, SMALL, SMALL, SMALL)?;
                    Plan::batched(from, to.reborrow(), batch)?.run(from, to)
                })?
            }
            Workload::Study(kernel) => {
                let run = Run::new(kernel, kernel.default_block(), rows, cols, size_of::<T>())?;
                let src = DeviceMatrix::<T>::zeroed(device, 1, all)?;
                let mut dst = DeviceMatrix::zeroed(device, 1, run.dst_len())?;
                let plan = run.plan(&src, &mut dst)?;
                ::profile::inspect(device, inspection, || run.launch(&plan, &src, &mut dst))?
            }
            Workload::InPlace(algorithm) => {
                let cols = if algorithm == InPlace::Square { rows } else { cols };
                let options = InPlaceOptions::default();
                in_place::<T>(device, (rows, cols), algorithm, &options, inspection)?
            }
            Workload::Asked(asked) => asked.run::<T>(device, rows, cols, inspection)?,
        })
    }
}

impl Asked {
    const ALL: [Asked; 5] =
        [Asked::Flags, Asked::Carried, Asked::Staged, Asked::SquareTuples, Asked::Tuples];

    fn run<T: Pod>(
        self,
        device: &Device,
        rows: usize,
        cols: usize,
        inspection: Inspection,
    ) -> transpose::Result<Option<Vec<LaunchReport>>> {
        let shape = (rows, cols);
        let few = cols.div_ceil(TUPLE);
        let plain = InPlaceOptions::default();
        match self {
            Asked::Flags => {
                let options = InPlaceOptions { flags: Some(FLAGS), ..plain };
                in_place::<T>(device, shape, InPlace::FourStage, &options, inspection)
            }
            Asked::Carried => {
                let options = InPlaceOptions { carry: Carry::SharedMemory, ..plain };
                in_place::<T>(device, shape, InPlace::ThreeStage, &options, inspection)
            }
            Asked::Staged => {
                let options = InPlaceOptions { stage_rows: true, ..plain };
                in_place::<T>(device, shape, InPlace::Decomposed, &options, inspection)
            }
            Asked::SquareTuples => {
                in_place::<[T; TUPLE]>(device, (few, few), InPlace::Square, &plain, inspection)
            }
            Asked::Tuples => {
                in_place::<[T; TUPLE]>(device, (rows, few), InPlace::TwoStage, &plain, inspection)
            }
        }
    }
}

fn in_place<T: Pod>(
    device: &Device,
    (rows, cols): (usize, usize),
    algorithm: InPlace,
    options: &InPlaceOptions,
    inspection: Inspection,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    let mut matrix = DeviceMatrix::<T>::zeroed(device, rows, cols)?;
    let mut plan = InPlacePlan::with_options(&matrix, algorithm, options)?;
    ::profile::inspect(device, inspection, || plan.run(&mut matrix))
}

/// Whether a kernel of the texts is not the kernel of a [`Strategy`], or the copy kernel.
fn is_no_strategy(kernel: &Kernel) -> bool {
    use Kernel::{BankConflictFree, Coalesced, Copy, Diagonal, Naive};
    ![Copy, Naive, Coalesced, BankConflictFree, Diagonal].contains(kernel)
}

fn auto<T: Pod>(
    device: &Device,
    shape: (usize, usize),
    align: usize,
    inspection: Inspection,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    transposed::<T>(device, shape, align, inspection, |src, dst| src.transpose_into(dst))
}

/// Transposes by the kernel whose name starts so, if it can, or else by the best one.
fn by<T: Pod>(
    src: MatrixView<'_, T>,
    mut dst: MatrixViewMut<'_, T>,
    kernel: &str,
) -> transpose::Result<()> {
    let plans = Plan::candidates(src, dst.reborrow())?;
    match plans.iter().find(|plan| plan.kernel_names()[0].starts_with(kernel)) {
        Some(plan) => plan.run(src, dst),
        None => src.transpose_into(dst),
    }
}

/// Inspects `transpose` of a matrix whose rows, and whose transpose's rows, are a multiple of `align`
/// bytes apart.
fn transposed<T: Pod>(
    device: &Device,
    (rows, cols): (usize, usize),
    align: usize,
    inspection: Inspection,
    transpose: impl Fn(MatrixView<'_, T>, MatrixViewMut<'_, T>) -> transpose::Result<()>,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    let shared = size_of::<T>().trailing_zeros().min(align.trailing_zeros());
    let ld = |elements: usize| elements.next_multiple_of(align >> shared);
    let src = DeviceMatrix::<T>::zeroed_with_ld(device, rows, cols, ld(cols))?;
    let mut dst = DeviceMatrix::zeroed_with_ld(device, cols, rows, ld(rows))?;
    ::profile::inspect(device, inspection, || transpose(src.view(), dst.view_mut()))
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let all = Workload::all();
        all.iter().find(|workload| workload.name() == name).copied().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|workload| workload.name()).collect();
            format!("there is no kernel {name:?}; there are {}", names.join(", "))
        })
    }
}
