//! Matrices of the host, transposed in their own memory.
//!
//! | file | what it is about |
//! |---|---|
//! | `frontier` | a matrix that the device holds: results go down while the rest still comes up |
//! | `three_stage` | the scheme of Sung et al.: up, three stages in place, and down, the last two stages over several streams |
//! | `panels` | a matrix larger than the device's memory: panels through the device, super-elements by the host |
//!
//! A square needs none of these: pairs of tiles change places, by the same way as tiles of two arrays.

mod frontier;
mod panels;
mod three_stage;

use super::plan::HostPlan;
use super::stretches::Arrays;
use super::workspace::Workspace;
use super::{HostOptions, HostViewMut};
use crate::device::Device;
use crate::{Error, Result};
use bytemuck::Pod;
use std::fmt;
use std::str::FromStr;

/// How a matrix of the host is transposed in its own memory. One of a single row or column, of none, or of elements without bytes is its
/// transpose as it lies: it needs no algorithm, so none refuses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostInPlace {
    /// Pairs of tiles change places across the diagonal; the device holds a few of them. Squares only.
    Pairs,
    /// The device holds the matrix and some columns more. Results are written to host memory as soon as what was there has come up.
    Frontier,
    /// The device holds the matrix, and transposes it in place in three stages; the last two of them are shared out to
    /// [`streams`](HostOptions::streams), and overlap with the way back. By Sung et al.; the sides need useful divisors.
    ThreeStage,
    /// Panels of rows are transposed on the device, which holds a few of them; then the host moves super-elements along cycles.
    Panels,
    /// The first that serves the matrix and the device's memory.
    #[default]
    Auto,
}

impl HostInPlace {
    /// Every algorithm, [`Auto`](Self::Auto) last.
    pub const ALL: &'static [HostInPlace] = &[
        HostInPlace::Pairs,
        HostInPlace::Frontier,
        HostInPlace::ThreeStage,
        HostInPlace::Panels,
        HostInPlace::Auto,
    ];

    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            HostInPlace::Pairs => "pairs",
            HostInPlace::Frontier => "frontier",
            HostInPlace::ThreeStage => "three-stage",
            HostInPlace::Panels => "panels",
            HostInPlace::Auto => "auto",
        }
    }
}

impl fmt::Display for HostInPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for HostInPlace {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = HostInPlace::ALL;
        known.iter().copied().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            Error::UnknownName {
                kind: "algorithm in place",
                name: name.to_owned(),
                known: known
                    .iter()
                    .map(|algorithm| algorithm.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        })
    }
}

/// Transposes a `rows × cols` matrix of the host in its own memory: the slice holds the `cols × rows` one when this returns.
///
/// ```
/// use transpose::{Device, host};
/// # fn main() -> transpose::Result<()> {
/// let (device, _) = Device::any();
/// let mut matrix = [1u32, 2, 3, 4, 5, 6];
/// host::transpose_in_place(&device, &mut matrix, 2, 3)?;
/// assert_eq!(matrix, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::LengthMismatch`] unless there are `rows * cols` elements, [`Error::TensorSizeOverflow`] for more bytes than can be addressed, [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device
/// reports. After the first four the elements are as they were: all memory is taken before one moves. After what the device reports they
/// are unspecified. No work uses them any more.
pub fn transpose_in_place<T: Pod>(
    device: &Device,
    elements: &mut [T],
    rows: usize,
    cols: usize,
) -> Result<()> {
    let matrix = HostViewMut::matrix(elements, rows, cols)?;
    Workspace::new(device, HostOptions::default()).transpose_in_place(matrix, HostInPlace::Auto)
}

/// A matrix without gaps in host memory that is the caller's alone.
#[derive(Clone, Copy)]
struct Matrix<T> {
    start: *mut T,
    rows: usize,
    cols: usize,
    pinned: bool,
}

impl<T> Matrix<T> {
    /// Bytes of the elements.
    fn bytes(&self) -> usize {
        self.rows * self.cols * size_of::<T>()
    }

    fn refused(&self, algorithm: HostInPlace, reason: &'static str) -> Error {
        let Matrix { rows, cols, .. } = *self;
        let (algorithm, element_bytes) = (algorithm.name(), size_of::<T>());
        Error::NotServed { algorithm, rows, cols, element_bytes, reason }
    }
}

