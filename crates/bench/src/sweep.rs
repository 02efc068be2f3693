//! Moves that nobody chose, random shapes, strides, starts and elements of every kind, and [awkward](crate::awkward) ones: each beside a
//! copy and beside what its sectors allow.

use crate::awkward::awkward;
use crate::moves::{Arena, Drawn, Move};
use crate::program::{Common, usage};
use crate::progress;
use crate::race::Contestant;
use crate::svg::{Bar, Chart};
use crate::table::{Cell, Column, Report};
use anyhow::{Result, ensure};
use fastrand::Rng;
use transpose::{Device, DeviceTensor, Plan, TensorLayout};

/// The kinds of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The transpose of a matrix of few rows or columns.
    Few,
    /// That of any other.
    Matrix,
    /// That of a matrix of elements of a size that is no power of two.
    Odd,
    /// Those of many small matrices.
    Batch,
    /// An array of three to six axes, in another order.
    Axes,
    /// One of up to four axes, of which the fastest stays the fastest: windows that are copied, rows in another order.
    Runs,
    /// An array of two to five axes without gaps, in another order, all of whose lengths are powers of two or three times those, as those are that people choose: what lies
    /// such distances apart may meet in few banks, few sets of a cache, or few channels of the memory.
    Round,
    /// The transpose of a matrix whose rows are short and have others' bytes behind them, up to a KiB: a few columns of a wide table, to or from columns of their own.
    Gaps,
    /// An array of up to four axes of which some are in descending order, in its order or another: pictures that are flipped, or whose channels change places.
    Mirrored,
    /// One of which every second to fourth index of some axes is taken, in either direction.
    Steps,
    /// One that is repeated along some axes: rows, columns, and single elements.
    Repeated,
}

/// Each kind, its name, and how often it is drawn where none is asked for.
const KINDS: [(Kind, &str, usize); 11] = [
    (Kind::Few, "few", 6),
    (Kind::Matrix, "matrix", 4),
    (Kind::Odd, "odd", 2),
    (Kind::Batch, "batch", 3),
    (Kind::Axes, "axes", 5),
    (Kind::Runs, "runs", 0),
    (Kind::Round, "round", 0),
    (Kind::Gaps, "gaps", 0),
    (Kind::Mirrored, "mirrored", 0),
    (Kind::Steps, "steps", 0),
    (Kind::Repeated, "repeated", 0),
];

/// The names of the kinds.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().map(|(_, name, _)| name)
}

/// Elements of [`Kind::Odd`], in bytes.
const ODD: [usize; 12] = [3, 5, 6, 7, 9, 10, 11, 12, 20, 36, 48, 100];

/// As many random moves as `count`, of around `bytes` bytes each, in memories of `capacity` bytes. They depend on nothing else.
///
/// # Errors
/// None that is known of.
pub fn drawn(seed: u64, count: usize, bytes: usize, capacity: usize) -> Result<Vec<Drawn>> {
    drawn_of(None, seed, count, bytes, capacity)
}

/// As many random moves as `count`, all of one kind if a name of [`kinds`] is given.
fn drawn_of(
    only: Option<&str>,
    seed: u64,
    count: usize,
    bytes: usize,
    capacity: usize,
) -> Result<Vec<Drawn>> {
    let only = KINDS.iter().find(|(_, name, _)| only == Some(name));
    // Moves have half of the bytes or more: none would do.
    ensure!(
        bytes / 2 <= capacity,
        usage(format!(
            "moves of {bytes} bytes are larger than what there is room for, {capacity} bytes"
        ))
    );
    let mut rng = Rng::with_seed(seed);
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let &(kind, name, _) = only.unwrap_or_else(|| any_kind(&mut rng));
        let drawn = draw(&mut rng, kind, name, bytes)?;
        if drawn.of.src.range().end.max(drawn.of.dst.range().end) <= capacity {
            all.push(drawn);
        }
    }
    Ok(all)
}

/// A number between two, small ones as likely as ones of twice the size.
pub fn log_uniform(rng: &mut Rng, least: usize, most: usize) -> usize {
    let (least, most) = (least.max(1) as f64, most.max(least).max(1) as f64);
    (least * (most / least).powf(rng.f64())).round() as usize
}

