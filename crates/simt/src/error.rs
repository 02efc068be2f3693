//! Everything that can go wrong, one variant per violated fact.

use crate::findings::Fault;

/// Why a module, a memory operation or a launch was refused or stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not PTX.
    #[error("PTX line {line}: {what}")]
    Syntax {
        /// Line in the PTX text, from 1.
        line: u32,
        /// What was found or expected.
        what: String,
    },
    /// An instruction, modifier or directive that is not implemented.
    #[error("PTX line {line}: `{opcode}` is not supported")]
    Unsupported {
        /// The opcode with all its modifiers, or the directive.
        opcode: String,
        /// Line in the PTX text, from 1.
        line: u32,
    },
    /// A statement that breaks a rule of PTX: an undeclared name, operands of the wrong width, …
    #[error("PTX line {line}: {what}")]
    Invalid {
        /// Line in the PTX text, from 1.
        line: u32,
        /// The broken rule.
        what: String,
    },
    /// The module holds no kernel of this name.
    #[error("the module has no kernel `{name}`")]
    NoKernel {
        /// The name that was asked for.
        name: String,
    },

    /// An allocation of zero bytes.
    #[error("an allocation of zero bytes")]
    EmptyAllocation,
    /// The simulated memory's limit, or the host's memory, does not allow the allocation.
    #[error("out of memory: {requested} bytes requested, {in_use} of {limit} in use")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes in use.
        in_use: u64,
        /// The limit given to [`Memory::new`](crate::Memory::new).
        limit: u64,
    },
    /// The address is not the start of a live allocation.
    #[error("{address:#x} is not the start of a live allocation")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// A range of bytes that does not lie inside one live allocation.
    #[error("{bytes} bytes at {address:#x} are not inside one allocation: {place}")]
    OutOfRange {
        /// First byte of the range.
        address: u64,
        /// Its length.
        bytes: u64,
        /// Where that is relative to the nearest allocation.
        place: String,
    },
    /// A pitch smaller than the width of a row.
    #[error("a pitch of {pitch} bytes for rows of {width} bytes")]
    Pitch {
        /// Bytes from one row's start to the next's.
        pitch: u64,
        /// Bytes in a row.
        width: u64,
    },
    /// The memory does not track which bytes were written.
    #[error("the memory was not created with Memory::tracking_initialised")]
    NotTracking,

    /// A launch with too many or too few arguments.
    #[error("kernel `{kernel}` takes {expected} arguments, {given} given")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Parameters declared.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument of the wrong size.
    #[error("kernel `{kernel}`: parameter {index} has {expected} bytes, {given} given")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Position of the parameter, from 0.
        index: usize,
        /// Bytes declared.
        expected: usize,
        /// Bytes given.
        given: usize,
    },
    /// A grid axis that is zero or larger than a GPU allows.
    #[error("kernel `{kernel}`: grid.{axis} is {given}, allowed are 1 to {limit}")]
    Grid {
        /// The kernel.
        kernel: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// The grid's extent.
        given: u32,
        /// The largest extent allowed.
        limit: u32,
    },
    /// A block that is empty or larger than a GPU allows.
    #[error("kernel `{kernel}`: a block of {x} x {y} x {z} threads; {limit}", x = given[0], y = given[1], z = given[2])]
    Block {
        /// The kernel.
        kernel: String,
        /// The block's extents.
        given: [u32; 3],
        /// What is allowed, and by whom.
        limit: String,
    },
    /// More shared memory than a block may have.
    #[error(
        "kernel `{kernel}`: {given} bytes of shared memory ({fixed} of them static), at most {limit}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Static and dynamic bytes together.
        given: u64,
        /// The static part.
        fixed: u64,
        /// The limit.
        limit: u64,
    },
    /// An option that makes no sense.
    #[error("option `{option}`: {what}")]
    Options {
        /// The option.
        option: &'static str,
        /// What is wrong with its value.
        what: String,
    },

    /// The kernel did something that a GPU stops a launch for.
    #[error("{0}")]
    Fault(Box<Fault>),
}
