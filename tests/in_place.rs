//! Transposition in place: every algorithm × element width × shape, on the simulator and on a GPU.

use profile::Inspection;
use proptest::prelude::{Strategy as _, proptest};
use transpose::{Carry, Device, DeviceMatrix, Error, InPlace, InPlaceOptions, InPlacePlan};
use transpose_tests::{Element, cases, is_ours, on_both_devices, takes_large};

on_both_devices! {
    simulator: simulator_of_talking_blocks;
    small_shapes,
    small_shapes_on_small_chips,
    squares,
    squares_in_pairs,
    squares_with_gaps,
    skinny,
    large,
    staged_tiles,
    flags_with_spreading_and_padding,
    many_panels,
    slots_that_start_anywhere,
    carried_through_shared_memory,
    short_cycles,
    rows_that_do_not_fit,
    tuples,
    large_elements,
    tuples_with_gaps,
    gaps_that_nothing_keeps,
    random_cases,
    layouts,
    refusals,
    extra_memory,
    plans_run_again,
    several_at_once,
    measured_matrices_are_as_before,
    elements_of_no_bytes,
    extreme_options,
}

/// The plan's options for a chip so small that little shapes take all steps.
fn small_chip(bytes: usize) -> InPlaceOptions {
    InPlaceOptions::default().on_chip_bytes(bytes)
}

/// Transposes in place between two canaries and compares all the memory that the matrix had, if the case is this process's. False
/// if the algorithm does not serve the shape.
fn check_with<T: Element>(
    device: &Device,
    (rows, cols): (usize, usize),
    algorithm: InPlace,
    options: &InPlaceOptions,
) -> bool {
    let host: Vec<T> = (0..rows * cols).map(|index| T::scrambled(index, 3)).collect();
    // Allocated around the matrix, so that stray accesses are likely to hit them.
    let canaries: Vec<T> = (0..64).map(|index| T::scrambled(index, 4)).collect();
    let before = DeviceMatrix::from_host(device, 1, 64, &canaries).unwrap();
    let mut matrix = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
    let after = DeviceMatrix::from_host(device, 1, 64, &canaries).unwrap();
    let mut plan = match InPlacePlan::with_options(&matrix, algorithm, options) {
        Ok(plan) => plan,
        Err(Error::NotServed { .. }) => return false,
        Err(error) => panic!("{algorithm} {rows} × {cols}: {error}"),
    };
    if !is_ours() {
        return true;
    }
    plan.run(&mut matrix).unwrap_or_else(|e| panic!("{algorithm} {rows} × {cols}: {e}\n{plan:?}"));
    assert_eq!(matrix.shape(), (cols, rows));
    let actual = matrix.to_host().unwrap();
    for row in 0..rows {
        for col in 0..cols {
            assert!(
                actual[col * rows + row] == host[row * cols + col],
                "{algorithm} {rows} × {cols} of {} bytes, {options:?}: ({row}, {col}) is wrong\n{plan:?}",
                size_of::<T>()
            );
        }
    }
    assert!(before.to_host().unwrap() == canaries && after.to_host().unwrap() == canaries);
    true
}

/// [`check_with`] for every element width.
fn check_widths(
    device: &Device,
    shape: (usize, usize),
    algorithm: InPlace,
    options: &InPlaceOptions,
) -> bool {
    // No short circuit: each must run.
    check_with::<u8>(device, shape, algorithm, options)
        & check_with::<u16>(device, shape, algorithm, options)
        & check_with::<u32>(device, shape, algorithm, options)
        & check_with::<u64>(device, shape, algorithm, options)
        & check_with::<u128>(device, shape, algorithm, options)
}

/// Algorithms that serve every shape of the tests.
const ANY_SHAPE: [InPlace; 4] =
    [InPlace::Auto, InPlace::TwoStage, InPlace::Decomposed, InPlace::CycleFollowing];

fn small_shapes(device: &Device) {
    for algorithm in ANY_SHAPE {
        for rows in 0..18 {
            for cols in 0..18 {
                let options = InPlaceOptions::default();
                assert!(check_with::<u32>(device, (rows, cols), algorithm, &options));
            }
        }
        for shape in [(3, 5), (5, 3), (16, 24), (31, 33), (33, 32)] {
            assert!(check_widths(device, shape, algorithm, &InPlaceOptions::default()));
        }
    }
}

