//! What a kernel takes after its two addresses.

/// The parameters of a kernel: one structure, passed by value.
///
/// Every field is 64 bits wide, so host and GPU lay the structure out alike and the simulator can
/// hand it over byte by byte.
///
/// # Safety
/// The type is `#[repr(C)]` and made of `u64` fields only, or of other such types: any bits are a
/// value of it, and it has no padding.
pub unsafe trait Params: Copy + Send + Sync + 'static {
    /// The number of 64-bit fields.
    const FIELDS: usize = core::mem::size_of::<Self>() / 8;

    /// The fields in their order.
    fn fields(&self) -> &[u64] {
        // A structure without fields is not aligned as one.
        if Self::FIELDS == 0 {
            return &[];
        }
        // SAFETY: the trait's promise: as many fields of 64 bits and nothing else, aligned as one of them.
        unsafe { core::slice::from_raw_parts((self as *const Self).cast(), Self::FIELDS) }
    }

    /// The parameters with these fields; `None` unless there are as many.
    fn from_fields(fields: &[u64]) -> Option<Self> {
        if fields.len() != Self::FIELDS {
            return None;
        }
        // SAFETY: the trait's promise: as many bytes as the slice has, of which any are a value.
        Some(unsafe { fields.as_ptr().cast::<Self>().read() })
    }
}

// SAFETY: an array has no padding, and its elements are made of `u64` fields only.
unsafe impl<P: Params, const N: usize> Params for [P; N] {}

/// Declares structures of parameters.
macro_rules! params {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$field_doc:meta])* $field:ident $(: $type:ty)? ),* $(,)? }
    )+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct $name {
            $( $(#[$field_doc])* pub $field: params!(@type $($type)?) ),*
        }

        // SAFETY: `repr(C)`, and each field is a `u64` or, by the bound checked below, of a type that keeps the promise.
        unsafe impl crate::Params for $name {}

        const _: () = {
            const fn keeps_the_promise<P: crate::params::Field>() {}
            $( keeps_the_promise::<params!(@type $($type)?)>(); )*
        };
    )+ };
    (@type) => { u64 };
    (@type $type:ty) => { $type };
}
pub(crate) use params;

/// What a structure of parameters may have for a field.
pub(crate) trait Field {}

impl Field for u64 {}
impl<const N: usize> Field for [u64; N] {}
impl<P: Params> Field for P {}

#[cfg(test)]
mod tests {
    use super::Params;
    use crate::classic::Matrices;

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Nothing;

    // SAFETY: no fields.
    unsafe impl Params for Nothing {}

    /// Wherever it lies: it is aligned as a byte is.
    #[test]
    fn a_structure_may_have_no_fields() {
        let several = [(0u8, Nothing), (1, Nothing), (2, Nothing)];
        assert!(several.iter().all(|(_, nothing)| nothing.fields().is_empty()));
        assert!(Nothing::from_fields(&[]).is_some() && Nothing::from_fields(&[1]).is_none());
    }

    #[test]
    fn the_fields_are_in_their_order() {
        let matrices = Matrices { rows: 2, cols: 3, src_ld: 5, dst_ld: 7 };
        assert_eq!(matrices.fields(), [2, 3, 5, 7]);
        assert_eq!(Matrices::from_fields(&[2, 3, 5, 7]), Some(matrices));
        assert_eq!(Matrices::from_fields(&[2, 3, 5]), None);
    }
}
