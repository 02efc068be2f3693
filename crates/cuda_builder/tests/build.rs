//! Builds the fixture.
use cuda_builder::*;
#[test]
fn tryit() {
    let r = CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels")).arch(NvvmArch::Compute70).ptx_version(6,3).copy_to("/tmp/fx.ptx").build_report();
    match r { Ok(r) => println!("{r:#?} {}", r.toolchain), Err(e) => panic!("{e}") }
}
