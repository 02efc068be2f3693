//! The planners of the fast kernels, one a file, and the choice between them.
//!
//! A planner looks at both layouts: one row that does not start on 16 bytes, on either side, decides.
//!
//! | file | what it is about |
//! |---|---|
//! | `task` | a problem in words, and what the launches of all kernels have in common |
//! | `micro`, `rows`, `pixels`, `triples`, `tuples` | the kernels that cut a matrix into tiles |
//! | `tall`, `wide`, `lines`, `batch` | the kernels that move bands: few columns, few rows, small matrices |
//! | `rounds` | how much of a matrix is a band that is loaded in whole rounds |
//! | `choice` | which kernel is best |
//! | `tuning` | the numbers that were measured, for each architecture |

mod batch;
mod choice;
mod lines;
mod micro;
mod pixels;
mod rounds;
mod rows;
mod tall;
mod task;
mod triples;
mod tuning;
mod tuples;
mod wide;

use super::problem::Problem;
use crate::facts::{Facts, GRID_LIMIT};
use crate::launch::Launch;
pub(crate) use batch::SMALL_MATRIX;
use task::Task;
pub(crate) use tuning::Tuning;

/// A planner: the launches of a kernel, if it can serve the problem.
type Planner = fn(&Task<'_>) -> Option<Vec<Launch>>;

/// Every kernel that is worth a try for an element of one word, by name.
const OF_ONE_WORD: [(&str, Planner); 7] = [
    ("micro", micro::launches),
    ("micro_unpaired", micro::unpaired),
    ("rows", rows::launches),
    ("tall", tall::launches),
    ("wide", wide::launches),
    ("lines", lines::launches),
    ("batch", batch::launches),
];

/// Every kernel that is worth a try for an element of several words, by name.
const OF_MANY_WORDS: [(&str, Planner); 3] =
    [("pixels", pixels::launches), ("triples", triples::launches), ("tuples", tuples::launches)];

/// The launches of the best of these kernels on a device like `facts`, if one is for such a problem. Rows that take turns in memory are left to the kernels
/// of tensors, which know that they lie together.
pub(crate) fn best(problem: &Problem, facts: &Facts) -> Option<Vec<Launch>> {
    if problem.is_interleaved() { None } else { launches(problem, GRID_LIMIT, facts) }
}

/// The launches of every one that can serve a problem, each by the name of the kernel.
pub(crate) fn all(problem: &Problem, facts: &Facts) -> Vec<(&'static str, Vec<Launch>)> {
    if problem.is_interleaved() { Vec::new() } else { candidates(problem, GRID_LIMIT, facts) }
}

/// The launches that transpose a problem by the fastest of these kernels; `None` if the problem is for none of them, which leaves it to those that serve
/// any move. `limit` is what a grid may have along x, y and z.
fn launches(problem: &Problem, limit: [usize; 3], facts: &Facts) -> Option<Vec<Launch>> {
    if problem.is_empty() {
        return Some(Vec::new());
    }
    choice::best(&Task::new(problem, limit, facts))
}

/// The launches of every kernel that can serve a problem in grids of such limits.
fn candidates(
    problem: &Problem,
    limit: [usize; 3],
    facts: &Facts,
) -> Vec<(&'static str, Vec<Launch>)> {
    if problem.is_empty() {
        return Vec::new();
    }
    let task = Task::new(problem, limit, facts);
    let planners: &[(&'static str, Planner)] =
        if task.tuple > 1 { &OF_MANY_WORDS } else { &OF_ONE_WORD };
    planners.iter().filter_map(|&(name, planner)| Some((name, planner(&task)?))).collect()
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use crate::plan::problem::{Batch, tight as problem};
    use kernel_abi::fast::{Batch as BatchParams, ColumnBand, Micro, RowBand};

    fn launches(problem: &Problem, limit: [usize; 3]) -> Vec<Launch> {
        super::launches(problem, limit, &Facts::h200()).expect("a grid covers it")
    }

    fn candidates(problem: &Problem, limit: [usize; 3]) -> Vec<(&'static str, Vec<Launch>)> {
        super::candidates(problem, limit, &Facts::h200())
    }

    /// The rows, or columns, of the bands of `tall`, or of `wide` and `lines`.
    fn band(launch: &Launch) -> usize {
        let length = match launch.entry.name.starts_with("tall") {
            true => launch.params.to::<RowBand>().unwrap().band_rows,
            false => launch.params.to::<ColumnBand>().unwrap().band_cols,
        };
        length as usize
    }

    /// The kernel that is chosen, or that none is.
    fn kernel(problem: &Problem) -> &'static str {
        let launches = super::launches(problem, GRID_LIMIT, &Facts::h200());
        launches.map_or("none", |launches| launches[0].entry.name)
    }

    #[test]
    fn both_layouts_decide() {
        let aligned = problem(4, 1024, 1024);
        assert_eq!(kernel(&aligned), "micro_b4");
        let mut odd_source = aligned;
        odd_source.src.ld += 1;
        let mut odd_destination = aligned;
        odd_destination.dst.ld += 1;
        let source_off = Problem { src_align: 4, ..aligned };
        let destination_off = Problem { dst_align: 4, ..aligned };
        for problem in [odd_source, odd_destination, source_off, destination_off] {
            assert_eq!(kernel(&problem), "rows_b4", "{problem}");
        }
    }

    #[test]
    fn shapes_and_elements_decide() {
        assert_eq!(kernel(&problem(4, 1 << 24, 24)), "tall_b4");
        assert_eq!(kernel(&problem(4, 1 << 24, 48)), "tall_b4");
        assert_eq!(kernel(&problem(4, 1 << 24, 64)), "micro_b4");
        assert_eq!(kernel(&problem(4, (1 << 24) + 1, 48)), "tall_b4");
        assert_eq!(kernel(&problem(1, 48, 1 << 24)), "lines_b1");
        assert_eq!(kernel(&problem(1, 64, 1 << 24)), "micro_b1");
        assert_eq!(kernel(&problem(4, 7, 1 << 24)), "lines_b4");
        assert_eq!(kernel(&problem(4, 8, (1 << 24) + 1)), "lines_b4");
        assert_eq!(kernel(&problem(4, 27, 1 << 24)), "lines_b4");
        assert_eq!(kernel(&problem(4, 28, 1 << 24)), "micro_b4");
        assert_eq!(kernel(&problem(4, 48, (1 << 24) + 1)), "lines_b4");
        assert_eq!(kernel(&problem(4, 62, (1 << 24) + 1)), "wide_b4");
        assert_eq!(kernel(&problem(16, 8, 1 << 24)), "none");
        assert_eq!(kernel(&problem(1, 3, 1 << 24)), "lines_b1");
        assert_eq!(kernel(&problem(2, 3, 1 << 24)), "lines_b2");
        assert_eq!(kernel(&problem(4, 64, 64)), "micro_b4");
        assert_eq!(kernel(&problem(4, 10007, 9973)), "rows_b4");
        assert_eq!(kernel(&problem(3, 500, 500)), "triples_b1");
        assert_eq!(kernel(&problem(6, 500, 500)), "triples_b2");
        assert_eq!(kernel(&problem(3, 512, 496)), "pixels_b1");
        assert_eq!(kernel(&problem(6, 512, 496)), "pixels_b2");
        assert_eq!(kernel(&problem(5, 500, 500)), "none");
        assert_eq!(kernel(&problem(10, 500, 500)), "none");
        assert_eq!(kernel(&problem(12, 500, 500)), "tuples_b4");
        assert_eq!(kernel(&problem(24, 500, 500)), "tuples_b8");
        assert_eq!(kernel(&problem(32, 500, 500)), "none");
        // A tile's row holds none of these.
        assert_eq!(kernel(&problem(300, 50, 50)), "none");
        let batch = Batch { count: 1000, src_stride: 35, dst_stride: 35 };
        assert_eq!(kernel(&Problem { batch, ..problem(4, 7, 5) }), "batch_b4");
        let apart = Batch { count: 1000, src_stride: 36, dst_stride: 35 };
        assert_ne!(kernel(&Problem { batch: apart, ..problem(4, 7, 5) }), "batch_b4");
    }

    /// More columns than a tile has, but the last tile nearly empty: bands, as long as there are many rows.
    #[test]
    fn tiles_that_are_not_full() {
        for (element, cols, full, across) in [
            (1, 272, 496, "micro_b1"),
            (2, 144, 240, "micro_b2"),
            (4, 72, 120, "micro_b4"),
            (8, 72, 96, "micro_b8"),
            (16, 40, 64, "micro_b16"),
        ] {
            assert!(kernel(&problem(element, 1 << 20, cols)).starts_with("tall"), "{element}");
            assert_eq!(kernel(&problem(element, 1 << 20, full)), across);
            assert_eq!(kernel(&problem(element, 512, cols)), across);
        }
        for (element, cols, full, across) in [
            (1, 264, 400, "rows_b1"),
            (2, 260, 400, "rows_b2"),
            (4, 130, 240, "rows_b4"),
            (8, 64, 120, "rows_b8"),
        ] {
            let rows = (1 << 20) - 1;
            assert!(kernel(&problem(element, rows, cols)).starts_with("tall"), "{element}");
            assert_eq!(kernel(&problem(element, rows, full)), across);
            assert_eq!(kernel(&problem(element, 511, cols)), across);
        }
        // More rows than a tile has, but the last tile nearly empty: bands, for elements of 4 and 8 bytes that start anywhere.
        assert_eq!(kernel(&problem(8, 56, (1 << 20) + 1)), "rows_b8");
        assert_eq!(kernel(&problem(8, 64, (1 << 20) + 1)), "none");
        assert_eq!(kernel(&problem(4, 64, (1 << 20) + 1)), "wide_b4");
        assert_eq!(kernel(&problem(4, 96, (1 << 20) + 1)), "rows_b4");
    }

    /// Rows of the destination that start on vectors, but not on sectors: fewer blocks to a multiprocessor, bands, and spans for bytes.
    #[test]
    fn sectors_in_parts() {
        let of = |element, rows, cols| {
            let launch = &launches(&problem(element, rows, cols), GRID_LIMIT)[0];
            (launch.entry.name, launch.blocks_per_multiprocessor)
        };
        assert_eq!(of(1, 10000, 10000), ("rows_b1", 0));
        assert_eq!(of(1, 9984, 10000), ("micro_b1", 0));
        assert_eq!(of(1, 6000, 6000), ("micro_b1", 2));
        assert_eq!(of(1, 528, 1 << 20), ("micro_b1", 2));
        assert_eq!(of(2, 7096, 7040), ("micro_b2", 2));
        assert_eq!(of(4, 5020, 5020), ("micro_b4", 4));
        assert_eq!(of(4, 5024, 5024), ("micro_b4", 0));
        assert_eq!(of(4, (1 << 20) + 4, 128), ("tall_b4", 0));
        assert_eq!(of(4, 1 << 20, 128), ("micro_b4", 4));
        assert_eq!(of(4, 100, 100), ("micro_b4", 0));
    }

    /// A foreign address may be aligned to less than the element.
    #[test]
    fn addresses_that_split_an_element() {
        let split = Problem { src_align: 8, ..problem(16, 500, 500) };
        assert_eq!(kernel(&split), "tuples_b8");
    }

    /// Rows a multiple of 128 KiB apart are walked in pairs of columns, 16 KiB from each other.
    #[test]
    fn far_rows_are_walked_in_pairs() {
        let walk = |problem: &Problem| {
            let launch = &launches(problem, GRID_LIMIT)[0];
            (launch.params.to::<Micro>().unwrap().apart, launch.grid[1])
        };
        for (element, cols) in
            [(1, 1 << 17), (2, 1 << 18), (4, 1 << 16), (8, 3 << 14), (16, 1 << 13)]
        {
            let far = problem(element, 4096, cols);
            let columns = (cols * element / 256) as u32;
            assert_eq!(walk(&far), (64, columns), "{far}");
            // Only the source's rows count, and only whole multiples.
            let mut nearer = far;
            nearer.src.ld += 256 / element;
            assert_eq!(walk(&nearer), (0, columns), "{nearer}");
            let far_destination = problem(element, cols, 4096);
            assert_eq!(walk(&far_destination).0, 0, "{far_destination}");
        }
        // Part of a group of columns has blocks for all of it; less than one group is no group.
        let mut part = problem(4, 4096, 1 << 16);
        part.src.cols = 8192 + 64;
        assert_eq!(walk(&part), (64, 256));
        part.src.cols = 8192 - 64;
        assert_eq!(walk(&part), (0, 127));
    }

    #[test]
    fn large_matrices_have_fewer_blocks_per_multiprocessor() {
        let blocks_per_multiprocessor = |element, side| {
            launches(&problem(element, side, side), GRID_LIMIT)[0].blocks_per_multiprocessor
        };
        assert_eq!(
            [1, 2, 4, 8, 16].map(|element| blocks_per_multiprocessor(element, 16384)),
            [2, 2, 4, 0, 5]
        );
        assert_eq!(
            [1, 2, 4, 8, 16].map(|element| blocks_per_multiprocessor(element, 2048)),
            [0; 5]
        );
        // Not if they are no taller, or wider, than a part of a tile.
        for (element, rows, cols) in
            [(1, 64, 1 << 24), (2, 1 << 24, 64), (4, 32, 1 << 24), (16, 24, 1 << 22)]
        {
            let launch = &launches(&problem(element, rows, cols), GRID_LIMIT)[0];
            assert!(
                launch.entry.name.starts_with("micro") && launch.blocks_per_multiprocessor == 0
            );
        }
    }

    /// Few rows of 4-byte and of 8-byte elements: one round of about three vectors for each thread, wherever they start.
    #[test]
    fn bands_are_three_quarters_of_a_round() {
        for (element, most_rows) in [(4, [27, 60]), (8, [39, 39])] {
            for past in [0, 1] {
                for rows in 2..=most_rows[past] {
                    let problem = problem(element, rows, (1 << 20) + past);
                    let launch = &launches(&problem, GRID_LIMIT)[0];
                    assert!(launch.entry.name.starts_with("lines"), "{problem}");
                    let (threads, cols) = (launch.block[0] as usize, band(launch));
                    assert_eq!(cols * element % 256, 0, "{problem}");
                    let vectors = rows * (cols * element / 16 + past);
                    assert!(threads * 12 <= vectors * 5 && vectors < threads * 4, "{problem}");
                }
            }
        }
        assert_eq!(kernel(&problem(4, 61, (1 << 20) + 1)), "wide_b4");
    }

    #[test]
    fn what_no_cache_holds_is_evicted_last() {
        let evict_last = |problem: Problem| {
            let launches = launches(&problem, GRID_LIMIT);
            assert!(launches.iter().all(|launch| launch.evict_last == launches[0].evict_last));
            launches[0].evict_last
        };
        for element in [1, 3, 4, 16, 100] {
            let cols = (32 << 20) / 4096 / element;
            assert!(evict_last(problem(element, 4096, cols + 1)), "{element}");
            assert!(!evict_last(problem(element, 4096, cols - 1)), "{element}");
        }
        let batch = Batch { count: 1 << 13, src_stride: 1024, dst_stride: 1024 };
        assert!(evict_last(Problem { batch, ..problem(4, 32, 32) }));
    }

    /// Bands are whole cache lines and four vectors for each thread, of 2-byte elements three, where nothing beside them is loaded.
    #[test]
    fn bands_are_exactly_so_many_vectors() {
        let band_of = |problem: &Problem| {
            let launch = &launches(problem, GRID_LIMIT)[0];
            (launch.entry.name, launch.block[0] as usize, band(launch))
        };
        for (element, name, vectors, lengths) in [
            (1, "lines_b1", 4, [2, 3, 5, 8, 12, 20, 24, 32, 40, 48].as_slice()),
            (2, "lines_b2", 3, &[2, 3, 5, 8, 12, 20, 24, 36, 48]),
        ] {
            for &rows in lengths {
                let problem = problem(element, rows, 1 << 24);
                let (kernel, threads, cols) = band_of(&problem);
                assert_eq!((kernel, cols * element % 128), (name, 0), "{problem}");
                assert_eq!(rows * cols * element, threads * vectors * 16, "{problem}");
                let batch =
                    Batch { count: 2, src_stride: rows << 24, dst_stride: (rows << 24) + 1 };
                for other in [Problem { dst_align: 8, ..problem }, Problem { batch, ..problem }] {
                    assert_ne!(band_of(&other), (kernel, threads, cols), "{other}");
                }
            }
        }
        for cols in [32, 40] {
            let problem = problem(2, 1 << 20, cols);
            let (kernel, threads, rows) = band_of(&problem);
            assert_eq!((kernel, rows * 2 % 128), ("tall_b2", 0), "{problem}");
            assert_eq!(rows * cols * 2, threads * 64, "{problem}");
        }
    }

    /// Threads have about three vectors, of bytes where a multiprocessor has some blocks and not many. Where it has few they are shared out.
    #[test]
    fn bands_of_narrow_words_are_shorter_where_blocks_are_few() {
        let vectors = |element: usize, rows: usize, cols: usize| {
            let problem = problem(element, rows, cols);
            let launch = &launches(&problem, GRID_LIMIT)[0];
            assert!(launch.entry.name.starts_with("lines"), "{problem}");
            let bytes = rows * band(launch) * element;
            bytes as f64 / (16 * launch.block[0]) as f64
        };
        let (medium, large) = (36_000_000, 320_000_000);
        let cols = |bytes: usize, row_bytes: usize| bytes / row_bytes / 32 * 32;
        for rows in [9, 13, 28] {
            // Of bytes, those of rows that start anywhere, too.
            for cols in [cols(medium, rows), cols(medium, rows) + 7] {
                assert!((2.9..4.0).contains(&vectors(1, rows, cols)), "{rows} × {cols}");
            }
            assert!(vectors(1, rows, cols(large, rows)) > 4.0, "{rows}");
        }
        for rows in [7, 13, 22, 38] {
            for cols in [cols(medium, 2 * rows), cols(large, 2 * rows)] {
                assert!((2.9..4.0).contains(&vectors(2, rows, cols)), "{rows} × {cols}");
            }
        }
        assert_eq!(vectors(2, 3, 800_000), 2.0);
    }

    /// Few blocks of `lines` are twice as many, or four times, as long as threads have more than a vector each.
    #[test]
    fn bands_of_small_moves_are_shared_out() {
        let band_of = |problem: &Problem, facts: &Facts| {
            let launches = super::launches(problem, GRID_LIMIT, facts).unwrap();
            assert!(launches[0].entry.name.starts_with("lines"), "{problem}");
            let Launch { grid, block, .. } = launches[0];
            let of_thread = problem.src.rows * band(&launches[0]) * problem.element_bytes;
            assert!(of_thread >= 24 * block[0] as usize, "{problem}");
            (grid[0] * grid[2], band(&launches[0]))
        };
        let large = Facts { multiprocessors: 1, ..Facts::h200() };
        for (element, rows, cols) in
            [(1, 3, 50_176), (1, 40, 100_000), (2, 5, 400_000), (4, 6, 40_960)]
        {
            let problem = problem(element, rows, cols);
            let (many, short) = band_of(&problem, &Facts::h200());
            let (few, long) = band_of(&problem, &large);
            let sector = 32 / element;
            assert!(few < 1056 && many > few, "{problem}: {few}, {many}");
            match element {
                // Three vectors for each of 160 threads; half of four.
                2 => assert_eq!((long, short), (768, 512), "{problem}"),
                _ => assert!(long / short >= 2, "{problem}: {long}, {short}"),
            }
            assert_eq!(short % sector, 0, "{problem}");
        }
        let many = problem(1, 3, 1 << 24);
        assert_eq!(band_of(&many, &Facts::h200()), band_of(&many, &large));
    }

    /// A thousand matrices without gaps in or between them.
    fn batch_of(element: usize, rows: usize, cols: usize) -> Problem {
        let each = rows * cols;
        let batch = Batch { count: 1000, src_stride: each, dst_stride: each };
        Problem { batch, ..problem(element, rows, cols) }
    }

    #[test]
    fn batches_fill_rounds_of_loads() {
        let band = |element, (rows, cols): (usize, usize)| {
            let launch = &launches(&batch_of(element, rows, cols), GRID_LIMIT)[0];
            assert!(launch.entry.name.starts_with("batch"), "{}", launch.entry.name);
            (launch.block[0], launch.params.to::<BatchParams>().unwrap().band_matrices)
        };
        assert_eq!(band(4, (7, 5)), (128, 56));
        assert_eq!(band(4, (16, 16)), (128, 8));
        assert_eq!(band(4, (20, 15)), (128, 6));
        assert_eq!(band(4, (32, 64)), (128, 1));
        // Whole sectors are four matrices at least: 20 of 24 KiB.
        assert_eq!(band(4, (25, 50)), (256, 4));
        assert_eq!(band(1, (7, 5)), (128, 224));
    }

    /// No block of a batch has more threads than the kernel's entry point may run with.
    #[test]
    fn batches_have_threads_that_their_kernels_take() {
        let sides = || (1..70).step_by(3).chain([64, 128, 256, 512, 1024]);
        for (element, most) in [(1, 512), (2, 512), (4, 256), (8, 256), (16, 256)] {
            for (rows, cols) in sides().flat_map(|rows| sides().map(move |cols| (rows, cols))) {
                let problem = batch_of(element, rows, cols);
                let Some(launches) = super::launches(&problem, GRID_LIMIT, &Facts::h200()) else {
                    continue;
                };
                if launches[0].entry.name.starts_with("batch") {
                    assert!(launches[0].block[0] <= most, "{problem}: {:?}", launches[0]);
                }
            }
        }
    }

    /// Where matrices lie so that lanes would meet in few banks, threads step by whole groups of banks; and no vector is found anew where some number of threads spares
    /// that.
    #[test]
    fn threads_of_narrow_batches_step() {
        let gathering = |element, (rows, cols): (usize, usize)| {
            let launch = &launches(&batch_of(element, rows, cols), GRID_LIMIT)[0];
            let params = launch.params.to::<BatchParams>().unwrap();
            (launch.block[0], params.gatherers, params.gap)
        };
        // Two words of a bank are few; what is four bytes apart goes by gaps of a bank, what is rows of 16 bytes apart by gaps of a vector.
        assert_eq!(gathering(1, (16, 16)), (128, 128, 0));
        assert_eq!(gathering(1, (2, 2)), (128, 128, 4));
        assert_eq!(gathering(1, (8, 16)), (128, 128, 16));
        assert_eq!(gathering(2, (128, 16)), (256, 256, 4));
        assert_eq!(gathering(1, (512, 16)), (512, 512, 4));
        assert_eq!(gathering(1, (24, 2)), (128, 120, 4));
        // 81 vectors are whole matrices, but it takes 648 to be whole groups, too.
        assert_eq!(gathering(1, (9, 9)), (128, 81, 0));
        // 675 vectors before the first that is at a matrix's start.
        assert_eq!(gathering(1, (27, 50)).1, 0);
    }

    /// A slab of the grid is whole groups, but for the last.
    #[test]
    fn slabs_are_whole_groups() {
        let problem = problem(4, 4096, 1 << 16);
        let launches = launches(&problem, [1000, 300, 1]);
        let grids: Vec<_> = launches.iter().map(|launch| launch.grid[1]).collect();
        assert_eq!(grids, [256, 256, 256, 256]);
        assert_eq!(launches[3].offsets, [3 * 256 * 256, 3 * 256 * 64 * 4096 * 4]);
    }

    #[test]
    fn the_chosen_kernel_is_a_candidate() {
        for element in [1, 2, 3, 4, 8, 12, 16, 100] {
            for (rows, cols) in [(1, 1), (5, 70000), (70000, 5), (999, 1001), (512, 512)] {
                let problem = problem(element, rows, cols);
                let chosen = super::launches(&problem, GRID_LIMIT, &Facts::h200());
                let Some(chosen) = chosen else { continue };
                let candidates = candidates(&problem, GRID_LIMIT);
                assert!(candidates.iter().any(|(_, launches)| *launches == chosen), "{problem}");
            }
        }
    }

    /// More columns and more matrices than a grid has blocks: slabs that cover all.
    #[test]
    fn slabs_cover_columns_and_batches() {
        let batch = Batch { count: 5, src_stride: 1 << 20, dst_stride: 1 << 20 };
        let problem = Problem { batch, ..problem(4, 256, 1000) };
        let launches = launches(&problem, [1000, 4, 2]);
        let mut covered = 0;
        for Launch { grid, params, .. } in &launches {
            let Micro { matrices, .. } = params.to().unwrap();
            assert!(grid[1] <= 4 && grid[2] <= 2);
            covered += matrices.cols * u64::from(grid[2]);
        }
        assert_eq!(covered, 5 * 1000);
        let last = launches.last().unwrap();
        assert_eq!(last.offsets[0], (4 * (1 << 20) + 768) * 4);
        assert_eq!(last.offsets[1], (4 * (1 << 20) + 768 * 256) * 4);
    }

    /// Nothing is planned that moves less than all of a problem that no kernel has a grid for.
    #[test]
    fn what_no_grid_covers_is_left_to_others() {
        let refused =
            |problem: &Problem, limit| super::launches(problem, limit, &Facts::h200()).is_none();
        for element in [1, 2, 3, 4, 8, 16, 100] {
            for (rows, cols) in [(1 << 20, 1 << 10), (1 << 30, 3), (1 << 32, 1)] {
                let problem = problem(element, rows, cols);
                assert!(refused(&problem, [1, 1, 1]), "{problem}");
                assert!(!refused(&problem, GRID_LIMIT), "{problem}");
            }
            assert!(!refused(&problem(element, 0, 1 << 40), [1, 1, 1]));
            assert!(!refused(&problem(element, 1, 1), [1, 1, 1]));
        }
    }
}
