//! Symbol names for declarations in PTX that Rust has no item for.
//!
//! `line!()` and `column!()` cannot tell apart two uses of a macro inside another
//! macro: both report the outermost call. A counter can, and as the compiler
//! expands a crate in one fixed order, the same source gets the same names.

use proc_macro2::{Group, Literal, TokenStream};
use quote::quote;
use std::sync::atomic::{AtomicUsize, Ordering};
use syn::parse::{Parse, ParseStream};
use syn::{Path, Result, Token};

/// One process compiles one crate, so this counts within a crate.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A macro to be called, and what it gets after the name.
pub struct Call {
    target: Path,
    arguments: TokenStream,
}

impl Parse for Call {
    fn parse(input: ParseStream) -> Result<Self> {
        let target = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        let arguments = input.parse()?;
        Ok(Self { target, arguments })
    }
}

impl Call {
    /// `target! { "name" arguments }`
    pub fn expand(self) -> TokenStream {
        let name = Literal::string(&fresh());
        let arguments = self.arguments;
        let group = Group::new(proc_macro2::Delimiter::Brace, quote!(#name #arguments));
        let target = self.target;
        quote!(#target ! #group)
    }
}

/// The next name: the crate, its version and a number, in letters PTX allows.
fn fresh() -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("shared_{}_{}_{number}", variable("CARGO_CRATE_NAME"), variable("CARGO_PKG_VERSION"),)
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}
