//! What a GPU answered: for each instruction the results of all combinations of edges, and a hash of those of the random operands.
//!
//! The file is `zstd` of: a line of text (the device and the seed); then for each case the length of its key and the key, the number of
//! combinations, the hash, and the results, each in as many bytes as its class has. Numbers are little-endian.

use std::collections::BTreeMap;
use std::io::{self, Read};

use crate::opcodes::Case;
use crate::probe::Operands;

/// What a GPU answered to one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The results of the combinations of edges, one result after the other.
    pub edges: Vec<u64>,
    /// The hash of the results for random operands.
    pub hash: u64,
}

impl Answer {
    /// The answer that a kernel's results are.
    pub fn new(operands: &Operands, results: &[u64]) -> Answer {
        let edges =
            results.chunks_exact(operands.threads).flat_map(|column| &column[..operands.edges]);
        Answer { edges: edges.copied().collect(), hash: operands.hash(results) }
    }
}

/// What a GPU answered, by the key of a case.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The GPU.
    pub device: String,
    /// What the random operands were made from.
    pub seed: u64,
    answers: BTreeMap<String, (Answer, Vec<u8>)>,
}

impl Table {
    /// A table without answers.
    pub fn new(device: &str, seed: u64) -> Table {
        Table { device: device.replace(['\n', ';'], " "), seed, answers: BTreeMap::new() }
    }

    /// The answer to a case, if the GPU gave one.
    pub fn get(&self, case: &Case) -> Option<&Answer> {
        self.answers.get(&case.key()).map(|(answer, _)| answer)
    }

    /// Adds an answer.
    pub fn insert(&mut self, case: &Case, answer: Answer) {
        let widths = case.results.iter().map(|class| class.bytes() as u8).collect();
        self.answers.insert(case.key(), (answer, widths));
    }

    /// The table as a file holds it, before it is compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!("{}; seed {}\n", self.device, self.seed).into_bytes();
        for (body, (answer, widths)) in &self.answers {
            let count = answer.edges.len() / widths.len();
            out.extend((body.len() as u32).to_le_bytes());
            out.extend(body.as_bytes());
            out.extend((widths.len() as u32).to_le_bytes());
            out.extend(widths);
            out.extend((count as u32).to_le_bytes());
            out.extend(answer.hash.to_le_bytes());
            for (column, width) in answer.edges.chunks_exact(count.max(1)).zip(widths) {
                for byte in 0..usize::from(*width) {
                    // Bytes of one weight together: they are alike.
                    out.extend(column.iter().map(|value| value.to_le_bytes()[byte]));
                }
            }
        }
        out
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Of the kind `InvalidData` or `UnexpectedEof` for what is no table.
    pub fn from_zstd(file: &[u8]) -> io::Result<Table> {
        let invalid = |what: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidData, what.to_string())
        };
        let mut decoder =
            ruzstd::decoding::StreamingDecoder::new(file).map_err(|error| invalid(&error))?;
        let mut bytes = Vec::new();
        decoder.read_to_end(&mut bytes)?;
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(|| invalid(&"no first line"))?;
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let (device, seed) = line.split_once("; seed ").ok_or_else(|| invalid(&"no seed"))?;
        let mut table = Table::new(device, seed.parse().map_err(|error| invalid(&error))?);
        let mut rest = &bytes[end + 1..];
        while !rest.is_empty() {
            let mut body = vec![0; number(&mut rest)?];
            rest.read_exact(&mut body)?;
            let mut widths = vec![0; number(&mut rest)?];
            rest.read_exact(&mut widths)?;
            let count = number(&mut rest)?;
            let mut hash = [0; 8];
            rest.read_exact(&mut hash)?;
            let mut edges = vec![0; count * widths.len()];
            for (column, width) in edges.chunks_exact_mut(count.max(1)).zip(&widths) {
                for byte in 0..usize::from(*width) {
                    let mut part = vec![0; count];
                    rest.read_exact(&mut part)?;
                    column
                        .iter_mut()
                        .zip(part)
                        .for_each(|(value, part)| *value |= u64::from(part) << (8 * byte));
                }
            }
            let answer = Answer { edges, hash: u64::from_le_bytes(hash) };
            table.answers.insert(String::from_utf8_lossy(&body).into_owned(), (answer, widths));
        }
        Ok(table)
    }

    /// How many cases it answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether it answers none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }
}

fn number(rest: &mut &[u8]) -> io::Result<usize> {
    let mut bytes = [0; 4];
    rest.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes) as usize)
}
