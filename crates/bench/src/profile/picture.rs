//! Which thread of a block touches which address and bank, as SVG.
//!
//! For each way that the block touches memory (loads and stores of global and shared memory) there is
//! one picture of a single request, lanes above and the banks or sectors they touch below, and
//! one map of all that the block touches: a cell for each access, coloured by warp, darker with
//! the lane, with the number of the thread where there is room for it.

use super::{Line, Profile};
use crate::output::today;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use transpose::simt::banks::{BankModel, bank_cost};
use transpose::simt::coalesce::{CoalesceModel, coalesce};
use transpose::simt::{LaneAccess, Motion, Space, Trace, TraceEvent};

/// The width of a request and of a map.
const WIDTH: f64 = 512.0;
/// Room for labels left of a map, and for the gap right of it.
const LABELS: f64 = 62.0;
const GAP: f64 = 26.0;
/// The heights of the page's title, of a request with its captions, and of a map's row.
const TITLE: f64 = 44.0;
const REQUEST: f64 = 158.0;
const ROW: f64 = 13.0;
/// The bytes of a row of shared memory: every bank once.
const BANK_ROW: u64 = 128;
/// The most bytes in a row of a map of global memory, and a gap that starts a new row.
const GLOBAL_ROW: u64 = 512;
const GLOBAL_GAP: u64 = 256;
/// The most rows of a map.
const ROWS: usize = 64;

/// Draws the traced block of the only kernel of a profile.
///
/// # Errors
/// Several kernels, or none that touched memory.
pub fn draw(profile: &Profile) -> Result<String> {
    let name = profile.kernels.first().context("nothing was launched")?.name;
    ensure!(
        profile.kernels.iter().all(|line| line.name == name),
        "a picture shows one kernel: name it with --kernel"
    );
    let (line, trace) = profile
        .kernels
        .iter()
        .find_map(|line| Some((line, line.launch.report.trace.as_ref()?)))
        .context("the launch has no such block")?;
    let groups = groups(trace);
    ensure!(
        !groups.is_empty(),
        "block {:?} touches no memory: the launch has {} blocks",
        trace.block,
        line.launch.report.blocks
    );
    let maps: Vec<Map> = groups.iter().map(|group| Map::of(group)).collect();
    let mut body = String::new();
    let mut top = TITLE;
    for (groups, maps) in groups.chunks(2).zip(maps.chunks(2)) {
        for (column, (group, map)) in groups.iter().zip(maps).enumerate() {
            let left = LABELS + column as f64 * (WIDTH + LABELS + GAP);
            request(&mut body, group, (left, top));
            map.draw(&mut body, (left, top + REQUEST));
        }
        top += REQUEST + maps.iter().map(Map::height).fold(0.0, f64::max) + GAP;
    }
    Ok(page(&title(profile, line, trace), &body, top))
}

fn title(profile: &Profile, line: &Line, trace: &Trace) -> String {
    let (shape, launch) = (profile.shape, &line.launch);
    let [x, y, z] = trace.block;
    let [threads_x, threads_y, _] = launch.block;
    format!(
        "{} ({}): block ({x}, {y}, {z}) of {threads_x} × {threads_y} threads; \
         made for {} × {} elements of {} bytes; the simulator, {}",
        line.name,
        launch.kernel,
        shape.rows,
        shape.cols,
        shape.element_bytes,
        today()
    )
}

fn page(title: &str, body: &str, height: f64) -> String {
    let width = 2.0 * (LABELS + WIDTH + GAP);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\">{title}</text>\n{body}</svg>\n"
    )
}

/// The block's accesses, by space and motion, in the order in which each kind first happened.
fn groups(trace: &Trace) -> Vec<Vec<&TraceEvent>> {
    let mut groups: Vec<Vec<&TraceEvent>> = Vec::new();
    for event in trace.events.iter().filter(|event| !event.lanes.is_empty()) {
        let alike = |group: &&mut Vec<&TraceEvent>| {
            (group[0].space, group[0].motion) == (event.space, event.motion)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(event),
            None => groups.push(vec![event]),
        }
    }
    groups
}

