//! What gives memory back that a device has not allocated.

use super::Device;
use std::fmt;
use std::sync::{Mutex, PoisonError};

type Call = Box<dyn FnOnce(&Device) + Send>;

/// A function of other code, called once.
///
/// The mutex is there so that what holds a deleter can be shared between threads; nobody locks it.
pub(crate) struct Deleter(Mutex<Call>);

impl Deleter {
    pub fn new(call: impl FnOnce(&Device) + Send + 'static) -> Self {
        Deleter(Mutex::new(Box::new(call)))
    }

    pub fn call(self, device: &Device) {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)(device);
    }
}

impl fmt::Debug for Deleter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deleter")
    }
}
