//! The kernels in use so far, and the modules that they come from.

use super::function::Function;
use crate::Result;
use crate::image::{EntryPoint, Image, MachineCode};
use crate::launch::Launch;
use cuda_driver::{Context, Module};
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether a kernel has the L2 cache keep what it loads.
type EvictLast = bool;

/// Whether a module's kernels wait by themselves for the launches before theirs.
type Waits = bool;

/// The driver's answers to machine code that will not do however often it is loaded, by their names without `CUDA_ERROR_`. Any other,
/// as for want of memory, says nothing about the code: PTX, which is slower, is kept as long as the device.
const UNFIT: [u32; 5] = [
    200, // INVALID_IMAGE: a format of a later assembler
    209, // NO_BINARY_FOR_GPU: for another chip
    218, // INVALID_PTX: said of whatever kind of image
    222, // UNSUPPORTED_PTX_VERSION: of a later toolkit
    300, // INVALID_SOURCE: said of whatever kind of image
];

/// What loads kernels, an image at a time, and keeps them.
pub(super) struct Kernels {
    context: Context,
    /// The compute capability, major and minor.
    capability: (i32, i32),
    /// Shared memory that one block may have, in bytes.
    block_shared: usize,
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    functions: HashMap<(EntryPoint, EvictLast), Arc<Function>>,
    /// By the image's address.
    modules: HashMap<(usize, EvictLast), (Module, Waits)>,
}

impl Kernels {
    pub fn new(context: &Context, capability: (i32, i32), block_shared: usize) -> Self {
        Kernels { context: context.clone(), capability, block_shared, loaded: Mutex::default() }
    }

    /// A launch's kernel; the first of an image loads the image.
    pub fn function(&self, launch: &Launch) -> Result<Arc<Function>> {
        let entry = launch.entry;
        let code = entry.image.code(self.capability, launch.evict_last);
        let evict_last = code.is_some_and(|code| code.evict_last);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let Loaded { functions, modules } = &mut *loaded;
        if let Some(function) = functions.get(&(entry, evict_last)) {
            return Ok(function.clone());
        }
        let (module, waits) =
            match modules.entry((std::ptr::from_ref(entry.image).addr(), evict_last)) {
                Occupied(loaded) => loaded.into_mut(),
                Vacant(slot) => slot.insert(self.load(entry.image, code)?),
            };
        let found = module.function(entry.name)?;
        let function = Arc::new(Function::new(found, *waits, self.block_shared)?);
        functions.insert((entry, evict_last), function.clone());
        Ok(function)
    }

    /// Loads an image: its machine code for this chip if there is some, else its PTX, which the driver compiles. That
    /// is also the way out if the machine code does not fit the driver, as one older than the assembler.
    fn load(&self, image: &Image, code: Option<&MachineCode>) -> Result<(Module, Waits)> {
        if let Some((file, waits)) = code.and_then(|code| Some((code.expanded()?, code.waits))) {
            // SAFETY: a whole cubin, as the assembler made it: what it was compressed into is of the length
            // that was written down with it.
            match unsafe { Module::from_image(&self.context, &file) } {
                Err(error) if error.code().is_some_and(|code| UNFIT.contains(&code)) => {}
                loaded => return Ok((loaded?, waits)),
            }
        }
        Ok((Module::from_ptx(&self.context, &image.ptx())?, false))
    }
}