/// A request: 32 lanes, and what they touch.
fn request(svg: &mut String, group: &[&TraceEvent], (left, top): (f64, f64)) {
    let event = group[0];
    let motion = match event.motion {
        Motion::Load => "load from",
        Motion::Store => "store to",
        Motion::Atomic => "atomic on",
    };
    let heading = format!(
        "{motion} {} memory: {} requests of the block; the first, PTX line {}:",
        event.space,
        group.len(),
        event.line
    );
    text(svg, (left, top + 12.0), "start", 12.0, &heading);
    let targets = targets(event);
    let (lanes_y, targets_y) = (top + 22.0, top + 106.0);
    let box_width = WIDTH / 32.0;
    let middle = |index: usize| left + (index as f64 + 0.5) * box_width;
    for lane in 0..32 {
        let active = event.lanes.iter().any(|access| access.lane == lane as u32);
        let fill = if active { colour(event.warp, lane as u32) } else { "#ffffff".to_owned() };
        cell(svg, (middle(lane) - box_width / 2.0, lanes_y), (box_width, 14.0), &fill, "");
        text(svg, (middle(lane), lanes_y + 10.0), "middle", 8.0, &lane.to_string());
    }
    for (index, label) in targets.labels.iter().enumerate() {
        let corner = (middle(index) - box_width / 2.0, targets_y);
        cell(svg, corner, (box_width, 14.0), "#eeeeee", "");
        text(svg, (middle(index), targets_y + 10.0), "middle", 8.0, label);
    }
    for &(lane, target, crowded) in &targets.lines {
        let stroke = if crowded { "#c0392b" } else { "#4a6fa5" };
        _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{targets_y}\" stroke=\"{stroke}\" \
             stroke-width=\"0.8\"/>",
            middle(lane),
            lanes_y + 14.0,
            middle(target)
        );
    }
    text(svg, (left - 6.0, lanes_y + 10.0), "end", 9.0, "lane");
    text(svg, (left - 6.0, targets_y + 10.0), "end", 9.0, targets.what);
    text(svg, (left, targets_y + 30.0), "start", 11.0, &targets.caption);
}

/// What the lanes of a request touch: boxes with labels, and lines from lanes to boxes, each
/// with whether it has to wait for another.
struct Targets {
    what: &'static str,
    labels: Vec<String>,
    lines: Vec<(usize, usize, bool)>,
    caption: String,
}

fn targets(event: &TraceEvent) -> Targets {
    let mut addresses = [0; 32];
    let mut mask = 0u32;
    for access in &event.lanes {
        addresses[access.lane as usize] = access.address;
        mask |= 1 << access.lane;
    }
    match event.space {
        Space::Shared => banks(event, &addresses, mask),
        _ => sectors(event, &addresses, mask),
    }
}

/// The bank words of a lane's access.
fn bank_words(event: &TraceEvent, access: &LaneAccess) -> impl Iterator<Item = u64> + use<> {
    let first = access.address / 4;
    first..=(access.address + u64::from(event.bytes) - 1) / 4
}

fn banks(event: &TraceEvent, addresses: &[u64; 32], mask: u32) -> Targets {
    let loads = event.motion == Motion::Load;
    let cost = bank_cost(&BankModel::CURRENT, loads, addresses, mask, event.bytes);
    let lines = event.lanes.iter().flat_map(|access| {
        bank_words(event, access)
            .map(|word| (access.lane as usize, (word % 32) as usize, cost.wavefronts > cost.ideal))
    });
    Targets {
        what: "bank",
        labels: (0..32).map(|bank| bank.to_string()).collect(),
        lines: lines.collect(),
        caption: format!(
            "{} lanes of {} bytes; wavefronts: {}, without conflicts {}",
            event.lanes.len(),
            event.bytes,
            cost.wavefronts,
            cost.ideal
        ),
    }
}

fn sectors(event: &TraceEvent, addresses: &[u64; 32], mask: u32) -> Targets {
    let model = CoalesceModel::CURRENT;
    let touched = coalesce(&model, addresses, mask);
    let size = u64::from(model.sector_bytes);
    let mut sectors: Vec<u64> = touched.sectors().iter().map(|sector| sector / size).collect();
    sectors.sort_unstable();
    let wanted = event.lanes.len() as u64 * u64::from(event.bytes);
    // One more than would do is what unaligned rows cost.
    let wasteful = sectors.len() as u64 > wanted.div_ceil(size) + 1;
    let position =
        |access: &LaneAccess| sectors.iter().position(|&sector| sector == access.address / size);
    let lines = event.lanes.iter().filter_map(|access| {
        position(access).map(|position| (access.lane as usize, position, wasteful))
    });
    Targets {
        what: "sector",
        labels: (0..sectors.len()).map(|index| index.to_string()).collect(),
        lines: lines.collect(),
        caption: format!(
            "{} lanes of {} bytes; wanted: {wanted} bytes, moved: {} sectors of {size} bytes",
            event.lanes.len(),
            event.bytes,
            sectors.len()
        ),
    }
}

/// One thread's access, as a cell of a map.
struct Cell {
    address: u64,
    bytes: u64,
    warp: u32,
    lane: u32,
    thread: [u32; 3],
}

/// All that a group of accesses touches, in rows of addresses.
struct Map {
    space: Space,
    /// The first address of each row.
    rows: Vec<u64>,
    cells: Vec<Cell>,
    /// Pixels of a byte.
    scale: f64,
}

impl Map {
    fn of(group: &[&TraceEvent]) -> Map {
        let space = group[0].space;
        let mut cells: Vec<Cell> = group
            .iter()
            .flat_map(|event| event.lanes.iter().map(|access| Map::cell(event, access)))
            .collect();
        cells.sort_by_key(|cell| cell.address);
        let rows = match space {
            Space::Shared => {
                let mut rows: Vec<u64> =
                    cells.iter().map(|cell| cell.address / BANK_ROW * BANK_ROW).collect();
                rows.dedup();
                rows
            }
            _ => runs(&cells),
        };
        let longest = match space {
            Space::Shared => BANK_ROW,
            _ => cells
                .iter()
                .map(|cell| cell.address + cell.bytes - start(&rows, cell))
                .max()
                .unwrap_or(1),
        };
        Map { space, scale: (WIDTH / longest as f64).min(16.0), rows, cells }
    }