/// Random lengths, of two and more, whose product is about `elements`.
pub fn split(rng: &mut Rng, elements: usize, rank: usize) -> Vec<usize> {
    let mut cuts: Vec<f64> = (1..rank).map(|_| rng.f64()).collect();
    cuts.extend([0.0, 1.0]);
    cuts.sort_by(f64::total_cmp);
    let length = |cut: &[f64]| (elements as f64).powf(cut[1] - cut[0]).round().max(2.0) as usize;
    cuts.windows(2).map(length).collect()
}

/// Half the time nothing, else some elements.
fn slack(rng: &mut Rng) -> usize {
    if rng.bool() { 0 } else { log_uniform(rng, 1, 40) }
}

/// A kind, each as often as it is to be drawn.
fn any_kind(rng: &mut Rng) -> &'static (Kind, &'static str, usize) {
    let total: usize = KINDS.iter().map(|&(_, _, often)| often).sum();
    let mut number = rng.usize(..total);
    KINDS
        .iter()
        .find(|&&(_, _, often)| {
            let found = number < often;
            number = number.wrapping_sub(often);
            found
        })
        .expect("the number is below the sum")
}

fn draw(rng: &mut Rng, kind: Kind, name: &'static str, bytes: usize) -> Result<Drawn> {
    let element = match kind {
        Kind::Odd => ODD[rng.usize(..ODD.len())],
        Kind::Round => 1 << rng.usize(..5),
        _ if rng.bool() => 1 << rng.usize(..5),
        _ => rng.usize(1..=24),
    };
    let elements = (log_uniform(rng, bytes / 2, bytes * 2) / element).max(64);
    // Axes of the source, the fastest last, and in which order the destination has them.
    let (shape, axes) = match kind {
        Kind::Few => {
            let few = log_uniform(rng, 2, 64.min(elements / 4));
            let shape = [few, elements / few];
            (if rng.bool() { shape.to_vec() } else { vec![shape[1], shape[0]] }, vec![1, 0])
        }
        Kind::Gaps => return columns_of_tables(rng, elements, element, name),
        Kind::Mirrored | Kind::Steps | Kind::Repeated => {
            return part_of_view(rng, kind, elements, element, name);
        }
        Kind::Matrix | Kind::Odd => {
            let rows = log_uniform(rng, 2, (1 << 24).min(elements / 4));
            (vec![rows, elements / rows], vec![1, 0])
        }
        Kind::Batch => {
            let side = || 600.min(elements / 8).max(4);
            let (rows, cols) = (log_uniform(rng, 4, side()), log_uniform(rng, 4, side()));
            (vec![(elements / (rows * cols)).max(1), rows, cols], vec![0, 2, 1])
        }
        Kind::Axes => {
            let rank = rng.usize(3..=6);
            (split(rng, elements, rank), another_order(rng, rank))
        }
        Kind::Runs => {
            let run = log_uniform(rng, 64usize.div_ceil(element), elements / 8);
            let rows = elements / run;
            let (planes, cols) = (log_uniform(rng, 1, rows), log_uniform(rng, 1, rows));
            let shape = vec![
                planes.min(rows),
                (rows / planes / cols).max(1),
                cols.min(rows / planes).max(1),
                run,
            ];
            let mut axes = vec![0, 1, 2];
            rng.shuffle(&mut axes);
            axes.push(3);
            (shape, axes)
        }
        Kind::Round => round(rng, elements),
    };
    let layout = |rng: &mut Rng, shape: &[usize]| match kind {
        Kind::Round => Ok(TensorLayout::contiguous(shape, element)?),
        _ => gappy(rng, shape, element),
    };
    let src = layout(rng, &shape)?.permute_axes(&axes)?;
    let dst = layout(rng, src.shape())?;
    Ok(Drawn { kind: name, shape: src.shape().to_vec(), of: Move::new(element, &src, &dst)? })
}

