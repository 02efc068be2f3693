//! A queue of work, done in the order in which it was queued.

use std::ffi::c_void;

use crate::{Context, DeviceAddress, Error, Event, RawStream};

/// A stream of a context. Dropped, one that was made here is destroyed once its work is done, without waiting.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    raw: RawStream,
    /// Whether it was made here.
    owned: bool,
}

impl Stream {
    /// A stream that is in order with the process's default stream (`CU_STREAM_DEFAULT`).
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: &Context) -> Result<Self, Error> {
        const DEFAULT: u32 = 0;
        Self::with_flags(context, DEFAULT)
    }

    /// A stream that is in no order with the process's default stream (`CU_STREAM_NON_BLOCKING`): while one of the others is captured, nobody may use
    /// that.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn non_blocking(context: &Context) -> Result<Self, Error> {
        const NON_BLOCKING: u32 = 1;
        Self::with_flags(context, NON_BLOCKING)
    }

    fn with_flags(context: &Context, flags: u32) -> Result<Self, Error> {
        let _current = context.enter()?;
        let mut raw = RawStream::NULL;
        // SAFETY: `raw` is a place for a stream.
        unsafe { context.functions().cuStreamCreate(&mut raw, flags) }?;
        Ok(Stream { context: context.clone(), raw, owned: true })
    }

    /// Like [`new`](Self::new), one whose kernels start before, or after, those of other streams that wait for a place to run. The
    /// priority is one of [`Context::stream_priorities`]; the driver takes another number for the nearest of them.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn with_priority(context: &Context, priority: i32) -> Result<Self, Error> {
        let _current = context.enter()?;
        let mut raw = RawStream::NULL;
        // SAFETY: `raw` is a place for a stream.
        unsafe { context.functions().cuStreamCreateWithPriority(&mut raw, 0, priority) }?;
        Ok(Stream { context: context.clone(), raw, owned: true })
    }

    /// A stream that others have made: a default stream's name, or a stream of `context`.
    ///
    /// # Safety
    /// The stream is one of `context` and lives as long as this.
    pub unsafe fn borrowed(context: &Context, raw: RawStream) -> Self {
        Stream { context: context.clone(), raw, owned: false }
    }

    /// The context that it is of.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The driver's name for it.
    pub fn as_raw(&self) -> RawStream {
        self.raw
    }

    /// Waits until all that was queued is done.
    ///
    /// # Errors
    /// What the driver answers, failures of queued work included.
    pub fn synchronize(&self) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the stream lives.
        unsafe { self.context.functions().cuStreamSynchronize(self.raw) }
    }

    /// Has all that is queued from now on wait until the device has come to where the event was recorded last, on
    /// whatever stream. An event that was never recorded is not waited for.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the stream and the event live; what waits keeps what it needs of an event that is destroyed.
        unsafe { self.context.functions().cuStreamWaitEvent(self.raw, event.as_raw(), 0) }
    }

    /// Queues setting `bytes` bytes from `address` on to `byte`.
    ///
    /// # Safety
    /// - The range lies inside memory of the context that lives until the work is done.
    /// - What else uses that memory is ordered before or after the work.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn fill(&self, address: DeviceAddress, byte: u8, bytes: usize) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.context.functions().cuMemsetD8Async(address, byte, bytes, self.raw) }
    }

    /// Queues a copy inside the device.
    ///
    /// # Safety
    /// - Both ranges lie inside memory of the context that lives until the work is done, and do not overlap.
    /// - What else uses that memory is ordered before or after the work.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn copy(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        bytes: usize,
    ) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.context.functions().cuMemcpyDtoDAsync_v2(to, from, bytes, self.raw) }
    }

    /// Queues a copy from memory of this context to memory of another one, of whatever device. Where neither device
    /// [reaches](crate::Device::can_access) the other's memory, the driver takes the bytes through the host's.
    ///
    /// # Safety
    /// Those of [`copy`](Self::copy), each range inside memory of its context.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn copy_to_peer(
        &self,
        peer: &Context,
        to: DeviceAddress,
        from: DeviceAddress,
        bytes: usize,
    ) -> Result<(), Error> {
        let (there, here) = (peer.as_raw(), self.context.as_raw());
        if there == here {
            // compute-sanitizer does not know what a copy between contexts writes.
            // SAFETY: the caller's obligations.
            return unsafe { self.copy(to, from, bytes) };
        }
        let _current = self.context.enter()?;
        let functions = self.context.functions();
        // SAFETY: the caller's obligations; both contexts live.
        unsafe { functions.cuMemcpyPeerAsync(to, there, from, here, bytes, self.raw) }
    }

    /// Queues a copy from the host to the device.
    ///
    /// # Safety
    /// - `from` is valid for reads of `bytes` bytes until the work is done, and nobody writes them until then.
    /// - The device's range lies inside memory of the context that lives until the work is done.
    /// - What else uses that memory is ordered before or after the work.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn copy_from_host(
        &self,
        to: DeviceAddress,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), Error> {
        let _current = self.context.enter()?;
        let functions = self.context.functions();
        // SAFETY: the caller's obligations.
        unsafe { functions.cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, self.raw) }
    }

    /// Queues a copy from the device to the host.
    ///
    /// # Safety
    /// - `to` is valid for writes of `bytes` bytes until the work is done, and nobody else uses them until then.
    /// - The device's range lies inside memory of the context that lives until the work is done.
    /// - What else uses that memory is ordered before or after the work.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        bytes: usize,
    ) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.context.functions().cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, self.raw) }
    }

    /// Queues a copy of rows from the host to the device.
    ///
    /// # Safety
    /// Those of [`copy_from_host`](Self::copy_from_host), for every row.
    ///
    /// # Errors
    /// What the driver answers: code 1 for a pitch above what it takes.
    pub unsafe fn copy_rows_from_host(
        &self,
        to: DeviceRows,
        from: *const u8,
        shape: RowsShape,
    ) -> Result<(), Error> {
        let host = RawCopySide::host(from.cast_mut(), shape);
        let copy = RawCopy2D::new(host, RawCopySide::device(to), shape);
        // SAFETY: the caller's obligations.
        unsafe { self.copy_2d(&copy) }
    }

    /// Queues a copy of rows from the device to the host.
    ///
    /// # Safety
    /// Those of [`copy_to_host`](Self::copy_to_host), for every row.
    ///
    /// # Errors
    /// What the driver answers: code 1 for a pitch above what it takes.
    pub unsafe fn copy_rows_to_host(
        &self,
        to: *mut u8,
        from: DeviceRows,
        shape: RowsShape,
    ) -> Result<(), Error> {
        let host = RawCopySide::host(to, shape);
        let copy = RawCopy2D::new(RawCopySide::device(from), host, shape);
        // SAFETY: the caller's obligations.
        unsafe { self.copy_2d(&copy) }
    }

    /// # Safety
    /// Both sides of the copy are memory as a copy of one row needs it.
    unsafe fn copy_2d(&self, copy: &RawCopy2D) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's obligation; the driver reads the description before it returns.
        unsafe { self.context.functions().cuMemcpy2DAsync_v2(copy, self.raw) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned
            && let Ok(_current) = self.context.enter()
        {
            // SAFETY: nobody has the stream any more. A failure is one of earlier work: nobody is left to tell.
            let _ = unsafe { self.context.functions().cuStreamDestroy_v2(self.raw) };
        }
    }
}

