//! `#[kernel]`: the checks, and the two functions that it turns one into.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, FnArg, ItemFn, PatType, Result, ReturnType, Type};

/// The GPU version and the host version of `item`, or what is wrong with it.
pub fn expand(attr: TokenStream, item: ItemFn) -> Result<TokenStream> {
    if !attr.is_empty() {
        return Err(Error::new_spanned(attr, "#[kernel] takes no arguments"));
    }
    check_signature(&item)?;
    let params = typed_params(&item)?;
    let types = params.iter().map(|param| &*param.ty);
    let ItemFn { attrs, vis, sig, block } = &item;
    let (name, inputs) = (&sig.ident, &sig.inputs);
    let copy_check = quote! {
        const _: () = {
            const fn kernel_parameter_is_copy<T: ::core::marker::Copy>() {}
            #( kernel_parameter_is_copy::<#types>(); )*
        };
    };
    let body = &block.stmts;
    let version = |abi: &str| {
        quote! {
            #(#attrs)*
            #[no_mangle]
            #vis unsafe extern #abi fn #name(#inputs) {
                #copy_check
                #(#body)*
            }
        }
    };
    let (gpu, host) = (version("ptx-kernel"), version("C"));
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #gpu
        #[cfg(not(target_arch = "nvptx64"))]
        #host
    })
}

/// What a kernel's signature must be, apart from its parameters.
fn check_signature(item: &ItemFn) -> Result<()> {
    let sig = &item.sig;
    if sig.unsafety.is_none() {
        return Err(Error::new_spanned(sig.fn_token, "a kernel must be an `unsafe fn`"));
    }
    if let ReturnType::Type(..) = sig.output {
        return Err(Error::new_spanned(
            &sig.output,
            "a kernel returns nothing: write through a pointer",
        ));
    }
    if sig.generics.params.iter().next().is_some() {
        return Err(Error::new_spanned(
            &sig.generics,
            "a kernel has one name in the PTX, so it cannot be generic",
        ));
    }
    for (found, what) in [
        (sig.asyncness.is_some(), "async"),
        (sig.constness.is_some(), "const"),
        (sig.abi.is_some(), "given an ABI: #[kernel] sets it"),
        (sig.variadic.is_some(), "variadic"),
    ] {
        if found {
            return Err(Error::new_spanned(sig, format!("a kernel cannot be {what}")));
        }
    }
    Ok(())
}

/// The parameters of the kernel, which must all be ones that a launch can pass.
fn typed_params(item: &ItemFn) -> Result<Vec<&PatType>> {
    item.sig
        .inputs
        .iter()
        .map(|input| match input {
            FnArg::Receiver(receiver) => {
                Err(Error::new_spanned(receiver, "a kernel cannot be a method"))
            }
            FnArg::Typed(param) if is_wide_pointer(&param.ty) => Err(Error::new_spanned(
                &param.ty,
                "pass a pointer and a length: rust-cuda makes two kernel parameters of a slice, \
                 rustc makes one",
            )),
            FnArg::Typed(param) => Ok(param),
        })
        .collect()
}

/// Whether a type is, as written, a pointer or reference that carries a length or
/// a vtable beside the address.
fn is_wide_pointer(ty: &Type) -> bool {
    let target = match ty {
        Type::Reference(reference) => &*reference.elem,
        Type::Ptr(pointer) => &*pointer.elem,
        Type::Paren(inner) => return is_wide_pointer(&inner.elem),
        Type::Group(inner) => return is_wide_pointer(&inner.elem),
        _ => return false,
    };
    match target {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use proc_macro2::TokenStream;
    use quote::quote;

    /// The expansion of `#[kernel]` on an item, or the error's text.
    fn kernel(item: TokenStream) -> Result<String, String> {
        let item = syn::parse2(item).map_err(|error| error.to_string())?;
        expand(TokenStream::new(), item)
            .map(|tokens| tokens.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn makes_a_gpu_and_a_host_version() {
        let out = kernel(quote!(
            pub unsafe fn copy(to: *mut u8, len: usize) {
                to.write(0)
            }
        ))
        .unwrap();
        for part in ["extern \"ptx-kernel\" fn copy", "extern \"C\" fn copy"] {
            assert_eq!(out.matches(part).count(), 1, "{out}");
        }
        assert_eq!(out.matches("# [no_mangle]").count(), 2, "{out}");
        // One check per parameter and version.
        assert_eq!(out.matches("kernel_parameter_is_copy ::").count(), 4, "{out}");
    }

    #[test]
    fn says_what_is_wrong() {
        for (item, part) in [
            (
                quote!(
                    fn k() {}
                ),
                "unsafe",
            ),
            (
                quote!(
                    unsafe fn k() -> u32 {
                        0
                    }
                ),
                "returns nothing",
            ),
            (
                quote!(
                    unsafe fn k<T: Copy>(t: T) {}
                ),
                "generic",
            ),
            (
                quote!(
                    unsafe fn k<'a>(t: &'a u8) {}
                ),
                "generic",
            ),
            (
                quote!(
                    unsafe fn k(&self) {}
                ),
                "method",
            ),
            (
                quote!(
                    async unsafe fn k() {}
                ),
                "async",
            ),
            (
                quote!(
                    const unsafe fn k() {}
                ),
                "const",
            ),
            (
                quote!(
                    unsafe extern "C" fn k() {}
                ),
                "ABI",
            ),
            (
                quote!(
                    unsafe fn k(values: &[f32]) {}
                ),
                "a pointer and a length",
            ),
            (
                quote!(
                    unsafe fn k(values: *mut [f32]) {}
                ),
                "a pointer and a length",
            ),
            (
                quote!(
                    unsafe fn k(text: &str) {}
                ),
                "a pointer and a length",
            ),
            (
                quote!(
                    unsafe fn k(object: &dyn Copy) {}
                ),
                "a pointer and a length",
            ),
        ] {
            let text = item.to_string();
            let error = kernel(item).expect_err(&text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn takes_no_arguments() {
        let item = syn::parse_quote!(
            unsafe fn k() {}
        );
        assert!(expand(quote!(grid_dim = 1), item).is_err());
    }
}