/// A few columns of a table, taken out of it or put into it, the columns without gaps; of no more rows than have room.
fn columns_of_tables(
    rng: &mut Rng,
    elements: usize,
    element: usize,
    name: &'static str,
) -> Result<Drawn> {
    let few = log_uniform(rng, 2, 64);
    let gap = log_uniform(rng, 1, 1024).div_ceil(element);
    let rows = (elements / few).min(CAPACITY / (element * (few + gap)) - 1).max(1);
    let strides = [(few + gap) as isize, 1];
    let table = TensorLayout::strided(&[rows, few], &strides, rng.usize(..=gap), element)?;
    let columns = TensorLayout::contiguous(&[few, rows], element)?.permute_axes(&[1, 0])?;
    let (src, dst) = if rng.bool() { (table, columns) } else { (columns, table) };
    Ok(Drawn { kind: name, shape: src.shape().to_vec(), of: Move::new(element, &src, &dst)? })
}

/// A view of an array that has some of its axes otherwise than memory has them, one at least, in any order of axes.
fn part_of_view(
    rng: &mut Rng,
    kind: Kind,
    elements: usize,
    element: usize,
    name: &'static str,
) -> Result<Drawn> {
    let rank = rng.usize(1..=4);
    let shape = split(rng, elements, rank);
    let order = if rank > 1 && rng.bool() { another_order(rng, rank) } else { (0..rank).collect() };
    let one = rng.usize(..rank);
    let is_other: Vec<bool> = (0..rank).map(|axis| axis == one || rng.usize(..3) == 0).collect();
    let step = |rng: &mut Rng, is_other: bool| match kind {
        _ if !is_other => 1,
        Kind::Steps => rng.usize(2..=4) as isize * if rng.bool() { 1 } else { -1 },
        _ => -1,
    };
    let src = if kind == Kind::Repeated {
        let axes = shape.iter().zip(&is_other);
        let once: Vec<usize> = axes.map(|(&length, &is)| if is { 1 } else { length }).collect();
        gappy(rng, &once, element)?.broadcast(&shape)?
    } else {
        let steps: Vec<isize> = is_other.iter().map(|&is| step(rng, is)).collect();
        let whole = |(&length, step): (&usize, &isize)| (length - 1) * step.unsigned_abs() + 1;
        let whole: Vec<usize> = shape.iter().zip(&steps).map(whole).collect();
        let all = gappy(rng, &whole, element)?;
        steps.iter().enumerate().try_fold(all, |view, (axis, &step)| view.slice(axis, .., step))?
    };
    let src = src.permute_axes(&order)?;
    let dst = gappy(rng, src.shape(), element)?;
    Ok(Drawn { kind: name, shape: src.shape().to_vec(), of: Move::new(element, &src, &dst)? })
}

/// A shape of about `elements` elements whose axes have round lengths, and an order of the axes that is not the shape's own.
fn round(rng: &mut Rng, elements: usize) -> (Vec<usize>, Vec<usize>) {
    let rank = rng.usize(2..=5);
    let mut left = elements;
    let mut shape: Vec<usize> = (1..rank)
        .map(|axis| {
            let most = (left >> (rank - axis)).max(2);
            let length = 1 << log_uniform(rng, 2, most.min(4096)).ilog2();
            let length = if rng.usize(..4) == 0 { length / 2 * 3 } else { length };
            left = (left / length).max(2);
            length
        })
        .collect();
    // The longest axis makes up the number, wherever it is.
    shape.insert(rng.usize(..rank), 1 << left.ilog2());
    (shape, another_order(rng, rank))
}

/// So many axes in any order but their own.
pub fn another_order(rng: &mut Rng, rank: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).collect();
    while axes.is_sorted() {
        rng.shuffle(&mut axes);
    }
    axes
}

/// An array with gaps behind its rows, or between its matrices, that starts somewhere.
fn gappy(rng: &mut Rng, shape: &[usize], element: usize) -> Result<TensorLayout> {
    // Of one axis there is none.
    let gap = (slack(rng), if shape.len() > 1 { rng.usize(1..shape.len()) } else { 0 });
    let mut strides = vec![1isize; shape.len()];
    for axis in (0..shape.len() - 1).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1] as isize;
        if axis + 1 == gap.1 {
            strides[axis] += gap.0 as isize;
        }
    }
    Ok(TensorLayout::strided(shape, &strides, slack(rng), element)?)
}

