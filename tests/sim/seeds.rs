//! Whole time spans with faults that a seed draws: whatever goes wrong, the statistics balance, and the run
//! ends.

use std::ops::Range;

use fathom_core::engine::backend::{SimDevice, SimRecord};
use fathom_core::engine::random::Random;
use fathom_core::engine::simulate::{Simulation, simulate};
use fathom_core::plan::{SpanPlan, StopRules};
use fathom_core::request::OnError;
use fathom_sys::clock::now_ns;

use crate::plans::{BLOCK, Tell, span};

const MIB: u64 = 1 << 20;
const SEEDS: u64 = 4_000;

fn draw_plan(random: &mut Random) -> SpanPlan {
    let mut pick = |below: u64| random.below(below);
    let number = |value: u64| u32::try_from(value).unwrap();
    let threads = usize::try_from(1 + pick(3)).unwrap();
    let mut plan = span(MIB << pick(5)).threads(threads).outstanding(number(1 + pick(16)));
    plan = plan.writes(number(pick(101))).milliseconds(1 + pick(5));
    if pick(2) == 0 {
        plan = plan.random();
    }
    if pick(3) == 0 {
        plan = plan.pace(1 + pick(20_000), 1_000_000_000);
    }
    if pick(4) == 0 {
        plan = plan.stop(StopRules { ios: Some(1 + pick(3_000)), ..StopRules::default() });
    }
    plan.warm_up_ns = pick(3) * 1_000_000;
    plan.cool_down_ns = pick(3) * 1_000_000;
    match pick(3) {
        0 => plan,
        1 => plan.on_error(OnError::Continue),
        _ => plan.on_error(OnError::Count(number(1 + pick(100)))),
    }
}

fn draw_device(random: &mut Random) -> SimDevice {
    let mut pick = |below: u64| random.below(below);
    let number = |value: u64| u32::try_from(value).unwrap();
    let share = |pick: &mut dyn FnMut(u64) -> u64| match pick(4) {
        0 | 1 => 0,
        2 => number(pick(20_000)),
        _ => number(pick(300_000)),
    };
    SimDevice {
        error_ppm: share(&mut pick),
        short_ppm: share(&mut pick),
        hang_ppm: if pick(3) == 0 { number(pick(5_000)) } else { 0 },
        errno: [5, 28, 6, 19][usize::try_from(pick(4)).unwrap()],
        latency_ns: 5_000 + pick(200_000),
        jitter_ns: pick(100_000),
        channels: usize::try_from(1 + pick(32)).unwrap(),
        stall_from_ns: pick(5_000_000),
        stall_ns: pick(3) * 1_000_000,
        seed: pick(u64::MAX),
        ..SimDevice::default()
    }
}

/// Every I/O that was issued has completed, failed, or is outstanding, and each is reported once.
fn balance(plan: &SpanPlan, simulation: &Simulation) -> Result<(), String> {
    let check = |what: &str, is_so: bool| if is_so { Ok(()) } else { Err(what.to_owned()) };
    for (thread, log) in simulation.measurements.threads.iter().zip(&simulation.records) {
        let target = &thread.targets[0];
        let both = [&target.read, &target.write];
        let sum = |of: fn(&fathom_core::measure::DirectionRecord) -> u64| -> u64 {
            both.iter().map(|direction| of(direction)).sum()
        };
        let (ios, bytes) = (sum(|one| one.ios), sum(|one| one.bytes));
        let (errors, short) = (sum(|one| one.errors), sum(|one| one.short_ios));
        let logged = |is_so: &dyn Fn(i32) -> bool| {
            log.iter().filter(|record| is_so(record.result)).count() as u64
        };
        let block = i32::try_from(BLOCK).unwrap();
        let never = logged(&|result| result == SimRecord::NEVER);
        let failed = logged(&|result| result < 0 && result != SimRecord::NEVER);
        let cut = logged(&|result| (0..block).contains(&result));
        let told = |is_short: bool, of: fn(&fathom_core::measure::FaultRecord) -> u64| -> u64 {
            let is_wanted = |one: &&fathom_core::measure::FaultRecord| {
                (one.kind == fathom_core::measure::FaultKind::Short) == is_short
            };
            target.faults.0.iter().filter(is_wanted).map(of).sum()
        };
        let all = |is_short| told(is_short, |one| one.ios + one.outside_ios);
        check("errors", told(false, |one| one.ios) == errors)?;
        check("short", told(true, |one| one.ios) == short)?;
        check("bytes", bytes == ios * BLOCK + short * (BLOCK / 2))?;
        let mine = |io: &&fathom_core::measure::OutstandingIo| io.thread as usize == thread.index;
        let outstanding = simulation.measurements.outstanding.iter().filter(mine);
        let outstanding = outstanding.count() as u64;
        // A thread that waits in vain never comes back, so that nothing of it is left in the kernel but
        // what hangs.
        check("outstanding", outstanding == never)?;
        check("failed", all(false) == failed)?;
        check("cut short", all(true) == cut)?;
        let slots = u64::from(plan.threads[thread.index].assignments[0].outstanding);
        let whole = log.len() as u64 - never - failed - cut;
        let measured_whole = ios;
        check("more than was issued", measured_whole <= whole)?;
        let is_bare = plan.warm_up_ns + plan.cool_down_ns == 0 && !plan.stop.any();
        check("less than was issued", !is_bare || measured_whole + slots >= whole)?;
    }
    Ok(())
}

