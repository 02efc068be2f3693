//! The kernels of the catalogue, put into one race: each on matrices of the shape that it takes,
//! all with as many bytes.

use crate::race::{Contestant, Pairs, Timing};
use anyhow::{Context, Result, ensure};
use bytemuck::Pod;
use indicatif::ProgressBar;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use study::{Block, Kernel, Outcome};
use transpose::simt::Counters;
use transpose::{Device, DeviceMatrix, MatrixView, MatrixViewMut};

/// A kernel in blocks of one shape, on one matrix.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The kernel.
    pub kernel: Kernel,
    /// The shape of its blocks.
    pub block: Block,
    rows: usize,
    cols: usize,
    element_bytes: usize,
}

impl Run {
    /// The kernel on as many elements as a `rows × cols` matrix has: that matrix, or records.
    ///
    /// # Errors
    /// Why it does not run in such blocks or on such a matrix.
    pub fn new(
        kernel: Kernel,
        block: Block,
        rows: usize,
        cols: usize,
        element_bytes: usize,
    ) -> study::Result<Self> {
        let (rows, cols) = match kernel.outcome() {
            Outcome::StructFields | Outcome::StructX => (rows * cols / 2, 2),
            Outcome::ArrayFields | Outcome::ArrayX => (2, rows * cols / 2),
            _ => (rows, cols),
        };
        kernel.check_block(block)?;
        kernel.check_source(element_bytes, rows, cols)?;
        Ok(Run { kernel, block, rows, cols, element_bytes })
    }

    /// The bytes of the result. As many have to be read, and as many written.
    pub fn bytes(&self) -> usize {
        let (rows, cols) = self.dst_shape();
        rows * cols * self.element_bytes
    }

    /// The shape of its blocks, as the command line takes it.
    pub fn block_name(&self) -> String {
        block_name(self.block)
    }

    /// Rows and columns of the source.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    fn dst_shape(&self) -> (usize, usize) {
        self.kernel.outcome().dst_shape(self.rows, self.cols)
    }

    /// The leading dimension of the destination.
    fn dst_ld(&self) -> usize {
        self.kernel.dst_ld(self.element_bytes, self.rows, self.cols)
    }

    /// The elements of the destination, what lies between its rows included.
    pub fn dst_len(&self) -> usize {
        self.dst_shape().0 * self.dst_ld()
    }

    /// Plans the kernel for matrices that hold the elements that it wants, whatever their shape.
    ///
    /// # Errors
    /// Matrices that hold fewer elements.
    pub fn plan<T: Pod>(
        &self,
        src: &DeviceMatrix<T>,
        dst: &mut DeviceMatrix<T>,
    ) -> study::Result<study::Plan> {
        let (src, dst) = self.windows(src, dst)?;
        study::plan(self.kernel, self.block, src, dst)
    }

    /// Launches the kernel that was planned for matrices like these.
    ///
    /// # Errors
    /// What the device reports.
    pub fn launch<T: Pod>(
        &self,
        plan: &study::Plan,
        src: &DeviceMatrix<T>,
        dst: &mut DeviceMatrix<T>,
    ) -> transpose::Result<()> {
        let (src, dst) = self.windows(src, dst)?;
        plan.run(src, dst)
    }

    /// What it reads and what it writes of two matrices.
    fn windows<'s, 'd, T: Pod>(
        &self,
        src: &'s DeviceMatrix<T>,
        dst: &'d mut DeviceMatrix<T>,
    ) -> transpose::Result<(MatrixView<'s, T>, MatrixViewMut<'d, T>)> {
        let (dst_rows, dst_cols) = self.dst_shape();
        let src = src.window(0, self.rows, self.cols, self.cols)?;
        Ok((src, dst.window_mut(0, dst_rows, dst_cols, self.dst_ld())?))
    }
}

/// The shape of a block, as the command line takes it.
pub fn block_name(block: Block) -> String {
    format!("{}x{}", block.x, block.y)
}

/// Makes sure that there is memory for matrices of so many bytes: the elements, what they become for each outcome of the kernels,
/// and what is read back on the host; a source and a destination, wherever they are.
///
/// # Errors
/// Less memory than that.
pub fn ensure_memory(device: &Device, runs: &[Run], bytes: usize) -> Result<()> {
    let outcomes: HashSet<Outcome> = runs.iter().map(|run| run.kernel.outcome()).collect();
    let on_host = bytes.saturating_mul(3 + outcomes.len());
    crate::memory::ensure_free(device, on_host, bytes.saturating_mul(2))
}

