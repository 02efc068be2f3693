//! Handing memory from one stream of a device to another.

use crate::Result;
use crate::device::Device;
use crate::matrix::DeviceMatrix;
use crate::tensor::DeviceTensor;
use bytemuck::Pod;

/// Both kinds of array are handed over in the same way.
macro_rules! moves_between_streams {
    ($array:ident) => {
        impl<T: Pod> $array<T> {
            /// Hands the array's memory to another stream of its device: from now on it is one that was made there.
            ///
            /// What is queued on `stream` from now on comes after what is queued on the present stream so far. The present stream does not wait
            /// for anything, and no element is moved. [`Device::new_stream`] has an example of streams.
            ///
            /// # Errors
            /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for a stream of another device, and what the device reports. The array
            /// stays where it is then.
            pub fn move_to_stream(&mut self, stream: &Device) -> Result<()> {
                self.buffer_mut().move_to(stream)
            }
        }
    };
}

moves_between_streams!(DeviceMatrix);
moves_between_streams!(DeviceTensor);
