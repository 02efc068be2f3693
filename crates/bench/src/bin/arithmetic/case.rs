//! Something to compute, and what is measured of a way to compute it.

use crate::Arguments;
use anyhow::Result;
use bench::peers::Peers;
use std::fmt::Write as _;
use std::path::Path;
use transpose::Device;

/// Something to compute.
pub struct Case {
    /// The types of numbers, of the source and of the destination, as PyTorch names them.
    pub types: [&'static str; 2],
    /// The source's shape, the last axis the fastest.
    pub shape: Vec<usize>,
    /// For each axis of the result, which axis of the source it is.
    pub axes: Vec<usize>,
    /// What it is multiplied by, if that is not 1.
    pub alpha: Option<f32>,
    pub second: Second,
    /// Indices before each row of the source, and of the destination.
    pub gaps: [usize; 2],
    /// Axes of each index of a row of the source, and of the destination: 0 if it is an element, 1 if it is a pixel.
    pub inner: [usize; 2],
    /// Whether nobody chose its shape.
    pub is_random: bool,
    pub measure: fn(&Device, &Case, &Peers, &Arguments) -> Result<Vec<Figures>>,
    pub write: fn(&Device, &Case, &Path, usize) -> Result<()>,
}

/// What is computed with beside the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Second {
    /// Nothing.
    None,
    /// What the destination holds is added.
    Destination,
    /// Numbers are added: the order of the result's axes in their memory, and the elements of the gap behind each of their rows.
    Numbers(&'static [usize], usize),
    /// Each index of this axis of the result has a factor and a summand.
    Channels(usize),
}

impl Case {
    pub fn name(&self) -> String {
        let [from, to] = self.types;
        let mut name = format!("{from} to {to}, {:?} to {:?}", self.shape, self.axes);
        let _ = self.alpha.map(|alpha| write!(name, ", times {alpha}"));
        match self.second {
            Second::None => name,
            Second::Destination => name + ", added",
            Second::Numbers(order, 0) => format!("{name}, added to {order:?}"),
            Second::Numbers(order, _) => format!("{name}, added to {order:?} with gaps"),
            Second::Channels(axis) => format!("{name}, each of axis {axis}"),
        }
    }

    /// What the page's tables say of it: its group, the types, the shape, and what is computed.
    pub fn in_words(&self) -> [String; 4] {
        let of = |lengths: &[usize], between: &str| {
            lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
        };
        let mut shape = of(&self.shape, " × ");
        if self.shape.len() > 2 {
            shape = format!("{shape} to {}", of(&self.axes, " "));
        }
        let group = match (self.second, self.shape.len()) {
            _ if self.gaps != [0, 0] && self.axes.last() == Some(&(self.axes.len() - 1)) => {
                "windows"
            }
            _ if self.gaps != [0, 0] => "turned",
            _ if self.is_random => "random",
            (Second::Channels(_), _) => "channels",
            (Second::Numbers(..), _) => "operands",
            (_, 2) if self.axes.is_sorted() => "in order",
            (_, 2) => "transposed",
            _ => "images",
        };
        let [from, to] = self.types;
        let computed = match self.second {
            Second::Channels(_) => "each channel".to_owned(),
            Second::Numbers([1, 0], 0) => "added where both are transposed".to_owned(),
            Second::Numbers(_, 0) => "added in a third order".to_owned(),
            Second::Numbers(_, gap) => format!("added with gaps of {gap} numbers"),
            Second::Destination => "added".to_owned(),
            Second::None if self.alpha.is_none() => "converted".to_owned(),
            Second::None if from == to => "scaled".to_owned(),
            Second::None => "scaled and converted".to_owned(),
        };
        [group.to_owned(), format!("{from} to {to}"), shape, computed]
    }

    /// Whether peers are told of it: their table has no other operands, and no gaps.
    pub fn is_told(&self) -> bool {
        matches!(self.second, Second::None | Second::Destination) && self.gaps == [0, 0]
    }

    /// Whether numbers are added.
    pub fn adds(&self) -> bool {
        matches!(self.second, Second::Destination | Second::Numbers(..))
    }

    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// What was measured of one way.
pub struct Figures {
    pub kernel: String,
    /// Bytes that are read and written.
    pub bytes: usize,
    /// Bytes that memory moves for them: see [`moved_by_memory`](bench::moves::moved_by_memory).
    pub moved: usize,
    /// Speeds of a copy and of this way, in GB/s; `None` on the simulator.
    pub speeds: Option<[f64; 2]>,
    /// cuTENSOR's, if there is one that computes this.
    pub cutensor: Option<f64>,
    /// Of lanes, for each number, as the simulator counts them; `None` on a GPU.
    pub instructions: Option<f64>,
}
