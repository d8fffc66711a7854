//! What is asked of the model in each dialect, over a real connection.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{Model, REPLY};

fn ask(model: &Model, path: &str, body: &str) -> TcpStream {
    let mut to = TcpStream::connect(model.address).expect("it listens");
    let length = body.len();
    write!(to, "POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}").expect("it reads");
    to
}

fn answer(model: &Model, path: &str, body: &str) -> String {
    let mut said = String::new();
    ask(model, path, body).read_to_string(&mut said).expect("it answers in text");
    said
}

const MESSAGES: &str = "/v1/messages?beta=true";
const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";

/// A first request with a prompt, in each dialect.
fn first(prompt: &str) -> [(&'static str, String); 4] {
    let user = format!(r#"{{"role":"user","content":[{{"type":"text","text":"{prompt}"}}]}}"#);
    [
        (MESSAGES, format!(r#"{{"stream":true,"messages":[{user}],"tools":[{{"name":"Bash"}}]}}"#)),
        (RESPONSES, format!(r#"{{"stream":true,"input":[{user}],"tools":[{{"name":"exec_command"}}]}}"#)),
        (
            CHAT,
            format!(r#"{{"stream":true,"messages":[{user}],"tools":[{{"function":{{"name":"bash"}}}}]}}"#),
        ),
        (
            GEMINI,
            format!(
                r#"{{"contents":[{{"role":"user","parts":[{{"text":"{prompt}"}}]}}],
                    "tools":[{{"functionDeclarations":[{{"name":"run_shell_command"}}]}}]}}"#
            ),
        ),
    ]
}

#[test]
fn a_prompt_is_answered_in_the_dialect_that_it_was_asked_in() {
    let model = Model::start().expect("loopback has a port");
    for (path, body) in first("look at CHANGELOG") {
        let said = answer(&model, path, &body);
        assert!(said.contains(REPLY), "{path}: {said}");
    }
}

#[test]
fn a_tool_is_asked_for_once_for_each_prompt() {
    let model = Model::start().expect("loopback has a port");
    for (path, body) in first("go TOOL:[sleep 77]") {
        let said = answer(&model, path, &body);
        assert!(said.contains("sleep 77") && !said.contains(REPLY), "{path}: {said}");
        let answers = [
            (MESSAGES, r#"{"role":"user","content":[{"type":"tool_result"}]}"#),
            (RESPONSES, r#"{"type":"function_call_output"}"#),
            (CHAT, r#"{"role":"tool"}"#),
            (GEMINI, r#"{"role":"user","parts":[{"functionResponse":{}}]}"#),
        ];
        let answer_of = answers.iter().find(|(one, _)| *one == path).expect("each has one").1;
        let said = answer(&model, path, &body.replacen("}],", &format!("}},{answer_of}],"), 1));
        assert!(said.contains(REPLY), "{path}: {said}");
    }
}

#[test]
fn a_reply_that_hangs_ends_when_the_model_lets_go() {
    let model = Model::start().expect("loopback has a port");
    let mut open: Vec<_> = first("please HANG").iter().map(|(path, body)| ask(&model, path, body)).collect();
    for stream in &mut open {
        let mut piece = [0; 512];
        assert!(stream.read(&mut piece).expect("it begins") > 0);
    }
    model.let_go(true);
    for mut stream in open {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("it ends");
        assert!(rest.contains(REPLY), "{rest}");
    }
}

#[test]
fn a_request_in_chunks_is_read_whole() {
    let model = Model::start().expect("loopback has a port");
    let mut to = TcpStream::connect(model.address).expect("it listens");
    to.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n")
        .and_then(|()| to.write_all(b"e\r\nstream\":true}\n\r\n0\r\n\r\n"))
        .expect("it reads");
    let mut said = String::new();
    to.read_to_string(&mut said).expect("it answers in text");
    assert!(said.contains("[DONE]"), "{said}");
}