/// What a move was found to do.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The move.
    pub drawn: Drawn,
    /// Each way that it can go, that which the library takes first: what it is, and its speed in GB/s.
    pub ways: Vec<(String, f64)>,
    /// A copy's speed in GB/s.
    pub copy: f64,
    /// The fraction of a copy's speed that the sectors allow.
    pub bound: f64,
    /// That which memory allows that moves two sectors at a time, and reads what is stored in part.
    pub memory_bound: f64,
}

impl Figures {
    /// The speed as a fraction of what the sectors allow.
    pub fn of_bound(&self) -> f64 {
        self.ways[0].1 / self.copy / self.bound
    }

    /// The speed as a fraction of what memory allows.
    fn of_memory(&self) -> f64 {
        self.ways[0].1 / self.copy / self.memory_bound
    }

    /// What memory allows as a fraction of what the sectors allow.
    fn allowed(&self) -> f64 {
        (self.memory_bound / self.bound).min(1.0)
    }

    /// The speed of the fastest way as a fraction of what the sectors allow.
    fn best_of_bound(&self) -> f64 {
        self.ways.iter().map(|way| way.1).fold(0.0, f64::max) / self.copy / self.bound
    }
}

/// The columns of what [`Figures::rows`] has.
pub const COLUMNS: [Column; 17] = [
    Column::text("kind", "kind", 7),
    Column::number("element_bytes", "element, bytes", 0),
    Column::number("word_bytes", "word, bytes", 0),
    Column::text("shape", "shape", 34),
    Column::unseen("src_strides"),
    Column::unseen("dst_strides"),
    Column::unseen("src_start"),
    Column::unseen("dst_start"),
    Column::unseen("way"),
    Column::number("memcpy_gb_s", "memcpy, GB/s", 7),
    Column::number("gb_s", "GB/s", 7),
    Column::number("of_copy", "of copy", 7),
    Column::number("bound", "bound", 7),
    Column::number("of_bound", "of bound", 8),
    Column::number("best_of_bound", "best way", 8),
    Column::number("memory_bound", "memory's bound", 7),
    Column::text("what", "way", 0),
];

impl Figures {
    /// A row for each way; the library's choice is number 0.
    pub fn rows(&self) -> Vec<Vec<Cell>> {
        let Figures { drawn: Drawn { kind, shape, of }, ways, copy, bound, memory_bound } = self;
        let joined =
            |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(" ");
        let strides = |layout: &TensorLayout| {
            let count = layout.rank() - 1;
            joined(&mut layout.strides()[..count].iter().map(ToString::to_string))
        };
        let row = |(number, (what, speed)): (usize, &(String, f64))| {
            vec![
                (*kind).into(),
                of.element.into(),
                of.word().into(),
                joined(&mut shape.iter().map(ToString::to_string)).into(),
                strides(&of.src).into(),
                strides(&of.dst).into(),
                of.src.offset().into(),
                of.dst.offset().into(),
                number.into(),
                Cell::speed(*copy),
                Cell::speed(*speed),
                Cell::fraction(speed / copy),
                Cell::fraction(*bound),
                Cell::fraction(speed / copy / bound),
                Cell::fraction(self.best_of_bound()),
                Cell::fraction(*memory_bound),
                what.clone().into(),
            ]
        };
        ways.iter().enumerate().map(row).collect()
    }
}

/// Measures a move: the library's choice, and all other ways if that stays below a fraction of what memory allows.
///
/// # Errors
/// A wrong result, and what the device reports.
pub fn measure(arena: &mut Arena, drawn: Drawn, below: f64, turns: usize) -> Result<Figures> {
    let plans = arena.candidates(&drawn.of)?;
    let verify = |arena: &mut Arena, plans: &[Plan]| -> Result<()> {
        plans.iter().try_for_each(|plan| arena.verify(&drawn.of, plan, |_, run| run()))
    };
    // Where every move is to be timed in all ways, nothing has to be known of it first.
    let first = if below.is_finite() { 1 } else { plans.len() };
    verify(arena, &plans[..first])?;
    let figures = raced(arena, drawn.clone(), &plans[..first], turns)?;
    if first == plans.len() || figures.of_memory() >= below {
        return Ok(figures);
    }
    verify(arena, &plans[first..])?;
    raced(arena, drawn, &plans, turns)
}

