//! Moves of tensors against a loop over all indices: every order of axes, strides of every kind, on the simulator and on a GPU.

use profile::count;
use proptest::prelude::*;
use transpose::{
    Device, DeviceMatrix, DeviceTensor, Error, Plan, PlanCache, TensorLayout, TensorView, copy_all,
};
use transpose_tests::{Element, cases, is_ours, offsets, on_both_devices};

on_both_devices! {
    every_order_of_up_to_four_axes,
    every_element,
    every_order_element_and_gap,
    gaps_and_odd_starts,
    runs_of_several_axes,
    runs_of_narrow_words,
    runs_by_vectors,
    one_stretch,
    pieces_of_memory,
    short_rows_with_gaps,
    tiles_that_overlap,
    tiles_across_axes,
    pieces_of_narrow_words,
    tiles_by_units,
    columns_of_units_with_gaps,
    long_axes,
    blocks_of_several_boxes,
    steps_and_mirrors,
    steps_in_the_destination,
    rotated,
    flipped,
    repeated_elements,
    interleaved_matrices,
    many_axes,
    random_moves,
    matrices_and_copies,
    measured_plans,
    plans_of_other_starts,
    what_does_not_fit_is_refused,
    all_or_none,
}

/// Every order of `rank` axes.
fn orders(rank: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..rank {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                let left = (0..rank).filter(move |axis| !order.contains(axis));
                left.map(move |axis| [order.as_slice(), &[axis]].concat())
            })
            .collect();
    }
    all
}

/// Moves between two layouts in memories of their own, every way that there is, and compares all of the destination's memory.
fn check<T: Element>(device: &Device, src: &TensorLayout, dst: &TensorLayout) {
    check_ways::<T>(device, src, dst, |_, _| true);
}

/// As [`check`], elements of every size that has kernels of its own, and of several words.
fn check_sizes(device: &Device, src: &TensorLayout, dst: &TensorLayout) {
    check::<u8>(device, src, dst);
    check::<u16>(device, src, dst);
    check::<u32>(device, src, dst);
    check::<u64>(device, src, dst);
    check::<u128>(device, src, dst);
    check::<[u8; 3]>(device, src, dst);
    check::<[u8; 7]>(device, src, dst);
    check::<[u32; 3]>(device, src, dst);
}

/// As [`check`], of some of the ways, by their numbers and how many there are.
fn check_ways<T: Element>(
    device: &Device,
    src: &TensorLayout,
    dst: &TensorLayout,
    is_taken: impl Fn(usize, usize) -> bool,
) {
    if !is_ours() {
        return;
    }
    let (from, to) = (offsets(src), offsets(dst));
    // Nothing lies behind the source's last element, and canaries behind the destination's.
    let len = |offsets: &[usize]| offsets.iter().max().map_or(0, |last| last + 1);
    let host: Vec<T> = (0..len(&from)).map(|index| T::scrambled(index, 1)).collect();
    let canaries: Vec<T> = (0..len(&to) + 5).map(|index| T::scrambled(index, 2)).collect();
    let (mut before, mut expected) = (canaries.clone(), canaries);
    for (&from, &to) in from.iter().zip(&to) {
        expected[to] = host[from];
        before[to] = complement(host[from]);
    }
    let memory = DeviceTensor::from_host(device, &[host.len()], &host).unwrap();
    let mut target = DeviceTensor::from_host(device, &[before.len()], &before).unwrap();
    let source = memory.window(src).unwrap();
    let plans = Plan::moving_candidates(source, target.window_mut(dst).unwrap()).unwrap();
    let ways = plans.len();
    for (_, plan) in plans.into_iter().enumerate().filter(|(number, _)| is_taken(*number, ways)) {
        target.copy_from_host(&before).unwrap();
        plan.run(source, target.window_mut(dst).unwrap())
            .unwrap_or_else(|error| panic!("{plan}: {error}"));
        let actual = target.to_host().unwrap();
        if let Some(at) = (0..actual.len()).find(|&at| actual[at] != expected[at]) {
            panic!("{plan}: {:?} at {at}, not {:?}", actual[at], expected[at]);
        }
    }
    assert!(memory.to_host().unwrap() == host, "the source has changed");
}

/// The element with every bit flipped.
fn complement<T: Element>(element: T) -> T {
    let mut bytes = bytemuck::bytes_of(&element).to_vec();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    bytemuck::pod_read_unaligned(&bytes)
}

/// Moves a tensor without gaps whose axes come in another order to one without gaps.
fn check_order<T: Element>(device: &Device, shape: &[usize], order: &[usize]) {
    let size = size_of::<T>();
    let src = TensorLayout::contiguous(shape, size).unwrap().permute_axes(order).unwrap();
    let dst = TensorLayout::contiguous(src.shape(), size).unwrap();
    check::<T>(device, &src, &dst);
}

fn every_order_of_up_to_four_axes(device: &Device) {
    for rank in 0..=4 {
        for order in orders(rank) {
            check_order::<u32>(device, &[7, 6, 5, 9][..rank], &order);
            check_order::<u32>(device, &[3, 16, 4, 20][..rank], &order);
            check_order::<u8>(device, &[7, 5, 6, 17][..rank], &order);
            check_order::<u64>(device, &[2, 33, 3, 12][..rank], &order);
        }
    }
}

fn every_element(device: &Device) {
    fn check_orders<T: Element>(device: &Device) {
        for order in [[2, 1, 0], [0, 2, 1], [1, 2, 0], [1, 0, 2]] {
            check_order::<T>(device, &[19, 7, 34], &order);
            check_order::<T>(device, &[16, 2, 48], &order);
        }
    }
    check_orders::<u8>(device);
    check_orders::<u16>(device);
    check_orders::<u32>(device);
    check_orders::<u64>(device);
    check_orders::<u128>(device);
    check_orders::<[u8; 3]>(device);
    check_orders::<[u8; 5]>(device);
    check_orders::<[u16; 3]>(device);
    check_orders::<[u32; 3]>(device);
    check_orders::<[u64; 6]>(device);
    check_order::<[u8; 0]>(device, &[19, 7, 34], &[2, 1, 0]);
}