/// A chip that holds 1 KiB: several panels, gaps, strips of few columns.
fn small_shapes_on_small_chips(device: &Device) {
    for algorithm in [InPlace::TwoStage, InPlace::Decomposed] {
        for rows in [1, 2, 3, 7, 12, 16, 29, 40] {
            for cols in [1, 2, 5, 8, 11, 24, 31, 37] {
                let served =
                    check_with::<u32>(device, (rows, cols), algorithm, &small_chip(1 << 10));
                assert!(served, "{algorithm} {rows} × {cols}");
            }
        }
        for shape in [(29, 37), (64, 12), (12, 64), (100, 10)] {
            assert!(check_widths(device, shape, algorithm, &small_chip(2 << 10)));
        }
    }
}

fn squares(device: &Device) {
    for side in [1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 128, 129, 160] {
        assert!(check_widths(device, (side, side), InPlace::Square, &InPlaceOptions::default()));
    }
}

/// Rows so far apart that two rows of tiles are walked together, in whole groups and parts of one.
fn squares_in_pairs(device: &Device) {
    let sides = if takes_large(device) { [8192, 5000, 40] } else { [1024, 1050, 40] };
    for side in sides {
        far_rows::<u128>(device, side, 8192);
    }
    // Tiles of few elements: many in a small matrix.
    for side in [64, 70, 137] {
        far_rows::<[u8; 256]>(device, side, 512);
    }
}

/// A square whose rows lie `ld` elements apart.
fn far_rows<T: Element>(device: &Device, side: usize, ld: usize) {
    let host: Vec<T> = (0..side * side).map(|index| T::scrambled(index, 6)).collect();
    let mut matrix = DeviceMatrix::from_host_with_ld(device, side, side, ld, &host).unwrap();
    matrix.transpose_in_place().unwrap();
    let actual = matrix.to_host().unwrap();
    for (index, &element) in actual.iter().enumerate() {
        assert!(element == host[index % side * side + index / side], "{side}: {index}");
    }
}

/// Rows with gaps: what lies between them stays.
fn squares_with_gaps(device: &Device) {
    for (side, ld) in [(5, 9), (40, 44), (64, 72), (70, 71)] {
        let host: Vec<u32> = (0..(side * side) as u32).collect();
        let mut matrix = DeviceMatrix::from_host_with_ld(device, side, side, ld, &host).unwrap();
        matrix.transpose_in_place().unwrap();
        assert_eq!(matrix.ld(), ld);
        let actual = matrix.to_host().unwrap();
        let gaps = matrix.window(side, side - 1, ld - side, ld).unwrap().to_host().unwrap();
        assert!(gaps.iter().all(|&gap| gap == 0));
        for (index, &element) in actual.iter().enumerate() {
            assert_eq!(element as usize, index % side * side + index / side);
        }
    }
}

/// Few fields, many records, and the reverse; some of which take several panels.
fn skinny(device: &Device) {
    for fields in [2, 3, 4, 8, 16, 31] {
        for shape in [(2003, fields), (fields, 2003)] {
            for algorithm in [InPlace::Auto, InPlace::Decomposed] {
                assert!(check_with::<u32>(device, shape, algorithm, &InPlaceOptions::default()));
            }
            let options = small_chip(8 << 10);
            assert!(check_widths(device, shape, InPlace::TwoStage, &options));
        }
    }
}

/// Shapes that do not fit the chip, planned as users plan them.
fn large(device: &Device) {
    for shape in [(523, 541), (600, 400), (256, 1000), (1009, 211)] {
        for algorithm in [InPlace::Auto, InPlace::TwoStage, InPlace::Decomposed] {
            let options = InPlaceOptions::default();
            assert!(check_with::<u32>(device, shape, algorithm, &options));
            assert!(check_with::<u64>(device, shape, algorithm, &options));
        }
    }
}