/// Where rows lie on the device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRows {
    /// The first row's first byte.
    pub address: DeviceAddress,
    /// Bytes from one row's start to the next's.
    pub pitch: usize,
}

/// How many rows of how many bytes, and how far they are apart on the host.
#[derive(Clone, Copy, Debug)]
pub struct RowsShape {
    /// Rows.
    pub count: usize,
    /// Bytes of a row.
    pub bytes: usize,
    /// Bytes from one row's start to the next's on the host.
    pub host_pitch: usize,
}

/// One side of a `CUDA_MEMCPY2D`.
#[repr(C)]
struct RawCopySide {
    x_in_bytes: usize,
    y: usize,
    /// A `CUmemorytype`; it says which of the three places counts.
    memory_type: u32,
    host: *mut c_void,
    device: DeviceAddress,
    array: *mut c_void,
    pitch: usize,
}

impl RawCopySide {
    const EMPTY: Self = RawCopySide {
        x_in_bytes: 0,
        y: 0,
        memory_type: 0,
        host: std::ptr::null_mut(),
        device: 0,
        array: std::ptr::null_mut(),
        pitch: 0,
    };

    fn host(host: *mut u8, shape: RowsShape) -> Self {
        RawCopySide { memory_type: 1, host: host.cast(), pitch: shape.host_pitch, ..Self::EMPTY }
    }

    fn device(rows: DeviceRows) -> Self {
        RawCopySide { memory_type: 2, device: rows.address, pitch: rows.pitch, ..Self::EMPTY }
    }
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
pub(crate) struct RawCopy2D {
    from: RawCopySide,
    to: RawCopySide,
    width_in_bytes: usize,
    height: usize,
}

impl RawCopy2D {
    fn new(from: RawCopySide, to: RawCopySide, shape: RowsShape) -> Self {
        RawCopy2D { from, to, width_in_bytes: shape.bytes, height: shape.count }
    }
}

// As cuda.h lays it out.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawCopySide>() == 56 && size_of::<RawCopy2D>() == 128);
