//! Images as the simulator runs them: parsed once per process and kept for its life, as the images themselves are.

use crate::Result;
use crate::image::Image;
use crate::kernels::images;
use simt::Module;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The modules by the addresses of their images.
fn modules() -> MutexGuard<'static, BTreeMap<usize, &'static Module>> {
    static MODULES: Mutex<BTreeMap<usize, &'static Module>> = Mutex::new(BTreeMap::new());
    MODULES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module of an image.
pub(crate) fn module(image: &'static Image) -> Result<&'static Module> {
    let (mut modules, key) = (modules(), std::ptr::from_ref(image).addr());
    if let Some(module) = modules.get(&key) {
        return Ok(module);
    }
    let damaged = || simt::Error::Syntax { line: 1, what: format!("{} is damaged", image.name()) };
    let ptx = image.whole_ptx().ok_or_else(damaged)?;
    let module = Box::leak(Box::new(Module::parse(&ptx)?));
    modules.insert(key, module);
    Ok(module)
}

/// Has every simulated device of this process run the kernels of `ptx`, from the next launch on, in the place of those of the library's
/// image of that name: for trying code that does not ship. Says whether there is such an image.
///
/// # Errors
/// [`Error::Simulator`](crate::Error::Simulator) for PTX that cannot be read.
#[doc(hidden)]
pub fn run_instead(name: &str, ptx: &str) -> Result<bool> {
    let Some(image) = images().find(|image| image.name() == name) else { return Ok(false) };
    let module = Box::leak(Box::new(Module::parse(ptx)?));
    modules().insert(std::ptr::from_ref(image).addr(), module);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_image_is_said_to_be() {
        static DAMAGED: Image = Image::packed("mine", &[1, 2, 3], &[]);
        let error = module(&DAMAGED).unwrap_err().to_string();
        assert!(error.contains("mine is damaged"), "{error}");
    }

    #[test]
    fn the_last_code_is_what_runs() {
        let image = images().next().expect("the library has kernels");
        let of_hopper = image.ptx().replace(".target sm_70", ".target sm_90");
        assert_eq!(module(image).unwrap().target(), "sm_70");
        assert!(run_instead(image.name(), &of_hopper).unwrap());
        assert_eq!(module(image).unwrap().target(), "sm_90");
        assert!(!run_instead("none", &of_hopper).unwrap());
        assert!(run_instead(image.name(), "nothing").is_err());
    }
}
