//! Progress bars on standard error, with the time that is left: for those who sit at a terminal, and for what takes longer than two seconds.

use crate::program::Setting;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::rc::Rc;
use std::thread;
use std::time::Duration;
use transpose::Device;
use transpose::simt::{Options, Progress};
use transpose::simulator::{Launched, Observer};

/// Steps of a bar for each launch whose blocks move it.
pub const BLOCK_STEPS: usize = 1000;

/// What takes no longer has no bar.
const LONG: Duration = Duration::from_secs(2);

/// A bar of `steps` steps, with the time that is left.
pub fn bar(setting: &impl AsRef<Setting>, steps: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left {msg}") {
        bar.set_style(style);
    }
    if !setting.as_ref().quiet {
        show_after(LONG, &bar, ProgressDrawTarget::stderr);
    }
    bar
}

/// A bar that is full at `bytes` bytes, with the bytes per second and the time that is left.
pub fn bytes(setting: &impl AsRef<Setting>, bytes: u64) -> ProgressBar {
    let bar = bar(setting, bytes as usize);
    let template =
        "{wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Shows a bar that is not finished by then.
fn show_after(
    delay: Duration,
    bar: &ProgressBar,
    target: impl FnOnce() -> ProgressDrawTarget + Send + 'static,
) -> Option<thread::JoinHandle<()>> {
    let bar = bar.downgrade();
    let show = move || {
        thread::sleep(delay);
        if let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(target());
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    };
    // Where the system has no thread to give, the work goes on without a bar.
    thread::Builder::new().spawn(show).ok()
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

/// Runs `work`, of which each launch on a simulated device moves the bar from its start to its end.
pub fn during<R>(bar: &ProgressBar, device: &Device, work: impl FnOnce() -> R) -> R {
    device.observe(Rc::new(Watch(bar.clone())), work)
}

/// Moves a bar by the blocks of launches.
struct Watch(ProgressBar);

impl Observer for Watch {
    fn prepare(&self, options: &mut Options) {
        options.progress = Some(by_blocks(&self.0, 0, ""));
    }

    fn launched(&self, _: Launched) {}
}

#[cfg(test)]
mod tests {
    use super::show_after;
    use indicatif::{InMemoryTerm, ProgressBar, ProgressDrawTarget};
    use std::thread;
    use std::time::Duration;

    /// What a terminal shows of a bar after `delay`, in which the bar is finished or not.
    fn shown(is_finished: bool, delay: Duration) -> String {
        let terminal = InMemoryTerm::new(4, 40);
        let bar = ProgressBar::with_draw_target(Some(3), ProgressDrawTarget::hidden());
        let seen = terminal.clone();
        bar.inc(1);
        if is_finished {
            bar.finish_and_clear();
        }
        let target = move || ProgressDrawTarget::term_like(Box::new(seen));
        show_after(delay, &bar, target).unwrap().join().unwrap();
        // A bar that ticks by itself is drawn by a thread of its own, which may not have come to it yet.
        let drawn = || Some(terminal.contents()).filter(|contents| !contents.is_empty());
        let patience = if is_finished { 1 } else { 100 };
        let contents = (0..patience).find_map(|_| {
            thread::sleep(Duration::from_millis(50));
            drawn()
        });
        bar.finish_and_clear();
        contents.unwrap_or_default()
    }

    #[test]
    fn bars_are_for_what_takes_long() {
        assert!(shown(false, Duration::ZERO).contains("1/3"));
        assert_eq!(shown(true, Duration::ZERO), "");
    }

    #[test]
    fn a_bar_that_is_gone_is_not_waited_for() {
        let bar = ProgressBar::hidden();
        let later = show_after(Duration::from_millis(200), &bar, || panic!("for nobody")).unwrap();
        drop(bar);
        later.join().unwrap();
    }
}
