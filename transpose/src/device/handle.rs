//! A handle to a device: opening it, what it is like, its streams, waiting for it.

use super::backend::{Backend, Urgency};
use super::cuda;
#[cfg(feature = "simulator")]
use super::simulated::Simulated;
use super::tables::Tables;
use crate::launch::Launch;
#[cfg(feature = "simulator")]
use crate::simulator::{self, DeviceId, Observer};
use crate::{Facts, MemoryInfo, Result};
#[cfg(feature = "simulator")]
use simt::Checks;
use std::fmt;
#[cfg(feature = "simulator")]
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A place that holds matrices and transposes them: a GPU, or the simulator.
///
/// A device is a handle to a queue: what is done with its matrices is done in the order of the calls. Clones are handles to the same
/// queue; [`new_stream`](Self::new_stream) gives another queue of the same device. A device may be sent to other threads, and lives as long
/// as anything that was made on it.
#[derive(Clone)]
pub struct Device {
    pub(super) backend: Arc<dyn Backend>,
    /// What plans are made by.
    pub(super) facts: Arc<Facts>,
    /// Those of the queue, which go with its last handle.
    pub(super) tables: Arc<Tables>,
}

impl Device {
    /// The GPU of that ordinal, counted from zero.
    ///
    /// # Errors
    /// [`Error::NoDriver`](crate::Error::NoDriver), [`Error::NoDevice`](crate::Error::NoDevice),
    /// and what the driver answers.
    pub fn cuda(ordinal: u32) -> Result<Self> {
        Ok(Self::with(cuda::Cuda::new(ordinal)?))
    }

    /// The first GPU; where there is none, the simulator and the reason.
    #[cfg(feature = "simulator")]
    pub fn any() -> (Self, Option<crate::Error>) {
        match Self::cuda(0) {
            Ok(device) => (device, None),
            Err(reason) => (Self::simulated(), Some(reason)),
        }
    }

    /// A device that executes the same kernels on the CPU: exact, and slow.
    #[cfg(feature = "simulator")]
    pub fn simulated() -> Self {
        Self::simulated_with(Checks::NONE)
    }

