//! The header of a `.npy` file: what the array is like.
//!
//! The bytes `\x93NUMPY`, a version, a length, and a Python dictionary of three entries: `descr`, `fortran_order` and `shape`. Versions
//! 1 and 2 are Latin-1, version 3 is UTF-8; version 1 has a length of two bytes, the others of four.

use crate::dtype::{brief, element_bytes, integer};
use crate::literal::{Literal, Value};
use anyhow::{Context, Result, bail, ensure};
use std::io::{ErrorKind, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read, in bytes. NumPy itself takes 10000 unless told to take more.
const LONGEST: u32 = 1 << 20;

/// Axes that a NumPy array may have.
const MOST_AXES: usize = 64;

/// What the elements of a file are, and how they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// NumPy's description of an element, as the file has it.
    pub descr: String,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Whether the first axis is the fastest, not the last.
    pub fortran: bool,
    /// The length of each axis.
    pub shape: Vec<usize>,
}

/// Reads as many bytes as there is place for; `short` says what a reader lacks that has fewer.
fn fill(reader: &mut impl Read, bytes: &mut [u8], short: &'static str) -> Result<()> {
    match reader.read_exact(bytes) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => bail!(short),
        read => Ok(read?),
    }
}

impl Header {
    /// Reads a header, and nothing behind it.
    ///
    /// # Errors
    /// What is no `.npy` file, or one of Python objects.
    pub fn read(reader: &mut impl Read) -> Result<Self> {
        let mut start = [0; 8];
        fill(reader, &mut start, "not a .npy file: it has no header")?;
        ensure!(start.starts_with(MAGIC), "not a .npy file: it does not start as one");
        let [.., major, minor] = start;
        let length = match (major, minor) {
            (1, 0) => {
                let mut length = [0; 2];
                fill(reader, &mut length, "the header is cut off")?;
                u32::from(u16::from_le_bytes(length))
            }
            (2 | 3, 0) => {
                let mut length = [0; 4];
                fill(reader, &mut length, "the header is cut off")?;
                u32::from_le_bytes(length)
            }
            _ => bail!("a .npy file of version {major}.{minor}; known are 1.0, 2.0 and 3.0"),
        };
        ensure!(length <= LONGEST, "a header of {length} bytes; {LONGEST} are the most");
        let mut bytes = Vec::new();
        reader.take(u64::from(length)).read_to_end(&mut bytes)?;
        ensure!(bytes.len() == length as usize, "the header is cut off");
        let text = match major {
            3 => String::from_utf8(bytes).context("the header is not UTF-8")?,
            _ => bytes.into_iter().map(char::from).collect(),
        };
        Self::parse(&text).context("in its header")
    }

    /// Reads the dictionary.
    fn parse(text: &str) -> Result<Self> {
        let Value::Dictionary(entries) = Literal::parse(text)?.value else {
            bail!("it is no dictionary");
        };
        let [mut descr, mut fortran, mut shape] = [const { None }; 3];
        for (key, value) in entries {
            let entry = match key.value {
                Value::Text("descr") => &mut descr,
                Value::Text("fortran_order") => &mut fortran,
                Value::Text("shape") => &mut shape,
                _ => bail!("it has an entry {}", brief(key.text)),
            };
            ensure!(entry.replace(value).is_none(), "it has {} twice", key.text);
        }
        let descr = descr.context("it has no descr")?;
        let fortran = match fortran.context("it has no fortran_order")?.value {
            Value::Word("True") => true,
            Value::Word("False") => false,
            _ => bail!("its fortran_order is neither True nor False"),
        };
        let Value::Tuple(shape) = shape.context("it has no shape")?.value else {
            bail!("its shape is no tuple");
        };
        ensure!(shape.len() <= MOST_AXES, "{} axes; {MOST_AXES} are the most", shape.len());
        let element_bytes = element_bytes(&descr)?;
        let shape = shape.iter().map(integer).collect::<Result<_>>()?;
        Ok(Header { descr: descr.text.to_owned(), element_bytes, fortran, shape })
    }

    /// Bytes of all elements.
    ///
    /// # Errors
    /// More than can be addressed.
    pub fn bytes(&self) -> Result<usize> {
        let lengths = self.shape.iter().chain([&self.element_bytes]);
        // A product of which one factor is 0 is 0, however large the others are.
        if lengths.clone().any(|&length| length == 0) {
            return Ok(0);
        }
        let size = lengths.copied().try_fold(1, usize::checked_mul);
        let size = size.filter(|&size| size <= isize::MAX as usize);
        size.with_context(|| {
            format!("{:?} × {} bytes are too many", self.shape, self.element_bytes)
        })
    }

    /// The header of a file, by the lowest version that can say it, as NumPy chooses it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let fortran = if self.fortran { "True" } else { "False" };
        let text = format!(
            "{{'descr': {}, 'fortran_order': {fortran}, 'shape': {}, }}",
            self.descr,
            tuple(&self.shape)
        );
        let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        let (version, mut text) = match latin {
            // With the spaces that follow it still has to fit two bytes.
            Some(latin) if latin.len() < usize::from(u16::MAX) - 64 => (1, latin),
            Some(latin) => (2, latin),
            None => (3, text.into_bytes()),
        };
        let preamble = MAGIC.len() + 2 + if version == 1 { 2 } else { 4 };
        text.resize((preamble + text.len() + 1).next_multiple_of(64) - preamble - 1, b' ');
        text.push(b'\n');
        let length = (text.len() as u32).to_le_bytes();
        let length = if version == 1 { &length[..2] } else { &length[..] };
        [&MAGIC[..], &[version, 0], length, &text].concat()
    }
}

/// Lengths as Python writes a tuple: one alone has a comma behind it.
pub fn tuple(lengths: &[usize]) -> String {
    match lengths {
        [length] => format!("({length},)"),
        lengths => {
            let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
            format!("({})", lengths.join(", "))
        }
    }
}
