//! Host memory that copies to and from a device may use while the host goes on.

use super::Mark;
use crate::{Error, Result};
use cuda_driver::{Context, HostMemoryFlags};
#[cfg(feature = "simulator")]
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What page-locked memory is aligned to at least, in bytes.
const PAGE: usize = 4096;

/// Zero bytes at first, given back when dropped: whoever drops it knows that no work uses it any more.
#[derive(Debug)]
pub(crate) struct HostMemory {
    start: NonNull<u8>,
    source: Source,
}

/// Where memory came from.
#[derive(Debug)]
enum Source {
    /// Page-locked, as the driver gave it.
    Driver(Context, NonNull<u8>),
    /// Of the program's allocator.
    #[cfg(feature = "simulator")]
    Program(Layout),
}

// SAFETY: the memory belongs to this value alone, which gives its address out and never looks into it.
unsafe impl Send for HostMemory {}
// SAFETY: a shared reference gives the address out and no more.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `bytes` > 0 zero bytes, page-locked.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the driver answers.
    pub fn page_locked(context: &Context, bytes: usize, align: usize) -> Result<Self> {
        let refused = || Error::HostMemory { bytes };
        let slack = if align > PAGE { align } else { 0 };
        let all = bytes.checked_add(slack).ok_or_else(refused)?;
        let given = context.allocate_host(all, HostMemoryFlags::PORTABLE);
        let given = given.map_err(|error| match error.code() {
            Some(cuda_driver::Error::OUT_OF_MEMORY) => refused(),
            _ => error.into(),
        })?;
        let given = NonNull::new(given).ok_or_else(refused)?;
        // SAFETY: the slack is as long as it takes to come to the alignment, and no offset is needed without it.
        let start = unsafe { given.add(given.align_offset(align).min(slack)) };
        debug_assert!(start.addr().get().is_multiple_of(align), "the driver aligns to a page");
        // SAFETY: as many bytes were just allocated. They are zeroed because a slice of them must not be uninitialized.
        unsafe { start.write_bytes(0, bytes) };
        Ok(HostMemory { start, source: Source::Driver(context.clone(), given) })
    }

    /// `bytes` > 0 zero bytes of ordinary memory.
    ///
    /// # Errors
    /// [`Error::HostMemory`].
    #[cfg(feature = "simulator")]
    pub fn ordinary(bytes: usize, align: usize) -> Result<Self> {
        let refused = || Error::HostMemory { bytes };
        let layout = Layout::from_size_align(bytes, align).map_err(|_| refused())?;
        // SAFETY: the layout has bytes.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(refused)?;
        Ok(HostMemory { start, source: Source::Program(layout) })
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        match &self.source {
            Source::Driver(context, given) => {
                // SAFETY: it came from this context, and nothing uses it any more. A failure is one of earlier work, which
                // later calls report.
                let _ = unsafe { context.free_host(given.as_ptr()) };
            }
            #[cfg(feature = "simulator")]
            // SAFETY: it came from the allocator by this layout.
            Source::Program(layout) => unsafe { std::alloc::dealloc(self.start.as_ptr(), *layout) },
        }
    }
}

/// Memory of others whose pages are locked until this goes: whoever drops it knows that no work uses the memory any more.
#[derive(Debug)]
pub(crate) struct Registered {
    /// Where the driver has locked it.
    lock: Option<(Context, NonNull<u8>)>,
}

// SAFETY: the address is only given to the driver, which takes it from any thread.
unsafe impl Send for Registered {}

impl Registered {
    /// Locks the pages of `bytes` > 0 bytes.
    ///
    /// # Errors
    /// What the driver answers: for memory that was registered before, that it may not write, or that the system does not let it lock.
    ///
    /// # Safety
    /// The memory stays the program's until this is dropped.
    pub unsafe fn with(context: &Context, start: NonNull<u8>, bytes: usize) -> Result<Self> {
        // SAFETY: the caller's obligation; a drop unlocks it.
        unsafe { context.register_host(start.as_ptr(), bytes, HostMemoryFlags::PORTABLE) }?;
        Ok(Registered { lock: Some((context.clone(), start)) })
    }

    /// For a device to which all memory is alike.
    #[cfg(feature = "simulator")]
    pub fn needless() -> Self {
        Registered { lock: None }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some((context, start)) = &self.lock {
            // SAFETY: it was registered with this context, and nothing uses it any more. A failure is one of earlier work, which other
            // calls report; a context that is lost runs no work, and keeps pages and not addresses.
            let _ = unsafe { context.unregister_host(start.as_ptr()) };
        }
    }
}

/// Memory whose owner is gone while work that uses it may be under way.
///
/// It is given back when the device has come to the marks behind that work, at the next call; or with the device, which waits for
/// all of its work before it goes.
#[derive(Default)]
pub(crate) struct Retired(Mutex<Vec<(HostMemory, Vec<Arc<Mark>>)>>);

impl Retired {
    /// Takes memory that nothing uses once the device has come to `marks`, and gives back what can be given back.
    pub fn add(&self, memory: HostMemory, marks: Vec<Arc<Mark>>) {
        self.lock().push((memory, marks));
        self.sweep();
    }

    /// Gives back what no work uses any more.
    pub fn sweep(&self) {
        // A device that cannot tell is taken not to have come to the mark.
        let busy = |marks: &[Arc<Mark>]| !marks.iter().all(|mark| mark.is_done().unwrap_or(false));
        self.lock().retain(|(_, marks)| busy(marks));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(HostMemory, Vec<Arc<Mark>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