/// Every order of up to four axes, of elements of every size, with and without gaps on either side: one way or another of each.
fn every_order_element_and_gap(device: &Device) {
    fn check_orders<T: Element>(device: &Device, which: usize) {
        let mut looked_at = which;
        for order in (1..=4).flat_map(orders) {
            for [from, to] in [[0, 0], [1, 0], [0, 3], [2, 1]] {
                let shape = &[6, 3, 11, 9][4 - order.len()..];
                let src = loose(shape, from, from).permute_axes(&order).unwrap();
                let dst = loose(src.shape(), to, to);
                check_ways::<T>(device, &src, &dst, |number, ways| number == looked_at % ways);
                looked_at += 1;
            }
        }
    }
    check_orders::<u8>(device, 0);
    check_orders::<u16>(device, 1);
    check_orders::<[u8; 3]>(device, 2);
    check_orders::<u32>(device, 3);
    check_orders::<[u8; 5]>(device, 4);
    check_orders::<[u16; 3]>(device, 5);
    check_orders::<u64>(device, 6);
    check_orders::<[u32; 3]>(device, 7);
    check_orders::<u128>(device, 8);
    check_orders::<[u64; 6]>(device, 9);
}

/// A layout of `shape` whose axes are `slack` longer than they need be, from element `offset` on.
fn loose(shape: &[usize], slack: usize, offset: usize) -> TensorLayout {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for axis in (0..shape.len()).rev() {
        strides[axis] = stride;
        stride *= (shape[axis] + slack) as isize;
    }
    TensorLayout::strided(shape, &strides, offset, 16).unwrap()
}

fn gaps_and_odd_starts(device: &Device) {
    fn check_loose<T: Element>(device: &Device) {
        for order in [[2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 0, 2]] {
            for (slack, offset) in [(0, 1), (1, 0), (4, 4), (8, 3)] {
                let shape = [12, 5, 40];
                let src = loose(&shape, slack, offset).permute_axes(&order).unwrap();
                let tight = loose(src.shape(), 0, 0);
                check::<T>(device, &src, &tight);
                let (reversed, tight) = (loose(src.shape(), slack, offset), loose(&shape, 0, 0));
                check::<T>(device, &tight.permute_axes(&order).unwrap(), &reversed);
                check::<T>(device, &src, &reversed);
            }
        }
    }
    check_loose::<u8>(device);
    check_loose::<u16>(device);
    check_loose::<u32>(device);
    check_loose::<u64>(device);
    check_loose::<u128>(device);
    check_loose::<[u8; 3]>(device);
}

/// Axes so short that a tile's run is made of several, whole and cut.
fn runs_of_several_axes(device: &Device) {
    for order in [[4, 3, 2, 1, 0], [3, 2, 1, 4, 0], [2, 0, 4, 1, 3], [1, 3, 0, 4, 2]] {
        check_order::<u32>(device, &[10, 4, 6, 4, 12], &order);
        check_order::<u16>(device, &[15, 3, 5, 3, 16], &order);
        check_order::<u64>(device, &[5, 5, 4, 3, 6], &order);
    }
    for order in [[5, 4, 3, 2, 1, 0], [3, 2, 0, 5, 1, 4], [3, 2, 5, 1, 0, 4]] {
        check_order::<u32>(device, &[8, 3, 5, 3, 4, 8], &order);
        check_order::<u8>(device, &[8, 3, 5, 3, 4, 8], &order);
    }
}

/// Narrow words that lie together in runs on both sides, a few and thousands of them, wherever rows start: stretches are gathered run by run.
fn runs_of_narrow_words(device: &Device) {
    for run in [4, 5, 9, 23, 201, 2415, 20_003] {
        // No more rows than it takes: whole ones and one that is cut.
        let shape = if run < 1000 { [7, 11, run] } else { [2, 3, run] };
        for (slack, offset) in [(0, 1), (1, 0), (17, 7)] {
            let src = loose(&shape, slack, offset).permute_axes(&[1, 0, 2]).unwrap();
            check::<u8>(device, &src, &loose(src.shape(), 0, 0));
            check::<u8>(device, &src, &loose(src.shape(), 3, 2));
            check::<u16>(device, &src, &loose(src.shape(), slack, offset));
        }
    }
}

/// What lies together on both sides, from 64 bytes on, by vectors: from every byte of a vector to every other, with whole vectors and without, and gaps on either side.
fn runs_by_vectors(device: &Device) {
    fn check_runs<T: Element>(device: &Device) {
        let size = size_of::<T>();
        let least = 64usize.div_ceil(size);
        for run in [least, least + 1, least + 7, 3 * least + 5, 40 * least + 3] {
            for start in [0, 1, 3, 8, 15].into_iter().filter(|start| start * size < 16) {
                for (src_slack, dst_slack) in [(0, 0), (1, 0), (0, 3), (2, 5), (40, 40)] {
                    let src = loose(&[3, 5, run], src_slack, start).permute_axes(&[1, 0, 2]);
                    let (src, dst) = (src.unwrap(), loose(&[5, 3, run], dst_slack, 16 - start));
                    // Not where everything lies on 8 bytes: those are words.
                    let is_way = ways_of(device, size, &src, &dst).contains("runs_b");
                    assert!(is_way || (run * size).is_multiple_of(8), "{run} of {size} bytes");
                    check::<T>(device, &src, &dst);
                }
            }
        }
    }
    check_runs::<u8>(device);
    check_runs::<u16>(device);
    check_runs::<u32>(device);
    check_runs::<[u8; 3]>(device);
    check_runs::<[u16; 3]>(device);
    // Many short axes beside the run.
    let src = TensorLayout::contiguous(&[2, 3, 2, 2, 3, 2, 37], 4).unwrap();
    let src = src.permute_axes(&[5, 3, 1, 4, 0, 2, 6]).unwrap();
    check::<u32>(device, &src, &loose(src.shape(), 1, 3));
}

