//! Small arrays, which go to the device among the parameters of launches: in the order of its queue, and nobody waits.
//!
//! A copy from the program's memory is waited for, since that is the program's again when the call returns, and what is queued before comes first. Parameters are the
//! driver's when a launch returns.

use crate::Result;
use crate::device::Device;
use crate::kernels;
use crate::launch::{Fields, Launch};
use crate::tensor::{DeviceTensor, TensorLayout, TensorView};
use bytemuck::Pod;
use kernel_abi::Width;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::{CONSTANT_WORDS, CONSTANTS, Constants as Parameters, WORDS_OF_WARP};

/// Bytes that a warp writes: memory is as many of these as it takes.
const WARP_BYTES: usize = WORDS_OF_WARP * size_of::<u64>();

/// Bytes of a launch.
const LAUNCH_BYTES: usize = CONSTANT_WORDS * size_of::<u64>();

/// The most bytes that go by launches: a copy takes a host less than more of them.
const MOST_BYTES: usize = 4 * LAUNCH_BYTES;

/// Elements one after the other, in memory of the device. When they are dropped they stay there for a while, for who wants equal ones.
#[derive(Debug)]
pub(crate) struct Constants<T: Pod> {
    elements: Vec<T>,
    /// They, and what fills the memory up.
    memory: DeviceTensor<T>,
}

impl<T: Pod> Constants<T> {
    /// These elements. What is queued from now on may use them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn new(device: &Device, elements: Vec<T>) -> Result<Self> {
        let memory = match device.take_table(bytemuck::cast_slice(&elements)) {
            Some(buffer) => {
                let layout = TensorLayout::contiguous(&[elements.len()], size_of::<T>())?;
                DeviceTensor::of_buffer(buffer, layout)
            }
            None => brought(device, &elements)?,
        };
        Ok(Constants { elements, memory })
    }

    /// The elements.
    pub fn view(&self) -> Result<TensorView<'_, T>> {
        self.memory.view().slice(0, 0..self.elements.len(), 1)
    }
}

impl<T: Pod> Drop for Constants<T> {
    fn drop(&mut self) {
        let device = self.memory.device().clone();
        device.keep_table(bytemuck::cast_slice(&self.elements), self.memory.buffer_mut());
    }
}

/// Elements that come to the device now, and perhaps others behind them.
fn brought<T: Pod>(device: &Device, elements: &[T]) -> Result<DeviceTensor<T>> {
    let (len, bytes) = (elements.len(), size_of_val(elements));
    if bytes == 0 || bytes > MOST_BYTES {
        return DeviceTensor::from_host(device, &[len], elements);
    }
    // So few elements fill warps: as many, or the next multiple of what has all of a warp's factors.
    let step = WARP_BYTES >> size_of::<T>().trailing_zeros().min(WARP_BYTES.trailing_zeros());
    let memory = DeviceTensor::<T>::uninitialized(device, &[len.next_multiple_of(step)])?;
    let all = bytes.next_multiple_of(step * size_of::<T>());
    let address = memory.device_address();
    for (number, first) in (0..all).step_by(LAUNCH_BYTES).enumerate() {
        let left = (all - first).min(LAUNCH_BYTES);
        let given = bytemuck::cast_slice::<T, u8>(elements);
        let given = &given[first.min(bytes)..(first + left).min(bytes)];
        let launch = launch(given, left / WARP_BYTES, number)?;
        // SAFETY: the memory was allocated for as many warps' words, and nobody else has it.
        unsafe { device.launch(&launch, [address; 2])? };
    }
    Ok(memory)
}

