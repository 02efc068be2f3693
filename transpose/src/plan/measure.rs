//! Choosing by measuring, and remembering what was measured.
//!
//! [`Plan::measure`](super::Plan::measure) runs every kernel that can serve a problem and keeps the fastest.
//! Nothing does so unasked. What it found goes into a [`PlanCache`], a text file with one line for each
//! device, element size, class of shapes and alignment, which a person may read, copy or delete.

use super::problem::Problem;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The first line of a cache file of this version of the library.
const HEADER: &str = concat!("transpose ", env!("CARGO_PKG_VERSION"), " plans");

/// What was measured on which devices.
///
/// A key is a device's name, the bytes of an element, the powers of two that rows and columns lie between,
/// how both sides are aligned, and whether there are several matrices: shapes that alike are
/// served alike.
#[derive(Clone, Debug, Default)]
pub struct PlanCache {
    path: Option<PathBuf>,
    kernels: BTreeMap<String, String>,
}

/// Why a cache file was not used. Its plans are measured anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheWarning {
    /// It could not be read.
    Unreadable {
        /// What the file system said.
        reason: String,
    },
    /// It is not a cache file of this version of the library.
    Foreign {
        /// Its first line.
        header: String,
    },
    /// A line of it is not one of a cache file.
    Corrupt {
        /// The line, counted from one.
        line: usize,
    },
}

impl fmt::Display for CacheWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheWarning::Unreadable { reason } => write!(f, "cannot be read: {reason}"),
            CacheWarning::Foreign { header } => {
                write!(f, "starts with {header:?}, not with {HEADER:?}")
            }
            CacheWarning::Corrupt { line } => write!(f, "line {line} is not a plan"),
        }
    }
}

impl PlanCache {
    /// A cache that is not kept in a file.
    pub fn in_memory() -> Self {
        PlanCache::default()
    }

    /// The cache in a file. A file that is not there is an empty cache; one that is corrupt or of
    /// another version is ignored, with a warning, and overwritten by [`save`](Self::save).
    pub fn open(path: impl Into<PathBuf>) -> (Self, Option<CacheWarning>) {
        let path = path.into();
        let (kernels, warning) = match read(&path) {
            Ok(kernels) => (kernels, None),
            Err(warning) => (BTreeMap::new(), Some(warning)),
        };
        (PlanCache { path: Some(path), kernels }, warning)
    }

    /// Writes the file that the cache was opened from, whole or not at all.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn save(&self) -> std::io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut text = format!("{HEADER}\n");
        for (key, kernel) in &self.kernels {
            text += &format!("{key}\t{kernel}\n");
        }
        let beside = path.with_extension("new");
        std::fs::write(&beside, text)?;
        std::fs::rename(beside, path)
    }

    /// How many classes of problems were measured.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether nothing was measured yet.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    pub(super) fn get(&self, device: &str, problem: &Problem) -> Option<&str> {
        self.kernels.get(&key(device, problem)).map(String::as_str)
    }

    pub(super) fn insert(&mut self, device: &str, problem: &Problem, kernel: &str) {
        self.kernels.insert(key(device, problem), kernel.to_owned());
    }
}

/// The fields of a key, tabs between them.
fn key(device: &str, problem: &Problem) -> String {
    let (src_align, dst_align) = problem.row_alignments();
    let class = |n: usize| n.max(1).ilog2();
    let device = device.replace(['\t', '\n'], " ");
    format!(
        "{device}\t{} bytes\t2^{} x 2^{}\taligned {src_align} {dst_align}\t{}",
        problem.element_bytes,
        class(problem.src.rows),
        class(problem.src.cols),
        if problem.batch.count > 1 { "batch" } else { "one" },
    )
}

fn read(path: &Path) -> Result<BTreeMap<String, String>, CacheWarning> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(CacheWarning::Unreadable { reason: error.to_string() }),
    };
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if header != HEADER {
        return Err(CacheWarning::Foreign { header: header.chars().take(80).collect() });
    }
    let plan = |(index, line): (usize, &str)| match line.rsplit_once('\t') {
        Some((key, kernel)) if key.split('\t').count() == 5 && !kernel.is_empty() => {
            Ok((key.to_owned(), kernel.to_owned()))
        }
        _ => Err(CacheWarning::Corrupt { line: index + 2 }),
    };
    lines.enumerate().map(plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::problem::tight;

    fn problem(rows: usize, cols: usize) -> Problem {
        tight(4, rows, cols)
    }

    #[test]
    fn a_cache_survives_its_file() {
        let path = std::env::temp_dir().join(format!("plans-{}.txt", std::process::id()));
        let (mut cache, warning) = PlanCache::open(&path);
        assert!(cache.is_empty() && warning.is_none());
        cache.insert("A\tchip", &problem(1000, 1000), "micro");
        cache.save().unwrap();
        let (cache, warning) = PlanCache::open(&path);
        assert!(warning.is_none());
        assert_eq!(cache.get("A\tchip", &problem(1020, 600)), Some("micro"));
        assert_eq!(cache.get("A\tchip", &problem(1001, 1000)), None, "another alignment");
        assert_eq!(cache.get("B", &problem(1000, 1000)), None);

        std::fs::write(&path, "something else\n").unwrap();
        let (cache, warning) = PlanCache::open(&path);
        assert!(cache.is_empty());
        assert!(matches!(warning, Some(CacheWarning::Foreign { .. })));
        std::fs::write(&path, format!("{HEADER}\nnonsense\n")).unwrap();
        let (_, warning) = PlanCache::open(&path);
        assert_eq!(warning, Some(CacheWarning::Corrupt { line: 2 }));
        std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
        let (_, warning) = PlanCache::open(&path);
        assert!(matches!(warning, Some(CacheWarning::Unreadable { .. })));
        std::fs::remove_file(path).unwrap();
    }
}
