//! Whether Chromium can use its sandbox. This is found out by trying, because kernels,
//! distributions and containers each have their own way to forbid the user namespaces that it
//! needs.

/// What isolates a page that has compromised the renderer from this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sandbox {
    /// Chromium's own sandbox.
    Own,
    /// The same when we are root, for whom Chromium has no sandbox: it is started as another user
    /// in a user namespace.
    AsNobody,
    /// Nothing: such a page has the rights of our process.
    Off,
}

/// The result of starting a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// It responds.
    Starts,
    /// It ended on its own.
    Ends,
    /// It was killed, or does not respond: an overloaded machine must not cost us the sandbox.
    Unclear,
}

/// What to do after some trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SandboxStep {
    /// Try this.
    Try(Sandbox),
    /// Use this from now on.
    Use(Sandbox),
    /// Report that there is no browser, and try again the next time.
    GiveUp,
}

/// What to do after `trials`, the first one first.
pub(crate) fn next(is_root: bool, trials: &[Trial]) -> SandboxStep {
    let best = if is_root { Sandbox::AsNobody } else { Sandbox::Own };
    match trials {
        [] => SandboxStep::Try(best),
        [Trial::Starts] => SandboxStep::Use(best),
        [Trial::Ends] => SandboxStep::Try(Sandbox::Off),
        // One failure may be bad luck, and the decision holds as long as this process lives.
        [Trial::Ends, Trial::Starts] => SandboxStep::Try(best),
        [Trial::Ends, Trial::Starts, Trial::Ends] => SandboxStep::Use(Sandbox::Off),
        [Trial::Ends, Trial::Starts, Trial::Starts] => SandboxStep::Use(best),
        _ => SandboxStep::GiveUp,
    }
}

impl Sandbox {
    /// What precedes the browser on the command line. `unshare` is part of util-linux.
    pub(crate) const fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::AsNobody => &["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"],
            Self::Own | Self::Off => &[],
        }
    }

    /// The browser's argument for it.
    pub(crate) const fn argument(self) -> Option<&'static str> {
        match self {
            Self::Off => Some("--no-sandbox"),
            Self::Own | Self::AsNobody => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_is_off_only_where_the_browser_starts_in_no_other_way() {
        use Sandbox::{AsNobody, Off, Own};
        use SandboxStep::{GiveUp, Try, Use};
        use Trial::{Ends, Starts, Unclear};
        for (is_root, trials, expected) in [
            (false, &[][..], Try(Own)),
            (true, &[], Try(AsNobody)),
            (false, &[Starts], Use(Own)),
            (true, &[Starts], Use(AsNobody)),
            (false, &[Ends], Try(Off)),
            (true, &[Ends], Try(Off)),
            (false, &[Unclear], GiveUp),
            (true, &[Unclear], GiveUp),
            (false, &[Ends, Starts], Try(Own)),
            (true, &[Ends, Starts], Try(AsNobody)),
            (false, &[Ends, Starts, Ends], Use(Off)),
            (true, &[Ends, Starts, Ends], Use(Off)),
            (false, &[Ends, Starts, Starts], Use(Own)),
            (true, &[Ends, Starts, Starts], Use(AsNobody)),
            (true, &[Ends, Starts, Unclear], GiveUp),
            // The browser itself is broken, which says nothing about the sandbox.
            (false, &[Ends, Ends], GiveUp),
            (true, &[Ends, Unclear], GiveUp),
        ] {
            assert_eq!(next(is_root, trials), expected, "{is_root} {trials:?}");
        }
        for sandbox in [Own, AsNobody, Off] {
            assert_eq!(sandbox.argument().is_some(), sandbox == Off);
            assert_eq!(sandbox.launcher().is_empty(), sandbox != AsNobody);
        }
    }
}
