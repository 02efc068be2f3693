//! Every function that `cust_raw` declares, for programs that use `cust`.
//!
//! `cust_raw` links with `libcuda`. Here its symbols are met by functions of this crate, which pass
//! each call on to the library that is opened at run time, or refuse it where there is none.

#[cfg_attr(driver_target, path = "jumps.rs")]
#[cfg_attr(not(driver_target), path = "refusals.rs")]
mod defined;
mod refusal;
mod symbols;

use crate::library::Library;

/// Tells every function where to pass its calls on to.
pub(crate) fn connect(library: Option<&Library>) {
    defined::fill(|name| {
        let found = library.and_then(|library| library.symbol(name));
        found.map_or_else(|| refusal::address(name), <*const _>::cast_mut)
    });
}