/// One stretch, wherever both sides start: by the driver, or, where it is slow to copy it, by a kernel.
fn one_stretch(device: &Device) {
    let least = 128 << 10;
    for (src, dst) in [(0, 0), (0, 1), (3, 1), (2, 6), (5, 5), (15, 16), (8, 4)] {
        for bytes in [least, least + 5] {
            check::<u8>(device, &loose(&[bytes], 0, src), &loose(&[bytes], 0, dst));
            let halves = bytes / 2;
            check::<u16>(device, &loose(&[halves], 0, src), &loose(&[halves], 0, dst));
        }
    }
}

/// Pieces of 64 bytes, which are counted along the source where its next axis is short, whatever order their axes are in, in gaps that are pieces or not.
fn pieces_of_memory(device: &Device) {
    for cols in [2, 10, 32, 33] {
        for order in [[2, 1, 0, 3], [1, 2, 0, 3], [1, 0, 2, 3]] {
            check_order::<u32>(device, &[9, 5, cols, 16], &order);
        }
        for slack in [16, 3] {
            let src = loose(&[9, 5, cols, 16], slack, slack).permute_axes(&[2, 0, 1, 3]).unwrap();
            check::<u32>(device, &src, &loose(src.shape(), 0, 0));
            check::<u32>(device, &src, &loose(src.shape(), 32, 16));
        }
    }
    check_order::<[u64; 8]>(device, &[70, 6, 10], &[2, 1, 0]);
}

/// Several tiles along each axis.
fn long_axes(device: &Device) {
    check_order::<u32>(device, &[300, 3, 290], &[2, 1, 0]);
    check_order::<u8>(device, &[300, 2, 280], &[2, 1, 0]);
    check_order::<u16>(device, &[260, 2, 201], &[2, 1, 0]);
    check_order::<u128>(device, &[80, 3, 90], &[2, 1, 0]);
    check_order::<u64>(device, &[2, 3000, 4], &[2, 0, 1]);
    check_order::<u32>(device, &[3, 3000, 5], &[2, 0, 1]);
}

/// A block moves several boxes where there are many more than run at a time: as on a device of one multiprocessor.
fn blocks_of_several_boxes(device: &Device) {
    let mut facts = device.facts().clone();
    facts.multiprocessors = 1;
    let small = device.with_facts(facts).unwrap();
    for order in [[1, 0, 2], [2, 1, 0]] {
        check_order::<[u8; 3]>(&small, &[97, 310, 3], &order);
        check_order::<[u16; 5]>(&small, &[97, 150, 3], &order);
        check_order::<[u32; 3]>(&small, &[97, 150, 3], &order);
    }
    let src = loose(&[40, 7, 211], 2, 3).permute_axes(&[0, 2, 1]).unwrap();
    let dst = loose(src.shape(), 1, 5);
    check::<[u8; 7]>(&small, &src, &dst);
    let plans = Plan::moving_candidates_for_layouts(7, &src, &dst, small.facts()).unwrap();
    let before = |plan: &str, what: &str| -> Option<usize> {
        let number = plan.split(what).next()?.rsplit([' ', '[']).next()?;
        number.parse().ok()
    };
    let shares = |plan: &Plan| {
        let plan = plan.to_string();
        before(&plan, " boxes of") > before(&plan, ", 1, 1] blocks")
    };
    assert!(plans.iter().any(shares), "{}", plans[0]);
}

/// Rows of a few bytes, and gaps behind them: their words are stored one at a time, and the sectors they share with gaps fetched before.
fn short_rows_with_gaps(device: &Device) {
    fn check_rows<T: Element>(device: &Device, cols: usize, slack: usize) {
        let src = TensorLayout::contiguous(&[cols, 731], size_of::<T>()).unwrap().t();
        let dst = loose(src.shape(), slack, 1);
        check::<T>(device, &src, &dst);
        // Matrices of a batch, whose rows are not all as far apart.
        let src = loose(&[2, 3, cols, 67], 0, 0).permute_axes(&[1, 3, 0, 2]).unwrap();
        check::<T>(device, &src, &loose(src.shape(), slack, 0));
    }
    for (cols, slack) in [(2, 1), (3, 1), (5, 9), (7, 2), (33, 4)] {
        check_rows::<u8>(device, cols, slack);
        check_rows::<u16>(device, cols, slack);
        check_rows::<[u8; 5]>(device, cols, slack);
        check_rows::<[u32; 3]>(device, cols, slack);
    }
    let src = TensorLayout::contiguous(&[3, 30_000_000], 1).unwrap().t();
    let plan =
        Plan::moving_for_layouts(1, &src, &loose(src.shape(), 4, 0), device.facts()).unwrap();
    let plan = plan.to_string();
    assert!(plan.contains("word by word") && plan.contains("ends fetched"), "{plan}");
}

/// A device that is planned for as if it had few multiprocessors: what they do with few elements is what many do with many.
fn of_few_multiprocessors(device: &Device) -> Device {
    of_multiprocessors(device, 4)
}

/// A device that is planned for as if it had `most` multiprocessors, or as many as it has if those are fewer.
fn of_multiprocessors(device: &Device, most: usize) -> Device {
    let mut facts = device.facts().clone();
    facts.multiprocessors = facts.multiprocessors.min(most);
    device.with_facts(facts).expect("a device may be planned for as a smaller one")
}

