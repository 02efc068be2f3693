//! The shapes that the library's speed is judged by.

use transpose::Batch;

/// One transpose: shape, layouts and element size.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Which group of cases it belongs to.
    pub group: &'static str,
    /// Bytes of an element.
    pub element: usize,
    /// Rows of the source.
    pub rows: usize,
    /// Columns of the source.
    pub cols: usize,
    /// Elements between the source's rows.
    pub src_slack: usize,
    /// Elements between the destination's rows.
    pub dst_slack: usize,
    /// Elements in front of both matrices.
    pub offset: usize,
    /// Matrices, one after the other.
    pub count: usize,
}

impl Case {
    const fn new(group: &'static str, element: usize, rows: usize, cols: usize) -> Self {
        Case { group, element, rows, cols, src_slack: 0, dst_slack: 0, offset: 0, count: 1 }
    }

    /// Whether it is about matrices that are in the cache already.
    pub fn is_warm(&self) -> bool {
        self.group == "warm"
    }

    /// Leading dimension of the source.
    pub fn src_ld(&self) -> usize {
        self.cols + self.src_slack
    }

    /// Leading dimension of the destination.
    pub fn dst_ld(&self) -> usize {
        self.rows + self.dst_slack
    }

    /// Elements of the source's memory.
    pub fn src_len(&self) -> usize {
        self.offset + self.count * self.rows * self.src_ld()
    }

    /// Elements of the destination's memory.
    pub fn dst_len(&self) -> usize {
        self.offset + self.count * self.cols * self.dst_ld()
    }

    /// Elements that are moved.
    pub fn elements(&self) -> usize {
        self.count * self.rows * self.cols
    }

    /// The matrices as a batch.
    pub fn batch(&self) -> Batch {
        let (src_stride, dst_stride) = (self.rows * self.src_ld(), self.cols * self.dst_ld());
        Batch { count: self.count, src_stride, dst_stride }
    }

    /// The case in words.
    pub fn name(&self) -> String {
        let mut name = format!("{} × {}", self.rows, self.cols);
        if self.count > 1 {
            name = format!("{} · ({name})", self.count);
        }
        if self.src_slack + self.dst_slack > 0 {
            name += &format!(" ld {} {}", self.src_ld(), self.dst_ld());
        }
        if self.offset > 0 {
            name += &format!(" at {}", self.offset);
        }
        name
    }
}

/// The groups, in the order in which they come.
pub fn groups() -> Vec<&'static str> {
    let mut groups: Vec<_> = cases().iter().map(|case| case.group).collect();
    groups.dedup();
    groups
}

/// Bytes that no skinny matrix exceeds, but those of 4-byte elements: larger ones only take longer to prepare.
const LARGEST_SKINNY: usize = 1 << 30;

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for element in [1, 2, 4, 8, 16] {
        cases.push(Case::new("large", element, 16384, 16384));
    }
    cases.push(Case::new("large", 1, 32768, 32768));
    for (rows, cols) in [(8192, 8192), (32768, 32768), (65536, 4096), (4096, 65536)] {
        cases.push(Case::new("large", 4, rows, cols));
    }
    for element in [1, 2, 4, 8] {
        cases.push(Case::new("unaligned", element, 10007, 9973));
        cases.push(Case::new("unaligned", element, 9999, 10001));
        let odd = Case::new("unaligned", element, 10000, 10000);
        cases.push(Case { src_slack: 1, dst_slack: 3, offset: 1, ..odd });
    }
    for element in [4, 1, 2, 8, 16] {
        for few in [2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 48] {
            let fits = LARGEST_SKINNY / element / few / 4096 * 4096;
            let many = if element == 4 { 1 << 24 } else { fits.min(1 << 24) };
            cases.push(Case::new("skinny", element, many, few));
            cases.push(Case::new("skinny", element, few, many));
        }
    }
    let small =
        [(2048, 2048), (1920, 1920), (4096, 1024), (4096, 4096), (7200, 1800), (1000, 100000)];
    for (rows, cols) in small.into_iter().chain([(1 << 20, 16), (16, 1 << 20)]) {
        cases.push(Case::new("smaller", 4, rows, cols));
    }
    for (rows, cols) in [(1024, 1024), (2048, 2048), (1920, 1920), (4096, 1024)] {
        cases.push(Case::new("warm", 4, rows, cols));
    }
    for element in [3, 6, 12, 24, 32] {
        cases.push(Case::new("odd", element, 8192, 8192));
    }
    cases.push(Case::new("odd", 3, 8191, 8193));
    cases.push(Case::new("odd", 6, 8191, 8193));
    for (count, rows, cols) in [(4096, 64, 64), (512, 512, 384), (65536, 16, 16), (100_000, 7, 5)] {
        cases.push(Case { count, ..Case::new("batch", 4, rows, cols) });
    }
    for element in [1, 2] {
        cases.push(Case { count: 1_000_000, ..Case::new("batch", element, 9, 9) });
        cases.push(Case { count: 200_000, ..Case::new("batch", element, 30, 20) });
    }
    cases.extend(IN_BETWEEN.map(|(element, rows, cols)| Case::new("between", element, rows, cols)));
    cases
}

/// Bytes of an element, rows, columns. They have a few more columns or rows than `tall` and `lines` are for but are no whole tiles, or
/// rows that start on vectors but not on sectors, or few columns or rows that start anywhere.
const IN_BETWEEN: [(usize, usize, usize); 24] = [
    (1, 10_000, 10_000),
    (1, 50_000, 2000),
    (1, 2000, 50_000),
    (1, 1_000_000, 300),
    (1, 2_000_001, 64),
    (1, 30_000_001, 4),
    (1, 60, 2_000_002),
    (1, 20, 6_000_001),
    (2, 1000, 100_000),
    (2, 700_000, 144),
    (2, 400_001, 260),
    (2, 50, 2_000_001),
    (2, 72, 1_500_000),
    (4, 10_004, 10_000),
    (4, 1_000_000, 72),
    (4, 1_000_000, 100),
    (4, 100, 1_000_000),
    (4, 400_001, 150),
    (4, 36, 2_000_000),
    (4, 20, 5_000_001),
    (8, 300_001, 64),
    (8, 400_000, 68),
    (8, 28, 2_000_001),
    (16, 150_000, 33),
];
