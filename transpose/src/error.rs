//! The one error type: a variant per violated fact, with the numbers in it. Messages that are more than a line with the numbers are in
//! `message.rs`.

mod message;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::PathBuf;

/// What can go wrong in this library.
///
/// Shown as `{}`, each is one line that says what is wrong. Where there is more to say, as of each place where a driver was looked
/// for in vain, `{:#}` says it on lines of their own under the first.
///
/// Work on a GPU is queued: a failure of the device itself (not of the request) may be reported
/// by a later call on the same [`Device`](crate::Device).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A destination that is not the transposed shape of its source.
    #[error(
        "the transpose of a {src_rows} × {src_cols} matrix is {src_cols} × {src_rows}, \
         the destination is {dst_rows} × {dst_cols}"
    )]
    ShapeMismatch {
        /// Rows of the source.
        src_rows: usize,
        /// Columns of the source.
        src_cols: usize,
        /// Rows of the destination.
        dst_rows: usize,
        /// Columns of the destination.
        dst_cols: usize,
    },

    /// A destination of a copy that does not have its source's shape.
    #[error("a {src_rows} × {src_cols} matrix cannot be copied to one of {dst_rows} × {dst_cols}")]
    CopyShapeMismatch {
        /// Rows of the source.
        src_rows: usize,
        /// Columns of the source.
        src_cols: usize,
        /// Rows of the destination.
        dst_rows: usize,
        /// Columns of the destination.
        dst_cols: usize,
    },

    /// A slice that does not hold a matrix of the shape asked for.
    #[error(fmt = message::length_mismatch)]
    LengthMismatch {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
        /// Elements that the shape needs, with what lies between rows that are apart.
        expected: usize,
        /// Elements that the slice has.
        actual: usize,
    },

    /// A leading dimension too small for the rows it separates.
    #[error("a leading dimension of {ld} elements is below the {cols} columns it has to hold")]
    LeadingDimension {
        /// The leading dimension, in elements.
        ld: usize,
        /// The columns of the matrix.
        cols: usize,
    },

    /// A matrix whose size in bytes cannot be expressed.
    #[error(
        "{rows} × {cols} elements of {element_bytes} bytes, rows {ld} apart, exceed what can be addressed"
    )]
    SizeOverflow {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
        /// Leading dimension, in elements.
        ld: usize,
        /// Bytes of an element.
        element_bytes: usize,
    },

    /// An element size that the chosen strategy has no kernel for.
    #[error(
        "this strategy moves elements of 1, 2, 4, 8 and 16 bytes, not of {bytes}; `Auto` moves any"
    )]
    ElementSize {
        /// Bytes of an element.
        bytes: usize,
    },

    /// An address that elements of a type, or owned memory, cannot lie at.
    #[error("the address {address:#x} is not a multiple of {needed} bytes")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes that it must be a multiple of.
        needed: u64,
    },

    /// A window that reaches outside the matrix it is taken from.
    #[error(
        "a window of {rows} × {cols} from element {offset} on, rows {ld} apart, ends at element {end}; \
         there are {available}"
    )]
    WindowOutOfBounds {
        /// First element of the window.
        offset: usize,
        /// Rows of the window.
        rows: usize,
        /// Columns of the window.
        cols: usize,
        /// Leading dimension of the window, in elements.
        ld: usize,
        /// One past the window's last element.
        end: usize,
        /// Elements that are there.
        available: usize,
    },

    /// A window that passes the end of a row, with the leading dimension of the matrix it is taken from.
    #[error("{cols} columns from column {column} on pass the end of rows of {ld} elements")]
    WindowWraps {
        /// The first column.
        column: usize,
        /// Columns of the window.
        cols: usize,
        /// Leading dimension of the matrix, in elements.
        ld: usize,
    },

    /// A part of a matrix that reaches outside, or ends before it starts.
    #[error("there are no rows {rows:?} and columns {cols:?} in a matrix of {nrows} × {ncols}")]
    SubmatrixOutOfBounds {
        /// The rows asked for.
        rows: Range<usize>,
        /// The columns asked for.
        cols: Range<usize>,
        /// Rows that there are.
        nrows: usize,
        /// Columns that there are.
        ncols: usize,
    },

    /// A place to split a matrix at that is behind its end.
    #[error("a matrix of {rows} × {cols} cannot be split at {what} {at}")]
    SplitOutOfBounds {
        /// `row` or `column`.
        what: &'static str,
        /// The place.
        at: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },

    /// A batch that reaches outside the memory of its matrices.
    #[error(
        "{count} matrices of {extent} elements, {stride} apart, do not fit the {available} elements \
         that there are"
    )]
    BatchOutOfBounds {
        /// Matrices of the batch.
        count: usize,
        /// Elements from one matrix's start to the next's.
        stride: usize,
        /// Elements from a matrix's first to one past its last.
        extent: usize,
        /// Elements that are there, from the first matrix's start on.
        available: usize,
    },

    /// A batch of destinations that neither lie one behind the other nor side by side in the same rows: two may have an element in common.
    #[error(
        "destinations of {extent} elements, {stride} elements apart, neither lie one behind the other nor side by side in the same rows"
    )]
    BatchOverlap {
        /// Elements from one destination's start to the next's.
        stride: usize,
        /// Elements from a destination's first to one past its last.
        extent: usize,
    },

    /// A transpose that takes more blocks than a launch of any kernel may have.
    #[error(fmt = message::no_grid)]
    NoGrid {
        /// What was to be transposed: its shape, layouts and elements.
        problem: String,
    },

    /// An array with more axes than any tensor has.
    #[error("{axes} axes are more than the {most} that a tensor may have")]
    TooManyAxes {
        /// The axes.
        axes: usize,
        /// How many there may be.
        most: usize,
    },

    /// An axis that a tensor does not have.
    #[error("there is no axis {axis} among {axes}, which are counted from 0")]
    NoSuchAxis {
        /// The axis, counted from 0.
        axis: usize,
        /// How many there are.
        axes: usize,
    },

    /// An order of axes that does not name each once.
    #[error("{axes:?} does not name each of {rank} axes once")]
    NotAPermutation {
        /// The order asked for.
        axes: Vec<usize>,
        /// How many axes there are.
        rank: usize,
    },

    /// A tensor that has not as many axes as an array is to have.
    #[error("a tensor of {axes} axes is no array of {wanted}")]
    Rank {
        /// The tensor's axes.
        axes: usize,
        /// The axes that the array's type has.
        wanted: usize,
    },

    /// Strides that are not one for each axis.
    #[error("{strides} strides for {axes} axes")]
    StrideCount {
        /// The axes.
        axes: usize,
        /// The strides.
        strides: usize,
    },

    /// A tensor whose size in bytes cannot be expressed.
    #[error(fmt = message::tensor_size_overflow)]
    TensorSizeOverflow {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Bytes of an element.
        element_bytes: usize,
    },

    /// A slice that does not hold a tensor of the shape asked for.
    #[error("a tensor of {shape:?} has {expected} elements, the slice has {actual}")]
    TensorLength {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Elements that the shape needs.
        expected: usize,
        /// Elements that the slice has.
        actual: usize,
    },

    /// A layout that reaches outside the memory that it is for.
    #[error(fmt = message::tensor_out_of_bounds)]
    TensorOutOfBounds {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Elements from one index of each axis to the next.
        strides: Vec<isize>,
        /// Where element `[0, …, 0]` is.
        offset: usize,
        /// Elements that are there.
        available: usize,
    },

    /// A layout of something to be written that is not [injective](crate::TensorLayout::is_injective): two indices have one element, or are
    /// not seen to have two because elements interleave.
    #[error(
        "{shape:?} elements, {strides:?} apart, overlap or interleave, and cannot be written to"
    )]
    TensorOverlap {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Elements from one index of each axis to the next.
        strides: Vec<isize>,
    },

    /// A slice along an axis that reaches behind its end, ends before it starts, or has a step of 0.
    #[error(
        "indices {start} to {end} in steps of {step} cannot be taken of axis {axis}, which has {length}"
    )]
    SliceOutOfBounds {
        /// The axis.
        axis: usize,
        /// The first index.
        start: usize,
        /// One past the last index.
        end: usize,
        /// The step.
        step: isize,
        /// Indices that there are.
        length: usize,
    },

    /// An index behind an axis's end.
    #[error("index {index} is behind the end of axis {axis}, which has {length}")]
    IndexOutOfBounds {
        /// The axis.
        axis: usize,
        /// The index.
        index: usize,
        /// Indices that there are.
        length: usize,
    },

    /// A shape that a tensor cannot be given without moving elements.
    #[error("{shape:?} elements, {strides:?} apart, cannot be seen as {wanted:?}")]
    Reshape {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Elements from one index of each axis to the next.
        strides: Vec<isize>,
        /// The shape asked for.
        wanted: Vec<usize>,
    },

    /// Elements whose bytes cannot be seen as elements of another size.
    #[error(
        "{shape:?} elements of {from_bytes} bytes, {strides:?} apart, from element {offset} on, are not elements of {to_bytes} bytes"
    )]
    Cast {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Elements from one index of each axis to the next.
        strides: Vec<isize>,
        /// Where element `[0, …, 0]` is: in the memory that a tensor owns, or behind the lowest element of a view.
        offset: usize,
        /// Bytes of an element.
        from_bytes: usize,
        /// Bytes of an element of the type asked for.
        to_bytes: usize,
    },

    /// A shape that a tensor cannot be repeated to.
    #[error("{shape:?} elements cannot be repeated to {wanted:?}")]
    Broadcast {
        /// The length of each axis.
        shape: Vec<usize>,
        /// The shape asked for.
        wanted: Vec<usize>,
    },

    /// A tensor that is not a matrix: not of two axes, or one whose rows have gaps in them, overlap or come in another order.
    #[error("{shape:?} elements, {strides:?} apart, are not the rows of a matrix")]
    NotAMatrix {
        /// The length of each axis.
        shape: Vec<usize>,
        /// Elements from one index of each axis to the next.
        strides: Vec<isize>,
    },

    /// Two tensors of which one cannot be copied to the other.
    #[error("a tensor of {src:?} cannot be copied to one of {dst:?}")]
    TensorShapeMismatch {
        /// The source's shape.
        src: Vec<usize>,
        /// The destination's shape.
        dst: Vec<usize>,
    },

    /// Two matrices that live on different devices: two streams of one share their memory, two calls of
    /// [`Device::cuda`](crate::Device::cuda) do not.
    #[error(fmt = message::device_mismatch)]
    DeviceMismatch {
        /// Where the source is.
        src: String,
        /// Where the destination is.
        dst: String,
    },

    /// Views on several streams of a device, for what is on one.
    #[error("the moves of a graph are on one stream, and a view is on another stream of {device}")]
    StreamMismatch {
        /// The device.
        device: String,
    },

    /// A group of no devices.
    #[error("a group has one device at least")]
    EmptyGroup,

    /// Two arrays on two groups of devices.
    #[error("the source and the destination are on two groups of devices")]
    GroupMismatch,

    /// Shares that do not make an axis, or are not one for each device.
    #[error("shares of {shares:?} indices are not {devices} that make an axis of {length}")]
    Shares {
        /// The length of each share.
        shares: Vec<usize>,
        /// Devices of the group.
        devices: usize,
        /// The length of the axis.
        length: usize,
    },

    /// A shard that is not what its array needs.
    #[error("shard {device} cannot be a part of the array: {reason}")]
    Shard {
        /// Which shard, counted from 0; one behind the last, if they are too few or too many.
        device: usize,
        /// What is so of every shard, and not of this one.
        reason: &'static str,
    },

    /// Processes that cannot come together, or did not end what they began.
    #[error("the processes are no world: {reason}")]
    World {
        /// Why not.
        reason: String,
    },

    /// Another process that does not do its part.
    #[error("process {rank}: {reason}")]
    Peer {
        /// Which process.
        rank: usize,
        /// What it did, or did not do.
        reason: String,
    },

    /// A process that is about to do something else than this one.
    #[error("process {rank} is about to do something else: {theirs} there, {mine} here")]
    Disagreement {
        /// Which process.
        rank: usize,
        /// What this process is about to do.
        mine: String,
        /// What that process is about to do; nothing, if its arrays do not fit its plan.
        theirs: String,
    },

    /// A function of MPI's failed, or MPI is not there.
    #[cfg(feature = "mpi")]
    #[error("{}", message::of_library("MPI", operation, *code, text))]
    Mpi {
        /// MPI's function that was called; `dlopen` where the library, or what it should have, was not found.
        operation: &'static str,
        /// Its answer; 0 where nothing answered.
        code: i32,
        /// What MPI, or the dynamic loader, says of it.
        text: String,
    },

    /// NCCL that could not be opened, or that refused a call.
    #[cfg(feature = "nccl")]
    #[error("{}", message::of_library("NCCL", operation, *code, text))]
    Nccl {
        /// NCCL's function that was called; `dlopen` where the library or a function was not found.
        operation: &'static str,
        /// Its answer, an `ncclResult_t`; 0 where nothing answered.
        code: i32,
        /// What NCCL, or the dynamic loader, says of it.
        text: String,
    },

    /// Matrices that a plan was not made for.
    #[error(fmt = message::plan_mismatch)]
    PlanMismatch {
        /// What the plan is for.
        planned: String,
        /// What it was asked to run on.
        actual: String,
    },

    /// Views that a graph was not made for.
    #[error(fmt = message::graph_mismatch)]
    GraphMismatch {
        /// Which of the moves, counted from 0; one that there is not, if there are more or fewer.
        of: usize,
        /// What the graph was made for.
        captured: String,
        /// What it was to be replayed on.
        given: String,
    },

    /// A matrix with gaps between its rows, which only a square one may have in place, and only by [`InPlace::Square`](crate::InPlace::Square) and
    /// [`InPlace::Auto`](crate::InPlace::Auto).
    #[error(
        "in place only squares may have gaps: these are {rows} × {cols} elements, rows {ld} apart"
    )]
    GapsInPlace {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
        /// Leading dimension of the matrix, in elements.
        ld: usize,
    },

    /// An in-place algorithm that does not serve the shape.
    #[error(
        "{algorithm} cannot transpose {rows} × {cols} elements of {element_bytes} bytes: {reason}"
    )]
    NotServed {
        /// The algorithm's name.
        algorithm: &'static str,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
        /// Bytes of an element.
        element_bytes: usize,
        /// What it lacks.
        reason: &'static str,
    },

    /// An array-of-structures layout whose tiles do not fit the array.
    #[error("{count} {what} cannot be split into tiles of {width}")]
    TileWidth {
        /// The number that has to be split.
        count: usize,
        /// What is counted.
        what: &'static str,
        /// The tile's width, or the number of fields.
        width: usize,
    },

    /// An in-place operation that failed after it began. **The matrix's contents are unspecified**,
    /// its shape is unchanged, and nothing else was touched.
    #[error(fmt = message::interrupted)]
    Interrupted {
        /// What failed.
        source: Box<Error>,
    },

    /// A name that nothing of its kind has.
    #[error(fmt = message::unknown_name)]
    UnknownName {
        /// What should have the name, such as "strategy".
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that there are, with commas between them.
        known: String,
    },

    /// Facts to plan by that no device is like.
    #[error("no plans are made by such facts: {reason}")]
    Facts {
        /// What is not so.
        reason: &'static str,
    },

    /// A [`PlanCache`](crate::PlanCache) that could not be saved.
    #[error("the plan cache {} cannot be saved: {reason}", path.display())]
    PlanCache {
        /// The file.
        path: PathBuf,
        /// What kind of failure the file system reported.
        kind: std::io::ErrorKind,
        /// What it reported, in its words.
        reason: String,
    },

    /// Elements that could not be read from a file.
    #[error(
        "{} cannot be read at byte {at} of the elements: {reason}",
        message::file(path, "the source")
    )]
    Read {
        /// The file; `None` for a source that has no path.
        path: Option<PathBuf>,
        /// Where the elements that could not be read begin, in bytes behind the array's first.
        at: u64,
        /// What kind of failure was reported.
        kind: std::io::ErrorKind,
        /// What was reported, in its words.
        reason: String,
    },

    /// Elements that could not be written to a file.
    #[error(
        "{} cannot be written at byte {at} of the elements: {reason}",
        message::file(path, "the destination")
    )]
    Write {
        /// The file; `None` for a destination that has no path.
        path: Option<PathBuf>,
        /// Where the elements that could not be written begin, in bytes behind the array's first.
        at: u64,
        /// What kind of failure was reported.
        kind: std::io::ErrorKind,
        /// What was reported, in its words.
        reason: String,
    },

    /// No NVIDIA driver on this machine, or none that can be used.
    #[error(fmt = message::no_driver)]
    NoDriver {
        /// Why not, in one line.
        reason: String,
        /// Each file that was tried as the driver library, with what the dynamic loader said of it.
        attempts: Vec<String>,
    },

    /// No such GPU.
    #[error("there is no CUDA device {ordinal}; this machine has {count}")]
    NoDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// The number of devices.
        count: u32,
    },

    /// Device memory that could not be had.
    #[error("{device} has no {bytes} bytes of memory to give")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: u64,
    },

    /// Host memory that could not be had.
    #[error("the host has no {bytes} bytes of memory to give")]
    HostMemory {
        /// Bytes asked for.
        bytes: usize,
    },

    /// Limits on memory below the least that a move through the device takes.
    #[error("{needed} bytes are needed on the way at least, and `{option}` is {limit}")]
    HostBudget {
        /// Which limit: an option of [`HostOptions`](crate::host::HostOptions), or `memory`, an argument of
        /// [`move_between`](crate::host::files::move_between).
        option: &'static str,
        /// Bytes that the move takes at least: for an element or a row, or by an algorithm that has the device hold more.
        needed: usize,
        /// Bytes that there may be.
        limit: usize,
    },

    /// The driver refused an operation, or an earlier one failed on the device.
    #[error("{}", cuda_driver::Error::Call { function: operation, code: *code, name: *name, text: *text })]
    Cuda {
        /// The driver's function that was called.
        operation: &'static str,
        /// Its answer, a `CUresult`.
        code: u32,
        /// The driver's name for the answer, such as `CUDA_ERROR_ILLEGAL_ADDRESS`; `None` if it has none.
        name: Option<&'static str>,
        /// The driver's explanation of it; `None` if it has none.
        text: Option<&'static str>,
    },

    /// A tensor of DLPack that cannot be taken, or given, as asked.
    #[cfg(feature = "dlpack")]
    #[error("the DLPack tensor is refused: {0}")]
    DlPack(#[from] crate::interop::dlpack::Refusal),

    /// What the checks of a simulated device found in a kernel.
    #[cfg(feature = "simulator")]
    #[error(fmt = message::kernel_defects)]
    KernelDefects {
        /// The kernel.
        kernel: &'static str,
        /// The defects, at least one.
        findings: Vec<simt::Finding>,
    },

    /// The simulator refused an operation or stopped at a fault in a kernel.
    #[cfg(feature = "simulator")]
    #[error(fmt = message::simulator)]
    Simulator(#[from] simt::Error),
}

impl From<cuda_driver::Error> for Error {
    fn from(error: cuda_driver::Error) -> Self {
        match error {
            cuda_driver::Error::Call { function, code, name, text } => {
                Error::Cuda { operation: function, code, name, text }
            }
            cuda_driver::Error::NoLibrary { ref tried } => {
                let attempts = tried.iter().map(ToString::to_string).collect();
                Error::NoDriver { reason: error.to_string(), attempts }
            }
            other => Error::NoDriver { reason: other.to_string(), attempts: Vec::new() },
        }
    }
}

impl Error {
    /// Where the driver was looked for in vain, and what came of each attempt: empty for any error but
    /// [`NoDriver`](Self::NoDriver).
    pub fn attempts(&self) -> &[String] {
        match self {
            Error::NoDriver { attempts, .. } => attempts,
            _ => &[],
        }
    }

    /// Whether the GPU is lost to this process: every later call on it fails with the same answer, on whatever stream, and only a new
    /// process has it again. What is on the device is gone; dropping its handles is safe, and needed for nothing.
    ///
    /// So it is after kernels that went wrong (illegal addresses and instructions, traps, timeouts), whoever launched them, and after
    /// failures of memory and links that could not be corrected. After any other error the device can be used as before.
    pub fn is_sticky(&self) -> bool {
        match self {
            Error::Cuda { operation, code, name, text } => {
                let (function, code, name, text) = (*operation, *code, *name, *text);
                cuda_driver::Error::Call { function, code, name, text }.is_sticky()
            }
            Error::Interrupted { source } => source.is_sticky(),
            _ => false,
        }
    }
}

/// A result whose error is this library's.
pub type Result<T, E = Error> = std::result::Result<T, E>;
