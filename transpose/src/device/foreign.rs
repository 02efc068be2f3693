//! Devices on contexts and streams that other code has made, and a device's own for other code.

use super::{Device, cuda};
use crate::Result;
use std::ffi::c_void;
#[cfg(any(feature = "cust", feature = "cudarc"))]
use std::sync::Arc;

impl Device {
    /// The GPU of a context that others have made, with one of its streams as the queue.
    ///
    /// The stream may be a default one: null and 1 (`CU_STREAM_LEGACY`) are the legacy one, 2 (`CU_STREAM_PER_THREAD`) is that of
    /// the calling thread. That is another stream in each thread, which other threads have no name for: each call waits for what it
    /// queues there. On a default stream no kernel starts before the launch before it has ended.
    ///
    /// The device has a memory pool and kernels of its own in that context. For more streams of it use
    /// [`on_raw_stream`](Self::on_raw_stream) or [`new_stream`](Self::new_stream).
    ///
    /// # Safety
    /// `context` is a `CUcontext` and `stream` a `CUstream` of it, and until the last handle to the device, and all that was made on it
    /// (matrices, plans, events, buffers), are gone:
    /// - Both live.
    /// - What others queue on the stream leaves this library's memory alone, and a kernel that is queued to start early
    ///   (programmatic stream serialization) waits for what is before it.
    /// - While the stream is captured into a graph, nothing is called but `run` of a [`Plan`](crate::Plan)
    ///   that ran on the device before, on memory of this very stream; that memory lives, and
    ///   nobody else uses it, whenever the graph runs.
    ///
    /// # Errors
    /// [`Error::NoDriver`](crate::Error::NoDriver), and what the driver answers.
    pub unsafe fn from_raw_parts(context: *mut c_void, stream: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's obligations.
        Ok(Self::with(unsafe { cuda::Cuda::borrowed(context, stream, None)? }))
    }

    /// Like [`from_raw_parts`](Self::from_raw_parts), for a context and a stream that `keep` keeps alive.
    ///
    /// # Safety
    /// Those of [`from_raw_parts`](Self::from_raw_parts), but that both live as long as `keep`.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) unsafe fn from_raw_parts_kept(
        context: *mut c_void,
        stream: *mut c_void,
        keep: Arc<dyn std::any::Any + Send + Sync>,
    ) -> Result<Self> {
        // SAFETY: the caller's obligations.
        Ok(Self::with(unsafe { cuda::Cuda::borrowed(context, stream, Some(keep))? }))
    }

    /// A handle to the same GPU, its memory and its kernels, with a stream that others have made as its queue. `None` on the
    /// simulator. As with [`from_raw_parts`](Self::from_raw_parts), it may be a default stream.
    ///
    /// # Safety
    /// Those of [`from_raw_parts`](Self::from_raw_parts), for a stream of this device's [context](Self::cuda_context).
    pub unsafe fn on_raw_stream(&self, stream: *mut c_void) -> Option<Self> {
        // SAFETY: the caller's obligations.
        let backend = unsafe { self.backend.borrowed_queue(stream) }?;
        Some(Device::of(backend, self.facts.clone()))
    }

    /// The CUDA stream that this device's work is queued on, as a `CUstream`, for code that queues work
    /// of its own beside it. `None` on the simulator.
    ///
    /// Work queued on the stream by others is in order with this library's; what it does to this
    /// library's matrices is for the code that queues it to answer for. A kernel that is queued to start early
    /// (programmatic stream serialization) has to wait for what is before it, as those of this library do, even
    /// if it needs nothing of that: what comes after waits for it alone.
    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        self.backend.cuda_stream()
    }

    /// The context that this device's memory and kernels are in, as a `CUcontext`: the GPU's primary one, retained as long as this
    /// device lives, or the one that the device was [made on](Self::from_raw_parts). `None` on the simulator.
    ///
    /// No call of this library leaves it current on the calling thread. (`cudarc` does, by all calls of its own, and when the last handle to a
    /// device on a stream of it takes the stream along.)
    pub fn cuda_context(&self) -> Option<*mut c_void> {
        self.backend.cuda_context().map(|context| context.as_raw().0)
    }

    /// That context, to wait for or to make current.
    #[cfg(any(feature = "cudarc", feature = "dlpack"))]
    pub(crate) fn context(&self) -> Option<&cuda_driver::Context> {
        self.backend.cuda_context()
    }
}
