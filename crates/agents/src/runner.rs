//! npm, as it runs an agent that need not be installed: `npx AGENT`, `npm exec AGENT`. It stands by as the agent's wrapper,
//! and what is asked of the agent stands behind its own words.

use crate::adapter::{Adapter, base};
use crate::words::{plain, program};

/// What npm is started as to run something.
const RUNNERS: [&str; 4] = ["npx", "npx-cli.js", "npm", "npm-cli.js"];
/// What it is then asked to do.
const ACTS: [&str; 2] = ["exec", "x"];

/// Whether it is npm, which runs an agent of this kind.
pub(crate) fn runs(argv: &[String], adapter: &dyn Adapter) -> bool {
    // Once it runs, it has written that in the place of its arguments, as one word.
    let named = argv.first().and_then(|first| first.strip_prefix("npm exec "));
    match named {
        Some(rest) => {
            rest.split(' ').find(|word| !word.starts_with('-')).is_some_and(|word| is(word, adapter))
        }
        None => agent_at(argv, adapter).is_some(),
    }
}

/// The command line that goes on with a conversation, where npm is asked to run the agent.
pub(crate) fn resume(
    argv: &[String],
    adapter: &dyn Adapter,
    (conversation, prompt): (&str, Option<&str>),
) -> Option<Vec<String>> {
    let (before, asked) = argv.split_at(agent_at(argv, adapter)?);
    let (package, asked) = asked.split_first()?;
    let mut of_agent = vec![adapter.name().to_owned()];
    of_agent.extend_from_slice(asked);
    let mut again = before.to_vec();
    // Of `npm exec` every option is npm's own until it is told otherwise.
    let is_act = |word: &String| ACTS.contains(&word.as_str());
    if before.iter().any(is_act) && !before.iter().any(|word| word == "--") {
        again.push("--".to_owned());
    }
    again.push(package.clone());
    again.extend(adapter.resume(&of_agent, conversation, prompt).into_iter().skip(1));
    Some(again)
}

/// Where the agent stands behind npm's own words.
fn agent_at(argv: &[String], adapter: &dyn Adapter) -> Option<usize> {
    let from = program(argv, |word| RUNNERS.contains(&base(word)))? + 1;
    let mut words = plain(&argv[from..], &[]).skip_while(|(_, word)| ACTS.contains(word));
    words.next().filter(|(_, word)| is(word, adapter)).map(|(at, _)| from + at)
}

/// Whether npm knows the agent by this word, with a version or without.
fn is(word: &str, adapter: &dyn Adapter) -> bool {
    adapter
        .packages()
        .iter()
        .any(|name| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@')))
}
