//! Defines every `cu*` symbol as a jump through a slot.
//!
//! A call such as `cuInit(0)` lands on the trampoline of that name, which jumps to the
//! address in its slot without touching a single argument; it need not know the signature.
//! Every slot starts out holding [`resolve`], which saves the argument registers, opens
//! the driver library and fills *all* slots, restores the registers and jumps through the
//! slot again. It is what a dynamic linker's lazy binding does, one level up.
//!
//! After that first call the cost is one indirect jump.

use core::arch::naked_asm;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::symbols::for_each_symbol;

macro_rules! define {
    ($($name:ident)*) => {
        /// The position of each symbol's slot.
        #[allow(non_camel_case_types)]
        enum Slot { $($name),* }

        /// Each symbol's name, in slot order.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        // `unused`: only the linker looks for them.
        $(
            #[allow(non_snake_case, unused)]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name() {
                trampoline!($name)
            }
        )*
    };
}

// `.hidden` keeps the symbols out of the export table of a shared library (a Python
// extension, say) that is built on this crate. r11 (x16, x17) is free for the use of code
// that sits between a caller and its callee: no argument travels in it.
#[cfg(all(target_arch = "x86_64", not(target_os = "windows")))]
macro_rules! trampoline {
    ($name:ident) => {
        naked_asm!(
            concat!(".hidden ", stringify!($name)),
            "lea r11, [rip + {slots} + {offset}]",
            "jmp [r11]",
            slots = sym SLOTS,
            offset = const Slot::$name as usize * size_of::<AtomicPtr<c_void>>(),
        )
    };
}

#[cfg(all(target_arch = "x86_64", target_os = "windows"))]
macro_rules! trampoline {
    ($name:ident) => {
        naked_asm!(
            "lea r11, [rip + {slots} + {offset}]",
            "jmp [r11]",
            slots = sym SLOTS,
            offset = const Slot::$name as usize * size_of::<AtomicPtr<c_void>>(),
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! trampoline {
    ($name:ident) => {
        naked_asm!(
            concat!(".hidden ", stringify!($name)),
            "adrp x16, {slots} + {offset}",
            "add x16, x16, :lo12:{slots} + {offset}",
            "ldar x17, [x16]",
            "br x17",
            slots = sym SLOTS,
            offset = const Slot::$name as usize * size_of::<AtomicPtr<c_void>>(),
        )
    };
}

for_each_symbol!(define);

/// Where each trampoline jumps to.
static SLOTS: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(resolve as *mut c_void) }; NAMES.len()];

/// Points every slot at what `address` answers for its name.
pub(super) fn fill(address: impl Fn(&'static str) -> *mut c_void) {
    for (slot, name) in SLOTS.iter().zip(NAMES) {
        // Release: whoever jumps through the slot sees the library as it was initialised.
        slot.store(address(name), Ordering::Release);
    }
}

/// The first call of a trampoline: fills the slots, then carries on to the function.
///
/// r11 is the address of the slot. Everything that can hold an argument, in the System V
/// and in the Windows convention, is kept; arguments on the stack lie where the callee
/// expects them again by the time of the jump. 32 bytes below the saved registers are the
/// home space that a Windows callee may write to.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn resolve() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push r11",
        "sub rsp, 168", // 8 vector registers, 32 bytes home space, 8 to align
        "movups [rsp + 32], xmm0",
        "movups [rsp + 48], xmm1",
        "movups [rsp + 64], xmm2",
        "movups [rsp + 80], xmm3",
        "movups [rsp + 96], xmm4",
        "movups [rsp + 112], xmm5",
        "movups [rsp + 128], xmm6",
        "movups [rsp + 144], xmm7",
        "call {load}",
        "movups xmm0, [rsp + 32]",
        "movups xmm1, [rsp + 48]",
        "movups xmm2, [rsp + 64]",
        "movups xmm3, [rsp + 80]",
        "movups xmm4, [rsp + 96]",
        "movups xmm5, [rsp + 112]",
        "movups xmm6, [rsp + 128]",
        "movups xmm7, [rsp + 144]",
        "add rsp, 168",
        "pop r11",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rbp",
        "jmp [r11]",
        load = sym load,
    )
}

/// The first call of a trampoline: fills the slots, then carries on to the function.
///
/// x16 is the address of the slot. The argument registers x0 to x7 and q0 to q7 and the
/// result pointer x8 are kept.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn resolve() {
    naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "stp x8, x16, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "bl {load}",
        "ldp q6, q7, [sp, #192]",
        "ldp q4, q5, [sp, #160]",
        "ldp q2, q3, [sp, #128]",
        "ldp q0, q1, [sp, #96]",
        "ldp x8, x16, [sp, #80]",
        "ldp x6, x7, [sp, #64]",
        "ldp x4, x5, [sp, #48]",
        "ldp x2, x3, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #224",
        "ldar x17, [x16]",
        "br x17",
        load = sym load,
    )
}

/// What [`resolve`] calls; returns with no slot left pointing at `resolve`.
extern "C" fn load() {
    // A missing library is no news here: the slots then refuse.
    super::connect(crate::library::open().ok());
}
