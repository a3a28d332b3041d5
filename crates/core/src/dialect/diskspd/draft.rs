//! The command line under construction: one time span, and one target whose settings all targets get.

use crate::request::{
    Access, Caching, FaultPolicy, Job, Profile, ResultFormat, StopRules, Target, TimeSpan, Tracing,
};

/// Settings gathered while options pass by.
#[derive(Debug, Default)]
pub struct Draft {
    /// Everything but the time spans.
    pub profile: Profile,
    /// The settings of the time span.
    pub span: TimeSpan,
    /// The settings of every target.
    pub target: Target,
    /// Settings beside the profile.
    pub job: Job,
    /// The plan is explained, and nothing is done.
    pub explain: bool,
    /// What the command line overrides in a profile that is read from a file.
    pub overrides: Overrides,
    /// The profile is only shown.
    pub profile_only: bool,
    /// The profile comes from this file.
    pub profile_file: Option<String>,
    /// The journal whose targets are verified instead of a run.
    pub verify_only: Option<String>,
    /// An event to signal instead of a run.
    pub signal_event: Option<String>,
    /// What else was requested instead of a run.
    pub instead: Option<Instead>,
    /// The seed for `-z` alone.
    pub fresh_seed: u32,
    /// Options that may be given once, and those that exclude each other.
    pub seen: Seen,
}

/// What can be requested instead of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// The usage.
    Usage,
    /// The version.
    Version,
    /// The disks of this machine.
    Disks,
    /// What slows a measurement on this machine.
    Doctor,
    /// What the host is, in this form.
    System(ResultFormat),
}

/// Settings that win over those of a profile file.
#[derive(Debug, Default)]
pub struct Overrides {
    /// `-d`.
    pub duration_s: Option<u32>,
    /// `-W`.
    pub warm_up_s: Option<u32>,
    /// `-C`.
    pub cool_down_s: Option<u32>,
    /// `-z`.
    pub random_seed: Option<u32>,
    /// `--stop-...`.
    pub stop: StopRules,
    /// `--on-error` and `--io-timeout`.
    pub faults: FaultPolicy,
    /// `-R`, where it names a format.
    pub format: Option<ResultFormat>,
    /// `-v`.
    pub verbose: bool,
    /// `-vs`.
    pub wait_statistics: bool,
    /// `-:`.
    pub experiment_flags: Option<u32>,
}

impl Overrides {
    /// Takes the settings over into a profile.
    pub fn apply_to(&self, profile: &mut Profile) {
        profile.verbose |= self.verbose;
        profile.wait_statistics |= self.wait_statistics;
        profile.format = self.format.unwrap_or(profile.format);
        profile.experiment_flags = self.experiment_flags.unwrap_or(profile.experiment_flags);
        for span in &mut profile.time_spans {
            span.duration_s = self.duration_s.unwrap_or(span.duration_s);
            span.warm_up_s = self.warm_up_s.unwrap_or(span.warm_up_s);
            span.cool_down_s = self.cool_down_s.unwrap_or(span.cool_down_s);
            span.random_seed = self.random_seed.unwrap_or(span.random_seed);
            span.stop.override_with(&self.stop);
            span.faults.override_with(self.faults);
        }
    }
}

/// Which options have been given.
#[derive(Debug, Default)]
pub struct Seen {
    /// `-B`.
    pub base: bool,
    /// `-B` with a length, or `-f` with a size.
    pub limit: bool,
    /// `-b`.
    pub block: bool,
    /// `-r`, with its alignment if it had one.
    pub random: Option<Option<u64>>,
    /// `-rs`.
    pub random_percent: Option<u32>,
    /// `-s`, with its stride if it had one.
    pub sequential: Option<Option<u64>>,
    /// `-Sb`, `-Sr`, `-Su`, `-Sh` or `-h`.
    pub cache_mode: bool,
    /// `-Sw`, `-Sh` or `-h`.
    pub write_through: bool,
}

impl Draft {
    /// Bytes of one block, for sizes that count blocks.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.target.block_bytes)
    }

    /// The kernel events to count, switched on by the first option that asks for one.
    pub fn tracing(&mut self) -> &mut Tracing {
        self.profile.tracing.get_or_insert_with(Tracing::default)
    }

    /// Sets a cache mode that excludes all others.
    ///
    /// # Errors
    /// A sentence, if one is set already.
    pub fn set_cache_mode(&mut self, mode: Caching, option: &str) -> Result<(), String> {
        if self.seen.cache_mode {
            return Err(format!("{option} conflicts with an earlier cache mode"));
        }
        if mode == Caching::Unbuffered && self.target.memory_mapped {
            return Err(format!("{option} conflicts with memory mapped I/O (-Sm)"));
        }
        self.seen.cache_mode = true;
        self.target.caching = mode;
        Ok(())
    }

    /// Sets write-through.
    ///
    /// # Errors
    /// A sentence, if it is set already.
    pub fn set_write_through(&mut self, option: &str) -> Result<(), String> {
        if self.seen.write_through {
            return Err(format!("{option} conflicts with an earlier write-through"));
        }
        self.seen.write_through = true;
        self.target.write_through = true;
        Ok(())
    }

    /// Sets memory-mapped I/O.
    ///
    /// # Errors
    /// A sentence, if it is set already or excluded.
    pub fn set_memory_mapped(&mut self) -> Result<(), String> {
        if self.target.memory_mapped || self.target.caching == Caching::Unbuffered {
            return Err("-Sm conflicts with earlier memory mapped or unbuffered I/O".to_owned());
        }
        self.target.memory_mapped = true;
        Ok(())
    }

    /// The time span with one target per path.
    #[must_use]
    pub fn into_profile(mut self, paths: &[String]) -> Profile {
        self.target.access = self.access();
        let with_path =
            |path: &String| Target { path: path.as_str().into(), ..self.target.clone() };
        self.span.targets = paths.iter().map(with_path).collect();
        Profile { time_spans: vec![self.span], ..self.profile }
    }

    /// `-r`, `-rs` and `-s` together.
    fn access(&self) -> Access {
        let random = self.seen.random.is_some();
        let percent = self.seen.random_percent.unwrap_or(if random { 100 } else { 0 });
        let align = if percent > 0 { self.seen.random } else { self.seen.sequential };
        Access {
            random_percent: percent,
            align_bytes: align.flatten().unwrap_or(self.block_bytes()),
            interlocked: self.target.access.interlocked,
        }
    }
}
