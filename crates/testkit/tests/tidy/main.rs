//! The rules of this code base that a machine can check; CONTRIBUTING.md says why they are there.
//! Each rule is one test named as a sentence, lists every offender and names the way out; the scanner and the
//! rules are themselves tested with snippets that break them.

mod conduct;
mod imports;
mod items;
mod linking;
mod papers;
mod paths;
mod scan;
mod sizes;
mod supply;
mod testing;
mod words;
mod workspace;