/// Long rows of the destination that do not all start on a sector: tiles meet where sectors do.
fn tiles_that_overlap(device: &Device) {
    let device = &of_few_multiprocessors(device);
    fn check_overlap<T: Element>(device: &Device, shape: &[usize], order: &[usize], slack: usize) {
        for (start, step) in [(0, 1), (3, -1)] {
            let src = loose(shape, slack, start).permute_axes(order).unwrap();
            let src = src.slice(src.rank() - 1, .., step).unwrap();
            let dst = loose(src.shape(), slack, start);
            let (element, facts) = (size_of::<T>(), device.facts());
            let ways = Plan::moving_candidates_for_layouts(element, &src, &dst, facts).unwrap();
            let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
            assert!(ways.iter().any(|way| way.contains(" early of ")), "{ways:#?}");
            check::<T>(device, &src, &dst);
        }
    }
    for slack in [0, 2, 4] {
        check_overlap::<u32>(device, &[301, 37], &[1, 0], slack);
        check_overlap::<u64>(device, &[301, 37], &[1, 0], slack);
        // Rows that start anywhere too, of several vectors, the last of which reaches behind the source.
        check_overlap::<u8>(device, &[901, 167], &[1, 0], slack + 1);
        check_overlap::<u16>(device, &[601, 83], &[1, 0], slack + 1);
    }
    // What lies together has two axes.
    check_overlap::<u32>(device, &[203, 3, 2, 35], &[2, 3, 0, 1], 0);
    check_overlap::<u64>(device, &[203, 3, 2, 21], &[2, 3, 0, 1], 0);
    check_overlap::<u8>(device, &[303, 3, 2, 67], &[2, 3, 0, 1], 0);
}

/// What lies together has a short axis and starts on bursts: tiles of rows, columns, or both start inside an index of the next axis. The last is shorter, and where the array is part of
/// another it ends anywhere.
fn tiles_across_axes(device: &Device) {
    let device = &of_few_multiprocessors(device);
    fn check_across<T: Element>(device: &Device, [row, col]: [usize; 2], expected: &[&str]) {
        let bytes = size_of::<T>();
        let whole = TensorLayout::contiguous(&[row, 4, 3, 8, col], bytes).unwrap();
        let src = whole.permute_axes(&[4, 3, 2, 1, 0]).unwrap();
        let dst = TensorLayout::contiguous(src.shape(), bytes).unwrap();
        let ways = ways_of(device, bytes, &src, &dst);
        assert!(expected.iter().all(|what| ways.contains(what)), "{ways}");
        let part = |layout: &TensorLayout| {
            let rows = layout.slice(3, ..3, 1).unwrap();
            rows.slice(1, ..7, 1).unwrap()
        };
        check::<T>(device, &src, &dst);
        check::<T>(device, &part(&src), &part(&dst));
    }
    let [rows, cols] = ["rows across axes", "words across axes"];
    check_across::<u32>(device, [48, 40], &[rows, cols]);
    check_across::<u32>(device, [48, 64], &[rows]);
    check_across::<u32>(device, [64, 24], &[cols]);
    check_across::<u64>(device, [24, 40], &[rows, cols]);
    check_across::<u16>(device, [96, 80], &[rows, cols]);
}

/// Narrow words that lie together in the destination for more than a table has entries: they are stored in pieces, of which the last is shorter, of
/// all boxes or of the last; and pieces with gaps in them.
fn pieces_of_narrow_words(device: &Device) {
    fn check_pieces<T: Element>(device: &Device) {
        // What is cut is the axis that lies together on both sides, a whole one of a matrix, and one beside another that is cut.
        check_order::<T>(device, &[3, 4099], &[1, 0]);
        check_order::<T>(device, &[7, 97, 43], &[0, 2, 1]);
        check_order::<T>(device, &[2, 3, 1009, 2], &[1, 2, 0, 3]);
        let src = loose(&[5, 131, 29], 1, 2).permute_axes(&[0, 2, 1]).unwrap();
        check::<T>(device, &src, &loose(src.shape(), 1, 0));
        let src = loose(&[4, 3, 6, 71], 0, 1).permute_axes(&[3, 1, 0, 2]).unwrap();
        check::<T>(device, &src, &loose(src.shape(), 2, 3));
    }
    check_pieces::<u8>(device);
    check_pieces::<u16>(device);
    check_pieces::<[u8; 3]>(device);
    let src = TensorLayout::contiguous(&[3, 6, 50_000], 1).unwrap();
    let src = src.permute_axes(&[2, 0, 1]).unwrap();
    let tight = TensorLayout::contiguous(src.shape(), 1).unwrap();
    let (tight, loose) =
        (ways(device, &src, &tight), ways(device, &src, &loose(src.shape(), 1, 0)));
    assert!(tight.contains(" pieces of "), "{tight}");
    assert!(loose.contains(" with gaps"), "{loose}");
}

/// Narrow words that start and end on 4 or 8 bytes on a side, and not on 16: tiles are loaded and stored by as many. The last tile has fewer rows, or fewer
/// columns. (Of 16 bytes all are vectors.)
fn tiles_by_units(device: &Device) {
    fn check_units<T: Element>(device: &Device, unit: usize) {
        let of_unit = unit / size_of::<T>();
        for (units, others, slack, offset) in [(49, 131, 0, 0), (25, 259, 2, 1), (181, 35, 4, 0)] {
            // Matrices that lie by units on one side, and anywhere on the other.
            let by_units = |shape: &[usize]| loose(shape, slack * of_unit, offset * of_unit);
            let (long, short) = (units * of_unit, others);
            let anywhere = loose(&[2, long, short], 5, 1).permute_axes(&[0, 2, 1]).unwrap();
            let aligned = by_units(&[2, short, long]).permute_axes(&[0, 2, 1]).unwrap();
            for (src, dst, what) in [
                (&anywhere, &by_units(anywhere.shape()), "stored by "),
                (&aligned, &loose(aligned.shape(), 5, 1), "loaded by "),
                (&aligned.slice(2, .., -1).unwrap(), &loose(aligned.shape(), 0, 0), "loaded by "),
            ] {
                check::<T>(device, src, dst);
                let ways = ways_of(device, size_of::<T>(), src, dst);
                let expected = match unit {
                    16 => format!("{what}vectors"),
                    _ => format!("{what}units of {unit} bytes"),
                };
                assert!(ways.contains(&expected), "{expected}: {ways}");
            }
        }
    }
    for unit in [4, 8, 16] {
        check_units::<u8>(device, unit);
        check_units::<u16>(device, unit);
    }
}

