//! Operations that compute on the way.

use crate::operations::Operation;
use transpose::{Arithmetic, ArithmeticPlan, Device, DeviceMatrix, DeviceTensor, Result};

fn matrix(device: &Device) -> Result<DeviceMatrix<f32>> {
    DeviceMatrix::from_host(device, 30, 20, &[7.0; 600])
}

fn image(device: &Device) -> Result<DeviceTensor<u8>> {
    DeviceTensor::from_host(device, &[10, 20, 3], &[7; 600])
}

/// Of matrices, of arrays, and of plans.
pub const OPERATIONS: &[Operation] = &[
    ("matrices are scaled and converted", |device, _| {
        let (src, mut dst) = (matrix(device)?, DeviceMatrix::<f64>::zeroed(device, 20, 30)?);
        src.scaled(0.5)?;
        src.transposed_scaled(0.5)?;
        src.converted::<u8>()?;
        src.transposed_converted::<f64>()?;
        src.view().transpose_converted_into(&mut dst)?;
        let other = DeviceMatrix::<f64>::zeroed(device, 20, 30)?;
        src.view().add_transposed_into(2.0, &other, 0.5, &mut dst)?;
        src.view().add_transposed_to(2.0, 0.5, &mut dst)?;
        let complex = DeviceMatrix::from_host(device, 30, 20, &[[1f32, 2.0]; 600])?;
        complex.view().adjoint_scaled([1.0, 1.0])?;
        Ok(())
    }),
    ("arrays are scaled, converted and normalized", |device, _| {
        let src = DeviceTensor::from_host(device, &[5, 6, 20], &[7f32; 600])?;
        let mut dst = DeviceTensor::<f64>::zeroed(device, &[20, 6, 5])?;
        src.scaled(0.5)?;
        src.converted::<u8>()?;
        src.view().t().scale_into(0.5, &mut DeviceTensor::zeroed(device, &[20, 6, 5])?)?;
        src.view().t().convert_into(&mut dst)?;
        let other = DeviceTensor::<f64>::zeroed(device, &[20, 6, 5])?;
        src.view().t().add_into(2.0, &other, 0.5, &mut dst)?;
        src.view().t().add_to(2.0, 0.5, &mut dst)?;
        let channels = image(device)?;
        channels.view().normalized::<f32>(2, &[0.5; 3], &[1.0; 3])?;
        let mut planes = DeviceTensor::<f32>::zeroed(device, &[3, 10, 20])?;
        let view = channels.view().permute_axes(&[2, 0, 1])?;
        view.normalize_into(0, &[0.5; 3], &[1.0; 3], &mut planes)?;
        let complex = DeviceTensor::from_host(device, &[30, 20], &[[1f32, 2.0]; 600])?;
        complex.view().conjugated_scaled([1.0, 1.0]).map(drop)
    }),
    ("plans of arithmetic are made and run", |device, _| {
        let src = DeviceTensor::from_host(device, &[5, 6, 20], &[7f32; 600])?;
        let other = DeviceTensor::<f64>::zeroed(device, &[20, 6, 5])?;
        let mut dst = DeviceTensor::<f64>::zeroed(device, &[20, 6, 5])?;
        let (half, view) = (Arithmetic::<f64>::scaling(0.5), src.view().t());
        ArithmeticPlan::new(&half, view, &mut dst)?.run(view, &mut dst)?;
        for plan in ArithmeticPlan::candidates(&half, view, &mut dst)? {
            plan.run(view, &mut dst)?;
        }
        let plan = ArithmeticPlan::adding(&half, view, 2.0, &other, &mut dst)?;
        plan.run_adding(view, &other, &mut dst)?;
        for plan in ArithmeticPlan::candidates_adding(&half, view, 2.0, &other, &mut dst)? {
            plan.run_adding(view, &other, &mut dst)?;
        }
        ArithmeticPlan::onto(&half, view, 2.0, &mut dst)?.run_onto(view, &mut dst)
    }),
];
