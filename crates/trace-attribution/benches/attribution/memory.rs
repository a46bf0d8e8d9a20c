//! The memory that attribution takes above its inputs, measured in a process of its own.
//!
//! Linux alone tells a process its peak and lets it begin anew; elsewhere nothing is measured.

use std::{env, fs, hint::black_box, process::Command};

use crate::{
    MB, attribute,
    inputs::Input,
    report::{Gate, report},
    texts::mixed,
};

/// The argument that asks this program to print the growth for the input that is named behind it.
const ARGUMENT: &str = "--memory-of";

const INPUTS: [&str; 2] = ["10 MB, 10,000 specs", "10 MB of one letter, 5,000 specs nested in one another"];

/// Measures each input in a process of its own, and reports.
pub(crate) fn measure() {
    for input in INPUTS {
        let program = env::current_exe().unwrap();
        let output = Command::new(program).args([ARGUMENT, input]).output().unwrap();
        let growth: Option<f64> = String::from_utf8(output.stdout).unwrap().trim().parse().ok();
        let note = if growth.is_some() { "peak above the inputs" } else { "needs Linux's /proc" };
        let bytes = growth.map(|growth| growth / 1e7);
        report(&format!("memory, {input}"), bytes, "bytes per byte", Gate::Max(10.0), note);
    }
}

/// Returns the input that the arguments ask for.
pub(crate) fn wanted() -> Option<Input> {
    let name = env::args().skip_while(|argument| argument != ARGUMENT).nth(1)?;
    Some(match INPUTS.iter().position(|input| *input == name)? {
        0 => Input::pieces(mixed(10 * MB, 1), 10_000, 2),
        _ => Input::nested("a".repeat(10 * MB), 5_000),
    })
}

/// Prints by how many bytes the process grows at most, or nothing where that cannot be known.
pub(crate) fn print_growth(input: Input) {
    black_box(bpe_openai::cl100k_base().count("warm"));
    // Moved in, as a caller would: the prompt is an input.
    let Input { text, specs } = input;
    let lent = Input { text: String::new(), specs };
    let prompts = trace_attribution::Prompts { system: None, task: Some(text) };
    // Makes the peak what is in use now.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    black_box(attribute(prompts, &lent));
    if let (Some(before), Some(peak)) = (before, status("VmHWM:")) {
        println!("{}", peak - before);
    }
}

/// Returns a number of bytes that the kernel knows of this process.
fn status(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