/// Columns of narrow words that start on vectors and are whole units of 4 or 8 bytes, with gaps behind them: rows are loaded by vectors, columns stored by those units.
fn columns_of_units_with_gaps(device: &Device) {
    fn check_columns<T: Element>(device: &Device, [rows, between, cols]: [usize; 3], pitch: usize) {
        let size = size_of::<T>();
        let src = TensorLayout::contiguous(&[rows, between, cols], size).unwrap();
        let strides = [between * pitch, pitch, 1].map(|stride| stride as isize);
        let dst = TensorLayout::strided(&[cols, between, rows], &strides, 0, size).unwrap();
        check::<T>(device, &src.permute_axes(&[2, 1, 0]).unwrap(), &dst);
    }
    for (rows, between, pitch) in [(16, 2, 16), (72, 84, 80), (12, 50, 32), (40, 165, 64)] {
        for cols in [16, 48, 128] {
            check_columns::<u8>(device, [rows, between, cols], pitch);
            check_columns::<u16>(device, [rows, between, cols], pitch);
        }
    }
}

/// All plans for such a move of bytes, in words.
fn ways(device: &Device, src: &TensorLayout, dst: &TensorLayout) -> String {
    ways_of(device, 1, src, dst)
}

/// All plans for such a move of elements of so many bytes, in words.
fn ways_of(device: &Device, bytes: usize, src: &TensorLayout, dst: &TensorLayout) -> String {
    let plans = Plan::moving_candidates_for_layouts(bytes, src, dst, device.facts()).unwrap();
    plans.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn steps_and_mirrors(device: &Device) {
    let whole = TensorLayout::contiguous(&[9, 14, 33], 4).unwrap();
    for step in [-3, -1, 2, 5] {
        for axis in 0..3 {
            for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
                let some = whole.slice(axis, 1.., step).unwrap().permute_axes(&order).unwrap();
                let dst = TensorLayout::contiguous(some.shape(), 4).unwrap();
                check::<u32>(device, &some, &dst);
                check::<u32>(device, &dst, &some);
                check::<[u8; 3]>(device, &some, &some.slice(0, .., -1).unwrap());
            }
        }
    }
}

/// Every second, third, fourth and ninth element of the destination, in every order of the source: boxes store pieces that have gaps, of wide words in narrow ones.
fn steps_in_the_destination(device: &Device) {
    fn check_steps<T: Element>(device: &Device, lengths: [usize; 2]) {
        for step in [2, 3, 4, 9] {
            for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
                let [rows, cols] = lengths;
                let src = loose(&[3, rows, cols], 1, 0).permute_axes(&order).unwrap();
                let mut shape = src.shape().to_vec();
                shape[2] = shape[2] * step - 1;
                let dst = loose(&shape, 0, 1).slice(2, .., step as isize).unwrap();
                check::<T>(device, &src, &dst);
            }
        }
    }
    check_steps::<u8>(device, [20, 70]);
    check_steps::<u16>(device, [20, 70]);
    check_steps::<[u8; 3]>(device, [9, 30]);
    check_steps::<u32>(device, [20, 70]);
    check_steps::<u64>(device, [20, 37]);
    check_steps::<[u32; 3]>(device, [9, 17]);
    check_steps::<u128>(device, [9, 17]);
}

/// Sources whose neighbours lie in descending order and are elsewhere in the destination, as those of pictures that are rotated: tiles go backwards there.
fn rotated(device: &Device) {
    for (shape, order) in [
        (&[70, 300][..], &[1, 0][..]),
        (&[129, 67], &[1, 0]),
        (&[3, 45, 130], &[2, 1, 0]),
        (&[3, 45, 130], &[0, 2, 1]),
        (&[5, 20, 7, 40], &[3, 1, 2, 0]),
        (&[6, 11, 13, 9], &[3, 2, 1, 0]),
    ] {
        for (slack, offset) in [(0, 0), (0, 3), (5, 0), (16, 16)] {
            let last = shape.len() - 1;
            let src = loose(shape, slack, offset).slice(last, .., -1).unwrap();
            let src = src.permute_axes(order).unwrap();
            let dst = loose(src.shape(), slack / 2, offset);
            check_sizes(device, &src, &dst);
            // Backwards along another axis of either side as well.
            let [src, dst] = [src.slice(1, .., -1), dst.slice(0, .., -1)].map(Result::unwrap);
            check::<u16>(device, &src, &dst);
            check::<u32>(device, &src, &dst);
            check::<[u16; 3]>(device, &src, &dst);
        }
    }
    let host: Vec<[f32; 2]> = (0..90 * 70).map(|n| [n as f32, 1.0]).collect();
    let tensor = DeviceTensor::from_host(device, &[90, 70], &host).unwrap();
    let conjugated = tensor.view().slice(1, .., -1).unwrap().t().conjugated().unwrap();
    for (at, element) in conjugated.to_host().unwrap().into_iter().enumerate() {
        assert_eq!(element, [host[at % 90 * 70 + 69 - at / 90][0], -1.0]);
    }
}

/// Sources in descending order along the axis that is the fastest on both sides, as those of pictures that are flipped, and along axes around it: boxes hold them as they lie.
fn flipped(device: &Device) {
    for (shape, axes) in [
        (&[5000][..], &[(0, -1)][..]),
        (&[5003], &[(0, -2)]),
        (&[4, 1200], &[(1, -1)]),
        (&[3, 2100], &[(1, -2), (0, -1)]),
        (&[70, 50], &[(1, -1)]),
        (&[33, 49], &[(0, -1), (1, -1)]),
        (&[33, 50], &[(1, -3)]),
        (&[400, 3], &[(1, -1)]),
        (&[20, 31, 3], &[(1, -1), (2, -1)]),
        (&[9, 40, 4], &[(2, -1)]),
        (&[6, 7, 13, 5], &[(3, -1), (1, -1)]),
        // Two of three channels, and every second one of an odd number: the next pixel starts in the last one's gap.
        (&[40, 31, 3], &[(2, -2)]),
        (&[9, 70, 5], &[(2, 2), (1, -1)]),
        (&[30, 7, 9], &[(2, -2), (1, 3)]),
    ] {
        for (slack, offset) in [(0, 0), (0, 3), (3, 0), (16, 16)] {
            let mut src = loose(shape, slack, offset);
            for &(axis, step) in axes {
                src = src.slice(axis, .., step).unwrap();
            }
            let dst = loose(src.shape(), slack / 2, offset);
            check_sizes(device, &src, &dst);
            // To memory with gaps, or in descending order.
            let last = shape.len() - 1;
            for step in [2, -3] {
                let mut wide = src.shape().to_vec();
                wide[last] = (wide[last] - 1) * 3 + 1;
                let dst = loose(&wide, slack / 2, offset).slice(last, .., step).unwrap();
                let dst = dst.slice(last, ..src.shape()[last], 1).unwrap();
                check::<u8>(device, &src, &dst);
                check::<u16>(device, &src, &dst);
                check::<[u8; 3]>(device, &src, &dst);
                check::<u64>(device, &src, &dst);
            }
        }
    }
}