/// Every tile that divides the shape, in the three staged algorithms.
fn staged_tiles(device: &Device) {
    for algorithm in [InPlace::ThreeStage, InPlace::FourStage, InPlace::FourStageFused] {
        for (rows, cols) in [(12, 18), (16, 8), (30, 7)] {
            for m in (1..=rows).filter(|m| rows % m == 0) {
                for n in (1..=cols).filter(|n| cols % n == 0) {
                    let tile = Some((m, n));
                    let options = InPlaceOptions::default().tile(tile);
                    assert!(check_with::<u32>(device, (rows, cols), algorithm, &options));
                }
            }
        }
        for shape in [(120, 90), (72, 180), (128, 64)] {
            assert!(check_widths(device, shape, algorithm, &InPlaceOptions::default()));
        }
        // Many warps to a tile, many tiles to a cycle.
        assert!(check_with::<u32>(device, (300, 170), algorithm, &InPlaceOptions::default()));
        // A prime side has no tile but its whole.
        let tile = Some((2, 2));
        let options = InPlaceOptions::default().tile(tile);
        assert!(!check_with::<u32>(device, (7, 4), algorithm, &options));
    }
}

fn flags_with_spreading_and_padding(device: &Device) {
    for spreading in [1, 2, 4, 8, 16, 32] {
        for padding in [false, true] {
            let flags = Some((spreading, padding));
            let options = InPlaceOptions::default().flags(flags);
            assert!(check_widths(device, (48, 40), InPlace::ThreeStage, &options));
            let mut matrix = DeviceMatrix::from_host(device, 64, 33, &numbers(64 * 33)).unwrap();
            matrix.aos_to_asta_with(32, &options).unwrap();
            assert_eq!(matrix.to_host().unwrap(), asta(64, 33, 32));
        }
    }
    let options = InPlaceOptions::default().flags((3, true));
    assert!(!check_with::<u32>(device, (48, 40), InPlace::ThreeStage, &options));
}

/// Super-elements of every length, with and without a rest that fills no panel.
fn many_panels(device: &Device) {
    for length in [1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 60] {
        for shape in [(61, 13), (13, 61), (64, 16), (16, 64)] {
            let tile = Some((length, 0));
            let options = InPlaceOptions::default().tile(tile);
            assert!(check_widths(device, shape, InPlace::TwoStage, &options));
        }
    }
    // Several chunks to a super-element.
    for shape in [(1500, 9), (9, 1500)] {
        let options = InPlaceOptions::default().tile((700, 0));
        assert!(check_widths(device, shape, InPlace::TwoStage, &options));
    }
}

/// Super-elements of bytes that start anywhere in a word: of every number of whole words and of single bytes before and behind them, in
/// one chunk and in several.
fn slots_that_start_anywhere(device: &Device) {
    for length in (45..66).chain([125, 169, 170, 171, 253, 508, 509, 510, 511, 763, 1019]) {
        let tile = Some((length, 0));
        let options = InPlaceOptions::default().tile(tile);
        for shape in [(5 * length + 3, 9), (9, 5 * length + 3)] {
            assert!(check_with::<u8>(device, shape, InPlace::TwoStage, &options));
        }
        let length = length / 3;
        let options = InPlaceOptions::default().tile((length, 0));
        for shape in [(7 * length + 1, 11), (11, 7 * length + 1)] {
            assert!(check_with::<[u8; 3]>(device, shape, InPlace::TwoStage, &options));
            assert!(check_with::<u16>(device, shape, InPlace::TwoStage, &options));
        }
    }
    // Panels of narrow words whose rows and slots start on vectors, on units, and on neither.
    for (length, width, gap) in
        [(64, 144, 16), (64, 144, 0), (68, 140, 4), (67, 141, 3), (131, 66, 1), (48, 203, 5)]
    {
        let options = InPlaceOptions::default().tile((length, 0));
        for shape in [(3 * length + gap, width), (width, 3 * length + gap)] {
            assert!(check_with::<u8>(device, shape, InPlace::TwoStage, &options));
            assert!(check_with::<u16>(device, shape, InPlace::TwoStage, &options));
            assert!(check_with::<[u8; 3]>(device, shape, InPlace::TwoStage, &options));
            assert!(check_with::<[u8; 7]>(device, shape, InPlace::TwoStage, &options));
            assert!(check_with::<[u16; 3]>(device, shape, InPlace::TwoStage, &options));
        }
    }
}

