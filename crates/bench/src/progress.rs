//! A progress bar on standard error, seen only by those who sit at a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use transpose::simt::Progress;

/// Steps of a bar for each launch whose blocks move it.
pub const BLOCK_STEPS: usize = 1000;

/// A bar of `steps` steps.
pub fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// What moves a bar during launch number `index` by the blocks that are done.
pub fn by_blocks(bar: &ProgressBar, index: usize, name: &'static str) -> Progress {
    let (bar, steps) = (bar.clone(), BLOCK_STEPS as u64);
    bar.set_message(name);
    bar.set_position(index as u64 * steps);
    Progress::new(move |done, total| {
        bar.set_position(index as u64 * steps + done * steps / total.max(1));
    })
}
