//! `abide version`: this build, the forms it reads and writes, and what this kernel gives it.

use abide_core::evidence;
use abide_core::failure::Failure;
use abide_engine::Truth;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::output;

const EXAMPLES: &str = "Examples:
  abide version          the version
  abide version --json   also the schema versions and what the kernel offers";

/// Show the version
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {}

/// What this abide is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Version")]
pub(crate) struct VersionView {
    version: &'static str,
    schemas: SchemasView,
    kernel: KernelView,
}

/// The versions of what it prints and stores.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Schemas")]
struct SchemasView {
    json: &'static str,
    evidence: u32,
}

/// What the kernel offers to tell processes apart.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Kernel")]
struct KernelView {
    machine_id: bool,
    boot_id: bool,
    time_namespaces: bool,
    birth_ticks: bool,
    pidfs: bool,
}

impl Verb for Args {
    type Data = VersionView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let found = Truth::new().features();
        let data = VersionView {
            version: env!("CARGO_PKG_VERSION"),
            schemas: SchemasView { json: output::SCHEMA, evidence: evidence::SCHEMA },
            kernel: KernelView {
                machine_id: found.machine_id,
                boot_id: found.boot_id,
                time_namespaces: found.time_namespaces,
                birth_ticks: found.birth_ticks,
                pidfs: found.pidfs,
            },
        };
        front.output.show(&data, |page| {
            page.plain("abide ").plain(data.version).end();
        })?;
        Ok(0)
    }
}
