//! Kernels that were loaded into a context.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use crate::{Context, Error, RawFunction, RawModule};

/// A loaded module. It is unloaded when the last clone of it and of its functions is gone.
#[derive(Clone, Debug)]
pub struct Module(Arc<Loaded>);

#[derive(Debug)]
struct Loaded {
    context: Context,
    raw: RawModule,
}

impl Module {
    /// Loads PTX, which the driver compiles for the device.
    ///
    /// # Errors
    /// What the driver answers: code 218 for text that is no PTX, 222 for PTX of a newer version.
    pub fn from_ptx(context: &Context, ptx: &str) -> Result<Self, Error> {
        // The driver reads up to the first zero byte; PTX has none, and what follows one would not be read.
        let text = ptx.split('\0').next().unwrap_or_default();
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: a text with a zero byte behind it.
        unsafe { Self::load(context, text.as_ptr().cast()) }
    }

    /// Loads machine code.
    ///
    /// # Safety
    /// `image` is a whole cubin or fat binary: the driver reads as far as its headers say.
    ///
    /// # Errors
    /// What the driver answers: code 209 for code of another architecture.
    pub unsafe fn from_image(context: &Context, image: &[u8]) -> Result<Self, Error> {
        // SAFETY: the caller's obligation.
        unsafe { Self::load(context, image.as_ptr().cast()) }
    }

    /// # Safety
    /// `image` is what the driver takes for one, to its end.
    unsafe fn load(context: &Context, image: *const c_void) -> Result<Self, Error> {
        let _current = context.enter()?;
        let mut raw = RawModule::NULL;
        // SAFETY: `raw` is a place for a module; the image is as the caller vouches.
        unsafe { context.functions().cuModuleLoadData(&mut raw, image) }?;
        Ok(Module(Arc::new(Loaded { context: context.clone(), raw })))
    }

    /// A kernel of that name.
    ///
    /// # Errors
    /// What the driver answers: code 500 if there is none.
    pub fn function(&self, name: &str) -> Result<Function, Error> {
        const FUNCTION: &str = "cuModuleGetFunction";
        const NOT_FOUND: u32 = 500;
        let Loaded { context, raw } = &*self.0;
        // No kernel has a zero byte in its name.
        let name = CString::new(name).map_err(|_| Error::call(FUNCTION, NOT_FOUND))?;
        let _current = context.enter()?;
        let mut found = RawFunction::NULL;
        // SAFETY: `found` is a place for a function; the module lives; the name ends in a zero byte.
        unsafe { context.functions().cuModuleGetFunction(&mut found, *raw, name.as_ptr()) }?;
        Ok(Function { module: self.clone(), raw: found })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: nobody has the module or a function of it any more. A failure is one of earlier work: nobody is
            // left to tell.
            let _ = unsafe { self.context.functions().cuModuleUnload(self.raw) };
        }
    }
}

/// A kernel of a module, which stays loaded as long as this lives.
///
/// Work that was queued may run longer: wait for it before the last one is dropped.
#[derive(Clone, Debug)]
pub struct Function {
    module: Module,
    raw: RawFunction,
}

/// What can be asked of a kernel, or told it: a `CUfunction_attribute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionAttribute(pub u32);

#[allow(missing_docs, reason = "the names are those of cuda.h")]
impl FunctionAttribute {
    pub const SHARED_SIZE_BYTES: Self = FunctionAttribute(1);
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: Self = FunctionAttribute(8);
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: Self = FunctionAttribute(9);
}

impl Function {
    /// The context that it is loaded into.
    pub fn context(&self) -> &Context {
        &self.module.0.context
    }

    /// The driver's name for it.
    pub fn as_raw(&self) -> RawFunction {
        self.raw
    }

    /// An attribute's value.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<i32, Error> {
        let _current = self.context().enter()?;
        let mut value = 0;
        let functions = self.context().functions();
        // SAFETY: `value` is a place for an integer; the function's module is loaded.
        unsafe { functions.cuFuncGetAttribute(&mut value, attribute.0, self.raw) }?;
        Ok(value)
    }

    /// Gives an attribute a value, for the launches from now on.
    ///
    /// # Errors
    /// What the driver answers: code 1 for a value that the attribute does not take.
    pub fn set_attribute(&self, attribute: FunctionAttribute, value: i32) -> Result<(), Error> {
        let _current = self.context().enter()?;
        // SAFETY: the function's module is loaded.
        unsafe { self.context().functions().cuFuncSetAttribute(self.raw, attribute.0, value) }
    }

    /// How many blocks of `threads` threads, with that many bytes of dynamic shared memory each, a multiprocessor runs
    /// at a time if it runs nothing else.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<u32, Error> {
        let _current = self.context().enter()?;
        let (mut blocks, threads) = (0, i32::try_from(threads).unwrap_or(i32::MAX));
        let functions = self.context().functions();
        // SAFETY: `blocks` is a place for an integer; the function's module is loaded.
        unsafe {
            functions.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.raw,
                threads,
                dynamic_shared as usize,
            )
        }?;
        Ok(blocks.try_into().unwrap_or(0))
    }
}
