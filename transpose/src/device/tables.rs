//! Small tables that stay on the device when the call that brought them has returned: the next call that needs one finds it there.
//!
//! A table is taken while it is in use, so nobody else changes it or gives it back meanwhile; who has used it puts it back. All of that is in the order of one queue, whose handles
//! share the tables. They go with the last of these.

use super::backend::Backend;
use super::{Buffer, Device};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::sync::Arc;

/// The most tables of a queue: the one that was put back longest ago makes room.
const MOST: usize = 8;

/// The most bytes of a table.
const MOST_BYTES: usize = 16 << 10;

/// The tables of a queue, the one that was put back last behind.
pub(super) struct Tables {
    backend: Arc<dyn Backend>,
    kept: Mutex<Vec<Table>>,
}

/// A table that nobody uses.
struct Table {
    bytes: Box<[u8]>,
    /// Where its memory starts, which the queue has allocated, and the bytes of that: a table may have fewer.
    address: u64,
    allocated: u64,
}

impl Tables {
    pub fn new(backend: Arc<dyn Backend>) -> Arc<Self> {
        Arc::new(Tables { backend, kept: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Table>> {
        // Whatever panicked has left whole tables.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        for table in std::mem::take(&mut *self.lock()) {
            // SAFETY: the queue has allocated it, and it was put back, so nobody else gives it back or uses it.
            unsafe { self.backend.free(table.address) }
        }
    }
}

impl Device {
    /// The memory of a table with these bytes, if there is one, for the caller alone. It was written in the order of this queue.
    pub(crate) fn take_table(&self, bytes: &[u8]) -> Option<Buffer> {
        let mut kept = self.tables.lock();
        let at = kept.iter().position(|table| *table.bytes == *bytes)?;
        let Table { address, allocated, .. } = kept.remove(at);
        // SAFETY: the queue has allocated it, and it is no table any more.
        Some(unsafe { Buffer::allocated(self, address, allocated) })
    }

    /// Keeps memory that this device has allocated, and that starts with these bytes, or will when what is queued is done.
    /// What it does not keep is left.
    pub(crate) fn keep_table(&self, bytes: &[u8], buffer: &mut Buffer) {
        let serves = 1..=MOST_BYTES;
        if !serves.contains(&bytes.len())
            || !buffer.is_of_device()
            || !buffer.device().is_same(self)
        {
            return;
        }
        let mut kept = self.tables.lock();
        if kept.iter().any(|table| *table.bytes == *bytes) {
            return;
        }
        let oldest = if kept.len() < MOST { None } else { Some(kept.remove(0)) };
        let (address, allocated) = buffer.take_allocated();
        kept.push(Table { bytes: bytes.into(), address, allocated });
        drop(kept);
        if let Some(Table { address, .. }) = oldest {
            // SAFETY: the queue has allocated it, and it is no table any more.
            unsafe { self.backend.free(address) }
        }
    }
}
