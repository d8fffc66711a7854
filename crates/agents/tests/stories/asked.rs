//! Questions that no adapter knows, as agents showed them, and lists that are none.

use abide_agents::asks;

use crate::screen;

#[test]
fn a_list_with_one_choice_picked_is_a_question() {
    for shown in [
        " Do you trust this folder?\n ❯ 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm",
        "  Where should the new conversation run?\n› 1. Here\n  2. There\n  Press enter to continue",
        "│ ● 1. Trust folder (w)   │\n│   2. Trust parent folder │\n│   3. Don't trust         │",
    ] {
        assert!(asks(&screen(shown)), "{shown}");
    }
}

#[test]
fn a_list_above_an_input_is_an_answer_and_no_question() {
    for shown in [
        "● 1. Read the file\n  2. Mend it\n\n────\n❯ \n────\n  ? for shortcuts",
        "● 1. One\n  2. Two\n >   Type your message",
        "1. One\n2. Two\n$",
        "",
    ] {
        assert!(!asks(&screen(shown)), "{shown}");
    }
}
