//! Comparing the simulator's counts with those of a GPU, as Nsight Compute prints them.

use super::{Line, Profile};
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::fmt::Write;
use transpose::simt::Counters;

/// A metric of Nsight Compute, the simulator's count of the same, and a heading.
struct Metric {
    name: &'static str,
    head: &'static str,
    count: fn(&Counters) -> u64,
}

const METRICS: [Metric; 13] = [
    Metric {
        name: "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        head: "load requests",
        count: |total| total.global_load.requests,
    },
    Metric {
        name: "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        head: "load sectors",
        count: |total| total.global_load.sectors,
    },
    Metric {
        name: "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        head: "store requests",
        count: |total| total.global_store.requests,
    },
    Metric {
        name: "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        head: "store sectors",
        count: |total| total.global_store.sectors,
    },
    Metric {
        name: "smsp__inst_executed_op_shared_ld.sum",
        head: "shared loads",
        count: |total| total.shared_load.requests,
    },
    Metric {
        name: "smsp__inst_executed_op_shared_st.sum",
        head: "shared stores",
        count: |total| total.shared_store.requests,
    },
    Metric {
        name: "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        head: "load wavefronts",
        count: |total| total.shared_load.wavefronts,
    },
    Metric {
        name: "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        head: "store wavefronts",
        count: |total| total.shared_store.wavefronts,
    },
    Metric {
        name: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        head: "load conflicts",
        count: |total| total.shared_load.conflicts,
    },
    Metric {
        name: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        head: "store conflicts",
        count: |total| total.shared_store.conflicts,
    },
    // The same without what else keeps the banks busy.
    Metric {
        name: "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        head: "load wavefronts by themselves",
        count: |total| total.shared_load.wavefronts,
    },
    Metric {
        name: "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        head: "store wavefronts by themselves",
        count: |total| total.shared_store.wavefronts,
    },
    Metric {
        name: "smsp__inst_executed.sum",
        head: "instructions",
        count: |total| total.warp_instructions,
    },
];

/// The metrics to ask Nsight Compute for, as it takes them.
pub fn metrics() -> String {
    METRICS.each_ref().map(|metric| metric.name).join(",")
}

/// A Markdown table: a line for each launch, in each cell the simulator's count, and the GPU's
/// behind it where it is another.
///
/// # Errors
/// A file that is not Nsight Compute's, or not of the same launches.
pub fn compare(profile: &Profile, csv: &str) -> Result<String> {
    let ours =
        |launch: &Launch| profile.kernels.iter().any(|line| line.launch.kernel == launch.kernel);
    let mut counted = launches(csv)?;
    // The driver may fill memory with kernels of its own.
    counted.retain(ours);
    ensure!(
        counted.len() == profile.kernels.len(),
        "the file has {} launches, the simulator {}",
        counted.len(),
        profile.kernels.len()
    );
    let shape = profile.shape;
    let heads = METRICS.each_ref().map(|metric| metric.head).join(" | ");
    let mut out = format!(
        "{} × {} elements of {} bytes\n\n| kernel | {heads} |\n|---|{}\n",
        shape.rows,
        shape.cols,
        shape.element_bytes,
        "---|".repeat(METRICS.len())
    );
    for (line, counted) in profile.kernels.iter().zip(&counted) {
        out += &row(line, counted)?;
    }
    Ok(out)
}

fn row(line: &Line, counted: &Launch) -> Result<String> {
    let kernel = line.launch.kernel;
    ensure!(
        counted.kernel == kernel,
        "the file has {} where the simulator ran {kernel}",
        counted.kernel
    );
    let mut out = format!("| {} {kernel} |", line.name);
    for metric in &METRICS {
        let ours = (metric.count)(&line.total());
        let theirs = counted.metrics.get(metric.name);
        // Writing to a string cannot fail.
        _ = match theirs {
            Some(&theirs) if theirs == ours => write!(out, " {ours} |"),
            Some(&theirs) => write!(out, " {ours} ≠ **{theirs}** |"),
            None => write!(out, " {ours} ? |"),
        };
    }
    out.push('\n');
    Ok(out)
}

/// A launch that the profiler watched.
struct Launch {
    kernel: String,
    metrics: HashMap<String, u64>,
}

/// The launches of a file of comma-separated values: a heading, a line of units, a line for each.
fn launches(csv: &str) -> Result<Vec<Launch>> {
    let mut records = csv.lines().filter(|line| line.starts_with('"')).map(fields);
    let head = records.next().context("there are no comma-separated values in the file")?;
    let Some(name) = head.iter().position(|field| field == "Kernel Name") else {
        bail!("the file has no column \"Kernel Name\"");
    };
    let units = records.next().context("there is no line of units in the file")?;
    ensure!(units.get(name).is_some_and(String::is_empty), "there is no line of units in the file");
    let launch = |record: Vec<String>| -> Result<Launch> {
        ensure!(record.len() == head.len(), "a line has {} fields", record.len());
        let number = |text: &String| text.replace(',', "").parse::<f64>().ok();
        let metrics = head
            .iter()
            .zip(&record)
            .filter_map(|(name, value)| Some((name.clone(), number(value)?.round() as u64)));
        Ok(Launch { kernel: record[name].clone(), metrics: metrics.collect() })
    };
    records.map(launch).collect()
}

/// The fields of a line, all of them quoted or none with a comma in it.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match (character, fields.last_mut()) {
            ('"', _) => quoted = !quoted,
            (',', _) if !quoted => fields.push(String::new()),
            (other, Some(field)) => field.push(other),
            (_, None) => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_commas_are_read() {
        let csv = "==PROF== Connected\n\
                   \"ID\",\"Kernel Name\",\"smsp__inst_executed.sum\"\n\
                   \"\",\"\",\"inst\"\n\
                   \"0\",\"padded_b4\",\"1,234,567\"\n";
        let launches = launches(csv).unwrap();
        assert_eq!(launches.len(), 1);
        assert_eq!(launches[0].kernel, "padded_b4");
        assert_eq!(launches[0].metrics["smsp__inst_executed.sum"], 1_234_567);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(launches("").is_err());
        assert!(launches("\"ID\",\"Name\"\n").is_err());
    }
}
