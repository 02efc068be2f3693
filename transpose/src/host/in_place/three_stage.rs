//! The scheme of Sung et al. (PPoPP 2014), section 6: the matrix comes up, is transposed in place on the device in three stages, and goes
//! down.
//!
//! The first stage needs all of the matrix. The second and the third work on strips of columns by themselves, so the strips are shared
//! out to Q streams: while one part goes down, the next ones are transposed. One stream is the synchronous case.

use super::super::workspace::{Settled, Workspace};
use super::Matrix;
use crate::device::Device;
use crate::in_place::ThreeStages;
use crate::layout::Layout;
use crate::{Error, Result};
use bytemuck::Pod;

/// Streams if none are asked for: the paper's best were under 8.
const STREAMS: usize = 4;

/// What memory starts at multiples of, in bytes.
const ALIGNMENT: usize = 256;

/// Transposes a matrix of the host by as many streams as the options say.
///
/// # Errors
/// [`Error::NotServed`] for sides without useful divisors, [`Error::HostBudget`] if the device's limit does not hold the matrix, and what
/// the device reports.
///
/// # Safety
/// The matrix's elements live, and nobody else uses them meanwhile.
pub(super) unsafe fn transpose<T: Pod>(workspace: &mut Workspace, matrix: Matrix<T>) -> Result<()> {
    let (size, options) = (size_of::<T>(), *workspace.options());
    let layout = Layout::contiguous(matrix.rows, matrix.cols, size)?;
    let stages = ThreeStages::new::<T>(layout, workspace.device().facts())?;
    let wanted = if options.streams == 0 { STREAMS } else { options.streams };
    let queues = wanted.min(stages.count());
    let whole = stages.whole_part()?;
    // Parts of as many strips as the others, or of one more.
    let starts: Vec<usize> = (0..=queues).map(|queue| queue * stages.count() / queues).collect();
    let parts = starts.windows(2).map(|ends| stages.strips_part(ends[1] - ends[0]));
    let parts: Vec<_> = parts.collect::<Result<_>>()?;
    let most = parts.iter().map(|part| part.scratch()).max().unwrap_or(0);
    let scratch = most.max(whole.scratch()).next_multiple_of(ALIGNMENT);
    let bytes = matrix.bytes().next_multiple_of(ALIGNMENT);
    let (needed, limit) = (bytes + queues * scratch, options.device_memory);
    if limit > 0 && needed > limit {
        return Err(Error::HostBudget { option: "device_memory", needed, limit });
    }
    let (streams, memory) = workspace.streams_and_memory(queues, needed)?;
    let _settled = Settled(streams);
    let address = memory.address();
    let scratch_of = |queue: usize| address + (bytes + queue * scratch) as u64;
    let first = &streams[0];
    // SAFETY: the memory holds the matrix and scratch memory for each stream; the caller vouches for the host's, whose elements are
    // written when all of them are up; all work is done before either goes.
    unsafe {
        first.upload_later(address, &layout, matrix.start.cast_const())?;
        whole.run(first, address, matrix.bytes(), scratch_of(0))?;
        let mark = first.mark(false)?;
        first.put(&mark)?;
        for (queue, (part, ends)) in parts.iter().zip(starts.windows(2)).enumerate() {
            let stream = &streams[queue];
            stream.wait_for_mark(&mark)?;
            let (start, len) = (ends[0] * stages.strip(), (ends[1] - ends[0]) * stages.strip());
            let of_part = address + (start * size) as u64;
            part.run(stream, of_part, len * size, scratch_of(queue))?;
            let row = Layout::contiguous(1, len, size)?;
            stream.download_later(of_part, &row, matrix.start.add(start))?;
        }
    }
    streams.iter().try_for_each(Device::synchronize)
}