/// Races the runs against the driver's copy. The first timing is the copy's, then one for each
/// run; `None` on a device whose time means nothing.
///
/// # Errors
/// What the device reports.
pub fn race<T: Pod>(
    device: &Device,
    host: &[T],
    runs: &[Run],
    turns: usize,
    launches: usize,
    progress: &ProgressBar,
) -> Result<Option<Vec<Timing>>> {
    if !device.is_gpu() {
        progress.set_length(runs.len() as u64);
        return Ok(None);
    }
    let len = host.len();
    // A destination with gaps between its rows is longer than the others.
    let dst_len = runs.iter().map(Run::dst_len).fold(len, usize::max);
    let mut pairs = Pairs::new(device, 2 * size_of_val(host), || {
        let src = DeviceMatrix::from_host(device, 1, len, host)?;
        Ok((src, DeviceMatrix::zeroed(device, 1, dst_len)?))
    })?;
    let copy = |src: &DeviceMatrix<T>, dst: &mut DeviceMatrix<T>| {
        src.copy_into(dst.window_mut(0, 1, len, len)?)
    };
    let mut contestants: Vec<Contestant<DeviceMatrix<T>>> = vec![Box::new(copy)];
    for &run in runs {
        let (src, dst) = pairs.first();
        let plan = run.plan(src, dst)?;
        contestants.push(Box::new(move |src, dst| run.launch(&plan, src, dst)));
    }
    Ok(pairs.race_and_tell(&mut contestants, turns, launches, &mut || progress.inc(1))?)
}

/// Lets the simulator count what each run does to memory; `None` on a GPU.
///
/// # Errors
/// What the device reports.
pub fn count<T: Pod>(
    device: &Device,
    host: &[T],
    runs: &[Run],
    progress: &ProgressBar,
) -> Result<Option<Vec<Counters>>> {
    let src = DeviceMatrix::from_host(device, 1, host.len(), host)?;
    let mut counted = Vec::new();
    for run in runs {
        let mut dst = DeviceMatrix::zeroed(device, 1, run.dst_len())?;
        let plan = run.plan(&src, &mut dst)?;
        counted.push(::profile::count(device, || run.launch(&plan, &src, &mut dst))?);
        progress.inc(1);
    }
    Ok(counted.into_iter().collect())
}

/// Compares what runs make of elements with what the host makes of them.
pub struct Verifier<'a, T> {
    device: &'a Device,
    host: &'a [T],
    src: DeviceMatrix<T>,
    expected: HashMap<Outcome, Vec<T>>,
    /// What a destination holds before a run, and what is read back after it: as long as the longest so far.
    before: Vec<T>,
    actual: Vec<T>,
}

impl<'a, T: Pod + PartialEq> Verifier<'a, T> {
    /// For runs on these elements.
    ///
    /// # Errors
    /// What the device reports.
    pub fn new(device: &'a Device, host: &'a [T]) -> Result<Self> {
        let src = DeviceMatrix::from_host(device, 1, host.len(), host)?;
        let (expected, before, actual) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Verifier { device, host, src, expected, before, actual })
    }

    /// Runs each once more, into a destination that holds something else.
    ///
    /// # Errors
    /// The first whose result is wrong, and what the device reports.
    pub fn verify(&mut self, runs: &[Run], progress: &ProgressBar) -> Result<()> {
        for run in runs {
            let right = self.is_right(run)?;
            ensure!(right, "{} in blocks of {}: wrong result", run.kernel, run.block);
            progress.inc(1);
        }
        Ok(())
    }

    fn is_right(&mut self, run: &Run) -> Result<bool> {
        let len = run.dst_len();
        if self.before.len() < len {
            let poison = bytemuck::pod_read_unaligned(&[0xa5; 16][..size_of::<T>()]);
            self.before.resize(len, poison);
            self.actual.resize(len, poison);
        }
        let mut dst = DeviceMatrix::from_host(self.device, 1, len, &self.before[..len])?;
        run.launch(&run.plan(&self.src, &mut dst)?, &self.src, &mut dst)?;
        let (rows, cols) = run.dst_shape();
        let actual = &mut self.actual[..rows * cols];
        dst.window(0, rows, cols, run.dst_ld())?.copy_to_host(actual)?;
        let expected = match self.expected.entry(run.kernel.outcome()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(slot) => {
                let elements = &self.host[..run.rows * run.cols];
                slot.insert(run.kernel.expected(elements, run.rows, run.cols)?)
            }
        };
        Ok(actual == &expected[..])
    }
}

/// Elements to move, `rows * cols` of them: no two alike nearby, and finite as `f32` where they
/// are that wide.
///
/// # Errors
/// More than there is memory for.
pub fn elements<T: Pod>(rows: usize, cols: usize) -> Result<Vec<T>> {
    let too_many = || format!("{rows} × {cols} elements of {} bytes are too many", size_of::<T>());
    let len = rows.checked_mul(cols).with_context(too_many)?;
    let mut elements = Vec::new();
    elements.try_reserve_exact(len).with_context(too_many)?;
    let mut state = 0u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    };
    elements.extend((0..len).map(|_| {
        let (a, b) = (next(), next());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&a.to_ne_bytes());
        bytes[8..].copy_from_slice(&b.to_ne_bytes());
        if size_of::<T>() == 4 {
            bytes[..4].copy_from_slice(&((a >> 40) as f32).to_ne_bytes());
        }
        bytemuck::pod_read_unaligned::<T>(&bytes[..size_of::<T>()])
    }));
    Ok(elements)
}
