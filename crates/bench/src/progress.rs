//! A progress bar on standard error, seen only by those who sit at a terminal.

use crate::program::Common;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;
use transpose::simt::Progress;

/// Steps of a bar for each launch whose blocks move it.
pub const BLOCK_STEPS: usize = 1000;

/// A bar of `steps` steps, with the time that is left.
pub fn bar(common: &Common, steps: usize) -> ProgressBar {
    if common.quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
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