fn run(seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let (plan, device) = (draw_plan(&mut random), draw_device(&mut random));
    let simulation = simulate(&plan, &device).map_err(|error| error.to_string())?;
    balance(&plan, &simulation)?;
    Ok(simulation.records.iter().map(|log| log.len() as u64).sum())
}

/// A number from the environment, or what stands for it.
fn from_environment(name: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"))
}

/// Runs the seeds of one thread out of `threads`, until they or the time are used up: how many, and
/// their I/Os.
fn run_share(seeds: Range<u64>, threads: usize, until_ns: u64) -> (u64, u64) {
    let (mut run_seeds, mut ios) = (0, 0);
    for seed in seeds.step_by(threads) {
        if now_ns() >= until_ns {
            break;
        }
        ios += run(seed).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        run_seeds += 1;
    }
    (run_seeds, ios)
}

/// `FATHOM_SEEDS` draws more of them, from `FATHOM_FIRST_SEED` on, for at most `FATHOM_SEED_SECONDS`: `make
/// soak` runs millions. A seed that fails is run alone with `FATHOM_FIRST_SEED=<it> FATHOM_SEEDS=1`.
#[test]
#[expect(clippy::print_stderr, reason = "whoever draws millions wants to know what was run")]
fn whatever_a_seed_draws_the_books_balance_and_the_run_ends() {
    let first = from_environment("FATHOM_FIRST_SEED", 0);
    let seeds = first..first + from_environment("FATHOM_SEEDS", SEEDS);
    let began_ns = now_ns();
    let limit_ns = from_environment("FATHOM_SEED_SECONDS", 86_400) * 1_000_000_000;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let shares: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let start = |thread: usize| {
            let share = seeds.start + thread as u64..seeds.end;
            scope.spawn(move || run_share(share, threads, began_ns + limit_ns))
        };
        let started: Vec<_> = (0..threads).map(start).collect();
        started.into_iter().map(|share| share.join().unwrap()).collect()
    });
    let count: u64 = shares.iter().map(|(seeds, _)| seeds).sum();
    let ios: u64 = shares.iter().map(|(_, ios)| ios).sum();
    let rate = count as f64 * 1e9 / (now_ns() - began_ns) as f64;
    eprintln!("{count} seeds from {first}, {ios} I/Os, {rate:.0} seeds/s");
    assert!(count > 0 && ios > count);
}

#[test]
fn what_hangs_is_told_with_its_place_and_time() {
    let plan = span(64 * MIB).random().outstanding(4).seconds(1);
    let device = SimDevice { hang_ppm: 1_000, ..SimDevice::default() };
    let simulation = simulate(&plan, &device).unwrap();
    let log = &simulation.records[0];
    let hung: Vec<_> = log.iter().filter(|record| record.result == SimRecord::NEVER).collect();
    let told = &simulation.measurements.outstanding;
    assert_eq!((hung.len(), told.len()), (4, 4));
    for (record, io) in hung.iter().zip(told) {
        assert_eq!(io.offset_bytes, record.transfer.offset_bytes);
        assert_eq!(io.submitted_ns, record.at_ns);
        assert_eq!((io.operation.as_str(), io.bytes), ("read", 4096));
    }
    // What was measured before all slots hung is kept.
    let reads = &simulation.measurements.threads[0].targets[0].read;
    assert_eq!(reads.ios, log.len() as u64 - 4);
}
