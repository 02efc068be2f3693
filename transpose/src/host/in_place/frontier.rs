//! A matrix that the device holds, transposed in host memory while it comes up.
//!
//! A band of the result is a range of memory. It can be written once what was in that range has come up, and once the columns that it is
//! made of have: so band by band the rows that it will overwrite come up, then the rest of its columns, and while the next ones do,
//! it is turned and goes down. With a part x of the result done, a part 1 − (1 − x)² of the matrix has come up: at equal speeds both ways
//! all of it takes 1.25 times as long as one way, not twice.

use super::super::kernel;
use super::super::stretches::copies;
use super::super::workspace::{Settled, Workspace};
use super::super::{Bus, HostOptions};
use super::Matrix;
use crate::device::{Buffer, Device, Mark};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

/// Bands that are under way at a time.
const LANES: usize = 3;

/// Bytes of a band, if its rows are not longer.
const BAND: usize = 256 << 20;

/// How the result is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bands {
    /// Columns of the matrix that become the rows of a band.
    cols: usize,
    lanes: usize,
}

impl Bands {
    pub fn of<T>(matrix: &Matrix<T>, options: &HostOptions) -> Self {
        let column = (matrix.rows * size_of::<T>()).max(1);
        let wanted = if options.tile_bytes == 0 { BAND } else { options.tile_bytes };
        let room = match options.device_memory {
            0 => usize::MAX,
            limit => limit.saturating_sub(matrix.bytes()) / LANES,
        };
        let cols = (wanted.min(room) / column).clamp(1, matrix.cols);
        Bands { cols, lanes: LANES.min(matrix.cols.div_ceil(cols)) }
    }

    /// The matrix, and the bands that are under way.
    pub fn device_bytes<T>(&self, matrix: &Matrix<T>) -> usize {
        matrix.bytes() + self.lanes * self.cols * matrix.rows * size_of::<T>()
    }
}

/// Transposes a matrix of the host.
///
/// # Errors
/// [`Error::HostBudget`] if the device's limit does not hold the matrix, and what the device reports.
///
/// # Safety
/// The matrix's elements live, and nobody else uses them meanwhile.
pub(super) unsafe fn transpose<T: Pod>(workspace: &mut Workspace, matrix: Matrix<T>) -> Result<()> {
    let bands = Bands::of(&matrix, workspace.options());
    let (needed, limit) = (bands.device_bytes(&matrix), workspace.options().device_memory);
    if limit > 0 && needed > limit {
        return Err(Error::HostBudget { option: "device_memory", needed, limit });
    }
    let by_kernel =
        workspace.options().upload == Bus::Kernel && matrix.pinned && workspace.device().is_gpu();
    let (streams, memory) = workspace.streams_and_memory(3, needed)?;
    let _settled = Settled(streams);
    // SAFETY: the memory is there, and all work on it and on the host's is done before either goes.
    unsafe { Frontier { streams, memory, matrix, bands, by_kernel }.run() }
}

struct Frontier<'a, T> {
    /// For what comes up, for what is turned, and for what goes down.
    streams: &'a [Device],
    /// The matrix, and behind it the lanes.
    memory: &'a Buffer,
    matrix: Matrix<T>,
    bands: Bands,
    /// Kernels load what comes up.
    by_kernel: bool,
}

impl<T: Pod> Frontier<'_, T> {
    /// # Safety
    /// Those of [`transpose`]; the memory holds the matrix and the bands.
    unsafe fn run(&self) -> Result<()> {
        let Matrix { rows, cols, .. } = self.matrix;
        let whole = TensorLayout::contiguous(&[rows, cols], size_of::<T>())?;
        let [up, turn, down] = self.streams else { unreachable!("three streams were asked for") };
        let mut rows_up = 0;
        // Behind the last band of each lane on its way down.
        let mut gone: Vec<Option<Mark>> = (0..self.bands.lanes).map(|_| None).collect();
        for (number, first) in (0..cols).step_by(self.bands.cols).enumerate() {
            let last = (first + self.bands.cols).min(cols);
            // The rows that the band overwrites: of those before, it has all; of these, what lies before the band has come up.
            let rows_needed = (last * rows).div_ceil(cols);
            let over = whole.slice(0, rows_up..rows_needed, 1)?.slice(1, first.., 1)?;
            let rest = whole.slice(0, rows_needed.., 1)?.slice(1, first..last, 1)?;
            rows_up = rows_needed;
            // SAFETY: the caller's obligations.
            unsafe {
                self.upload(&over)?;
                self.upload(&rest)?;
            }
            turn.wait_for(up)?;
            let lane = number % self.bands.lanes;
            if let Some(mark) = &gone[lane] {
                turn.wait_for_mark(mark)?;
            }
            // SAFETY: all of the columns are up, and what is overwritten is.
            unsafe { self.download([turn, down], lane, &whole, first..last)? };
            let mark = down.mark(false)?;
            down.put(&mark)?;
            gone[lane] = Some(mark);
        }
        self.streams.iter().try_for_each(Device::synchronize)
    }

    /// Queues a copy of a part of the matrix to its place on the device.
    ///
    /// # Safety
    /// Those of [`run`](Self::run).
    unsafe fn upload(&self, part: &TensorLayout) -> Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        let size = size_of::<T>();
        if self.by_kernel {
            // SAFETY: the part lies at the same offsets on both sides; the caller vouches for the host's.
            unsafe {
                let host = self.matrix.start.expose_provenance() as u64;
                let there = TensorView::<T>::valid(&self.streams[0], host, *part);
                let address = self.memory.address();
                let here = TensorViewMut::valid(&self.streams[0], address, *part);
                return there.copy_into(here);
            }
        }
        for (mut rows, start) in copies(part, size, 0) {
            rows.address = self.memory.address() + (start * size) as u64;
            rows.pitch = rows.host_pitch;
            // SAFETY: the part lies at the same offsets on both sides; the caller vouches for the host's.
            unsafe {
                self.streams[0].upload_rows_later(rows, self.matrix.start.add(start).cast())?;
            }
        }
        Ok(())
    }

    /// Queues a band's way: turned, and down.
    ///
    /// # Safety
    /// Those of [`run`](Self::run); the columns are on the device, and what lies in host memory where the band belongs is too, when the
    /// first stream comes to it.
    unsafe fn download(
        &self,
        [stream, down]: [&Device; 2],
        lane: usize,
        whole: &TensorLayout,
        cols: std::ops::Range<usize>,
    ) -> Result<()> {
        let (rows, size) = (self.matrix.rows, size_of::<T>());
        let band = self.memory.address()
            + (self.matrix.bytes() + lane * self.bands.cols * rows * size) as u64;
        let turned = TensorLayout::contiguous(&[cols.len(), rows], size)?;
        let at = cols.start * rows;
        // SAFETY: the columns lie in the matrix's memory, the band in its lane's.
        unsafe {
            let columns = whole.slice(1, cols, 1)?;
            let source = TensorView::<T>::valid(stream, self.memory.address(), columns.t());
            kernel::turn(source, TensorViewMut::valid(stream, band, turned))?;
            down.wait_for(stream)?;
            for (copied, start) in copies(&turned, size, band) {
                let host = self.matrix.start.add(at + start);
                down.download_rows_later(copied, host.cast())?;
            }
        }
        Ok(())
    }
}
