//! What a plan is run on: matrices, or tensors.

use crate::Result;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::tensor::{DeviceTensor, TensorView, TensorViewMut};
use bytemuck::Pod;

/// A matrix or a tensor that a [`Plan`](crate::Plan) reads. Whatever has a view is one.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a, T>(Of<MatrixView<'a, T>, TensorView<'a, T>>);

/// A matrix or a tensor that a [`Plan`](crate::Plan) writes. Whatever has a mutable view is one.
#[derive(Debug)]
pub struct Destination<'a, T>(Of<MatrixViewMut<'a, T>, TensorViewMut<'a, T>>);

#[derive(Clone, Copy, Debug)]
enum Of<M, T> {
    Matrix(M),
    Tensor(T),
}

/// What both have, and what makes them.
macro_rules! operand {
    ($operand:ident, $matrix:ident, $tensor:ident, $($mutable:ident)?) => {
        impl<'a, T: Pod> $operand<'a, T> {
            /// As a matrix.
            ///
            /// # Errors
            /// [`Error::NotAMatrix`](crate::Error::NotAMatrix) for a tensor that is none.
            pub(super) fn matrix(self) -> Result<$matrix<'a, T>> {
                match self.0 {
                    Of::Matrix(matrix) => Ok(matrix),
                    Of::Tensor(tensor) => tensor.try_into(),
                }
            }

            /// As a tensor; a matrix is one of two axes.
            pub(super) fn tensor(self) -> $tensor<'a, T> {
                match self.0 {
                    Of::Matrix(matrix) => matrix.into(),
                    Of::Tensor(tensor) => tensor,
                }
            }
        }

        impl<'a, T: Pod> From<$matrix<'a, T>> for $operand<'a, T> {
            fn from(matrix: $matrix<'a, T>) -> Self {
                $operand(Of::Matrix(matrix))
            }
        }

        impl<'a, T: Pod> From<$tensor<'a, T>> for $operand<'a, T> {
            fn from(tensor: $tensor<'a, T>) -> Self {
                $operand(Of::Tensor(tensor))
            }
        }

        impl<'a, T: Pod> From<&'a $($mutable)? DeviceMatrix<T>> for $operand<'a, T> {
            fn from(matrix: &'a $($mutable)? DeviceMatrix<T>) -> Self {
                $matrix::from(matrix).into()
            }
        }

        impl<'a, T: Pod> From<&'a $($mutable)? DeviceTensor<T>> for $operand<'a, T> {
            fn from(tensor: &'a $($mutable)? DeviceTensor<T>) -> Self {
                $tensor::from(tensor).into()
            }
        }
    };
}

operand!(Source, MatrixView, TensorView,);
operand!(Destination, MatrixViewMut, TensorViewMut, mut);