/// 100! one step at a time: lengths with and without a relation to a warp, in one chunk and in several.
fn carried_through_shared_memory(device: &Device) {
    let carried = InPlaceOptions::default().carry(Carry::SharedMemory);
    for width in [1, 3, 16, 31, 32, 45, 64, 100, 129] {
        let (fields, tiles) = (7, 11);
        let records = width * tiles;
        let host = numbers(fields * records);
        let mut matrix = DeviceMatrix::from_host(device, fields, records, &host).unwrap();
        for on_chip_bytes in [None, Some(256)] {
            let options = carried.on_chip_bytes(on_chip_bytes);
            matrix.soa_to_asta_with(width, &options).unwrap();
            let tiled = matrix.to_host().unwrap();
            for (index, &element) in tiled.iter().enumerate() {
                let (tile, rest) = (index / (fields * width), index % (fields * width));
                let (field, record) = (rest / width, rest % width);
                assert_eq!(element as usize, field * records + tile * width + record, "{width}");
            }
            matrix.asta_to_soa(fields).unwrap();
            assert!(matrix.to_host().unwrap() == host);
        }
    }
    for algorithm in [InPlace::TwoStage, InPlace::ThreeStage, InPlace::FourStage] {
        for shape in [(120, 90), (72, 180), (64, 128)] {
            assert!(check_widths(device, shape, algorithm, &carried));
        }
    }
    for shape in [(1500, 9), (9, 1500), (61, 13), (13, 61)] {
        let options = carried.tile((45, 0));
        assert!(check_widths(device, shape, InPlace::TwoStage, &options));
    }
}

/// Powers of two, and squares of tiles: whole cycles are moved without flags.
fn short_cycles(device: &Device) {
    for tile in [(4, 4), (8, 16), (16, 8), (32, 2), (1, 64), (64, 64)] {
        let options = InPlaceOptions::default().tile(tile);
        for algorithm in [InPlace::ThreeStage, InPlace::FourStage] {
            for shape in [(128, 64), (64, 256), (128, 128)] {
                assert!(check_widths(device, shape, algorithm, &options));
            }
        }
    }
    // As many cycles as it takes on this device for each to be moved by one warp.
    let tiny = InPlaceOptions::default().tile((4, 4));
    let side = if takes_large(device) { 1024 } else { 256 };
    for algorithm in [InPlace::ThreeStage, InPlace::FourStage] {
        assert!(check_with::<u32>(device, (side, side), algorithm, &tiny));
        assert!(check_with::<u16>(device, (2 * side, side), algorithm, &tiny));
        assert!(check_with::<[u8; 3]>(device, (side, side), algorithm, &tiny));
    }
    // And super-elements of several chunks.
    let side = if takes_large(device) { 256 } else { 24 };
    let options = InPlaceOptions::default().tile((4090, 0));
    for shape in [(side * 4090, side), (side, side * 4090)] {
        assert!(check_with::<u8>(device, shape, InPlace::TwoStage, &options));
    }
}

/// The decomposition where not even the shorter rows fit on chip: through the scratch memory.
fn rows_that_do_not_fit(device: &Device) {
    for (rows, cols, chip) in [(61, 53, 128), (53, 61, 128), (64, 48, 128), (300, 290, 600)] {
        assert!(check_widths(device, (rows, cols), InPlace::Decomposed, &small_chip(chip * 16)));
        assert!(check_with::<u32>(
            device,
            (rows, cols),
            InPlace::Decomposed,
            &small_chip(chip * 2)
        ));
        let matrix = DeviceMatrix::<u32>::zeroed(device, rows, cols).unwrap();
        let options = small_chip(chip);
        let plan = InPlacePlan::with_options(&matrix, InPlace::Decomposed, &options);
        if let Ok(plan) = plan {
            assert!(plan.extra_bytes() <= rows * cols * 4 / 200 + (1 << 20));
            assert!(plan.passes() <= 4);
        }
    }
    let staged = InPlaceOptions::default().stage_rows(true);
    for shape in [(61, 53), (53, 61), (64, 48), (300, 290), (1000, 7)] {
        assert!(check_widths(device, shape, InPlace::Decomposed, &staged));
    }
    if takes_large(device) {
        // Rows of more than 227 KiB, as users plan them.
        for (rows, cols) in [(14_700, 14_951), (14_951, 14_700), (15_000, 14_700)] {
            let options = InPlaceOptions::default();
            assert!(check_with::<u128>(device, (rows, cols), InPlace::Decomposed, &options));
        }
    }
}

