//! What a kernel says about its launch before it does anything.
//!
//! # Launches that overlap
//! Between two kernels of a stream a GPU moves nothing for about a microsecond: what the last blocks stored is made
//! visible, and the next grid is set up. On compute capability 9.0 and later the two may happen at a time, if
//! the next launch allows it and its kernel waits by itself for what came before ("programmatic dependent
//! launch"). Every kernel of ours [`begin`]s with that. No memory is accessed earlier, so nothing changes but the time. Source: PTX ISA,
//! `griddepcontrol`.
//!
//! A kernel may also let the next one's blocks come while its own still run (`griddepcontrol.launch_dependents`). Ours do not: the
//! places that a block leaves are better left free (`docs/decisions/011-overlapping-launches.md`).
//!
//! Only code that is built for such a chip has the instruction, and the host allows only launches of that code to come early.
//!
//! # Blocks
//! An entry point says in which blocks it runs ([`runs_in`], from its row of `kernel_abi`'s table), so that a launch in another
//! block is refused by the driver, and the assembler knows how many threads share the registers.
//!
//! # Registers
//! The assembler may give a thread registers that make its code no faster and leave less of them to other
//! blocks; or it saves registers by letting each load wait for the one before, and stops doing so when it is told how many
//! it may take. [`at_most_registers`] is for kernels that were measured either way, [`never_more_registers`] for those that must not take more.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(target_arch = "nvptx64")]
use cuda_std::cfg::ComputeCapability;
use cuda_std::gpu_only;
use kernel_abi::Block;

/// Waits until all launches before are done and what they stored is visible. The first thing that a kernel does.
#[gpu_only]
#[inline(always)]
pub fn begin() {
    if ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute90 {
        // SAFETY: waiting has no preconditions. Memory is taken to be changed by it, so no access moves to before.
        unsafe { asm!("griddepcontrol.wait;", options(nostack)) }
    }
}

/// The numbers in a [`Block`], as constants that assembly can have for operands: threads along x, y and z, and whether exactly so
/// many, or the most threads in all and zeros. All are zero if nothing is said.
pub const fn numbers(block: Block) -> ([u32; 3], bool) {
    match block {
        Block::Exactly(threads) => (threads, true),
        Block::AtMost(threads) => ([threads, 0, 0], false),
        Block::Within(_) => ([0; 3], false),
    }
}

/// Says in the PTX that the kernel that calls this runs in a certain block only, or in blocks of so many threads at most;
/// `X`, `Y`, `Z` and `EXACTLY` are [`numbers`] of the block.
#[gpu_only]
#[inline(always)]
pub fn runs_in<const X: u32, const Y: u32, const Z: u32, const EXACTLY: bool>() {
    // SAFETY: comments, which `cuda_builder` moves to the kernel's directives.
    unsafe {
        if EXACTLY {
            asm!("//@entry .reqntid {x}, {y}, {z}", x = const X, y = const Y, z = const Z,
                options(nomem, nostack, preserves_flags));
        } else if X > 0 {
            asm!("//@entry .maxntid {x}", x = const X, options(nomem, nostack, preserves_flags));
        }
    }
}

/// Whether the code is built for compute capability 9.0.
#[gpu_only]
#[inline(always)]
pub fn is_hopper() -> bool {
    ComputeCapability::from_cuda_arch_env() == ComputeCapability::Compute90
}

/// Has the assembler give each thread of the kernel that calls this no more than `REGISTERS`, where the code is built for
/// compute capability 9.0: other chips were not measured.
#[gpu_only]
#[inline(always)]
pub fn at_most_registers<const REGISTERS: u32>() {
    if is_hopper() {
        never_more_registers::<REGISTERS>()
    }
}

/// Has the assembler give each thread of the kernel that calls this no more than `REGISTERS`, on every chip: for kernels of which so
/// many blocks must run at a time that no more registers are left.
#[gpu_only]
#[inline(always)]
pub fn never_more_registers<const REGISTERS: u32>() {
    // SAFETY: a comment, which `cuda_builder` moves to the kernel's directives.
    unsafe {
        asm!("//@entry .maxnreg {registers}", registers = const REGISTERS,
            options(nomem, nostack, preserves_flags));
    }
}
