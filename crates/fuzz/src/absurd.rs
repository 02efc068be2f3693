//! Numbers that make no sense, wherever the library takes numbers: an error or a result, at once.

use bolero::TypeGenerator;
use bolero::generator::*;
use transpose::{
    AlignedLayout, Batch, Device, DeviceMatrix, DeviceTensor, InPlace, InPlaceOptions, InPlacePlan,
    Layout, PinnedBuffer, Plan, Strategy, TensorLayout,
};

/// A number at which something overflows, or one beside it.
#[derive(Clone, Copy, Debug, TypeGenerator)]
pub struct Number(u8, #[generator(-2..3)] i8);

impl Number {
    pub(crate) fn get(self) -> usize {
        const EDGES: [usize; 20] = [
            0,
            1,
            2,
            3,
            16,
            31,
            256,
            4095,
            65535,
            1 << 16,
            1 << 20,
            i32::MAX as usize,
            1 << 31,
            u32::MAX as usize,
            1 << 40,
            1 << 42,
            1 << 48,
            isize::MAX as usize,
            1 << 63,
            usize::MAX,
        ];
        EDGES[usize::from(self.0) % EDGES.len()].saturating_add_signed(isize::from(self.1))
    }

    fn signed(self) -> isize {
        self.get() as isize
    }
}

/// Numbers, and what they are given to.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Request {
    /// A matrix by its layout, and plans for it.
    Matrix([Number; 8], u8),
    /// A tensor by its layout, what is made of it, and plans for it.
    Tensor {
        /// Lengths and strides.
        #[generator(produce::<Vec<_>>().with().len(0usize..19))]
        axes: Vec<(Number, Number)>,
        /// An offset, the bytes of an element, and what the view is cut by.
        numbers: [Number; 6],
    },
    /// Windows on a small matrix.
    Window([Number; 6]),
    /// Memory.
    Memory([Number; 3]),
    /// A device unlike any, and options in place.
    Chip([Number; 8], u8),
}

/// Asks for it.
pub fn run(request: &Request) {
    let device = Device::simulated();
    // An error is as good as a result; both must come.
    let _ = match request {
        Request::Matrix(numbers, which) => matrix(&device, numbers.map(Number::get), *which),
        Request::Tensor { axes, numbers } => tensor(&device, axes, numbers),
        Request::Window(numbers) => window(&device, numbers.map(Number::get)),
        Request::Memory(numbers) => memory(&device, numbers.map(Number::get)),
        Request::Chip(numbers, which) => chip(&device, numbers.map(Number::get), *which),
    };
}

fn matrix(device: &Device, numbers: [usize; 8], which: u8) -> transpose::Result<()> {
    let [rows, cols, src_ld, dst_ld, bytes, count, src_stride, dst_stride] = numbers;
    let strategy = Strategy::ALL[usize::from(which) % Strategy::ALL.len()];
    let facts = device.facts();
    if let (Ok(src), Ok(dst)) =
        (Layout::contiguous(rows, cols, bytes), Layout::contiguous(cols, rows, bytes))
    {
        let _ = Plan::for_layouts(bytes, src, dst, strategy, facts).map(|plan| plan.to_string());
    }
    let src: AlignedLayout = Layout::new(rows, cols, src_ld, bytes)?.aligned_to(count);
    let dst = Layout::new(cols, rows, dst_ld, bytes)?;
    let _ = Plan::for_layouts(bytes, src, dst, strategy, facts).map(|plan| plan.to_string());
    let batch = Batch { count, src_stride, dst_stride };
    Plan::batched_for_layouts(bytes, src, dst, batch, facts).map(|plan| drop(plan.to_string()))
}

