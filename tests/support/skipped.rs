//! Says at the end of a program of tests how many of them did without a GPU, and why.
//!
//! A test cannot tell its harness, when it runs, that it was skipped: it counts as `ok`. So the program says it as its last words.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use transpose::Error;

static SKIPPED: AtomicUsize = AtomicUsize::new(0);
static REASON: OnceLock<String> = OnceLock::new();

/// Counts a test that is skipped.
pub(crate) fn count(reason: &Error) {
    if SKIPPED.fetch_add(1, Ordering::Relaxed) == 0 {
        let _ = REASON.set(reason.to_string());
        // SAFETY: `tell` may run when the program ends: it does not unwind, and uses nothing that is thread-local.
        unsafe { libc::atexit(tell) };
    }
}

extern "C" fn tell() {
    let count = SKIPPED.load(Ordering::Relaxed);
    let reason = REASON.get().map_or("", String::as_str);
    let said = format!("{count} of these tests were skipped on a GPU: {reason}\n");
    // SAFETY: the bytes are there. What cannot be said is not said.
    unsafe { libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len()) };
}
