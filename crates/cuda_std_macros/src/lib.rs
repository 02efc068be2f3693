//! The macros of `cuda_std`, with the names they have in the published crate.
//!
//! Use them through `cuda_std`, which exports them again. Each checks what it can
//! while the item is still syntax, and answers with a compile error at the
//! offending token.

mod kernel;
mod unique_name;

use proc_macro::TokenStream;
use quote::quote;
use syn::{parse_macro_input, Error, ItemFn, ItemStatic};

/// Makes a function a kernel: an entry point that the host can launch by its name.
///
/// On the GPU the function becomes `#[no_mangle] pub unsafe extern "ptx-kernel" fn`;
/// elsewhere an ordinary `extern "C"` function, so that a kernel crate type-checks
/// on the host. The crate must enable the calling convention:
///
/// ```text
/// #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]
/// ```
///
/// The function must be `unsafe`, not generic, return nothing, and take `Copy`
/// parameters. Slices are refused as well: rust-cuda passes them as two kernel
/// parameters and rustc as one, so a launch would disagree with the kernel about
/// where its arguments are. Pass a pointer and a length.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemFn);
    kernel::expand(attr.into(), item).unwrap_or_else(Error::into_compile_error).into()
}

/// Keeps a function for the GPU; the version for the host panics when it is called.
#[proc_macro_attribute]
pub fn gpu_only(_attr: TokenStream, item: TokenStream) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = parse_macro_input!(item as ItemFn);
    let message = format!("`{}` runs on the GPU only", sig.ident);
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables)]
        #(#attrs)*
        #vis #sig {
            ::core::panic!(#message)
        }
    }
    .into()
}

/// Marks a function that other PTX modules link to.
///
/// rustc keeps every `#[no_mangle]` function of the final crate, which is all that
/// is asked of it here; the attribute checks that this one is there.
#[proc_macro_attribute]
pub fn externally_visible(_attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    if !function.attrs.iter().any(names_no_mangle) {
        return Error::new_spanned(
            &function.sig,
            "an #[externally_visible] function needs #[no_mangle] as well",
        )
        .into_compile_error()
        .into();
    }
    quote!(#function).into()
}

/// Whether an attribute is `#[no_mangle]` or `#[unsafe(no_mangle)]`.
fn names_no_mangle(attr: &syn::Attribute) -> bool {
    attr.path().is_ident("no_mangle")
        || (attr.path().is_ident("unsafe")
            && attr.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("no_mangle")))
}

/// Says in which address space a `static` lives: `global`, `shared`, `constant` or
/// `local`.
///
/// rustc puts every static into global memory, so `global` is always right and the
/// others are compile errors on the GPU. Nothing is done on the host. For shared
/// memory use `shared_array!` or `dynamic_shared_mem`.
#[proc_macro_attribute]
pub fn address_space(attr: TokenStream, item: TokenStream) -> TokenStream {
    let space = parse_macro_input!(attr as syn::Ident);
    let item = parse_macro_input!(item as ItemStatic);
    let refusal = match space.to_string().as_str() {
        "global" => None,
        "shared" | "constant" | "local" => {
            let text = format!("rustc cannot put a static into the {space} address space");
            Some(quote!(#[cfg(target_arch = "nvptx64")] ::core::compile_error!(#text);))
        }
        _ => {
            return Error::new_spanned(space, "expected `global`, `shared`, `constant` or `local`")
                .into_compile_error()
                .into()
        }
    };
    quote!(#refusal #item).into()
}

/// For `cuda_std`'s own macros: calls `path!("name" …)` with a fresh symbol name.
///
/// Input is `path ; tokens`. The name is unique in the crate that is being compiled
/// and carries that crate's name, so it is unique in the PTX as well.
#[doc(hidden)]
#[proc_macro]
pub fn __with_unique_name(input: TokenStream) -> TokenStream {
    let call = parse_macro_input!(input as unique_name::Call);
    call.expand().into()
}
