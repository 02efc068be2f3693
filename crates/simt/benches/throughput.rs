//! Thread-instructions per second.
use simt::*;
use std::time::Instant;
fn main() {
    let module = Module::parse(include_str!("../tests/fixtures/rustc.ptx")).unwrap();
    let n = 2048u64;
    let memory = Memory::new(1 << 30);
    let src = memory.alloc(n * n * 4).unwrap();
    let dst = memory.alloc(n * n * 4).unwrap();
    let data: Vec<u8> = (0..n * n).flat_map(|i| (i as u32).to_le_bytes()).collect();
    let t = Instant::now();
    memory.write(src, &data).unwrap();
    println!("write {:?}", t.elapsed());
    let mut shape = Vec::new();
    for v in [n, n, n, n, n / 32, n / 32] {
        shape.extend_from_slice(&v.to_le_bytes());
    }
    let cfg = LaunchConfig {
        grid: [(n * n / 1024) as u32, 1, 1],
        block: [32, 8, 1],
        dynamic_shared_bytes: 0,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for _ in 0..3 {
        let t = Instant::now();
        pool.install(|| {
            module.kernel("tiled").unwrap().launch(
                &memory,
                &cfg,
                &[&dst.to_le_bytes(), &src.to_le_bytes(), &shape],
                &Options::default(),
            )
        })
        .unwrap();
        let s = t.elapsed().as_secs_f64();
        // about 130 instructions per thread
        println!(
            "tiled {s:.3} s, about {:.0} M thread-instructions/s",
            1048576.0 * 130.0 / s / 1e6
        );
        let t = Instant::now();
        let cfg = LaunchConfig {
            grid: [(n * n / 256) as u32, 1, 1],
            block: [256, 1, 1],
            dynamic_shared_bytes: 0,
        };
        pool.install(|| {
            module.kernel("copy_loop").unwrap().launch(
                &memory,
                &cfg,
                &[&dst.to_le_bytes(), &src.to_le_bytes(), &(n * n).to_le_bytes()],
                &Options::default(),
            )
        })
        .unwrap();
        let s = t.elapsed().as_secs_f64();
        println!("copy {s:.3} s, about {:.0} M thread-instructions/s", 4194304.0 * 24.0 / s / 1e6);
        let cfg = LaunchConfig { grid: [64, 1, 1], block: [256, 1, 1], dynamic_shared_bytes: 0 };
        let t = Instant::now();
        pool.install(|| {
            module.kernel("divergent").unwrap().launch(
                &memory,
                &cfg,
                &[&dst.to_le_bytes(), &1000u32.to_le_bytes()],
                &Options::default(),
            )
        })
        .unwrap();
        println!("div {:?}", t.elapsed());
    }
}
