//! What would be chosen for an array whose axes are to be brought into another order, and why.

use anyhow::{Result, ensure};
use bench::moves::Move;
use bench::program::{Common, usage};
use bench::svg::{Bar, Chart};
use bench::sweep::what;
use bench::table::{Cell, Column, Report};
use indicatif::ProgressBar;
use transpose::{Device, Plan, TensorLayout};

const COLUMNS: [Column; 4] = [
    Column::number("way", "way", 0),
    Column::text("kernels", "kernels", 14),
    Column::number("expected_of_copy", "expected,\nof a copy's speed", 0),
    Column::text("what", "how", 0),
];

/// The way that the library takes, which is the one that its model expects most of, and the others.
pub fn choice(
    common: &Common,
    device: &Device,
    shape: &[usize],
    axes: &[usize],
    element: usize,
) -> Result<()> {
    ensure!(
        !shape.contains(&0),
        usage(format!("an array of {shape:?} is empty: nothing is launched"))
    );
    let src = TensorLayout::contiguous(shape, element).and_then(|src| src.permute_axes(axes));
    let src = src.map_err(|error| usage(error.to_string()))?;
    let dst = TensorLayout::contiguous(src.shape(), element)?;
    let plans = Plan::moving_candidates_for_layouts(element, &src, &dst, device.facts())
        .map_err(|error| usage(error.to_string()))?;
    let bound = Move::new(element, &src, &dst)?.bound();
    let bar = ProgressBar::hidden();
    let lengths: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let name = format!("{} elements of {element} bytes, axes to {axes:?}", lengths.join(" × "));
    let title = format!(
        "{name}: the first way is taken, of which the model expects most; the sectors allow {bound:.3} of a copy's speed"
    );
    let mut report = Report::new(common, device, title, &COLUMNS, &bar);
    let mut bars = Vec::new();
    for (way, plan) in plans.iter().enumerate() {
        let mut kernels = plan.kernel_names();
        kernels.dedup();
        let kernels = if kernels.is_empty() { "memcpy".to_owned() } else { kernels.join("+") };
        let label = format!("{way}: {kernels}");
        bars.extend(plan.expected().map(|expected| Bar::plain(label, "expected", expected)));
        let expected = Cell::fraction(plan.expected());
        report.row(vec![way.into(), kernels.into(), expected, what(plan).into()]);
    }
    report.finish(|| Chart::new(name, "of a copy's speed, expected", bars))
}
