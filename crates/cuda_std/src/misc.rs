//! Debugging and profiling aids.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Stops in a debugger.
#[gpu_only]
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: suspends the kernel, nothing else.
    unsafe { asm!("brkpt;", options(nomem, nostack, preserves_flags)) }
}

/// Triggers the profiler event `counter`, 0 to 15; a larger number is a trap.
///
/// The instruction wants the number as an immediate, hence the list. The published
/// crate passes a register, which ptxas refuses.
#[gpu_only]
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    macro_rules! trigger {
        ($($number:literal)*) => {
            match counter {
                // SAFETY: counts an event, nothing else.
                $($number => unsafe {
                    asm!(concat!("pmevent ", $number, ";"), options(nomem, nostack, preserves_flags))
                },)*
                // SAFETY: ends the kernel with an error.
                _ => unsafe { core::arch::nvptx::trap() },
            }
        };
    }
    trigger!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
}

/// The multiprocessor's clock, in cycles.
#[gpu_only]
#[inline(always)]
pub fn clock() -> u64 {
    let cycles;
    // SAFETY: reads a register. Not `pure`: two reads differ.
    unsafe {
        asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nomem, nostack, preserves_flags))
    }
    cycles
}
