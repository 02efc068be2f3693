//! Work that was queued once, to be queued again as a whole.

use crate::functions::GraphFunctions;
use crate::{Context, Error, RawGraph, RawGraphExec, Stream};
use std::sync::{Mutex, PoisonError};

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: what the calling thread does on other streams meanwhile is its own affair.
const RELAXED: u32 = 2;

/// A graph that can be launched: what was queued on a stream while it was captured.
pub struct Graph {
    context: Context,
    functions: &'static GraphFunctions,
    /// The driver does not order calls from several threads on one graph.
    raw: Mutex<RawGraphExec>,
}

impl Graph {
    /// Captures what `work` queues on `stream`, which does not run then. `None` where the driver (before CUDA 11.4) has no such
    /// graphs: `work` is not called.
    ///
    /// # Safety
    /// - Nobody else queues work on `stream` meanwhile, and `work` waits for nothing on it.
    /// - What `work` queues is sound whenever the graph is launched, not only now.
    ///
    /// # Errors
    /// What `work` returns and what the driver answers. The stream is not captured any more then.
    pub unsafe fn capture<E: From<Error>>(
        stream: &Stream,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Self>, E> {
        let context = stream.context();
        let Some(functions) = &context.device().driver.graphs else { return Ok(None) };
        let _current = context.enter()?;
        // SAFETY: the stream lives.
        unsafe { functions.cuStreamBeginCapture_v2(stream.as_raw(), RELAXED) }?;
        let queued = work();
        let mut graph = RawGraph::NULL;
        // SAFETY: `graph` is a place for a graph; the stream is captured since the call above.
        let captured = unsafe { functions.cuStreamEndCapture(stream.as_raw(), &mut graph) };
        let captured = captured.map(|()| Captured { functions, graph });
        queued?;
        let captured = captured?;
        let mut raw = RawGraphExec::NULL;
        // SAFETY: `raw` is a place for a graph that can be launched; the other graph lives.
        unsafe { functions.cuGraphInstantiateWithFlags(&mut raw, captured.graph, 0) }?;
        Ok(Some(Graph { context: context.clone(), functions, raw: Mutex::new(raw) }))
    }

    /// Queues all of the work once more, after what is queued on `stream`; a launch of the same graph that still runs is waited
    /// for by the device.
    ///
    /// # Safety
    /// What was captured touches no memory but what lives until the work is done, and what else uses that memory is ordered
    /// before or after the work.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<(), Error> {
        let _current = self.context.enter()?;
        let raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the graph and the stream live, no other thread uses the graph; the rest is the caller's obligation.
        unsafe { self.functions.cuGraphLaunch(*raw, stream.as_raw()) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let raw = *self.raw.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Ok(_current) = self.context.enter() {
            // SAFETY: nobody has the graph any more; the driver keeps what of it still runs. A failure is one of earlier work:
            // nobody is left to tell.
            let _ = unsafe { self.functions.cuGraphExecDestroy(raw) };
        }
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// What was captured, until it is dropped. Its context is current as long as it lives.
struct Captured {
    functions: &'static GraphFunctions,
    graph: RawGraph,
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: it was just made, and what can be launched is a copy of it. A failure leaks it.
        let _ = unsafe { self.functions.cuGraphDestroy(self.graph) };
    }
}
