//! Arrays that nobody chose: random shapes of two to six axes, in another order, windows of arrays in their own, images, and windows of images.

use bench::sweep::{another_order, log_uniform, split};
use fastrand::Rng;

/// A shape, and for each axis of the result which one of the shape it is.
pub struct Drawn {
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
}

/// A random array of about `elements` elements: a matrix, a matrix of few rows or columns, a batch of small ones, or an array of three to six axes.
pub fn drawn(rng: &mut Rng, elements: usize) -> Drawn {
    match rng.usize(..4) {
        0 => Drawn { shape: split(rng, elements, 2), axes: vec![1, 0] },
        1 => {
            let few = log_uniform(rng, 2, 64);
            let mut shape = vec![few, elements / few];
            rng.shuffle(&mut shape);
            Drawn { shape, axes: vec![1, 0] }
        }
        2 => {
            let [rows, cols] = [(); 2].map(|()| log_uniform(rng, 4, 600));
            Drawn { shape: vec![(elements / rows / cols).max(1), rows, cols], axes: vec![0, 2, 1] }
        }
        _ => {
            let rank = rng.usize(3..=6);
            let axes = another_order(rng, rank);
            Drawn { shape: split(rng, elements, rank), axes }
        }
    }
}

/// A random window of about `elements` elements: rows of 20 to 20,000, or blocks of them in another order.
pub fn drawn_window(rng: &mut Rng, elements: usize) -> Drawn {
    let row = log_uniform(rng, 20, 20_000).min(elements / 8);
    if rng.bool() {
        return Drawn { shape: vec![elements / row, row], axes: vec![0, 1] };
    }
    let rows = split(rng, elements / row, 2);
    Drawn { shape: vec![rows[0], rows[1], row], axes: vec![1, 0, 2] }
}

/// A batch of windows cut out of images.
pub struct Crop {
    pub images: Images,
    /// Elements before each row of the source and of the destination, or pixels where channels lie together.
    pub gaps: [usize; 2],
    /// Axes of a pixel, in the source and in the destination: 1 where its channels lie together, 0 where planes do.
    pub inner: [usize; 2],
}

/// A random batch of about `elements` elements cut out of images of one to four channels, in pixels or in planes: 24 to 1200 rows and columns, three times in four to memory without gaps; or all of them `padded`, to rows of up to 300 more, every other time of a multiple of 32.
pub fn drawn_crop(rng: &mut Rng, elements: usize, padded: bool) -> Crop {
    let [rows, cols] = [(); 2].map(|()| log_uniform(rng, 24, 1200));
    let channels = rng.usize(1..=4);
    let count = (elements / rows / cols / channels).max(1);
    let (last, first) = ([count, rows, cols, channels], [count, channels, rows, cols]);
    let (images, inner) = match rng.usize(..5) {
        0 => (Images { shape: last, axes: [0, 1, 2, 3], channels: 3 }, [1, 1]),
        1 | 2 => (Images { shape: last, axes: [0, 3, 1, 2], channels: 1 }, [1, 0]),
        3 => (Images { shape: first, axes: [0, 1, 2, 3], channels: 1 }, [0, 0]),
        _ => (Images { shape: first, axes: [0, 2, 3, 1], channels: 3 }, [0, 1]),
    };
    let behind = match (padded, rng.usize(..4)) {
        (false, 0) => rng.usize(1..12),
        (false, _) => 0,
        (true, 0 | 1) => log_uniform(rng, 1, 300),
        (true, _) => (cols + log_uniform(rng, 1, 300)).next_multiple_of(32) - cols,
    };
    Crop { images, gaps: [log_uniform(rng, 1, 300), behind], inner }
}

/// Images, in the order of a result whose axis `channels` is that of the channels.
pub struct Images {
    pub shape: [usize; 4],
    pub axes: [usize; 4],
    pub channels: usize,
}

/// A random batch of images of about `elements` elements: 5 to `most` rows and columns, 2 to 600 channels, or one of `counts`, if there are any, which come last or first, in the source and in the result.
pub fn drawn_images(rng: &mut Rng, elements: usize, counts: &[usize], most: usize) -> Images {
    let [rows, cols] = [(); 2].map(|()| log_uniform(rng, most.min(5), most));
    let channels = rng.choice(counts).copied().unwrap_or_else(|| log_uniform(rng, 2, 600));
    let count = (elements / rows / cols / channels).max(1);
    let last = [count, rows, cols, channels];
    let first = [count, channels, rows, cols];
    match rng.usize(..4) {
        0 => Images { shape: last, axes: [0, 1, 2, 3], channels: 3 },
        1 => Images { shape: first, axes: [0, 1, 2, 3], channels: 1 },
        2 => Images { shape: last, axes: [0, 3, 1, 2], channels: 1 },
        _ => Images { shape: first, axes: [0, 2, 3, 1], channels: 3 },
    }
}
