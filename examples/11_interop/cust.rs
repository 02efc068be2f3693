//! A program that drives the GPU through cust, with a kernel of its own: its launch and this library's transposes on one stream, in its
//! own buffers, without a copy or a wait between them.
//!
//! `cargo run --release --example cust`

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use std::error::Error;
use std::sync::Arc;
use transpose::interop::cust as interop;

/// The program's kernel: each of `len` numbers times `by`.
const SCALE: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 data, .param .u32 len, .param .f32 by) {
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>; .reg .f32 %f<3>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    ld.param.u32 %r4, [len];
    setp.ge.u32 %p, %r3, %r4;
    @%p bra DONE;
    ld.param.u64 %d0, [data];
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r3, 4;
    add.s64 %d3, %d1, %d2;
    ld.param.f32 %f0, [by];
    ld.global.f32 %f1, [%d3];
    mul.f32 %f2, %f1, %f0;
    st.global.f32 [%d3], %f2;
DONE:
    ret;
}
";

fn main() -> Result<(), Box<dyn Error>> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let _context = match cust::quick_init() {
        Ok(context) => context,
        Err(reason) => {
            println!("cust has no GPU here: {reason}");
            return Ok(());
        }
    };
    let module = Module::from_ptx(SCALE, &[])?;
    let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None)?);
    let device = interop::device(stream.clone())?; // its queue is that stream

    let (rows, cols) = (3000, 2000);
    let host: Vec<f32> = (0..rows * cols).map(|index| index as f32).collect();
    let mut src = DeviceBuffer::from_slice(&host)?;
    let mut dst = DeviceBuffer::from_slice(&vec![0.0f32; rows * cols])?;

    let scale = module.get_function("scale")?;
    let (len, by) = ((rows * cols) as u32, 0.5f32);
    // SAFETY: the kernel stays inside the buffer, which lives until its work is done.
    unsafe {
        cust::launch!(scale<<<len.div_ceil(256), 256, 0, stream>>>(src.as_device_ptr(), len, by))?;
    }
    // SAFETY: both buffers are used on this stream only, and live until its work is done, which is waited for below.
    let (from, to) =
        unsafe { (interop::view(&device, &src)?, interop::view_mut(&device, &mut dst)?) };
    from.reshape(&[rows, cols])?.t().copy_into(to.reshape(&[cols, rows])?)?;
    stream.synchronize()?;

    let mut back = vec![0.0; rows * cols];
    dst.copy_to(&mut back)?;
    src.copy_from(&back)?; // both buffers are cust's as before
    assert!((0..rows * cols).all(|at| back[at] == 0.5 * host[at % rows * cols + at / rows]));
    println!("{rows} × {cols} f32, scaled by cust and transposed by {device} on one stream");
    Ok(())
}
