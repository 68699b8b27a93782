//! Whether Chromium keeps pages in its sandbox: found out by trying, as kernels, distributions and
//! containers each have their own way to forbid the user namespaces that it is made of.

/// What stands between a page that has broken the renderer and this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sandbox {
    /// Chromium's own.
    Own,
    /// The same where we are root, as whom Chromium has no sandbox: it starts in a user namespace in
    /// which it is somebody else.
    AsNobody,
    /// None: such a page has the rights of our process.
    Off,
}

/// What became of a browser that was started to see whether it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// It answers.
    Starts,
    /// It ended by itself.
    Ends,
    /// It was killed, or says nothing: an overloaded machine must not cost the sandbox.
    Unclear,
}

/// What to do after some trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Try this.
    Try(Sandbox),
    /// Use this from now on.
    Use(Sandbox),
    /// Say that there is no browser, and try again the next time.
    GiveUp,
}

/// What follows from the `trials` made so far, the first one first.
pub(crate) fn next(is_root: bool, trials: &[Trial]) -> Next {
    let best = if is_root { Sandbox::AsNobody } else { Sandbox::Own };
    match trials {
        [] => Next::Try(best),
        [Trial::Starts] => Next::Use(best),
        [Trial::Ends] => Next::Try(Sandbox::Off),
        // Once may have been bad luck, and what follows holds as long as this process lives.
        [Trial::Ends, Trial::Starts] => Next::Try(best),
        [Trial::Ends, Trial::Starts, Trial::Ends] => Next::Use(Sandbox::Off),
        [Trial::Ends, Trial::Starts, Trial::Starts] => Next::Use(best),
        _ => Next::GiveUp,
    }
}

impl Sandbox {
    /// The words before the browser's own on the command line. `unshare` is part of util-linux.
    pub(crate) const fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::AsNobody => &["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"],
            Self::Own | Self::Off => &[],
        }
    }

    /// The argument that it asks of the browser.
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
        use Next::{GiveUp, Try, Use};
        use Sandbox::{AsNobody, Off, Own};
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
            // The browser itself is broken, which says nothing of the sandbox.
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