fn tensor(
    device: &Device,
    axes: &[(Number, Number)],
    numbers: &[Number; 6],
) -> transpose::Result<()> {
    let shape: Vec<usize> = axes.iter().map(|(length, _)| length.get()).collect();
    let strides: Vec<isize> = axes.iter().map(|(_, stride)| stride.signed()).collect();
    let [offset, bytes, axis, start, end, step] = numbers.map(Number::get);
    let contiguous = TensorLayout::contiguous(&shape, bytes);
    if let Ok(src) = &contiguous {
        let dst = TensorLayout::contiguous(src.t().shape(), bytes)?;
        let plan = Plan::moving_for_layouts(bytes, &src.t(), &dst, device.facts());
        let _ = plan.map(|plan| plan.to_string());
        let _ = Plan::moving_candidates_for_layouts(bytes, &src.t(), &dst, device.facts());
    }
    let layout = TensorLayout::strided(&shape, &strides, offset, bytes).or(contiguous)?;
    let _ = (layout.is_contiguous(), layout.is_injective(), layout.range(), layout.len());
    let _ = layout.slice(axis, start..end, step as isize);
    let _ = layout.slice(axis, start..=end, 1);
    let _ = (layout.index_axis(axis, start), layout.insert_axis(axis), layout.split_at(axis, end));
    let _ = (layout.broadcast(&[start, end, step]), layout.reshape(&[start, end]));
    let _ = layout.permute_axes(&[axis, start]);
    let dst = TensorLayout::contiguous(&shape, bytes)?;
    Plan::moving_for_layouts(bytes, &layout, &dst, device.facts())
        .map(|plan| drop(plan.to_string()))
}

fn window(device: &Device, numbers: [usize; 6]) -> transpose::Result<()> {
    let [offset, rows, cols, ld, count, stride] = numbers;
    let host: Vec<u16> = (0..600).collect();
    let mut matrix = DeviceMatrix::from_host(device, 30, 20, &host)?;
    let _ = matrix.submatrix(offset..rows, cols..=ld).map(|part| part.to_host());
    let _ = matrix.split_at_row(offset);
    let _ = matrix.split_at_col(cols);
    let _ = matrix.copy_from_host_with_ld(&host, ld);
    let _ = matrix.copy_to_host_with_ld(&mut host.clone(), ld);
    let _ = matrix.view_mut().transpose_squares_in_place(count, stride);
    if let Ok(mut window) = matrix.window_mut(offset, rows, cols, ld) {
        window.transpose_squares_in_place(count, stride)?;
        window.fill(1)?;
    }
    let window = matrix.window(offset, rows, cols, ld)?;
    window.to_host()?;
    let transposed = window.transposed()?;
    let batch = Batch { count, src_stride: stride, dst_stride: stride };
    let mut dst = DeviceMatrix::zeroed(device, transposed.nrows(), transposed.ncols())?;
    window.transpose_batched_into(&mut dst, batch)?;
    matrix.reshape(rows, cols)
}

fn memory(device: &Device, [rows, cols, ld]: [usize; 3]) -> transpose::Result<()> {
    // What fits is taken of the host as it is used: some of it, not all.
    let few = |len: Option<usize>| len.is_none_or(|len| len <= 1 << 16 || len > 1 << 32);
    let _ = DeviceMatrix::<u32>::from_host_with_ld(device, rows, cols, ld, &[1; 100]);
    let _ = DeviceTensor::<u32>::from_host(device, &[rows, cols, ld], &[1; 100]);
    if few(rows.checked_mul(cols)) {
        let _ = PinnedBuffer::<u64>::zeroed(device, rows.saturating_mul(cols));
        let mut matrix = DeviceMatrix::<u32>::zeroed(device, rows, cols)?;
        matrix.to_host()?;
        matrix.transposed()?.to_host()?;
        matrix.transpose_in_place()?;
        matrix.try_clone()?;
    }
    if few(rows.checked_mul(ld)) {
        let matrix = DeviceMatrix::<u32>::zeroed_with_ld(device, rows, cols, ld)?;
        matrix.to_host()?;
        matrix.transposed()?;
    }
    Ok(())
}

fn chip(device: &Device, numbers: [usize; 8], which: u8) -> transpose::Result<()> {
    let [multiprocessors, block, shared, rows, cols, tile_rows, tile_cols, group] = numbers;
    let options = InPlaceOptions::default()
        .tile((tile_rows, tile_cols))
        .on_chip_bytes(block)
        .max_group(group)
        .flags((tile_rows, true));
    let mut facts = device.facts().clone();
    (facts.multiprocessors, facts.block_shared, facts.multiprocessor_shared) =
        (multiprocessors, block, shared);
    let device = device.with_facts(facts).unwrap_or(device.clone());
    let (rows, cols) = (rows % 300, cols % 300);
    let src = DeviceMatrix::<u8>::zeroed(&device, rows, cols)?;
    src.transposed()?;
    let algorithm = InPlace::ALL[usize::from(which) % InPlace::ALL.len()];
    let mut matrix = src;
    InPlacePlan::with_options(&matrix, algorithm, &options)?.run(&mut matrix)
}
