//! Prints a kernel's PTX with what was counted beside each line.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Kernel;
use crate::counters::{CounterReport, Counters};

/// Headings of the columns, each as wide as its numbers.
const HEAD: &str = "     warps  lanes  sectors/req  wavefronts/req   conflicts  diverged |  line";

impl CounterReport {
    /// The kernel's PTX text, each line with its counts: instructions executed by
    /// warps, active lanes of each on average, sectors per global request,
    /// wavefronts per shared request, bank conflicts, divergent branches.
    pub fn annotate(&self, kernel: &Kernel) -> String {
        let mut by_line: BTreeMap<u32, Counters> = BTreeMap::new();
        for instruction in &self.instructions {
            by_line.entry(instruction.line).or_default().add(&instruction.counters);
        }
        let lines = kernel.lines();
        let text = kernel.source().lines().zip(1u32..).filter(|(_, line)| lines.contains(line));
        let mut out = format!("{HEAD}\n");
        for (text, line) in text {
            let counts = by_line.get(&line).map_or(String::new(), columns);
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{counts:69}| {line:5}  {}", text.replace('\t', "    "));
        }
        out
    }
}

fn columns(counters: &Counters) -> String {
    let mut global = counters.global_load;
    global.add(&counters.global_store);
    global.add(&counters.global_atomic);
    let mut shared = counters.shared_load;
    shared.add(&counters.shared_store);
    shared.add(&counters.shared_atomic);
    let rate = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
    let lanes = counters.lane_efficiency().map(|efficiency| 32.0 * efficiency);
    let some = |value: u64| if value == 0 { String::new() } else { value.to_string() };
    format!(
        "{:10} {:>6} {:>12} {:>15} {:>11} {:>9}",
        counters.warp_instructions,
        rate(lanes),
        rate(global.sectors_per_request()),
        rate(shared.wavefronts_per_request()),
        some(shared.conflicts),
        some(counters.divergent_branches),
    )
}