/// Sources that are repeated along some axes, from single elements to rows, also in descending order: boxes hold each word once.
fn repeated_elements(device: &Device) {
    let row = loose(&[37], 0, 1);
    let matrix = loose(&[12, 41], 3, 2);
    let apart = |at| matrix.insert_axis(at).unwrap();
    for src in [
        row.broadcast(&[20, 37]).unwrap(),
        row.broadcast(&[20, 37]).unwrap().t(),
        row.insert_axis(1).unwrap().broadcast(&[3, 37, 5]).unwrap(),
        row.index_axis(0, 3).unwrap().broadcast(&[6, 50]).unwrap(),
        row.index_axis(0, 3).unwrap().broadcast(&[5001]).unwrap(),
        apart(2).broadcast(&[12, 41, 9]).unwrap(),
        apart(2).broadcast(&[12, 41, 9]).unwrap().permute_axes(&[1, 0, 2]).unwrap(),
        apart(1).broadcast(&[12, 30, 41]).unwrap().slice(2, .., -1).unwrap(),
        apart(0).broadcast(&[130, 12, 41]).unwrap().permute_axes(&[1, 0, 2]).unwrap(),
        apart(0)
            .broadcast(&[7, 12, 41])
            .unwrap()
            .insert_axis(3)
            .unwrap()
            .broadcast(&[7, 12, 41, 3])
            .unwrap(),
    ] {
        for dst in [loose(src.shape(), 0, 0), loose(src.shape(), 3, 1)] {
            check_sizes(device, &src, &dst);
        }
    }
}

/// Batches whose matrices lie in each other: element by element, or row by row, on either side.
fn interleaved_matrices(device: &Device) {
    let (count, rows, cols) = (5, 33, 20);
    let [by_elements, by_rows, apart] =
        [[1, count, cols * count], [cols, 1, count * cols], [rows * cols, 1, cols]];
    let by = |strides: [usize; 3], [count, first, second]: [usize; 3], element: usize| {
        let strides = strides.map(|stride| stride as isize);
        TensorLayout::strided(&[count, first, second], &strides, 0, element).unwrap()
    };
    // Of the source [count, cols, rows]; the destination's matrices have as many columns as the source's have rows.
    let transposed = [[1, rows * count, count], [rows, count * rows, 1], [rows * cols, rows, 1]];
    for src in [by_elements, by_rows, apart] {
        for dst in transposed {
            let shape = [count, cols, rows];
            check::<u32>(device, &by(src, shape, 4), &by(dst, shape, 4));
            check::<[u8; 3]>(device, &by(src, shape, 3), &by(dst, shape, 3));
        }
    }
}

/// As many axes as there may be, none of which lies together with another.
fn many_axes(device: &Device) {
    let reversed: Vec<usize> = (0..11).rev().collect();
    check_order::<u32>(device, &[2; 11], &reversed);
    let mut order: Vec<usize> = (0..16).rev().collect();
    let shape: Vec<usize> = (0..16).map(|axis| 1 + usize::from(axis % 2 == 0)).collect();
    check_order::<[u8; 3]>(device, &shape, &order);
    order.swap(3, 8);
    // Gaps keep sixteen axes apart.
    let src = TensorLayout::strided(&[2; 10], &[1 << 10; 10].map(|s: isize| s), 0, 1);
    assert!(src.is_ok_and(|layout| !layout.is_injective()));
    let strides: Vec<isize> = (0..12).map(|axis| 3isize.pow(axis)).collect();
    let src = TensorLayout::strided(&[2; 12], &strides, 0, 1).unwrap();
    let dst = TensorLayout::contiguous(&[2; 12], 1).unwrap();
    check::<u8>(device, &src, &dst);
    check::<u8>(device, &dst, &src);
}

fn random_moves(device: &Device) {
    let axis = (1..=6usize, 0..3usize, prop_oneof![4 => Just(1isize), 1 => Just(-1), 1 => Just(2)]);
    let axes = proptest::collection::vec((axis.clone(), axis), 1..=8);
    let case = (axes, 0..1000u32, 0..8usize, 0..4usize);
    proptest!(cases(120), |((axes, seed, offset, element) in case)| {
        // No more than some thousand elements.
        let mut left = 4000;
        let axes: Vec<_> = axes.into_iter().map(|(mut src, dst)| {
            src.0 = src.0.min(left);
            left /= src.0;
            (src, dst)
        }).collect();
        let order = {
            let mut order: Vec<usize> = (0..axes.len()).collect();
            order.sort_by_key(|&axis| (seed + 1).wrapping_mul(0x9e37_79b9).rotate_left(5 * axis as u32));
            order
        };
        let laid_out = |order: &[usize], side: &dyn Fn(usize) -> (usize, usize, isize)| {
            let mut strides = vec![0; axes.len()];
            let (mut stride, mut start) = (1, offset);
            for &axis in order.iter().rev() {
                let (length, slack, step) = side(axis);
                strides[axis] = stride * step;
                if step < 0 {
                    start += (length - 1) * stride as usize;
                }
                stride *= (length + slack) as isize * step.abs();
            }
            let shape: Vec<usize> = axes.iter().map(|(src, _)| src.0).collect();
            TensorLayout::strided(&shape, &strides, start, 8).unwrap()
        };
        let straight: Vec<usize> = (0..axes.len()).collect();
        let src = laid_out(&order, &|axis| axes[axis].0);
        let dst = laid_out(&straight, &|axis| (axes[axis].0.0, axes[axis].1.1, axes[axis].1.2));
        match element {
            0 => check::<u8>(device, &src, &dst),
            1 => check::<u16>(device, &src, &dst),
            2 => check::<u32>(device, &src, &dst),
            _ => check::<u64>(device, &src, &dst),
        }
    });
}

