//! Device memory, given and taken back in the order of the queue, so that neither waits for what is queued.
//!
//! Where the driver and the device have memory pools, each device has one of its own: what somebody else does to the
//! device's default pool, or needs of it, stays as it is. Elsewhere memory comes from the driver directly, and giving it
//! back has to wait for all that is queued.

use cuda_driver::{Context, Error, MemoryPool, Stream};

/// One part in so many of the device's memory may stay with the pool when it is free.
///
/// The driver takes freed memory from a pool whenever something is waited for, down to this threshold. To have it mapped
/// again costs more than a transpose of it (an H100: 3 ms for 1 GiB, which is transposed in 0.7 ms; 2 µs if the pool has kept
/// it), and a program that transposes and waits, again and again, would pay that for every matrix. Other allocations of the
/// process get at what a pool keeps: the driver takes it from the pool when it has no other. Other processes do not; so the
/// pool keeps a part.
const KEPT_SHARE: u64 = 4;

/// What allocates memory of a device.
pub(super) struct Memory {
    pool: Option<MemoryPool>,
}

impl Memory {
    pub fn new(context: &Context) -> Result<Self, Error> {
        let keep = context.device().total_memory()? as u64 / KEPT_SHARE;
        Ok(Memory { pool: MemoryPool::new(context, keep)? })
    }

    /// Whether memory comes from a pool.
    pub fn is_pooled(&self) -> bool {
        self.pool.is_some()
    }

    /// Has the device of a context reach what comes from the pool, if there is one.
    pub fn let_access(&self, context: &Context) -> Result<(), Error> {
        self.pool.as_ref().map_or(Ok(()), |pool| pool.let_access(context.device()))
    }

    /// `bytes` > 0 bytes, aligned to 256, for work that is queued on the stream after this.
    pub fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64, Error> {
        let Some(pool) = &self.pool else { return stream.context().allocate(bytes) };
        match pool.allocate(bytes, stream) {
            Err(error) if error.code() == Some(Error::OUT_OF_MEMORY) => {
                // What was freed can be had when the work that used it is done, and what the pool keeps in other sizes when
                // it is trimmed. Drivers have been seen to do both by themselves; no page of theirs says so.
                stream.synchronize()?;
                pool.trim(0)?;
                pool.allocate(bytes, stream)
            }
            done => done,
        }
    }

    /// Gives memory back once all that was queued before is done.
    ///
    /// # Safety
    /// The address came from [`allocate`](Self::allocate), is given back once, and is used by nothing but what was queued
    /// on the stream before.
    pub unsafe fn free(&self, address: u64, stream: &Stream) {
        // A failure is one of the queued work, and later calls report it; there is nobody to report it to now.
        let _ = match &self.pool {
            // SAFETY: the caller's obligations.
            Some(pool) => unsafe { pool.free(address, stream) },
            None => {
                let _ = stream.synchronize();
                // SAFETY: the caller gives the allocation up, and what used it is done.
                unsafe { stream.context().free(address) }
            }
        };
    }
}
