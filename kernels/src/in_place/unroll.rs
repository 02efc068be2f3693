//! Loops that must be unrolled.
//!
//! An array that a loop indexes lives in registers only if the loop is unrolled; otherwise it goes
//! to local memory, which is slow. The compiler decides that by the size of the body, so kernels
//! whose bodies are large repeat them in the source.

/// Repeats a body for each number, as a constant.
#[macro_export]
macro_rules! unroll {
    ($index:ident in [$($number:literal)+] $body:block) => {
        $({
            const $index: usize = $number;
            $body
        })+
    };
}
