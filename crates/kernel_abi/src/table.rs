//! The rows of the table: kernels, their entry points, and the blocks that those run in.

use crate::{Params, Width};
use core::marker::PhantomData;

/// A set of kernels that are built, shipped and loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The ladder of the classic texts: copy, naive, tiled, padded, diagonal.
    Classic,
    /// The kernels that reach the speed of a copy.
    Fast,
    /// The kernels that work inside a matrix's own memory.
    InPlace,
    /// Those of them that run only where a caller asks for them.
    InPlaceStudies,
    /// The kernels of the texts, for blocks of many shapes.
    Study,
    /// The kernels that move arrays of any rank.
    Tensor,
    /// The kernels that compute what keeps its order.
    ArithmeticRows,
    /// The kernels that compute pixels of few channels.
    ArithmeticPixels,
    /// The kernels that compute matrices as they are transposed.
    ArithmeticMatrices,
    /// The kernels that compute arrays of any rank and in any order.
    ArithmeticTensors,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 10] = [
        Family::Classic,
        Family::Fast,
        Family::InPlace,
        Family::InPlaceStudies,
        Family::Study,
        Family::Tensor,
        Family::ArithmeticRows,
        Family::ArithmeticPixels,
        Family::ArithmeticMatrices,
        Family::ArithmeticTensors,
    ];

    /// The family's name: a feature of the kernel crate, and the stem of the files that ship.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Classic => "classic",
            Family::Fast => "fast",
            Family::InPlace => "in_place",
            Family::InPlaceStudies => "in_place_studies",
            Family::Study => "study",
            Family::Tensor => "tensor",
            Family::ArithmeticRows => "arithmetic_rows",
            Family::ArithmeticPixels => "arithmetic_pixels",
            Family::ArithmeticMatrices => "arithmetic_matrices",
            Family::ArithmeticTensors => "arithmetic_tensors",
        }
    }
}

/// The blocks that an entry point runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// This many threads along x, y and z: `.reqntid`.
    Exactly([u32; 3]),
    /// No more threads than this: `.maxntid`.
    AtMost(u32),
    /// No more threads than this, which the host sees to and the PTX does not say: for kernels that the assembler gives more
    /// registers, and spills some of, if it knows.
    Within(u32),
}

impl Block {
    /// Whether a block of that shape is one of these.
    pub const fn allows(self, [x, y, z]: [u32; 3]) -> bool {
        match self {
            Block::Exactly(shape) => shape[0] == x && shape[1] == y && shape[2] == z,
            Block::AtMost(threads) | Block::Within(threads) => {
                let all = x as u64 * y as u64 * z as u64;
                0 < all && all <= threads as u64
            }
        }
    }
}

/// An entry point of the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The set of kernels that it is part of.
    pub family: Family,
    /// The name in the PTX: that of the kernel, and the bytes of the element.
    pub name: &'static str,
    /// The bytes of the elements, or of the words, that it moves.
    pub width: Width,
    /// The blocks that it runs in.
    pub block: Block,
}

/// A kernel that takes parameters `P`: one entry point for each width that it exists for.
#[derive(Debug)]
pub struct Kernel<P> {
    /// The name without a width.
    pub name: &'static str,
    /// The entry points, narrowest element first.
    pub entries: &'static [Entry],
    /// The blocks along x and y that these parameters take, for words of a width, if the row says.
    grid: Option<fn(&P, Width) -> [u64; 2]>,
    params: PhantomData<fn(P)>,
}

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Kernel<P> {}

impl<P: Params> Kernel<P> {
    /// A row of the table.
    pub(crate) const fn new(
        name: &'static str,
        entries: &'static [Entry],
        grid: Option<fn(&P, Width) -> [u64; 2]>,
    ) -> Self {
        Kernel { name, entries, grid, params: PhantomData }
    }

    /// The blocks along x and y that move what the parameters describe, for words of a width: neither fewer nor more.
    /// `None` of a kernel whose row does not say.
    pub fn grid(&self, params: &P, width: Width) -> Option<[u64; 2]> {
        self.grid.map(|grid| grid(params, width))
    }