    fn cell(event: &TraceEvent, access: &LaneAccess) -> Cell {
        Cell {
            address: access.address,
            bytes: u64::from(event.bytes),
            warp: event.warp,
            lane: access.lane,
            thread: access.thread,
        }
    }

    fn height(&self) -> f64 {
        (self.rows.len().min(ROWS) + 2) as f64 * ROW
    }

    fn draw(&self, svg: &mut String, (left, top): (f64, f64)) {
        let what = match self.space {
            Space::Shared => "all requests, by bank (across) and offset in shared memory (down):",
            _ => "all requests, by address; rows of bytes that follow each other:",
        };
        text(svg, (left, top + 9.0), "start", 10.0, what);
        let top = top + ROW;
        let first = self.rows.first().copied().unwrap_or(0);
        for (index, row) in self.rows.iter().enumerate().take(ROWS) {
            let offset = if self.space == Space::Shared { *row } else { row - first };
            let y = top + index as f64 * ROW;
            text(svg, (left - 6.0, y + 9.5), "end", 8.0, &format!("+{offset:#x}"));
        }
        for cell in &self.cells {
            let row = self.rows.partition_point(|&row| row <= cell.address).saturating_sub(1);
            if row < ROWS {
                self.place(svg, (left, top + row as f64 * ROW), cell);
            }
        }
        if let Some(more @ 1..) = self.rows.len().checked_sub(ROWS) {
            let y = top + ROWS as f64 * ROW + 9.0;
            text(svg, (left, y), "start", 10.0, &format!("… and {more} more rows"));
        }
    }

    fn place(&self, svg: &mut String, (left, y): (f64, f64), placed: &Cell) {
        let x = left + (placed.address - start(&self.rows, placed)) as f64 * self.scale;
        let width = placed.bytes as f64 * self.scale;
        let [tx, ty, tz] = placed.thread;
        let tip = format!("thread ({tx}, {ty}, {tz}), warp {}, lane {}", placed.warp, placed.lane);
        cell(svg, (x, y), (width, ROW - 1.0), &colour(placed.warp, placed.lane), &tip);
        let number = (placed.warp * 32 + placed.lane).to_string();
        if number.len() as f64 * 4.0 < width {
            text(svg, (x + width / 2.0, y + 9.0), "middle", 7.0, &number);
        }
    }
}

/// The first address of the row that a cell is in.
fn start(rows: &[u64], cell: &Cell) -> u64 {
    rows[rows.partition_point(|&row| row <= cell.address).saturating_sub(1)]
}

/// Where rows of a map of global memory start: at gaps, and where a row would become too long.
fn runs(cells: &[Cell]) -> Vec<u64> {
    let mut rows: Vec<u64> = Vec::new();
    let mut end = 0;
    for cell in cells {
        let row = rows.last().copied();
        let follows = row.is_some_and(|row| {
            cell.address < end + GLOBAL_GAP && cell.address + cell.bytes <= row + GLOBAL_ROW
        });
        if !follows {
            rows.push(cell.address);
        }
        end = end.max(cell.address + cell.bytes);
    }
    rows
}

/// A hue for each warp, darker with the lane.
fn colour(warp: u32, lane: u32) -> String {
    let hue = f64::from(warp) * 137.5 % 360.0;
    let lightness = 0.9 - 0.35 * f64::from(lane) / 31.0;
    let chroma = 0.7 * (1.0 - (2.0 * lightness - 1.0f64).abs());
    let channel = |shift: f64| {
        let at = ((hue / 30.0 + shift) % 12.0 - 3.0).min(9.0 - (hue / 30.0 + shift) % 12.0);
        let value = lightness - chroma / 2.0 * at.clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

fn cell(svg: &mut String, at: (f64, f64), size: (f64, f64), fill: &str, tip: &str) {
    let tip = if tip.is_empty() { String::new() } else { format!("<title>{tip}</title>") };
    // Writing to a string cannot fail.
    _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" \
         stroke=\"#777777\" stroke-width=\"0.4\">{tip}</rect>",
        at.0, at.1, size.0, size.1
    );
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, size: f64, text: &str) {
    _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>",
        at.0, at.1
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_at_gaps_and_where_they_get_long() {
        let cell = |address| Cell { address, bytes: 4, warp: 0, lane: 0, thread: [0; 3] };
        let near: Vec<Cell> = (0..200).map(|index| cell(4 * index)).collect();
        assert_eq!(runs(&near), [0, 512]);
        assert_eq!(runs(&[cell(0), cell(4), cell(8192), cell(8196)]), [0, 8192]);
    }

    #[test]
    fn colours_darken_with_the_lane() {
        assert_eq!(colour(0, 0), "#f7d4d4");
        assert!(colour(0, 31) < colour(0, 0));
    }
}