/// The launch that writes bytes, and zeros behind them, as so many warps' words, behind those of `number` launches.
fn launch(given: &[u8], warps: usize, number: usize) -> Result<Launch> {
    let mut parameters = Parameters { words: [0; CONSTANT_WORDS] };
    bytemuck::cast_slice_mut(&mut parameters.words)[..given.len()].copy_from_slice(given);
    Ok(Launch {
        entry: kernels::entry(&CONSTANTS, Width::B8)?,
        grid: [1; 3],
        block: [warps as u32 * WARP, 1, 1],
        dynamic_shared_bytes: 0,
        blocks_per_multiprocessor: 0,
        evict_last: true,
        cooperative: false,
        offsets: [0, (number * LAUNCH_BYTES) as u64],
        params: Fields::of(&parameters),
    })
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use crate::simulator::{Launched, Observer};
    use simt::Checks;
    use std::cell::Cell;
    use std::rc::Rc;

    /// Elements of so many bytes, no two of which are alike.
    fn elements<const BYTES: usize>(len: usize) -> Vec<[u8; BYTES]> {
        let byte = |k: usize| (k * 7 + k / 256 * 13 + 1) as u8;
        (0..len).map(|k| std::array::from_fn(|i| byte(k * BYTES + i))).collect()
    }

    /// Checks that the elements arrive, in as many launches as they take.
    fn check<const BYTES: usize>(len: usize)
    where
        [u8; BYTES]: Pod,
    {
        let device = Device::simulated_with(Checks::ALL_UNTRACKED);
        let given = elements::<BYTES>(len);
        let constants = Constants::new(&device, given.clone()).unwrap();
        assert_eq!(constants.view().unwrap().to_host().unwrap(), given, "{len} of {BYTES} bytes");
    }

    #[test]
    fn elements_of_every_size_arrive() {
        for len in [0, 1, 2, 31, 32, 33, 255, 256, 257, 700, 1024] {
            check::<1>(len);
            check::<3>(len);
            check::<4>(len);
            check::<8>(len);
        }
        for len in [1, 5, 128, 129, 300] {
            check::<16>(len);
            check::<24>(len);
        }
        check::<2048>(1);
        check::<2048>(3);
    }

    /// How often the elements had to be brought to the device, and where they are.
    fn launches(device: &Device, elements: &[u64]) -> (usize, u64) {
        let seen = Rc::new(Launches::default());
        let constants = device.observe(seen.clone(), || Constants::new(device, elements.to_vec()));
        let constants = constants.unwrap();
        assert_eq!(constants.view().unwrap().to_host().unwrap(), elements);
        (seen.0.get(), constants.view().unwrap().device_address())
    }

    #[derive(Default)]
    struct Launches(Cell<usize>);

    impl Observer for Launches {
        fn launched(&self, _: Launched) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn what_is_there_from_calls_before_is_not_brought_again() {
        let device = Device::simulated_with(Checks::ALL_UNTRACKED);
        let (brought, address) = launches(&device, &[1, 2, 3]);
        assert_eq!((brought, launches(&device, &[1, 2, 3])), (1, (0, address)));
        // In use it is nobody else's, and of two that are equal one is kept.
        let held = Constants::new(&device, vec![1u64, 2, 3]).unwrap();
        let (brought, other) = launches(&device, &[1, 2, 3]);
        assert!(brought == 1 && other != address);
        drop(held);
        assert_eq!(launches(&device, &[1, 2, 3]), (0, other));
        // More, fewer and other elements, and those of another queue, are others.
        for elements in [&[1, 2][..], &[1, 2, 3, 0], &[1, 2, 4]] {
            assert_eq!(launches(&device, elements).0, 1);
        }
        assert_eq!(launches(&device.new_stream().unwrap(), &[1, 2, 3]).0, 1);
    }

    #[test]
    fn few_stay_and_all_go_with_the_last_handle() {
        let device = Device::simulated_with(Checks::ALL_UNTRACKED);
        let stream = device.new_stream().unwrap();
        let free = || stream.memory().unwrap().free;
        let before = free();
        assert_eq!(launches(&device, &[7]).0, 1);
        let one = before - free();
        for other in 100..200 {
            launches(&device, &[other]);
        }
        assert!(free() >= before - 8 * one);
        assert_eq!([launches(&device, &[199]).0, launches(&device, &[7]).0], [0, 1]);
        // What is large does not stay.
        let large = vec![1u64; 1 << 12];
        drop(Constants::new(&device, large).unwrap());
        assert!(free() >= before - 8 * one);
        let handle = device.clone();
        drop(device);
        assert!(free() < before);
        drop(handle);
        assert_eq!(free(), before);
    }

    #[test]
    fn what_is_large_is_copied() {
        check::<8>(1025);
        check::<4096>(3);
    }

    #[test]
    fn a_launch_has_whole_warps_and_zeros_behind_what_is_given() {
        let launch = launch(&[1; 9], 1, 3).unwrap();
        assert_eq!(launch.block, [32, 1, 1]);
        assert_eq!(launch.offsets, [0, 3 * 1024]);
        assert_eq!(launch.params[..3], [0x0101_0101_0101_0101, 1, 0]);
    }
}
