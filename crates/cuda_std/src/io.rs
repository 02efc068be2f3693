//! Assertions. They stop the kernel; nothing is printed (see the crate's page).

/// Stops the kernel with an error if the two values differ.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        if !($left == $right) {
            $crate::io::stop();
        }
    };
}

/// Stops the kernel with an error if the two values are equal.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        if $left == $right {
            $crate::io::stop();
        }
    };
}

/// Ends the kernel; the launch reports an error. Where the assertions end up.
#[doc(hidden)]
#[crate::gpu_only]
#[inline(always)]
pub fn stop() -> ! {
    // SAFETY: a trap has no preconditions.
    unsafe { core::arch::nvptx::trap() }
}
