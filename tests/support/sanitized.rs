//! The suite under a sanitizer, where a launch costs a thousand times as much: `sanitize.sh` of the bundle sets both variables.
//!
//! `TRANSPOSE_TESTS_SANITIZED` has tests repeat nothing for the sake of time, and plan as if a GPU had four multiprocessors: what is
//! sized by the chip is then as small as on the simulator, and reaches the same kernels. `TRANSPOSE_TESTS_SHARE=2/8` has a process check the
//! third of eight parts of each test's cases, the first being 0; those of all eight together are all.

use std::cell::Cell;
use transpose::Device;

/// Whether the tests run under a sanitizer.
pub fn is_sanitized() -> bool {
    std::env::var_os("TRANSPOSE_TESTS_SANITIZED").is_some()
}

/// Whether cases may be as large, and as often repeated, as they are worth on a GPU by itself.
pub fn takes_large(device: &Device) -> bool {
    device.is_gpu() && !is_sanitized()
}

/// The GPU, as tests are to plan for it.
pub(crate) fn as_tested(gpu: Device) -> Device {
    if !is_sanitized() {
        return gpu;
    }
    let mut facts = gpu.facts().clone();
    facts.multiprocessors = 4;
    gpu.with_facts(facts).expect("a GPU may be planned for as a smaller one")
}

/// Whether the next case is one that this process is to check: asked once a case, on the thread of the test.
pub fn is_ours() -> bool {
    thread_local! { static ASKED: Cell<u64> = const { Cell::new(0) } }
    let Ok(share) = std::env::var("TRANSPOSE_TESTS_SHARE") else { return true };
    let case = ASKED.get();
    ASKED.set(case + 1);
    let share =
        share.split_once('/').and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
    let (at, of): (u64, u64) = share.expect("TRANSPOSE_TESTS_SHARE is two numbers, as 2/8");
    // Scrambled, so that no part has all the cases of one element.
    crate::scramble(case as usize, 0) % of == at
}
