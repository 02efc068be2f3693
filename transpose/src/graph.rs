//! Moves that were planned once and are queued again as a whole: a CUDA graph where the driver has them.

use crate::device::{Device, Step, require_one_memory};
use crate::plan::TensorPlan;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;
use std::fmt;

/// Planned moves, to be queued as one.
///
/// A graph has the addresses of what it was made for, and nothing of the memory there: who [replays](Self::replay) it shows it the
/// views again, so that memory that is gone, or borrowed elsewhere, cannot be reached by it. Queueing one graph takes as long as
/// queueing a few kernels: it pays for many small moves that come again and again.
///
/// ```
/// use transpose::{Device, DeviceTensor, Graph};
/// # fn main() -> transpose::Result<()> {
/// let (device, _) = Device::any();
/// let mut src = DeviceTensor::<u32>::zeroed(&device, &[2, 3])?;
/// let mut dst = DeviceTensor::<u32>::zeroed(&device, &[3, 2])?;
/// let graph = Graph::capture(&device, [(src.view().t(), dst.view_mut())])?;
/// for round in 0..3 {
///     src.copy_from_host(&[round, 1, 2, 3, 4, 5])?;
///     graph.replay([(src.view().t(), dst.view_mut())])?;
///     assert_eq!(dst.to_host()?, [round, 3, 1, 4, 2, 5]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Graph {
    /// `None` where steps are queued one by one. Before the device, whose kernels are in it.
    captured: Option<cuda_driver::Graph>,
    steps: Vec<Step>,
    sides: Vec<[Side; 2]>,
    element_bytes: usize,
    /// That it was made on.
    device: Device,
}

/// What one side of a move was when it was captured.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Of element `[0, …, 0]`.
    address: u64,
    layout: TensorLayout,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, strides) = (self.layout.shape(), self.layout.strides());
        write!(f, "{shape:?} elements, {strides:?} apart, at {:#x}", self.address)
    }
}

impl Side {
    /// Whether both are the same elements in the same order.
    fn is(&self, other: &Side) -> bool {
        let (here, there) = (&self.layout, &other.layout);
        self.address == other.address
            && (here.shape(), here.strides()) == (there.shape(), there.strides())
    }
}

impl Graph {
    /// Plans moves, each from its first view to its second, of the same shape, all on one stream; nothing is moved yet.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`]; [`Error::StreamMismatch`] for a view on another stream, [`Error::DeviceMismatch`] for one on another
    /// device; and what the device reports.
    pub fn capture<'s, 'd, T: Pod>(
        stream: &Device,
        moves: impl IntoIterator<Item = (TensorView<'s, T>, TensorViewMut<'d, T>)>,
    ) -> Result<Self> {
        let (mut sides, mut steps) = (Vec::new(), Vec::new());
        for (src, mut dst) in moves {
            require_on(stream, &src, &dst)?;
            let plan = TensorPlan::new(src, dst.reborrow())?;
            let pair = sides_of(&src, &dst);
            steps.extend(plan.steps(pair.map(|side| side.address)));
            sides.push(pair);
        }
        // SAFETY: it is replayed on what it was made for and on nothing else: see `replay`.
        let captured = unsafe { stream.graph(&steps)? };
        let device = stream.clone();
        Ok(Graph { device, element_bytes: size_of::<T>(), sides, steps, captured })
    }

    /// Queues the moves once more, on the stream of the views: views of the memory, and of the layouts, that the graph was made for.
    ///
    /// That is any stream of the device: the memory may have moved there.
    ///
    /// # Errors
    /// [`Error::GraphMismatch`] for other views, [`Error::StreamMismatch`] for views that are not all on one stream,
    /// [`Error::DeviceMismatch`] for views on another device than the graph's, and what the device reports.
    pub fn replay<'s, 'd, T: Pod>(
        &self,
        moves: impl IntoIterator<Item = (TensorView<'s, T>, TensorViewMut<'d, T>)>,
    ) -> Result<()> {
        let moves: Vec<_> = moves.into_iter().collect();
        if moves.len() != self.sides.len() || size_of::<T>() != self.element_bytes {
            let all = |moves, bytes| format!("{moves} moves of elements of {bytes} bytes");
            return Err(Error::GraphMismatch {
                of: moves.len().min(self.sides.len()),
                captured: all(self.sides.len(), self.element_bytes),
                given: all(moves.len(), size_of::<T>()),
            });
        }
        let stream = moves.first().map_or(&self.device, |(_, dst)| dst.device());
        require_one_memory(stream, &self.device)?;
        for (of, (src, dst)) in moves.iter().enumerate() {
            require_on(stream, src, dst)?;
            let (captured, given) = (&self.sides[of], &sides_of(src, dst));
            if !captured.iter().zip(given).all(|(captured, given)| captured.is(given)) {
                let [captured, given] =
                    [captured, given].map(|[src, dst]| format!("{src}, to {dst}"));
                return Err(Error::GraphMismatch { of, captured, given });
            }
        }
        match &self.captured {
            // SAFETY: all that the steps access is in the views, which have the addresses and layouts that the steps were planned for
            // and lie in live memory of this stream; those that are written are borrowed exclusively.
            Some(graph) => unsafe { stream.replay(graph) },
            None => self.steps.iter().try_for_each(|step| {
                // SAFETY: what a graph's steps access is in the views, as was checked above.
                unsafe { stream.queue(step) }
            }),
        }
    }

    /// The moves of the graph.
    pub fn moves(&self) -> usize {
        self.sides.len()
    }
}

fn sides_of<T: Pod>(src: &TensorView<'_, T>, dst: &TensorViewMut<'_, T>) -> [Side; 2] {
    [
        Side { address: src.address(), layout: *src.layout() },
        Side { address: dst.address(), layout: *dst.layout() },
    ]
}

/// Refuses a move that is not wholly on a stream.
fn require_on<T: Pod>(
    stream: &Device,
    src: &TensorView<'_, T>,
    dst: &TensorViewMut<'_, T>,
) -> Result<()> {
    require_one_memory(src.device(), dst.device())?;
    require_one_memory(stream, dst.device())?;
    if src.device().is_same(stream) && dst.device().is_same(stream) {
        return Ok(());
    }
    Err(Error::StreamMismatch { device: stream.to_string() })
}