/// Times plans for a move in turns, and a copy.
fn raced(arena: &mut Arena, drawn: Drawn, plans: &[Plan], turns: usize) -> Result<Figures> {
    let others = Vec::<Contestant<DeviceTensor<u8>>>::new();
    let timings = arena.race(&drawn.of, plans, others, turns)?;
    let timings = timings.ok_or_else(|| anyhow::anyhow!("this device has no clock"))?;
    let speeds: Vec<f64> = timings.iter().map(|timing| timing.gb_per_s(drawn.of.bytes())).collect();
    let ways = plans.iter().map(what).zip(speeds[1..].iter().copied()).collect();
    let (bound, memory_bound) = (drawn.of.bound(), drawn.of.memory_bound());
    Ok(Figures { drawn, ways, copy: speeds[0], bound, memory_bound })
}

/// A plan in a few words.
pub fn what(plan: &Plan) -> String {
    let said = plan.to_string();
    let how = said.split_once(", addresses").and_then(|(_, rest)| rest.split_once(": "));
    how.map_or(said.clone(), |(_, how)| how.to_owned())
}

/// The moves that are measured.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// Random ones, drawn from a seed.
    Random {
        /// The seed.
        seed: u64,
        /// How many moves.
        count: usize,
        /// Bytes of each move, about.
        bytes: usize,
        /// The kind, if it is but one.
        kind: Option<&'a str>,
    },
    /// Those of [`awkward`].
    Awkward,
}

impl Which<'_> {
    /// The moves, and what they are.
    fn drawn(self) -> Result<(String, Vec<Drawn>)> {
        match self {
            Which::Random { seed, count, bytes, kind } => {
                ensure!(count > 0, "a sweep of no problems measures nothing");
                let title = format!("{count} random moves from seed {seed}");
                Ok((title, drawn_of(kind, seed, count, bytes, CAPACITY)?))
            }
            Which::Awkward => Ok(("Moves that were once slow".to_owned(), awkward()?)),
        }
    }
}

/// Bytes of the memory that a random move must fit.
const CAPACITY: usize = 640 << 20;

/// Measures moves: those whose words have as many bytes as one of `words`, or all if `words` is empty; of those that stay `below` a fraction of what memory
/// allows, all ways. The lowest of them are printed, and how far below their bounds they stay. Files have a row for each way as soon as it is measured.
///
/// # Errors
/// A wrong result, and what the device reports.
pub fn run(
    common: &Common,
    device: &Device,
    which: Which<'_>,
    words: &[usize],
    below: f64,
    turns: usize,
) -> Result<()> {
    const LISTED: usize = 24;
    let (title, mut moves) = which.drawn()?;
    moves.retain(|drawn| words.is_empty() || words.contains(&drawn.of.word()));
    ensure!(!moves.is_empty(), "none of these moves has such words");
    let bar = progress::bar(common, moves.len());
    let lowest = format!("{title}, all results verified; the lowest");
    let mut report = Report::new(common, device, lowest, &COLUMNS, &bar);
    let mut all = Vec::with_capacity(moves.len());
    let capacity = moves.iter().map(|drawn| drawn.of.reach()).max().unwrap_or(0);
    let mut arena = Arena::new(device, capacity)?;
    for drawn in moves {
        let figures = measure(&mut arena, drawn, below, turns)?;
        figures.rows().into_iter().for_each(|cells| report.keep(cells));
        all.push(figures);
        bar.inc(1);
    }
    all.sort_by(|a, b| a.of_bound().total_cmp(&b.of_bound()));
    for figures in all.iter().take(LISTED) {
        report.show(&figures.rows()[0]);
    }
    let narrow = |figures: &&Figures| figures.drawn.of.word() < 4;
    for (name, fast, figures) in [
        ("words of 4 bytes and more", 0.80, all.iter().filter(|f| !narrow(f)).collect::<Vec<_>>()),
        ("words of 1 and 2 bytes", 0.65, all.iter().filter(narrow).collect()),
    ] {
        summary(name, fast, &figures).iter().for_each(|line| report.below(line));
    }
    report.finish(|| chart(title, &all))
}

