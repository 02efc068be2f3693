//! Watching what a thread launches on a simulated device.
//!
//! The simulator runs a launch to its end on the thread that asks for it. So what a piece of a program launches is well defined: an
//! observer is in place from the start of that piece to its end, however it ends, and for the thread that runs it.
//! [`Device::observe`](crate::Device::observe) puts one in place.

mod modules;

pub(crate) use modules::module;
#[doc(hidden)]
pub use modules::run_instead;

use simt::{Kernel, Options, Report};
use std::cell::RefCell;
use std::rc::Rc;

/// Who wants to know what is launched, and what each launch did.
pub trait Observer {
    /// Says what the simulator reports of a launch besides running it. Called before each launch; `options` are the device's own,
    /// which check what the device was created to check, and count and trace nothing.
    fn prepare(&self, options: &mut Options) {
        let _ = options;
    }

    /// The kernel that is to run in place of `kernel`, with the same parameters: that one itself unless it is to be broken on purpose.
    fn replace(&self, kernel: &'static Kernel) -> &'static Kernel {
        kernel
    }

    /// Takes what came of a launch. Not called for one that failed: its error is what came of it.
    fn launched(&self, launch: Launched);
}

/// One launch of a kernel on a simulated device, and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launched {
    /// The kernel's name in the PTX.
    pub kernel: &'static str,
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// What was counted and traced. It has no findings: those are errors of the launch.
    pub report: Report,
    /// The kernel as the simulator runs it.
    pub code: &'static Kernel,
}

/// Tells simulated devices apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceId(pub usize);

thread_local! {
    /// The observers of this thread and what they observe, the innermost last.
    static OBSERVERS: RefCell<Vec<(DeviceId, Rc<dyn Observer>)>> = const { RefCell::new(Vec::new()) };
}

/// The calling thread's innermost observer of a device.
pub(crate) fn observer(device: DeviceId) -> Option<Rc<dyn Observer>> {
    OBSERVERS.with_borrow(|observers| {
        let innermost = observers.iter().rev().find(|(observed, _)| *observed == device);
        innermost.map(|(_, observer)| Rc::clone(observer))
    })
}

/// Runs `work`, and shows `observer` what this thread launches on the device meanwhile.
pub(crate) fn observe<R>(
    device: DeviceId,
    observer: Rc<dyn Observer>,
    work: impl FnOnce() -> R,
) -> R {
    /// Takes the innermost observer away when `work` returns or unwinds.
    struct Watch;

    impl Drop for Watch {
        fn drop(&mut self) {
            // Out of the list first: whatever the observer's own end does may look at the list.
            let ended = OBSERVERS.with_borrow_mut(Vec::pop);
            drop(ended);
        }
    }

    OBSERVERS.with_borrow_mut(|observers| observers.push((device, observer)));
    let _until_the_end = Watch;
    work()
}
