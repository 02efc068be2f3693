//! The file of a plan cache.

use bolero::TypeGenerator;
use std::path::Path;
use transpose::PlanCache;

/// A file that may be a plan cache.
#[derive(Clone, Debug, TypeGenerator)]
pub enum File {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// The right first line, and any bytes behind it.
    Headed(Vec<u8>),
    /// The right first line, and lines of words that caches have.
    Lines(Vec<u8>),
}

const WORDS: [&str; 12] = [
    "\t",
    "\n",
    "\t",
    "\n",
    "the simulator",
    "4 bytes",
    "2^3 x 2^5",
    "aligned 16 4",
    "one",
    "batch",
    "micro_b4",
    "\r",
];

/// What the library writes for a cache that knows nothing.
fn header(path: &Path) -> Vec<u8> {
    PlanCache::open(path).0.save().expect("the folder can be written to");
    std::fs::read(path).expect("it was just saved")
}

/// Opens the file, saves it and opens it again: no panic, and nothing that was known is lost. A file that is no cache stays as it is, and
/// alone; an empty one is an empty cache.
pub fn run(file: &File) {
    // In memory, where there is such a place: files are made durable one by one.
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    let folder = folder.expect("a folder for the file");
    let path = folder.path().join("plans");
    let bytes = match file {
        File::Bytes(bytes) => bytes.clone(),
        File::Headed(rest) => [header(&path), rest.clone()].concat(),
        File::Lines(words) => {
            let words = words.iter().flat_map(|&w| WORDS[usize::from(w) % WORDS.len()].bytes());
            header(&path).into_iter().chain(words).collect()
        }
    };
    std::fs::write(&path, &bytes).expect("the folder can be written to");
    let (cache, warning) = PlanCache::open(&path);
    assert!(warning.is_none() || cache.is_empty() && !bytes.is_empty());
    if cache.save().is_err() {
        assert!(matches!(file, File::Bytes(_)) && !bytes.is_empty());
        assert!(!bytes.starts_with(&header(&folder.path().join("other"))));
        assert_eq!(std::fs::read(&path).expect("it is there"), bytes);
        assert!(!folder.path().join("plans.lock").exists());
        return;
    }
    let (again, warning) = PlanCache::open(&path);
    assert_eq!((again.len(), warning), (cache.len(), None));
}
