//! Runs what rustc's NVPTX backend makes of Rust kernels; see `fixtures/rustc.rs`.

mod common;

use common::{Arg, Device, arg};
use simt::{LaunchConfig, Module};

fn module() -> Module {
    Module::parse(include_str!("fixtures/rustc.ptx")).unwrap()
}

fn shape(rows: u64, cols: u64, lds: u64, ldd: u64) -> Arg {
    arg([rows, cols, lds, ldd, cols.div_ceil(32), rows.div_ceil(32)])
}

#[test]
fn every_kernel_decodes() {
    let module = module();
    let refused: Vec<_> = module.refused().collect();
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(module.kernels().count(), 8);
    assert_eq!(module.kernel("tiled").unwrap().static_shared_bytes(), 4224);
    assert_eq!(module.kernel("naive").unwrap().static_shared_bytes(), 0);
    let params = module.kernel("tiled").unwrap().params();
    assert_eq!(
        params.iter().map(|p| (p.size, p.align)).collect::<Vec<_>>(),
        [(8, 8), (8, 8), (48, 8)]
    );
}

#[test]
fn a_grid_stride_loop_copies() {
    let module = module();
    let device = Device::default();
    let data: Vec<u32> = (0..1000).map(|i| i * 7 + 1).collect();
    let (src, dst) = (device.upload(&data), device.upload(&[0u32; 1001]));
    device.launch(&module, "copy_loop", 3, 96, &[arg(dst), arg(src), arg(1000u64)]).unwrap();
    let out: Vec<u32> = device.download(dst, 1001);
    assert_eq!(out[..1000], data);
    assert_eq!(out[1000], 0);
}

#[test]
fn matrices_are_transposed() {
    let module = module();
    for (rows, cols) in [(1, 1), (32, 32), (33, 31), (70, 5), (5, 70), (100, 100)] {
        let (lds, ldd) = (cols + 3, rows + 2);
        let device = Device::default();
        let data: Vec<u32> = (0..(rows * lds) as u32).collect();
        let src = device.upload(&data);
        let dst = device.upload(&vec![u32::MAX; (cols * ldd) as usize]);
        let config = LaunchConfig { grid: [5, 1, 1], block: [32, 8, 1], dynamic_shared_bytes: 0 };
        let args = [arg(dst), arg(src), shape(rows, cols, lds, ldd)];
        device.launch_config(&module, "tiled", config, &args).unwrap();
        let out: Vec<u32> = device.download(dst, (cols * ldd) as usize);
        for c in 0..cols {
            for r in 0..ldd {
                let expected = if r < rows { (r * lds + c) as u32 } else { u32::MAX };
                assert_eq!(out[(c * ldd + r) as usize], expected);
            }
        }
    }
}

#[test]
fn narrow_elements_are_transposed() {
    let module = module();
    let (rows, cols) = (45u64, 37u64);
    let device = Device::default();
    let data: Vec<u16> = (0..(rows * cols) as u16).collect();
    let (src, dst) = (device.upload(&data), device.upload(&vec![0u16; (rows * cols) as usize]));
    let args = [arg(dst), arg(src), shape(rows, cols, cols, rows)];
    device.launch(&module, "naive", 14, 128, &args).unwrap();
    let out: Vec<u16> = device.download(dst, (rows * cols) as usize);
    let bytes: Vec<u8> = data.iter().map(|v| *v as u8).collect();
    let (src, dst) = (device.upload(&bytes), device.upload(&vec![0u8; bytes.len()]));
    let config = LaunchConfig { grid: [3, 12, 1], block: [16, 4, 1], dynamic_shared_bytes: 0 };
    let args = [arg(dst), arg(src), arg(rows as u32), arg(cols as u32)];
    device.launch_config(&module, "bytes", config, &args).unwrap();
    let out8: Vec<u8> = device.download(dst, bytes.len());
    for r in 0..rows {
        for c in 0..cols {
            let (from, to) = ((r * cols + c) as usize, (c * rows + r) as usize);
            assert_eq!(out[to], data[from]);
            assert_eq!(out8[to], bytes[from]);
        }
    }
}

#[test]
fn sixteen_bytes_pass_through_shared_memory() {
    let module = module();
    let device = Device::default();
    let data: Vec<[u32; 4]> = (0..300).map(|i| [i, i + 1000, i + 2000, i + 3000]).collect();
    let (src, dst) = (device.upload(&data), device.upload(&[[0u32; 4]; 300]));
    device.launch(&module, "wide16", 2, 256, &[arg(dst), arg(src), arg(300u64)]).unwrap();
    let out: Vec<[u32; 4]> = device.download(dst, 300);
    assert!((0..300).all(|i| out[i] == data[i ^ 1]));
}

#[test]
fn divergent_loops_and_branch_tables() {
    let module = module();
    let device = Device::default();
    let dst = device.upload(&[0u32; 256]);
    device.launch(&module, "divergent", 4, 64, &[arg(dst), arg(200u32)]).unwrap();
    for (i, out) in device.download::<u32>(dst, 256).into_iter().enumerate() {
        let (mut x, mut steps) = (i as u32, 0u32);
        while x > 1 && steps < 200 {
            x = if x & 1 == 1 { x * 3 + 1 } else { x >> 1 };
            steps += 1;
        }
        let expected = match i % 7 {
            0 => steps,
            1 => steps.rotate_left(5),
            2 => steps.leading_zeros(),
            3 => steps.count_ones(),
            4 => steps.swap_bytes(),
            5 => steps.reverse_bits(),
            _ => !steps,
        };
        assert_eq!(out, expected, "thread {i}");
    }
}

#[test]
fn floating_point_and_wide_integers() {
    let module = module();
    let device = Device::default();
    let a: Vec<f32> = (0..100).map(|i| i as f32 * 0.37 - 9.0).collect();
    let (src, dst) = (device.upload(&a), device.upload(&[0f32; 100]));
    let args = [arg(dst), arg(src), arg(1.25f64), arg(100u32)];
    device.launch(&module, "floats", 1, 128, &args).unwrap();
    for (i, out) in device.download::<f32>(dst, 100).into_iter().enumerate() {
        let v = a[i];
        let expected = (v * 2.0 + 1.0 / v) + (1.25 * f64::from(v)) as f32 + i as f32;
        assert_eq!(out.to_bits(), expected.to_bits());
    }
    let data: Vec<u64> = (0..100u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let (src, dst) = (device.upload(&data), device.upload(&[0u64; 100]));
    let args = [arg(dst), arg(src), arg(100u64)];
    device.launch(&module, "checked", 1, 128, &args).unwrap();
    for (i, out) in device.download::<u64>(dst, 100).into_iter().enumerate() {
        let first = data[99 - i].wrapping_mul(3) / (i as u64 + 1);
        assert_eq!(out, first.wrapping_add((data[i] as i64 >> 3) as u64 % 10));
    }
}