impl Workspace {
    /// Transposes a matrix of two axes without gaps in its own memory: its rows become its columns.
    ///
    /// # Errors
    /// [`Error::NotAMatrix`] for another array, [`Error::NotServed`] for what the algorithm does not do,
    /// [`Error::HostBudget`] for limits below what it takes, and those of [`transpose_in_place`]. After all but what the device reports the
    /// elements are as they were.
    pub fn transpose_in_place<T: Pod>(
        &mut self,
        mut matrix: HostViewMut<T>,
        algorithm: HostInPlace,
    ) -> Result<()> {
        let layout = *matrix.layout();
        let &[rows, cols] = layout.shape() else {
            let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
            return Err(Error::NotAMatrix { shape, strides });
        };
        if !layout.is_contiguous() {
            let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
            return Err(Error::NotAMatrix { shape, strides });
        }
        let reached = matrix.is_reached_by(self.device());
        // SAFETY: the view borrows the elements until all work is done, and longer than the lock lives.
        let lock = unsafe { self.lock(reached, matrix.start_mut(), &layout)? };
        let pinned = reached || lock.is_some();
        let start = matrix.start_mut().wrapping_add(layout.offset());
        let matrix = Matrix { start, rows, cols, pinned };
        // One row is one column already.
        if rows <= 1 || cols <= 1 || size_of::<T>() == 0 {
            return Ok(());
        }
        let algorithm = match algorithm {
            HostInPlace::Auto => self.choose(&matrix)?,
            chosen => chosen,
        };
        // SAFETY: the view borrows the elements, which have no gaps, exclusively until all work is done.
        unsafe {
            match algorithm {
                HostInPlace::Pairs if rows != cols => {
                    Err(matrix.refused(algorithm, "it is not square"))
                }
                HostInPlace::Pairs => self.pairs(matrix),
                HostInPlace::Frontier => frontier::transpose(self, matrix),
                HostInPlace::ThreeStage => three_stage::transpose(self, matrix),
                HostInPlace::Panels | HostInPlace::Auto => panels::transpose(self, matrix),
            }
        }
    }

    fn choose<T>(&self, matrix: &Matrix<T>) -> Result<HostInPlace> {
        if matrix.rows == matrix.cols {
            let pairs = self.plan_of_pairs(matrix);
            // Limits that are too low for two tiles may be enough for others.
            if !matches!(pairs, Err(Error::HostBudget { .. })) {
                return Ok(HostInPlace::Pairs);
            }
        }
        let limit = match self.options().device_memory {
            // What this has already it gives back for it.
            0 => usize::try_from(self.device().memory()?.free)
                .map_or(usize::MAX, |free| free.saturating_add(self.device_bytes())),
            limit => limit,
        };
        let held = frontier::Bands::of(matrix, self.options()).device_bytes(matrix);
        Ok(if held <= limit { HostInPlace::Frontier } else { HostInPlace::Panels })
    }

    /// The plan for a square whose tiles change places.
    fn plan_of_pairs<T>(&self, matrix: &Matrix<T>) -> Result<HostPlan> {
        HostPlan::square(matrix.rows, matrix.pinned, size_of::<T>(), self.options(), cores())
    }

    /// # Safety
    /// The matrix's elements live, and nobody else uses them meanwhile.
    unsafe fn pairs<T: Pod>(&mut self, matrix: Matrix<T>) -> Result<()> {
        let plan = self.plan_of_pairs(&matrix)?;
        // SAFETY: the caller's obligations.
        unsafe { self.in_place(&plan, matrix.start) }
    }

    /// Does a plan whose moves stay in one memory.
    ///
    /// # Safety
    /// The plan's layouts lie in the memory, which nobody else uses meanwhile.
    unsafe fn in_place<T: Pod>(&mut self, plan: &HostPlan, start: *mut T) -> Result<()> {
        self.prepare(plan, align_of::<T>())?;
        // SAFETY: the caller's obligations; each step reads what it writes, and no other one touches that.
        unsafe { self.run(plan, Arrays { src: start, dst: start }, &|_| ()) }
    }
}

/// Threads that can run at a time.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
