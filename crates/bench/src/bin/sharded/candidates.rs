//! Each kernel that can serve a piece, as all devices store theirs to the next device at once: which of them a link is fastest with.

use super::Shape;
use super::bounds::{Bounds, Rounds, median};
use super::content::Content;
use anyhow::{Context, Result};
use bench::program::Common;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use bench::{progress, with_element};
use bytemuck::Pod;
use transpose::{
    DeviceGroup, Layout, Plan, ShardedMatrix, Strategy, TensorLayout, TensorView, TensorViewMut,
};

const COLUMNS: [Column; 6] = [
    Column::number("rows", "rows", 6),
    Column::number("cols", "cols", 6),
    Column::number("element_bytes", "bytes", 2),
    Column::number("link_gb_s", "GB/s", 6),
    Column::number("of_peer", "of peer copies", 6),
    Column::text("plan", "plan", 0),
];

/// A way to move a piece.
enum Way {
    Matrix(Plan),
    Tensor(Plan),
}

impl Way {
    fn name(&self) -> String {
        let text = match self {
            Way::Matrix(plan) => plan.to_string(),
            Way::Tensor(plan) => plan.to_string(),
        };
        // What it is for, in front, is the same for all.
        text.split_once(": ").map_or(text.clone(), |(_, way)| way.to_owned())
    }

    /// The fraction of a copy's speed that the model expects.
    fn expected(&self) -> Option<f64> {
        let (Way::Matrix(plan) | Way::Tensor(plan)) = self;
        plan.expected()
    }

    fn run<T: Pod>(&self, src: TensorView<'_, T>, dst: TensorViewMut<'_, T>) -> Result<()> {
        match self {
            Way::Matrix(plan) => {
                let src = transpose::MatrixView::try_from(src.t())?;
                plan.run(src, transpose::MatrixViewMut::try_from(dst)?)?;
            }
            Way::Tensor(plan) => plan.run(src, dst)?,
        }
        Ok(())
    }
}

/// Measures the ways of each shape and element.
pub fn run(
    common: &Common,
    group: &DeviceGroup,
    shapes: &[Shape],
    elements: &[usize],
) -> Result<()> {
    let bar = progress::bar(common, shapes.len() * elements.len());
    let title = format!("what stores to the next of {} devices, verified", group.count());
    let mut report = Report::new(common, &group.devices()[0], title, &COLUMNS, &bar);
    let mut bars = Vec::new();
    for &shape in shapes {
        for &element in elements {
            with_element!(element, T => measure::<T>(group, shape, &mut report, &mut bars))?;
            bar.inc(1);
        }
    }
    let unit = match group.devices()[0].is_gpu() {
        true => "GB/s",
        // Nothing is timed.
        false => "of a copy's speed, as the model expects",
    };
    report.finish(|| Chart::new("Kernels that store to another device", unit, bars))
}

fn measure<T: Pod + PartialEq + Sync + Send>(
    group: &DeviceGroup,
    Shape { rows, cols }: Shape,
    report: &mut Report<'_>,
    bars: &mut Vec<Bar>,
) -> Result<()> {
    let mut src = ShardedMatrix::<T>::zeroed(group, rows, cols)?;
    let mut dst = ShardedMatrix::<T>::zeroed(group, cols, rows)?;
    Content::new(cols * size_of::<T>()).fill(src.as_tensor_mut())?;
    let devices = group.count();
    let least = |shares: &transpose::Shares| shares.lengths().min().unwrap_or(0);
    let (rows, cols) = (least(src.shares()), least(dst.shares()));
    // A device without rows or columns stores nothing.
    anyhow::ensure!(rows > 0 && cols > 0, "each of {devices} devices needs a row and a column");
    let bytes = rows * cols * size_of::<T>();
    let ld = [src.ncols(), dst.ncols()];
    let facts = group.devices()[0].facts();
    let from = TensorLayout::strided(&[cols, rows], &[1, ld[0] as isize], 0, size_of::<T>())?;
    let to = TensorLayout::strided(&[cols, rows], &[ld[1] as isize, 1], 0, size_of::<T>())?;
    let layouts = (
        Layout::new(rows, cols, ld[0], size_of::<T>())?,
        Layout::new(cols, rows, ld[1], size_of::<T>())?,
    );
    let matrix = Plan::for_layouts(size_of::<T>(), layouts.0, layouts.1, Strategy::Auto, facts)?;
    let mut ways = vec![Way::Matrix(matrix)];
    let tensor = Plan::moving_candidates_for_layouts(size_of::<T>(), &from, &to, facts)?;
    ways.extend(tensor.into_iter().map(Way::Tensor));
    let bounds = Bounds::to_next(src.as_tensor(), dst.as_tensor_mut(), bytes)?;
    let rounds = Rounds::new(group, bytes as u64, 1);
    let peer = rounds.peer(&bounds)?;
    for (number, way) in ways.into_iter().enumerate() {
        for device in 0..devices {
            dst.as_tensor_mut().shard_mut(device).context("a device")?.fill(T::zeroed())?;
        }
        let all = || {
            for device in 0..devices {
                let next = (device + 1) % devices;
                let on = &group.devices()[device];
                let [source, target] = [src.as_tensor().shard(device), dst.as_tensor().shard(next)];
                let address = target.context("a device")?.device_address();
                let source = source.context("a device")?;
                let len = dst.shares().range(next).len() * ld[1];
                if len < (cols - 1) * ld[1] + rows || source.len() < (rows - 1) * ld[0] + cols {
                    continue;
                }
                // SAFETY: the elements live longer than the race; the device reaches the next one's memory; each device writes to another
                // memory; all is waited for before anything else uses it.
                let place = unsafe { TensorViewMut::<T>::from_raw_parts(on, address, len, to)? };
                // SAFETY: the shard's elements live, and nobody writes them.
                let part = unsafe {
                    TensorView::<T>::from_raw_parts(
                        on,
                        source.device_address(),
                        source.len(),
                        from,
                    )?
                };
                way.run(part, place)?;
            }
            Ok(())
        };
        let mut times = Vec::new();
        for _ in 0..3 {
            times.push(rounds.timed(&bounds, &mut || all())?);
        }
        let seconds = median(times);
        // The first device's piece, against its source.
        let next = 1 % devices;
        let [sent, arrived] = [src.as_tensor().shard(0), dst.as_tensor().shard(next)];
        let sent = sent.context("a device")?.slice(0, ..rows, 1)?.slice(1, ..cols, 1)?;
        let sent = sent.permute_axes(&[1, 0])?.to_host()?;
        let arrived =
            arrived.context("a device")?.slice(0, ..cols, 1)?.slice(1, ..rows, 1)?.to_host()?;
        anyhow::ensure!(sent == arrived, "{} moved something else", way.name());
        let is_gpu = group.devices()[0].is_gpu();
        let speed = Some(bytes as f64 / seconds / 1e9).filter(|_| is_gpu);
        let of_peer = peer.map(|peer| peer / seconds);
        if let Some(length) = speed.or(way.expected()) {
            let name = way.name();
            let kernel = name.split(" on ").next().unwrap_or_default();
            let label = format!("{rows} × {cols}, {number}: {kernel}");
            bars.push(Bar::plain(label, format!("{} bytes", size_of::<T>()), length));
        }
        report.row(vec![
            rows.into(),
            cols.into(),
            size_of::<T>().into(),
            Cell::speed(speed),
            Cell::fraction(of_peer),
            way.name().into(),
        ]);
    }
    Ok(())
}