    /// Like [`simulated`](Self::simulated), with checks of everything that kernels do: whatever
    /// a check finds is an [`Error::KernelDefects`](crate::Error::KernelDefects) of the launch.
    ///
    /// [`global_read_race`](Checks::global_read_race) also reports two things that no result depends on. Panels, in place, hand elements from block to block by atomics, which order nothing here; they do
    /// with [weak memory](Self::simulated_with_weak_memory). And moves between views that take turns in one memory load vectors that have elements of the destination beside the source's own, and look at none of them. Do without that check for these.
    ///
    /// ```
    /// use transpose::simt::Checks;
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated_with(Checks::ALL_UNTRACKED);
    /// DeviceMatrix::<f32>::zeroed(&device, 70, 50)?.transposed()?; // no races, no overlaps
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "simulator")]
    pub fn simulated_with(checks: Checks) -> Self {
        Self::with(Simulated::new(checks, None))
    }

    /// Like [`simulated_with`](Self::simulated_with), with memory as weak as the memory model of the PTX ISA lets it be: loads may be
    /// old and late and stores out of order, by chance that starts from `seed` and differs from launch to launch. Blocks run side
    /// by side, so kernels whose blocks wait for each other are planned as for a GPU; races are found between blocks too, and an
    /// order that flags and counters make is known. Slower than the others by ten to a hundred times. See
    /// [`simt::Options::weak_memory`].
    #[cfg(feature = "simulator")]
    pub fn simulated_with_weak_memory(checks: Checks, seed: u64) -> Self {
        Self::with(Simulated::new(checks, Some(seed)))
    }

    /// As many simulated devices as asked for, each with memory of its own that the kernels of all of them reach, as those of GPUs
    /// that are linked do: for a [`DeviceGroup`](crate::DeviceGroup). Two devices made by [`simulated`](Self::simulated) do not reach each
    /// other's memory.
    #[cfg(feature = "simulator")]
    pub fn simulated_peers(count: usize) -> Vec<Self> {
        Self::simulated_peers_with(count, Checks::NONE)
    }

    /// Like [`simulated_peers`](Self::simulated_peers), with checks as [`simulated_with`](Self::simulated_with) has them.
    #[cfg(feature = "simulator")]
    pub fn simulated_peers_with(count: usize, checks: Checks) -> Vec<Self> {
        Simulated::peers(count, checks).into_iter().map(Self::with).collect()
    }

    pub(super) fn with(backend: impl Backend + 'static) -> Self {
        let facts = Arc::new(backend.facts().clone());
        Self::of(Arc::new(backend), facts)
    }

    /// The first handle to a queue.
    pub(super) fn of(backend: Arc<dyn Backend>, facts: Arc<Facts>) -> Self {
        Device { tables: Tables::new(backend.clone()), backend, facts }
    }

    /// One more stream of the same device: a handle whose work is queued beside this one's, and may run at the same time.
    ///
    /// Matrices, tensors and plans in place belong to the handle that they are made on. A move between two streams of one device runs on the destination's,
    /// after what is queued on the source's so far; what is queued on the source's later comes after the move.
    /// [`DeviceMatrix::move_to_stream`](crate::DeviceMatrix::move_to_stream) hands memory over with an order one way only, so that
    /// the stream it leaves goes on at once.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let (device, _) = Device::any();
    /// let other = device.new_stream()?;
    /// let a = DeviceMatrix::from_host(&device, 1, 2, &[1u8, 2])?;
    /// let mut b = DeviceMatrix::zeroed(&other, 2, 1)?;
    /// a.transpose_into(&mut b)?; // on `other`
    /// assert_eq!(b.to_host()?, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_stream(&self) -> Result<Self> {
        self.new_stream_of(Urgency::Usual)
    }

    /// Like [`new_stream`](Self::new_stream), for kernels that are more urgent than others, or are not.
    pub(crate) fn new_stream_of(&self, urgency: Urgency) -> Result<Self> {
        Ok(Self::of(self.backend.new_queue(urgency)?, self.facts.clone()))
    }

    /// The name that a person knows the device by, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.backend.facts().name
    }

    /// Whether this is a GPU and not the simulator.
    pub fn is_gpu(&self) -> bool {
        self.backend.is_gpu()
    }

    /// The number of this GPU, as [`cuda`](Self::cuda) takes it. `None` on the simulator.
    pub fn cuda_ordinal(&self) -> Option<u32> {
        self.backend.cuda_ordinal()
    }

    /// What plans on this handle are made by: what the device is like, unless the handle was made by
    /// [`with_facts`](Self::with_facts).
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// A handle to the same device whose matrices are transposed as if it were like that.
    ///
    /// ```
    /// use transpose::Device;
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let mut facts = device.facts().clone();
    /// facts.multiprocessors = 132;
    /// let like_an_h200 = device.with_facts(facts)?;
    /// # assert_eq!(like_an_h200.facts().multiprocessors, 132);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Facts`](crate::Error::Facts) for what no GPU is like, and for blocks that run side by side if this device's do not.
    pub fn with_facts(&self, facts: Facts) -> Result<Self> {
        facts.check(self.backend.facts())?;
        Ok(Device { facts: Arc::new(facts), ..self.clone() })
    }

    /// Waits until all that was queued on this handle's stream is done; other [streams](Self::new_stream) of the device are not
    /// waited for.
    ///
    /// # Errors
    /// What the device reports, failures of earlier queued work included.
    pub fn synchronize(&self) -> Result<()> {
        self.backend.synchronize()
    }

    /// Runs `work` and returns the time that the device spent on what it queued, between two
    /// events on the device. `None` on the simulator, whose time tells nothing about a GPU. While `work` runs, a GPU's
    /// context is current on the calling thread.
    ///
    /// # Errors
    /// What `work` returns or the device reports.
    pub fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<Option<Duration>> {
        self.backend.time(&mut work)
    }

    /// Runs `work`, and tells `observer` what the calling thread launches on this device meanwhile, if the device is simulated. A GPU
    /// cannot be looked into: `work` runs and the observer hears nothing.
    ///
    /// Launches by other threads are not observed, `work`'s own included, nor are those on other devices. Within an observed
    /// piece of work another may be observed: its launches are told to the inner observer alone.
    ///
    /// ```
    /// use std::{cell::RefCell, rc::Rc};
    /// use transpose::simulator::{Launched, Observer};
    /// use transpose::{Device, DeviceMatrix};
    ///
    /// #[derive(Default)]
    /// struct Names(RefCell<Vec<&'static str>>);
    ///
    /// impl Observer for Names {
    ///     fn launched(&self, launch: Launched) {
    ///         self.0.borrow_mut().push(launch.kernel);
    ///     }
    /// }
    ///
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let matrix = DeviceMatrix::<f32>::zeroed(&device, 640, 640)?;
    /// let names = Rc::new(Names::default());
    /// device.observe(names.clone(), || matrix.transposed())?;
    /// assert_eq!(names.0.take(), ["micro_b4"]);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "simulator")]
    pub fn observe<R>(&self, observer: Rc<dyn Observer>, work: impl FnOnce() -> R) -> R {
        simulator::observe(self.id(), observer, work)
    }

    #[cfg(feature = "simulator")]
    fn id(&self) -> DeviceId {
        DeviceId(self.backend.memory_id())
    }

    pub(crate) fn memory_info(&self) -> Result<MemoryInfo> {
        self.backend.memory_info()
    }

    pub(crate) fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>> {
        self.backend.side_by_side(launch)
    }

    /// Whether both have one queue.
    pub(crate) fn is_same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.backend, &other.backend)
    }

    /// What no other queue has at the same time.
    pub(crate) fn queue_id(&self) -> usize {
        Arc::as_ptr(&self.backend).addr()
    }

    /// Has this device's kernels reach all memory that `peer` allocates, from now on and for good; `false` if they cannot.
    pub(crate) fn reach(&self, peer: &Device) -> Result<bool> {
        if self.shares_memory_with(peer) {
            return Ok(true);
        }
        self.backend.reach(&*peer.backend)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}
