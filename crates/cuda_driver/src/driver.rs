//! The driver itself: what there is before any device.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::functions::{
    Functions, GraphFunctions, LaunchFunctions, PoolFunctions, SharedFunctions,
};
use crate::handle::{DeviceAddress, RawContext, RawDevice, RawStream};
use crate::{Device, DriverVersion, Error, library};

/// A driver that has been initialised and has every function that this crate needs.
pub struct Driver {
    pub(crate) functions: Functions,
    /// `None` in drivers before CUDA 11.2.
    pub(crate) pools: Option<PoolFunctions>,
    /// `None` on systems whose driver does not share memory between processes.
    pub(crate) shared: Option<SharedFunctions>,
    /// `None` in drivers before CUDA 11.8.
    pub(crate) launches: Option<LaunchFunctions>,
    /// `None` in drivers before CUDA 11.4.
    pub(crate) graphs: Option<GraphFunctions>,
}

impl Driver {
    /// The driver of this machine. The first call opens it and looks its functions up.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] with each name tried and the dynamic loader's message,
    /// [`Error::NotADriver`], [`Error::UnsupportedTarget`], or [`Error::Call`] with the answer of
    /// a `cuInit` that failed: 100 where no GPU is visible, 34 for a toolkit's stub library.
    pub fn get() -> Result<&'static Driver, Error> {
        let driver = Self::opened()?;
        // SAFETY: 0 is the one permitted flag; the function may be called again and at any time.
        unsafe { driver.functions.cuInit(0) }?;
        Ok(driver)
    }

    /// The driver, initialised or not.
    pub(crate) fn opened() -> Result<&'static Driver, Error> {
        static DRIVER: OnceLock<Result<Driver, Error>> = OnceLock::new();
        DRIVER.get_or_init(Self::look_up).as_ref().map_err(Error::clone)
    }

    fn look_up() -> Result<Driver, Error> {
        let library = library::open().map_err(Error::clone)?;
        let lacks = |symbol| Error::NotADriver { library: library.name.clone(), symbol };
        Ok(Driver {
            functions: Functions::of(library).map_err(lacks)?,
            pools: PoolFunctions::of(library).ok(),
            shared: SharedFunctions::of(library).ok(),
            launches: LaunchFunctions::of(library).ok(),
            graphs: GraphFunctions::of(library).ok(),
        })
    }

    /// The newest version of CUDA that the driver supports.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn version(&self) -> Result<DriverVersion, Error> {
        let mut version = 0;
        // SAFETY: `version` is a place for an integer; the function needs no `cuInit`.
        unsafe { self.functions.cuDriverGetVersion(&mut version) }?;
        Ok(DriverVersion::decode(version))
    }

    /// The context that a stream is of.
    ///
    /// # Safety
    /// The stream lives, or is a default one.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn context_of_stream(&self, stream: RawStream) -> Result<RawContext, Error> {
        let mut context = RawContext::NULL;
        // SAFETY: `context` is a place for a context; the rest is the caller's obligation.
        unsafe { self.functions.cuStreamGetCtx(stream, &mut context) }?;
        Ok(context)
    }

    /// The context that memory was allocated in; null for memory of a pool, which is in none.
    ///
    /// # Errors
    /// What the driver answers: code 1 for an address that it does not know.
    pub fn context_of_memory(&self, address: DeviceAddress) -> Result<RawContext, Error> {
        const CONTEXT: u32 = 1; // CU_POINTER_ATTRIBUTE_CONTEXT
        let mut context = RawContext::NULL;
        let place = (&raw mut context).cast::<c_void>();
        // SAFETY: `context` is a place for a context, which that attribute is; the address is only looked up.
        unsafe { self.functions.cuPointerGetAttribute(place, CONTEXT, address) }?;
        Ok(context)
    }

    /// The ordinal of the GPU whose memory an address is in.
    ///
    /// # Errors
    /// What the driver answers: code 1 for an address that it does not know.
    pub fn ordinal_of_memory(&self, address: DeviceAddress) -> Result<u32, Error> {
        const DEVICE_ORDINAL: u32 = 9; // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        let mut ordinal: i32 = 0;
        let place = (&raw mut ordinal).cast::<c_void>();
        // SAFETY: `ordinal` is a place for an integer, which that attribute is; the address is only looked up.
        unsafe { self.functions.cuPointerGetAttribute(place, DEVICE_ORDINAL, address) }?;
        Ok(ordinal.try_into().unwrap_or(u32::MAX))
    }

    /// The number of GPUs.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn device_count(&self) -> Result<u32, Error> {
        let mut count = 0;
        // SAFETY: `count` is a place for an integer.
        unsafe { self.functions.cuDeviceGetCount(&mut count) }?;
        Ok(count.try_into().unwrap_or(0))
    }

    /// The GPU of that ordinal, counted from zero.
    ///
    /// # Errors
    /// [`Error::Call`] with code 101 if there is none.
    pub fn device(&'static self, ordinal: u32) -> Result<Device, Error> {
        let mut raw = RawDevice(0);
        // An ordinal beyond what the driver's integer holds is one that no device has.
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        // SAFETY: `raw` is a place for a device.
        unsafe { self.functions.cuDeviceGet(&mut raw, ordinal) }?;
        Ok(Device { driver: self, raw })
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
