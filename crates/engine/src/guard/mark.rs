//! A mark goes on record twice, in the recording and in the evidence: where one is cut, the other has it.

use abide_core::evidence::{Body, Marked};
use abide_core::recording::Kind;
use abide_core::wire::ToHost;
use abide_sys::clock;

use super::Keeper;

impl Keeper {
    pub(super) fn mark(&mut self, name: String) {
        let recorded = self.recorder.add(Kind::Mark, name.as_bytes());
        let offset = self.recorder.position();
        self.say_unsaid();
        let told = self.evidence.add(clock::now(), Body::Marked(Marked { name, offset }));
        if !recorded && told.is_err() {
            self.link.tell(ToHost::Unmarked);
        }
    }
}