/// Whatever is measured to be fastest moves what it should.
fn measured_plans(device: &Device) {
    for (shape, order) in
        [([40, 6, 50], [2, 1, 0]), ([40, 6, 50], [1, 0, 2]), ([9, 6, 50], [0, 2, 1])]
    {
        let host: Vec<u16> =
            (0..shape.iter().product()).map(|index| u16::scrambled(index, 1)).collect();
        let src = DeviceTensor::from_host(device, &shape, &host).unwrap();
        let src = src.view().permute_axes(&order).unwrap();
        let mut dst = DeviceTensor::zeroed(device, src.shape()).unwrap();
        let mut cache = PlanCache::in_memory();
        let plan = Plan::measure_moving(src, &mut dst, &mut cache).unwrap();
        let again = Plan::measure_moving(src, &mut dst, &mut cache).unwrap();
        assert_eq!(plan.to_string(), again.to_string());
        assert_eq!(cache.len(), usize::from(device.is_gpu()), "{plan}");
        dst = DeviceTensor::zeroed(device, src.shape()).unwrap();
        plan.run(src, &mut dst).unwrap();
        let expected: Vec<u16> = offsets(src.layout()).into_iter().map(|at| host[at]).collect();
        assert_eq!(dst.to_host().unwrap(), expected);
    }
}

/// A plan for tensors that start on sectors runs on those that start on vectors, and the other way round, though others may be made for each.
fn plans_of_other_starts(device: &Device) {
    let shape = [175, 6, 9, 4];
    let order = [1, 0, 3, 2];
    let elements = shape.iter().product::<usize>();
    let host: Vec<u128> = (0..elements + 1).map(|index| u128::scrambled(index, 1)).collect();
    let memory = DeviceTensor::from_host(device, &[elements + 1], &host).unwrap();
    let layouts = [0, 1].map(|start| {
        let src = loose(&shape, 0, start).permute_axes(&order).unwrap();
        let dst = loose(src.shape(), 0, start);
        (src, dst)
    });
    for (src, dst) in &layouts {
        let mut target = DeviceTensor::<u128>::zeroed(device, &[elements + 1]).unwrap();
        let source = memory.window(src).unwrap();
        let plan = Plan::moving(source, target.window_mut(dst).unwrap()).unwrap();
        for (src, dst) in &layouts {
            target.fill(0).unwrap();
            plan.run(memory.window(src).unwrap(), target.window_mut(dst).unwrap()).unwrap();
            let actual = target.to_host().unwrap();
            for (from, to) in offsets(src).into_iter().zip(offsets(dst)) {
                assert_eq!(actual[to], host[from], "{plan}");
            }
        }
    }
}

/// What has a faster way goes it.
fn matrices_and_copies(device: &Device) {
    let names = |src: TensorView<'_, u32>| {
        let mut dst = DeviceTensor::<u32>::zeroed(device, src.shape()).unwrap();
        Plan::moving(src, &mut dst).unwrap().kernel_names()
    };
    // Enough blocks for every multiprocessor of a GPU.
    let tensor = DeviceTensor::<u32>::zeroed(device, &[16, 256, 32, 32]).unwrap();
    let view = tensor.view();
    assert!(names(view).is_empty());
    assert!(names(view.t().t()).is_empty());
    assert_eq!(names(view.permute_axes(&[0, 2, 3, 1]).unwrap()), ["micro_b4"]);
    assert_eq!(names(view.permute_axes(&[1, 0, 2, 3]).unwrap()), ["words_b16"]);
    let tensor = DeviceTensor::<u32>::zeroed(device, &[128, 160, 192]).unwrap();
    assert_eq!(names(tensor.view().t()), ["tiles_b4"]);
    assert_eq!(names(tensor.view().slice(2, .., 2).unwrap()), ["words_b4"]);
    let matrix = DeviceMatrix::<u32>::zeroed(device, 2000, 3000).unwrap();
    let tensor = DeviceTensor::from(matrix);
    assert_eq!(names(tensor.view().t()), ["micro_b4"]);
    assert_eq!(tensor.view().t().shape(), [3000, 2000]);
}

/// Several tensors in one call, of different shapes; and none of them if one does not fit.
fn all_or_none(device: &Device) {
    let shapes = [[6, 50], [1, 7], [0, 3], [33, 2]];
    let hosts = shapes.map(|[rows, cols]| {
        (0..rows * cols).map(|index| u32::scrambled(index, 1)).collect::<Vec<_>>()
    });
    let sources: Vec<_> = shapes
        .iter()
        .zip(&hosts)
        .map(|(shape, host)| DeviceTensor::from_host(device, shape, host).unwrap())
        .collect();
    let mut targets: Vec<_> = shapes
        .iter()
        .map(|&[rows, cols]| DeviceTensor::<u32>::zeroed(device, &[cols, rows]).unwrap())
        .collect();
    let pairs = |last: TensorLayout| {
        let mut pairs: Vec<_> = sources.iter().map(|source| source.view().t()).collect();
        pairs[3] = sources[3].window(&last).unwrap();
        pairs
    };
    let moves = |sources, targets: &mut [DeviceTensor<u32>]| {
        let targets = targets.iter_mut().map(DeviceTensor::view_mut);
        copy_all(std::iter::zip::<Vec<_>, _>(sources, targets))
    };
    let last = *sources[3].view().layout();
    let refused = moves(pairs(last), &mut targets);
    assert!(matches!(refused, Err(Error::TensorShapeMismatch { .. })), "{refused:?}");
    assert!(targets.iter().all(|target| target.to_host().unwrap().iter().all(|&word| word == 0)));
    moves(pairs(last.t()), &mut targets).unwrap();
    for ((&[rows, cols], host), target) in shapes.iter().zip(&hosts).zip(&targets) {
        let expected: Vec<u32> =
            (0..rows * cols).map(|at| host[at % rows.max(1) * cols + at / rows.max(1)]).collect();
        assert_eq!(target.to_host().unwrap(), expected);
    }
}

