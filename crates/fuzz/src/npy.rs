//! NumPy files, as the example `npy` reads them.

use bolero::TypeGenerator;
use bolero::generator::*;

use crate::array::Array;
use crate::header::{self, Header};

/// A file that may be one of NumPy's.
#[derive(Clone, Debug, TypeGenerator)]
pub enum File {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// A start as it should be, and any bytes behind it.
    Started(u8, Vec<u8>),
    /// A header of words that headers have, in any order, and some elements.
    Words(#[generator(1..4)] u8, Vec<u8>, Vec<u8>),
    /// A header that could be, with these lengths of axes.
    Array(
        #[generator(1..4)] u8,
        u8,
        bool,
        #[generator(produce::<Vec<_>>().with().len(0usize..70))] Vec<u64>,
        Vec<u8>,
    ),
}

const MAGIC: &[u8] = b"\x93NUMPY";

const WORDS: [&str; 32] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    " ",
    "'descr'",
    "'fortran_order'",
    "'shape'",
    "True",
    "False",
    "None",
    "'<f8'",
    "'|O'",
    "'|S5'",
    "'<U7'",
    "'<M8[ns]'",
    "'|V18446744073709551615'",
    "0",
    "3",
    "18446744073709551615",
    "-1",
    "5L",
    "\\",
    "'",
    "\"",
    "u'x'",
    "é",
    "('x', '<i4', (2, 3))",
];

const TYPES: [&str; 8] = [
    "'<f4'",
    "'>i8'",
    "'|b1'",
    "'<U3'",
    "[('a', '<f4'), ('b', '|S3')]",
    "('<i2', (2, 2))",
    "'|V0'",
    "'<c16'",
];

fn with_header(version: u8, text: &str) -> Vec<u8> {
    let text = text.as_bytes();
    let length = (text.len() as u32).to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length[..] };
    [MAGIC, &[version, 0], length, text].concat()
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        match self {
            File::Bytes(bytes) => bytes.clone(),
            File::Started(version, rest) => [MAGIC, &[*version, 0], rest].concat(),
            File::Words(version, words, elements) => {
                let text: String =
                    words.iter().map(|&w| WORDS[usize::from(w) % WORDS.len()]).collect();
                [with_header(*version, &text), elements.clone()].concat()
            }
            File::Array(version, of, fortran, shape, elements) => {
                let descr = TYPES[usize::from(*of) % TYPES.len()];
                let fortran = if *fortran { "True" } else { "False" };
                // Small lengths most of the time.
                let small = |&length: &u64| if length % 8 > 0 { length % 5 } else { length };
                let shape: Vec<usize> = shape.iter().map(|length| small(length) as usize).collect();
                let shape = header::tuple(&shape);
                let text =
                    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
                [with_header(*version, &text), elements.clone()].concat()
            }
        }
    }
}

/// Reads the file; what has been understood is written and understood again.
pub fn run(file: &File) {
    let bytes = file.bytes();
    let mut rest = &bytes[..];
    let Ok(header) = Header::read(&mut rest) else { return };
    let again = Header::read(&mut &header.to_bytes()[..]).expect("what it writes it reads");
    assert_eq!(again, header);
    if let Ok(array) = Array::read(header.clone(), rest) {
        assert_eq!(array.bytes.len(), header.bytes().expect("the array was read"));
        assert!(array.bytes.len() <= rest.len());
    }
}