/// Elements of three words, or of another number that is no power of two.
fn tuples(device: &Device) {
    let shapes = [
        (1, 1),
        (1, 40),
        (40, 1),
        (0, 5),
        (2, 3),
        (3, 2),
        (31, 37),
        (37, 31),
        (64, 48),
        (100, 7),
        (7, 100),
        (2, 301),
        (301, 2),
        (33, 33),
        (64, 64),
        (65, 65),
    ];
    for algorithm in [InPlace::Auto, InPlace::TwoStage] {
        for shape in shapes {
            for options in [InPlaceOptions::default(), small_chip(6 << 10)] {
                assert!(check_with::<[u8; 3]>(device, shape, algorithm, &options));
                assert!(check_with::<[u16; 3]>(device, shape, algorithm, &options));
                assert!(check_with::<[u32; 3]>(device, shape, algorithm, &options));
                assert!(check_with::<[u64; 3]>(device, shape, algorithm, &options));
                assert!(check_with::<[u128; 2]>(device, shape, algorithm, &options));
                assert!(check_with::<[u8; 7]>(device, shape, algorithm, &options));
            }
        }
    }
    let whole = InPlaceOptions::default();
    for shape in [(401, 353), (353, 401), (600, 400), (1009, 50), (50, 1009)] {
        assert!(check_with::<[u8; 3]>(device, shape, InPlace::Auto, &whole));
        assert!(check_with::<[u32; 3]>(device, shape, InPlace::Auto, &whole));
    }
    for algorithm in [InPlace::ThreeStage, InPlace::FourStage] {
        for shape in [(120, 90), (128, 64)] {
            assert!(check_with::<[u32; 3]>(device, shape, algorithm, &whole));
            assert!(check_with::<[u8; 5]>(device, shape, algorithm, &whole));
        }
    }
    for algorithm in [InPlace::Decomposed, InPlace::CycleFollowing, InPlace::FourStageFused] {
        assert!(!check_with::<[u32; 3]>(device, (120, 90), algorithm, &whole));
    }
    // Super-elements of every length, with and without rows that fill no panel.
    for length in [1, 2, 3, 5, 16, 31, 60] {
        let options = whole.tile((length, 0));
        for shape in [(61, 13), (13, 61), (64, 16), (16, 64)] {
            assert!(check_with::<[u8; 3]>(device, shape, InPlace::TwoStage, &options));
            assert!(check_with::<[u64; 3]>(device, shape, InPlace::TwoStage, &options));
        }
    }
    let options = whole.flags((1, false));
    assert!(!check_with::<[u8; 3]>(device, (48, 40), InPlace::ThreeStage, &options));
    // Arrays of structures of such fields.
    let fields: Vec<[u8; 3]> = (0..96 * 16).map(|index| Element::scrambled(index, 7)).collect();
    let mut matrix = DeviceMatrix::from_host(device, 96, 16, &fields).unwrap();
    matrix.aos_to_asta(8).unwrap();
    matrix.asta_to_soa(16).unwrap();
    matrix.soa_to_aos().unwrap();
    assert!(matrix.to_host().unwrap() == fields);
}

/// Elements that are moved by themselves, in one pass, and one of which no two fit the chip.
fn large_elements(device: &Device) {
    for shape in [(40, 31), (31, 40), (5, 64), (17, 17), (1, 9)] {
        assert!(check_with::<[u64; 40]>(device, shape, InPlace::Auto, &InPlaceOptions::default()));
        assert!(check_with::<[u8; 333]>(device, shape, InPlace::Auto, &InPlaceOptions::default()));
    }
    let matrix = DeviceMatrix::<[u64; 40]>::zeroed(device, 100, 70).unwrap();
    let options = small_chip(8 << 10);
    let plan = InPlacePlan::with_options(&matrix, InPlace::Auto, &options).unwrap();
    assert_eq!((plan.algorithm(), plan.passes()), (InPlace::TwoStage, 1));
    for shape in [(3, 3), (2, 4)] {
        assert!(check_with::<[u32; 30_001]>(device, shape, InPlace::Auto, &options));
    }
}

/// A square with gaps between its rows, of elements of three words.
fn tuples_with_gaps(device: &Device) {
    for (side, ld) in [(5, 9), (40, 44), (70, 71)] {
        let host: Vec<[u16; 3]> =
            (0..side * side).map(|index| Element::scrambled(index, 5)).collect();
        let mut matrix = DeviceMatrix::from_host_with_ld(device, side, side, ld, &host).unwrap();
        matrix.transpose_in_place().unwrap();
        let actual = matrix.to_host().unwrap();
        let gaps = matrix.window(side, side - 1, ld - side, ld).unwrap().to_host().unwrap();
        assert!(gaps.iter().all(|&gap| gap == [0; 3]));
        for (index, element) in actual.iter().enumerate() {
            assert!(*element == host[index % side * side + index / side]);
        }
    }
}