    /// The entry point for elements of a width, if the kernel has one.
    pub const fn entry(&self, width: Width) -> Option<&'static Entry> {
        let mut index = 0;
        while index < self.entries.len() {
            if self.entries[index].width as u8 == width as u8 {
                return Some(&self.entries[index]);
            }
            index += 1;
        }
        None
    }

    /// The row's entry point of that name, for the kernel that implements it: the row and the kernel
    /// then agree on the name, the element's bytes and the parameters, or the kernel does not compile.
    ///
    /// # Panics
    /// If the row has no such entry point.
    pub const fn implemented(&self, name: &str, element_bytes: usize) -> Block {
        let mut index = 0;
        while index < self.entries.len() {
            let entry = &self.entries[index];
            if same(entry.name, name) && entry.width.bytes() == element_bytes {
                return entry.block;
            }
            index += 1;
        }
        panic!("the kernel's row of the table has no such entry point")
    }
}

/// Whether two texts are the same, at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Declares the rows of a family, and `$all`, the entry points of all of them.
///
/// A row is a constant, the kernel's name, its parameters, and for each width the block of its entry point:
/// `exactly [x, y, z]`, `at_most threads` or `within threads` ([`Block`](crate::Block)). After the parameters may stand the function that
/// says how many blocks they take ([`Kernel::grid`](crate::Kernel::grid)).
macro_rules! table {
    ($all:ident of $family:ident: $(
        $(#[$doc:meta])*
        $row:ident = $name:literal takes $params:ty $(, in $grid:path)? {
            $( $width:literal: $block:ident $threads:expr ),+ $(,)?
        }
    )+) => {
        $(
            $(#[$doc])*
            pub const $row: crate::Kernel<$params> = crate::Kernel::new($name, const { &[ $(
                crate::Entry {
                    family: crate::Family::$family,
                    name: concat!($name, "_b", $width),
                    width: match crate::Width::of_bytes($width) {
                        Some(width) => width,
                        None => panic!("not the bytes of an element"),
                    },
                    block: table!(@block $block $threads),
                }
            ),+ ] }, table!(@grid $($grid)?));
        )+

        /// The entry points of each kernel of the family.
        pub const $all: &[&[crate::Entry]] = &[ $( $row.entries ),+ ];
    };
    (@grid) => { None };
    (@grid $grid:path) => { Some($grid) };
    (@block exactly $threads:expr) => { crate::Block::Exactly($threads) };
    (@block at_most $threads:expr) => { crate::Block::AtMost($threads) };
    (@block within $threads:expr) => { crate::Block::Within($threads) };
}
pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::Block;
    use crate::fast::{LINES, MICRO};
    use crate::Width;

    #[test]
    fn rows_know_their_entry_points() {
        assert_eq!(MICRO.entry(Width::B4).map(|entry| entry.name), Some("micro_b4"));
        assert_eq!(LINES.entry(Width::B16), None);
        assert!(MICRO.implemented("micro_b8", 8).allows([512, 1, 1]));
    }

    #[test]
    #[should_panic(expected = "no such entry point")]
    fn a_kernel_without_a_row_does_not_compile() {
        MICRO.implemented("micro_b4", 8);
    }

    #[test]
    fn blocks_are_allowed_by_shape_or_by_size() {
        assert!(Block::Exactly([32, 8, 1]).allows([32, 8, 1]));
        assert!(!Block::Exactly([32, 8, 1]).allows([8, 32, 1]));
        assert!(Block::AtMost(256).allows([32, 8, 1]));
        assert!(!Block::AtMost(256).allows([257, 1, 1]) && !Block::AtMost(256).allows([0, 1, 1]));
        assert!(!Block::AtMost(1).allows([1 << 16, 1 << 16, 1]));
        assert!(Block::Within(64).allows([64, 1, 1]) && !Block::Within(64).allows([65, 1, 1]));
    }
}