/// The lowest, the 5th percentile and the mean of the fractions of either bound, and of what memory allows of the sectors' bound; and of how many moves it
/// allows a fraction that is called `fast`.
fn summary(name: &str, fast: f64, figures: &[&Figures]) -> Option<String> {
    let count = figures.len();
    let of = |fraction: fn(&Figures) -> f64| {
        let mut fractions: Vec<f64> = figures.iter().map(|figures| fraction(figures)).collect();
        fractions.sort_by(f64::total_cmp);
        let (lowest, fifth) = (fractions.first()?, fractions[count / 20]);
        let mean = fractions.iter().sum::<f64>() / count as f64;
        Some(format!("lowest {lowest:.3}, 5th percentile {fifth:.3}, mean {mean:.3}"))
    };
    let (sectors, memory) = (of(Figures::of_bound)?, of(Figures::of_memory)?);
    let allowed = of(Figures::allowed)?;
    let share = figures.iter().filter(|figures| figures.allowed() >= fast).count();
    Some(format!(
        "{name}, {count}: {sectors} of the bound, of which memory allows: {allowed}, {fast:.2} or more for {share} of {count}; of what memory allows: {memory}"
    ))
}

/// A bar for each move, the lowest first.
fn chart(title: String, all: &[Figures]) -> Chart {
    let bar = |figures: &Figures| {
        let Drawn { kind, shape, of } = &figures.drawn;
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let label = format!("{} of {} bytes", shape.join(" × "), of.element);
        Bar::plain(label, *kind, figures.of_bound())
    };
    Chart::new(title, "of what the sectors allow", all.iter().map(bar).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_moves() {
        let draw = |seed| drawn(seed, 200, 64 << 10, 1 << 20).unwrap();
        let (first, again, other) = (draw(7), draw(7), draw(8));
        let moves = |all: &[Drawn]| all.iter().map(|drawn| drawn.of.clone()).collect::<Vec<_>>();
        assert!(moves(&first) == moves(&again) && moves(&first) != moves(&other));
        for (_, name, _) in KINDS.into_iter().filter(|&(_, _, often)| often > 0) {
            assert!(first.iter().any(|drawn| drawn.kind == name), "no {name}");
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let drawn = drawn(3, 1, 64 << 10, 1 << 20).unwrap().swap_remove(0);
        let ways = vec![("one".to_owned(), 30.0), ("other".to_owned(), 40.0)];
        let figures = Figures { drawn, ways, copy: 100.0, bound: 0.5, memory_bound: 0.4 };
        let rows = figures.rows();
        assert_eq!(rows.len(), 2);
        for (row, of_bound) in rows.iter().zip(["0.6000", "0.8000"]) {
            assert_eq!(row.len(), COLUMNS.len());
            let field = |key| {
                let index = COLUMNS.iter().position(|column| column.key == key).unwrap();
                row[index].kept()
            };
            assert_eq!([field("of_bound"), field("best_of_bound")], [of_bound, "0.8000"]);
            assert_eq!(field("memcpy_gb_s"), "100.0");
        }
        let said = summary("words", 0.80, &[&figures]).unwrap();
        assert!(said.contains("lowest 0.600") && said.contains("allows: lowest 0.800"), "{said}");
        assert!(said.contains("0.80 or more for 1 of 1"), "{said}");
        assert!(
            chart("random moves from seed 3".to_owned(), &[figures])
                .to_svg()
                .contains("random moves from seed 3")
        );
    }

    #[test]
    fn every_way_of_random_moves_is_right() {
        let device = Device::simulated();
        let mut arena = Arena::new(&device, 64 << 10).unwrap();
        let any = drawn(1, 60, 2 << 10, 64 << 10).unwrap();
        let runs = drawn_of(Some("runs"), 1, 40, 2 << 10, 64 << 10).unwrap();
        let gaps = drawn_of(Some("gaps"), 1, 20, 2 << 10, 64 << 10).unwrap();
        let views = ["mirrored", "steps", "repeated"]
            .into_iter()
            .flat_map(|kind| drawn_of(Some(kind), 1, 30, 2 << 10, 64 << 10).unwrap());
        for Drawn { of, .. } in any.into_iter().chain(runs).chain(gaps).chain(views) {
            for plan in arena.candidates(&of).unwrap() {
                arena.verify(&of, &plan, |_, run| run()).unwrap();
            }
        }
    }
}