/// Squares with gaps of elements of which no block holds two: what else serves such squares would take the gaps for elements.
fn gaps_that_nothing_keeps(device: &Device) {
    let host: Vec<[u8; 120 << 10]> = (0..25).map(|index| [index; 120 << 10]).collect();
    let mut matrix = DeviceMatrix::from_host_with_ld(device, 5, 5, 7, &host).unwrap();
    let refused = matrix.transpose_in_place();
    assert!(matches!(refused, Err(Error::NotServed { algorithm: "square", .. })), "{refused:?}");
    assert!(matrix.to_host().unwrap() == host);
    let mut dense = DeviceMatrix::from_host(device, 5, 5, &host).unwrap();
    dense.transpose_in_place().unwrap();
    let transposed = dense.to_host().unwrap();
    assert!((0..25).all(|index| transposed[index] == host[index % 5 * 5 + index / 5]));
}

fn random_cases(device: &Device) {
    let algorithms = ANY_SHAPE.to_vec();
    let case = (1..120usize, 1..120usize, proptest::sample::select(algorithms), 12..18u32);
    proptest!(cases(40), |((rows, cols, algorithm, chip) in case.prop_map(|case| case))| {
        let options = small_chip(1 << chip);
        // Not every shape fits a small chip; then the whole one has to do.
        if !check_widths(device, (rows, cols), algorithm, &options) {
            assert!(check_widths(device, (rows, cols), algorithm, &InPlaceOptions::default()));
        }
    });
}

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

/// `records` structures of `fields` numbers, counted up, as tiles of `width` records.
fn asta(records: usize, fields: usize, width: usize) -> Vec<u32> {
    let tiles = (0..records / width).flat_map(|tile| {
        (0..fields).flat_map(move |field| {
            (0..width).map(move |record| ((tile * width + record) * fields + field) as u32)
        })
    });
    tiles.collect()
}

/// AoS, SoA and ASTA, each into each.
fn layouts(device: &Device) {
    for (records, fields, width) in [(64, 5, 32), (96, 16, 8), (60, 3, 60), (35, 7, 1)] {
        let aos = numbers(records * fields);
        let tiled = asta(records, fields, width);
        let mut matrix = DeviceMatrix::from_host(device, records, fields, &aos).unwrap();
        matrix.aos_to_asta(width).unwrap();
        assert_eq!(matrix.shape(), (records / width * fields, width));
        assert_eq!(matrix.to_host().unwrap(), tiled);
        matrix.asta_to_soa(fields).unwrap();
        assert_eq!(matrix.shape(), (fields, records));
        let soa = matrix.to_host().unwrap();
        for (index, &element) in soa.iter().enumerate() {
            assert_eq!(element as usize, index % records * fields + index / records);
        }
        matrix.soa_to_asta(width).unwrap();
        assert_eq!(matrix.to_host().unwrap(), tiled);
        matrix.asta_to_aos(fields).unwrap();
        assert_eq!(matrix.shape(), (records, fields));
        assert_eq!(matrix.to_host().unwrap(), aos);
        matrix.aos_to_soa().unwrap();
        assert_eq!(matrix.to_host().unwrap(), soa);
        matrix.soa_to_aos().unwrap();
        assert_eq!(matrix.to_host().unwrap(), aos);
    }
}

