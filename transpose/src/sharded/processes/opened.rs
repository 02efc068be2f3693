//! Functions of a C library that is opened at run time, each of which answers with an integer, 0 for success.

use std::error::Error;

/// What the dynamic loader says: the library that calls it says only which call failed.
pub(super) fn why(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Declares `Functions`, a table of a library's functions. Each becomes an unsafe method, which asks for what the library's documentation of
/// the function asks for, and whose answer goes through `Functions::answer`.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The functions of the library.
        pub(super) struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> std::ffi::c_int,)*
            library: libloading::Library,
        }

        #[allow(clippy::too_many_arguments, reason = "as many as the library's function has")]
        impl Functions {
            /// The functions; or what is missing.
            fn of(library: libloading::Library) -> Result<Self, String> {
                $(
                    // SAFETY: an exported function of that name has this type in the library's header.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($type),*) -> std::ffi::c_int>(
                            concat!(stringify!($name), "\0").as_bytes(),
                        )
                    }
                    .map_err(|error| super::super::opened::why(&error))?;
                )*
                Ok(Functions { $($name,)* library })
            }

            $(
                /// # Safety
                /// What the library's documentation of the function asks for.
                pub unsafe fn $name(&self, $($argument: $type),*) -> crate::Result<()> {
                    // SAFETY: the caller's obligation.
                    self.answer(stringify!($name), unsafe { (self.$name)($($argument),*) })
                }
            )*
        }
    };
}

pub(super) use functions;
