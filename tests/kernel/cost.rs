//! What an I/O costs in CPU time, as every result tells it.

use serde_json::Value;

use crate::bench::{Bench, ios};

fn cost(result: &Value, part: &str) -> f64 {
    let cost = &result["time_spans"][0]["cost"][part];
    cost.as_f64().unwrap_or_else(|| panic!("no {part} in {}", result["time_spans"][0]["cost"]))
}

#[test]
fn an_engine_that_does_nothing_costs_time_of_the_tool_and_none_of_the_kernel() {
    let bench = Bench::new();
    let measured = || {
        let result = bench.measure("--engine=null -b4K -r -o32 -t1 -L t.dat");
        (cost(&result, "own_ns_per_io"), cost(&result, "kernel_ns_per_io"))
    };
    // Interrupts of others' I/O are counted as the kernel's work for whoever they interrupt.
    let found: Vec<_> = std::iter::repeat_with(measured).take(3).collect();
    assert!(found.iter().any(|(own, kernel)| *own > 4.0 * kernel), "{found:?}");
}

#[test]
fn large_copies_from_the_page_cache_cost_time_of_the_kernel() {
    let result = Bench::new().measure("-b1M -r -o1 -t1 -Sb t.dat");
    let (own, kernel) = (cost(&result, "own_ns_per_io"), cost(&result, "kernel_ns_per_io"));
    assert!(kernel > 4.0 * own, "{own} and {kernel}");
}

#[test]
fn the_parts_add_up_to_the_cpu_time_of_the_threads() {
    let result = Bench::new().measure("-b4K -r -o4 -t2 -Sb t.dat");
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    let total_ns: f64 = threads.iter().map(|thread| thread["cpu_ns"].as_f64().unwrap()).sum();
    let told = cost(&result, "own_ns_per_io") + cost(&result, "kernel_ns_per_io");
    let expected = total_ns / ios(&result) as f64;
    assert!((told / expected - 1.0).abs() < 1e-6, "{told} instead of {expected}");
}

#[test]
fn the_text_tells_the_cost_and_so_does_each_of_two_forms() {
    let bench = Bench::new();
    let output = bench.run("-W0 -d1 -b4K -r --engine=null --json=r.json t.dat");
    let text = String::from_utf8(output.stdout).unwrap();
    let json = std::fs::read_to_string(bench.path("r.json")).unwrap();
    let result: Value = serde_json::from_str(&json).unwrap();
    let (own, kernel) = (cost(&result, "own_ns_per_io"), cost(&result, "kernel_ns_per_io"));
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    let total_ns: u64 = threads.iter().map(|thread| thread["cpu_ns"].as_u64().unwrap()).sum();
    // "0.00 µs in this tool" stood there of a load that had no tick in user mode, without a word.
    let but = " (the sum is exact; what is whose is counted in ticks, and there were few)";
    let line = format!(
        "CPU time per I/O: {:.2} µs in this tool, {:.2} µs in the kernel{}\n",
        own / 1e3,
        kernel / 1e3,
        if total_ns < 1_000_000_000 { but } else { "" }
    );
    assert!(text.contains(&line), "{line}{text}");
}