/// What cannot be done is refused before anything is touched.
fn refusals(device: &Device) {
    let host = numbers(12);
    let mut gaps = DeviceMatrix::from_host_with_ld(device, 3, 4, 5, &host).unwrap();
    assert!(matches!(
        gaps.transpose_in_place(),
        Err(Error::GapsInPlace { rows: 3, cols: 4, ld: 5 })
    ));
    assert_eq!((gaps.shape(), gaps.to_host().unwrap()), ((3, 4), host.clone()));

    let mut wide = DeviceMatrix::from_host(device, 3, 4, &host).unwrap();
    assert!(matches!(
        wide.transpose_in_place_with(InPlace::Square),
        Err(Error::NotServed { algorithm: "square", .. })
    ));
    assert!(matches!(wide.aos_to_asta(2), Err(Error::TileWidth { count: 3, width: 2, .. })));
    assert!(matches!(wide.asta_to_soa(0), Err(Error::TileWidth { .. })));
    let mut plan = InPlacePlan::new(&wide, InPlace::Auto).unwrap();
    let mut tall = DeviceMatrix::from_host(device, 4, 3, &host).unwrap();
    assert!(matches!(plan.run(&mut tall), Err(Error::PlanMismatch { .. })));
    assert_eq!((wide.shape(), wide.to_host().unwrap()), ((3, 4), host));

    let mut odd = DeviceMatrix::<[u8; 3]>::zeroed(device, 2, 5).unwrap();
    let refused = odd.transpose_in_place_with(InPlace::CycleFollowing);
    assert!(matches!(refused, Err(Error::NotServed { element_bytes: 3, .. })));
}

/// The bound on extra memory, and the passes, as plans report them.
fn extra_memory(device: &Device) {
    let limit = |bytes: usize| bytes / 1000 + (1 << 20);
    for (rows, cols) in [(2000, 1000), (1009, 997), (100_000, 3), (7, 150_001), (720, 1800)] {
        let matrix = DeviceMatrix::<u32>::zeroed(device, rows, cols).unwrap();
        for &algorithm in InPlace::ALL {
            let Ok(plan) = InPlacePlan::new(&matrix, algorithm) else { continue };
            assert!(plan.extra_bytes() <= limit(4 * rows * cols), "{algorithm} {rows} × {cols}");
            assert!((1..=4).contains(&plan.passes()), "{algorithm} {rows} × {cols}");
        }
        let plan = InPlacePlan::new(&matrix, InPlace::Auto).unwrap();
        assert_eq!(plan.algorithm(), InPlace::TwoStage);
        assert!(plan.passes() <= 2);
    }
}

/// A plan's scratch memory is ready again, and a transpose of a transpose is the matrix.
fn plans_run_again(device: &Device) {
    let (rows, cols) = (67, 45);
    let host = numbers(rows * cols);
    let mut matrix = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
    let mut there =
        InPlacePlan::with_options(&matrix, InPlace::Auto, &small_chip(1 << 12)).unwrap();
    for round in 0..3 {
        there.run(&mut matrix).unwrap();
        matrix.transpose_in_place().unwrap();
        assert!(matrix.to_host().unwrap() == host, "round {round}");
    }
    let measured = InPlacePlan::measure(&mut matrix, InPlace::ThreeStage, 3).unwrap();
    assert_eq!(measured.algorithm(), InPlace::ThreeStage);
    assert!(matrix.to_host().unwrap() == host);
}