/// What tiles do on the simulator: no sector twice, few instructions, few conflicts. A GPU that copies 4.3 TB/s has time for 55 instructions of a
/// lane for each 4 bytes.
#[test]
fn tiles_move_each_sector_once() {
    fn counted<T: Element>(shape: &[usize], order: &[usize], most: f64) {
        let device = Device::simulated();
        let src = DeviceTensor::<T>::zeroed(&device, shape).unwrap();
        let src = src.view().permute_axes(order).unwrap();
        let mut dst = DeviceTensor::<T>::zeroed(&device, src.shape()).unwrap();
        let plan = Plan::moving(src, &mut dst).unwrap();
        assert!(plan.kernel_names()[0].starts_with("tiles"), "{plan}");
        let counts = count(&device, || plan.run(src, &mut dst)).unwrap().unwrap();
        let bytes = (src.len() * size_of::<T>()) as u64;
        assert_eq!(counts.global_load.sectors * 32, bytes, "{plan}");
        assert_eq!(counts.global_store.sectors * 32, bytes, "{plan}");
        let instructions = counts.thread_instructions as f64 / (bytes as f64 / 4.0);
        assert!(instructions <= most, "{plan}: {instructions} instructions for 4 bytes");
        let (load, store) = (counts.shared_load, counts.shared_store);
        let ideal = load.ideal_wavefronts + store.ideal_wavefronts;
        assert!(load.wavefronts + store.wavefronts <= 2 * ideal, "{plan}");
    }
    for order in [[3, 2, 1, 0], [3, 1, 0, 2], [2, 3, 1, 0]] {
        counted::<u8>(&[64, 15, 6, 128], &order, 45.0);
        counted::<u16>(&[64, 15, 6, 64], &order, 40.0);
        counted::<u32>(&[64, 15, 6, 64], &order, 35.0);
        counted::<u64>(&[64, 15, 6, 64], &order, 35.0);
        counted::<u128>(&[64, 15, 6, 64], &order, 40.0);
    }
}

/// Padding between the columns of tiles of words of 4 and 8 bytes leaves no conflicts where all are vectors, however many rows a tile has, and few where words
/// are loaded, or stored, one by one; of narrow words it leaves few.
#[test]
fn padded_columns_meet_few_banks() {
    fn conflicts<T: Element>(shape: &[usize]) -> f64 {
        // With one multiprocessor, which has as many blocks of little as others have of much.
        let device = of_multiprocessors(&Device::simulated(), 1);
        let src = DeviceTensor::<T>::zeroed(&device, shape).unwrap();
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let src = src.view().permute_axes(&order).unwrap();
        let mut dst = DeviceTensor::<T>::zeroed(&device, src.shape()).unwrap();
        // So little goes word by word at once.
        let ways = Plan::moving_candidates(src, &mut dst).unwrap();
        let in_tiles = |plan: &Plan| plan.kernel_names()[0].starts_with("tiles");
        let plan = ways.into_iter().find(in_tiles).unwrap();
        let counts = count(&device, || plan.run(src, &mut dst)).unwrap().unwrap();
        let (load, store) = (counts.shared_load, counts.shared_store);
        let ideal = load.ideal_wavefronts + store.ideal_wavefronts;
        (load.wavefronts + store.wavefronts) as f64 / ideal as f64
    }
    for shape in [[48, 8, 8, 48], [24, 8, 6, 192], [64, 6, 5, 64]] {
        let all = [conflicts::<u32>(&shape), conflicts::<u64>(&shape)];
        assert!(all.iter().all(|&times| times < 1.01), "{shape:?}: {all:?}");
    }
    // Columns of narrow words that are no multiple of all banks: of these a thread stores 4 or 8 bytes, where others of its warp may store as well.
    for shape in [[96, 8, 6, 32], [32, 8, 6, 96], [112, 8, 6, 80]] {
        let all = [conflicts::<u8>(&shape), conflicts::<u16>(&shape)];
        assert!(all.iter().all(|&times| times < 1.4), "{shape:?}: {all:?}");
    }
    for shape in [[192, 8, 6, 24], [47, 9, 7, 49], [33, 9, 7, 65], [50, 8, 7, 54]] {
        let all = [conflicts::<u32>(&shape), conflicts::<u64>(&shape)];
        assert!(all.iter().all(|&times| times < 1.35), "{shape:?}: {all:?}");
    }
}

fn what_does_not_fit_is_refused(device: &Device) {
    let src = DeviceTensor::<u32>::zeroed(device, &[4, 6]).unwrap();
    let mut dst = DeviceTensor::<u32>::zeroed(device, &[4, 6]).unwrap();
    assert!(matches!(src.view().t().copy_into(&mut dst), Err(Error::TensorShapeMismatch { .. })));
    assert!(matches!(src.permuted(&[0, 0]), Err(Error::NotAPermutation { .. })));
    let plan = Plan::moving(&src, &mut dst).unwrap();
    let columns = src.view().slice(1, ..3, 1).unwrap();
    let other = plan.run(columns, dst.view_mut().slice(1, 3.., 1).unwrap());
    assert!(matches!(other, Err(Error::PlanMismatch { .. })), "{other:?}");
    let elsewhere = Device::simulated();
    let mut dst = DeviceTensor::<u32>::zeroed(&elsewhere, &[4, 6]).unwrap();
    assert!(matches!(src.copy_into(&mut dst), Err(Error::DeviceMismatch { .. })));
}
