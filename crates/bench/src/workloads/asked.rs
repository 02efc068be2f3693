//! Ways to transpose in place that [`InPlace::Auto`] does not take for elements of one word.

use ::profile::{Inspection, LaunchReport};
use bytemuck::Pod;
use transpose::{Carry, Device, DeviceMatrix, InPlace, InPlaceOptions, InPlacePlan};

/// A way that is taken only if it is asked for, or for elements of several words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Tiles transposed by flags in shared memory.
    Flags,
    /// Super-elements moved through shared memory.
    Carried,
    /// Rows shuffled by way of global memory.
    Staged,
    /// Elements of five words, in a square.
    SquareTuples,
    /// Elements of five words.
    Tuples,
}

/// How [`Asked::Flags`] spreads its flags, and whether it pads them.
const FLAGS: (usize, bool) = (8, true);
/// The words of an element of [`Asked::Tuples`] and [`Asked::SquareTuples`].
const TUPLE: usize = 5;

impl Asked {
    /// All of them.
    pub const ALL: [Asked; 5] =
        [Asked::Flags, Asked::Carried, Asked::Staged, Asked::SquareTuples, Asked::Tuples];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Asked::Flags => "four-stage-flags",
            Asked::Carried => "three-stage-carried",
            Asked::Staged => "decomposed-staged",
            Asked::SquareTuples => "square-tuples",
            Asked::Tuples => "two-stage-tuples",
        }
    }

    /// Transposes as many words as a `rows × cols` matrix has.
    pub(super) fn run<T: Pod>(
        self,
        device: &Device,
        rows: usize,
        cols: usize,
        inspection: Inspection,
    ) -> transpose::Result<Option<Vec<LaunchReport>>> {
        let shape = (rows, cols);
        let few = cols.div_ceil(TUPLE);
        let plain = InPlaceOptions::default();
        match self {
            Asked::Flags => {
                let options = plain.flags(FLAGS);
                in_place::<T>(device, shape, InPlace::FourStage, &options, inspection)
            }
            Asked::Carried => {
                let options = plain.carry(Carry::SharedMemory);
                in_place::<T>(device, shape, InPlace::ThreeStage, &options, inspection)
            }
            Asked::Staged => {
                let options = plain.stage_rows(true);
                in_place::<T>(device, shape, InPlace::Decomposed, &options, inspection)
            }
            Asked::SquareTuples => {
                in_place::<[T; TUPLE]>(device, (few, few), InPlace::Square, &plain, inspection)
            }
            Asked::Tuples => {
                in_place::<[T; TUPLE]>(device, (rows, few), InPlace::TwoStage, &plain, inspection)
            }
        }
    }
}

/// Inspects a transposition in place.
pub(super) fn in_place<T: Pod>(
    device: &Device,
    (rows, cols): (usize, usize),
    algorithm: InPlace,
    options: &InPlaceOptions,
    inspection: Inspection,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    let mut matrix = DeviceMatrix::<T>::zeroed(device, rows, cols)?;
    let mut plan = InPlacePlan::with_options(&matrix, algorithm, options)?;
    ::profile::inspect(device, inspection, || plan.run(&mut matrix))
}