/// Several handles of one device, whose launches may meet on it: blocks that wait for each other still all run.
fn several_at_once(device: &Device) {
    let (is_gpu, rounds) = (device.is_gpu(), if takes_large(device) { 50 } else { 1 });
    let transposes = move || {
        let own = if is_gpu { Device::cuda(0).unwrap() } else { Device::simulated() };
        for _ in 0..rounds {
            for shape in [(523, 541), (600, 400)] {
                assert!(check_with::<u32>(&own, shape, InPlace::TwoStage, &small_chip(8 << 10)));
                assert!(check_with::<u64>(&own, shape, InPlace::Auto, &InPlaceOptions::default()));
            }
        }
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(transposes)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Measuring leaves a matrix as it was, whether there is something to measure, nothing, or an error.
fn measured_matrices_are_as_before(device: &Device) {
    // The algorithms that have moved something to be measured.
    let mut moved = Vec::new();
    for (rows, cols, ld) in [
        (0, 5, 5),
        (5, 0, 0),
        (0, 0, 0),
        (1, 12, 12),
        (1, 12, 15),
        (12, 1, 1),
        (12, 9, 9),
        (12, 9, 10),
        (9, 9, 11),
    ] {
        let host = numbers(rows * cols);
        let mut matrix = DeviceMatrix::from_host_with_ld(device, rows, cols, ld, &host).unwrap();
        for &algorithm in InPlace::ALL {
            let mut measured = None;
            let measure = || {
                measured = Some(InPlacePlan::measure(&mut matrix, algorithm, 3));
                Ok(())
            };
            let launches = profile::inspect(device, Inspection::default(), measure).unwrap();
            moved.extend(launches.is_some_and(|all| !all.is_empty()).then_some(algorithm));
            assert_eq!((matrix.shape(), matrix.ld()), ((rows, cols), ld), "{algorithm}");
            assert!(matrix.to_host().unwrap() == host, "{algorithm} {rows} × {cols}");
            let mut plan = match measured.unwrap() {
                Ok(plan) => plan,
                Err(Error::NotServed { .. } | Error::GapsInPlace { .. }) => continue,
                Err(error) => panic!("{algorithm} {rows} × {cols}: {error}"),
            };
            plan.run(&mut matrix).unwrap();
            assert_eq!(matrix.shape(), (cols, rows));
            let expected: Vec<_> =
                (0..rows * cols).map(|at| host[at % rows * cols + at / rows]).collect();
            assert!(matrix.to_host().unwrap() == expected, "{algorithm} {rows} × {cols}");
            matrix = DeviceMatrix::from_host_with_ld(device, rows, cols, ld, &host).unwrap();
        }
        let measured = InPlacePlan::measure(&mut matrix, InPlace::Auto, 3);
        let refused = matches!(measured, Err(Error::GapsInPlace { .. }));
        assert!(measured.is_ok() || refused && (rows, ld) == (12, 10), "{rows} × {cols}");
    }
    use InPlace::{FourStage, FourStageFused, ThreeStage, TwoStage};
    let tuned = [TwoStage, ThreeStage, FourStage, FourStageFused];
    assert!(
        device.is_gpu() || tuned.iter().all(|algorithm| moved.contains(algorithm)),
        "{moved:?}"
    );
}

/// Matrices and arrays of structures whose elements have no bytes.
fn elements_of_no_bytes(device: &Device) {
    for (rows, cols) in [(0, 3), (1, 7), (6, 4), (5, 5), (64, 48)] {
        for &algorithm in InPlace::ALL {
            let host = vec![(); rows * cols];
            let mut matrix = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
            let plan = InPlacePlan::measure(&mut matrix, algorithm, 3);
            let Ok(mut plan) = plan else {
                assert!(matches!(plan, Err(Error::NotServed { .. })), "{plan:?}");
                continue;
            };
            plan.run(&mut matrix).unwrap();
            assert_eq!(matrix.shape(), (cols, rows));
            assert_eq!(matrix.to_host().unwrap().len(), rows * cols);
        }
    }
    let mut matrix = DeviceMatrix::from_host(device, 96, 16, &[(); 96 * 16]).unwrap();
    matrix.aos_to_asta(8).unwrap();
    matrix.asta_to_soa(16).unwrap();
    matrix.soa_to_asta(8).unwrap();
    matrix.asta_to_aos(16).unwrap();
    assert_eq!(matrix.shape(), (96, 16));
}

/// Options that no device can follow are refused, and so small ones that it can are followed.
fn extreme_options(device: &Device) {
    let default = InPlaceOptions::default();
    let chips = [0, 1, 3, 33, usize::MAX].map(small_chip);
    let tiles =
        [(0, 0), (0, 4), (4, 0), (1, 1), (usize::MAX, usize::MAX)].map(|tile| default.tile(tile));
    let groups = [0, usize::MAX].map(|most| default.max_group(most));
    let flags = [(0, false), (64, true), (usize::MAX, true)].map(|flags| default.flags(flags));
    let all = [&chips[..], &tiles[..], &groups[..], &flags[..]].concat();
    for options in all {
        for carry in [Carry::Registers, Carry::SharedMemory] {
            let options = options.carry(carry);
            for &algorithm in InPlace::ALL {
                for shape in [(12, 18), (24, 24), (31, 7)] {
                    check_with::<u8>(device, shape, algorithm, &options);
                    check_with::<u128>(device, shape, algorithm, &options);
                }
            }
            if !is_ours() {
                continue;
            }
            let mut matrix = DeviceMatrix::from_host(device, 12, 24, &numbers(288)).unwrap();
            for width in [1, 4, 12] {
                if matrix.soa_to_asta_with(width, &options).is_ok() {
                    matrix.asta_to_soa(12).unwrap();
                }
                if matrix.aos_to_asta_with(width, &options).is_ok() {
                    matrix.asta_to_aos(24).unwrap();
                }
            }
            assert!(matrix.to_host().unwrap() == numbers(288), "{options:?}");
        }
    }
}
