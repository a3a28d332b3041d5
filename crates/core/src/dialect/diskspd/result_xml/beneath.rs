//! What the layers beneath the targets saw. All numbers stand in attributes of elements that `DiskSpd`
//! lacks, with names of their own, so that no reader of its results adds them to what was asked.

use crate::dialect::diskspd::xml::{Writer, escape};
use crate::result::{CpuShares, LayerUse, TargetOrigin, TimeSpanResult, sentence};

/// One element `<Beneath>`; nothing if nobody looked.
pub fn write(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    let Some(beneath) = &span.beneath else { return };
    let (number, counted_ns) = (index + 1, beneath.counted_ns);
    let head = format!("TimeSpanNumber=\"{number}\" CountedNanoseconds=\"{counted_ns}\"");
    xml.group_with("Beneath", &head, |xml| {
        for layer in &beneath.layers {
            xml.line(&line(layer));
        }
        for origin in &beneath.targets {
            write_origin(xml, origin, span);
        }
        if let Some(cpu) = &beneath.cpu {
            write_cpu(xml, cpu);
        }
        if let Some(pressure) = beneath.pressure {
            xml.line(&format!(
                "<Pressure IoNanoseconds=\"{}\" MemoryNanoseconds=\"{}\"/>",
                pressure.io_ns, pressure.memory_ns
            ));
        }
    });
}

fn line(layer: &LayerUse) -> String {
    let name = format!("Name=\"{}\" Kind=\"{}\"", escape(&layer.name), word(layer.kind));
    let about = escape(&layer.about);
    let about = if about.is_empty() { about } else { format!(" About=\"{about}\"") };
    let seen = layer.seen.map_or_else(String::new, |seen| {
        format!(
            " SeenReads=\"{}\" SeenBytesRead=\"{}\" MergedReads=\"{}\" SeenWrites=\"{}\" \
             SeenBytesWritten=\"{}\" MergedWrites=\"{}\" SeenDiscards=\"{}\" SeenFlushes=\"{}\"",
            seen.read_ios,
            seen.read_bytes,
            seen.reads_merged,
            seen.write_ios,
            seen.write_bytes,
            seen.writes_merged,
            seen.discard_ios,
            seen.flush_ios
        )
    });
    format!("<Layer {name}{about}{seen}/>")
}

fn write_origin(xml: &mut Writer, origin: &TargetOrigin, span: &TimeSpanResult) {
    let path = span.targets.get(origin.target as usize).map_or("", |facts| facts.path.as_str());
    xml.line(&format!(
        "<Origin Of=\"{}\" AnsweredBy=\"{}\" Sentence=\"{}\"/>",
        escape(path),
        word(origin.answered_by),
        escape(&sentence(&origin.sentence))
    ));
}

/// Who used the CPUs during the measured time.
fn write_cpu(xml: &mut Writer, cpu: &CpuShares) {
    let waited = cpu.waited_ns.map_or_else(String::new, |ns| format!(" Waited=\"{ns}\""));
    let head = format!(
        "Cpus=\"{}\" CountedNanoseconds=\"{}\" OwnUser=\"{}\" OwnSystem=\"{}\" Interrupts=\"{}\" \
         KernelThreads=\"{}\" Others=\"{}\" Stolen=\"{}\"{waited}",
        cpu.cpu_count,
        cpu.counted_ns,
        cpu.own_user_ns,
        cpu.own_system_ns,
        cpu.interrupts_ns,
        cpu.kernel_threads_ns,
        cpu.others_ns,
        cpu.stolen_ns,
    );
    xml.group_with("CpuNanoseconds", &head, |xml| {
        for other in &cpu.most {
            xml.line(&format!(
                "<Process Number=\"{}\" Name=\"{}\" Used=\"{}\" WatchedNanoseconds=\"{}\"{}{}/>",
                other.pid,
                escape(&other.name),
                other.cpu_ns,
                other.watched_ns,
                positions("Serves", &other.serves),
                positions("MayServe", &other.may_serve),
            ));
        }
    });
}

/// An attribute with positions of targets; nothing if there are none.
fn positions(name: &str, targets: &[u32]) -> String {
    let targets: Vec<String> = targets.iter().map(u32::to_string).collect();
    if targets.is_empty() { String::new() } else { format!(" {name}=\"{}\"", targets.join(" ")) }
}

/// The word by which JSON has a value of an enumeration.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    escape(value.as_str().unwrap_or_default())
}
