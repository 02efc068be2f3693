//! A progress bar on standard error, seen only by those who sit at a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `steps` steps.
pub fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta} {msg}") {
        bar.set_style(style);
    }
    bar
}
