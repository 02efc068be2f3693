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

/// The next name: the crate and a number. Two versions of one crate in one PTX would
/// clash, and ptxas would say so.
fn fresh() -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let krate = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    format!("shared_{krate}_{number}")
}

#[cfg(test)]
mod tests {
    use super::{fresh, Call};

    #[test]
    fn names_differ_and_suit_ptx() {
        let (first, second) = (fresh(), fresh());
        assert_ne!(first, second);
        for name in [first, second] {
            assert!(name.starts_with("shared_"), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        }
    }

    #[test]
    fn passes_the_rest_on() {
        let call: Call = syn::parse_quote!(a::b; u32; 1 + N);
        let out = call.expand().to_string();
        assert!(out.starts_with("a :: b ! {"), "{out}");
        assert!(out.ends_with("; u32 ; 1 + N }") || out.ends_with("u32 ; 1 + N }"), "{out}");
    }
}
