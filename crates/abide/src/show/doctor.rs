//! What the doctor found.

use abide_engine::doctor::{Check, Health};
use schemars::JsonSchema;
use serde::Serialize;

use super::page::{Page, Tone};
use super::word::CodeName;

/// All that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Doctor")]
pub(crate) struct DoctorView<'a> {
    pub(crate) checks: Vec<CheckView<'a>>,
    /// Nothing is bad.
    pub(crate) healthy: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Check")]
pub(crate) struct CheckView<'a> {
    name: &'a str,
    #[schemars(extend("enum" = ["good", "weak", "bad", "mended"]))]
    health: &'static str,
    detail: &'a str,
    /// The way out.
    fix: Option<&'a str>,
    /// The session it is about.
    session: Option<&'a str>,
    /// The failure behind it.
    code: Option<CodeName>,
}

impl<'a> DoctorView<'a> {
    pub(crate) fn new(checks: &'a [Check]) -> Self {
        let view = |check: &'a Check| CheckView {
            name: check.name,
            health: check.health.name(),
            detail: &check.detail,
            fix: check.fix.as_deref(),
            session: check.session.as_ref().map(|id| id.as_str()),
            code: check.code.map(CodeName),
        };
        let healthy = !checks.iter().any(|check| check.health == Health::Bad);
        Self { checks: checks.iter().map(view).collect(), healthy }
    }
}

/// Puts a line for each check on the page, and the way out below it.
pub(crate) fn put(page: &mut Page, checks: &[Check]) {
    for check in checks {
        let (mark, tone) = match check.health {
            Health::Good => ("✓", Tone::Good),
            Health::Weak => ("!", Tone::Warn),
            Health::Bad => ("✗", Tone::Bad),
            Health::Mended => ("+", Tone::Good),
        };
        page.put(tone, mark).plain(" ").plain(check.name).plain(": ");
        page.flow(Tone::Plain, &check.detail, 2 + check.name.len() + 2, 2);
        if let Some(fix) = &check.fix {
            page.blanks(4).put(Tone::Faint, "fix: ").flow(Tone::Plain, fix, 9, 9);
        }
    }
}
