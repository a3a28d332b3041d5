//! Who answers for targets, and so where it is looked for what ails them: the one place that chooses between
//! the kernel of this host and the servers of others.

use super::Location;

/// Who answers for the targets that a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answering {
    /// The kernel of this host, for all of them.
    Kernel,
    /// Servers, for all of them: no log of this host tells what ails them.
    Servers,
    /// The kernel for some, servers for the others.
    Both,
}

impl Answering {
    /// Who answers for all of these; the kernel where there are none.
    pub(crate) fn of<'a>(locations: impl IntoIterator<Item = &'a Location>) -> Self {
        let (mut served, mut here) = (false, false);
        for location in locations {
            match location.served() {
                Some(_) => served = true,
                None => here = true,
            }
        }
        match (served, here) {
            (true, false) => Self::Servers,
            (true, true) => Self::Both,
            (false, _) => Self::Kernel,
        }
    }

    /// Where its errors are written down.
    pub(crate) const fn log(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel's log",
            Self::Servers => "the log of its server",
            Self::Both => "the kernel's log, or in that of the server",
        }
    }

    /// What may have stalled.
    pub(crate) const fn suspect(self) -> &'static str {
        match self {
            Self::Kernel => "the target",
            Self::Servers => "the server or the way to it",
            Self::Both => "the targets, or a server or the way to it",
        }
    }

    /// Where to look at the suspect, in brackets behind it.
    pub(crate) const fn traces(self) -> &'static str {
        match self {
            Self::Kernel => "kernel log",
            Self::Servers => "its log",
            Self::Both => "kernel log, log of the server",
        }
    }

    /// Who else may have taken its time, behind [`Answering::traces`].
    pub(crate) const fn others(self) -> &'static str {
        match self {
            Self::Kernel => "other users of the device",
            Self::Servers => "its other users",
            Self::Both => "other users of them",
        }
    }

    /// What is looked at where it may not answer at all.
    pub(crate) const fn look_whether_it_answers(self) -> &'static str {
        match self {
            Self::Kernel => "look whether the target answers (kernel log)",
            Self::Servers => "look whether the server and the way to it answer (its log)",
            Self::Both => {
                "look whether the targets, the server and the way to it answer (kernel log, log of the server)"
            }
        }
    }

    /// What is looked at where I/Os never come back.
    pub(crate) const fn look_at(self) -> &'static str {
        match self {
            Self::Kernel => "look at the kernel's log",
            Self::Servers => "look at the server, its log, and the way to it",
            Self::Both => "look at the kernel's log, and at the server, its log, and the way to it",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn servers_answer_for_what_they_serve_and_the_kernel_for_the_rest() {
        let served = Location::named("nbd://localhost/", Duration::from_secs(1));
        let here = Location::here("t.dat");
        assert_eq!(Answering::of([]), Answering::Kernel);
        assert_eq!(Answering::of([&here]), Answering::Kernel);
        assert_eq!(Answering::of([&served, &served]), Answering::Servers);
        assert_eq!(Answering::of([&served, &here]), Answering::Both);
        assert!(!Answering::Servers.look_at().contains("kernel"));
    }
}
