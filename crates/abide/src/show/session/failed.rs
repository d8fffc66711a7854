//! One of several sessions that were asked for something, and for which it failed.

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::Output;
use crate::show::word::{CodeName, StatusName};

/// A session with which what was asked for was not done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Failed")]
pub(crate) struct FailedView {
    id: String,
    reason: String,
    code: CodeName,
    /// Its status when that was tried.
    status: Option<StatusName>,
    /// The way out.
    hint: Option<String>,
}

impl FailedView {
    pub(crate) fn new(id: &str, failure: &Failure, output: &Output) -> Self {
        Self {
            id: id.to_owned(),
            reason: failure.message.clone(),
            code: CodeName(failure.code),
            status: failure.status.map(StatusName),
            hint: failure.hint.as_ref().map(|hint| output.hinted(hint)),
        }
    }
}
