//! What a machine without a GPU has to be asked and told: whether there is memory, and how far the simulator is.

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use std::rc::Rc;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};
use transpose::Device;
use transpose::simt::{Options, Progress};
use transpose::simulator::{Launched, Observer};

/// Makes sure that there is memory for an array of so many bytes and its permutation, which a simulated device holds as well: a system
/// that has too little ends the program without a word.
///
/// # Errors
/// Less memory than that.
pub fn ensure_memory(device: &Device, bytes: usize) -> Result<()> {
    let needed = bytes as f64 * if device.is_gpu() { 2.0 } else { 4.0 };
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let limits = system.cgroup_limits();
    let left = limits.map_or(u64::MAX, |limits| limits.total_memory.saturating_sub(limits.rss));
    let free = system.available_memory().min(left) as f64;
    let gb = |bytes: f64| bytes / 1e9;
    ensure!(
        needed <= free,
        "{:.1} GB of host memory are needed, {:.1} GB are free",
        gb(needed),
        gb(free)
    );
    Ok(())
}

/// Runs `work` with a bar on standard error, seen at a terminal, of how far its launches are on a simulated device.
pub fn with_progress<R>(device: &Device, quiet: bool, work: impl FnOnce() -> R) -> R {
    if quiet || device.is_gpu() {
        return work();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent} %, {eta} left") {
        bar.set_style(style);
    }
    let done = device.observe(Rc::new(Watch(bar.clone())), work);
    bar.finish_and_clear();
    done
}

/// Moves a bar by the blocks that are done.
struct Watch(ProgressBar);

impl Observer for Watch {
    fn prepare(&self, options: &mut Options) {
        let bar = self.0.clone();
        options.progress = Some(Progress::new(move |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        }));
    }

    fn launched(&self, _: Launched) {}
}
