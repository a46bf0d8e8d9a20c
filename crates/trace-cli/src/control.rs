//! What an orchestrator says of a launch, as a file holds it.

use std::path::Path;

use anyhow::Error;
use serde::Deserialize;
use trace_model::{
    control::{Containment, Control},
    id::ControlRunId,
};

use crate::{
    error::{Advise, WrongUsage},
    object::Object,
    prompts::read_text,
};

/// Reads the file. One that cannot be read, or holds anything else, is wrong usage.
pub(crate) fn read(path: &Path) -> anyhow::Result<Control> {
    if path == Path::new("-") {
        return Err(WrongUsage("--control reads a file, and not standard input".to_owned()).into());
    }
    let text = read_text(path)?;
    parse(&text)
        .map_err(|error| Error::new(error).context(WrongUsage(format!("{} holds no control", path.display()))))
        .advise(|| {
            "a control is an object with run_id, home_id and containment {kind, id}, and may have account_id, \
             resume_token and opaque_basis"
                .to_owned()
        })
}

/// Reads a control. A key that it does not have is an error: whoever wrote it meant something by it.
fn parse(text: &str) -> serde_json::Result<Control> {
    let Object(file) = serde_json::from_str::<Object<ControlFile>>(text)?;
    let ControlFile { run_id, home_id, account_id, containment, resume_token, opaque_basis } = file;
    let Object(ContainmentFile { kind, id }) = containment;
    let containment = Containment { kind, id };
    Ok(Control { run_id, home_id, account_id, containment, resume_token, opaque_basis })
}

/// A [`Control`] with no other keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlFile {
    run_id: ControlRunId,
    home_id: String,
    account_id: Option<String>,
    containment: Object<ContainmentFile>,
    resume_token: Option<String>,
    opaque_basis: Option<String>,
}

/// A [`Containment`] with no other keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContainmentFile {
    kind: String,
    id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINMENT: &str = r#""containment":{"kind":"container","id":"c-1"}"#;

    #[test]
    fn a_control_is_read_as_it_is_written() {
        let control = Control {
            run_id: "order-7".parse().unwrap(),
            home_id: "orders".to_owned(),
            account_id: Some("acme".to_owned()),
            containment: Containment { kind: "container".to_owned(), id: "c-1".to_owned() },
            resume_token: Some("r".to_owned()),
            opaque_basis: Some("b".to_owned()),
        };
        assert_eq!(parse(&serde_json::to_string(&control).unwrap()).unwrap(), control);
        let least = parse(&format!("{{\"run_id\":\"order-7\",\"home_id\":\"orders\",{CONTAINMENT}}}\n")).unwrap();
        assert_eq!(least, Control { account_id: None, resume_token: None, opaque_basis: None, ..control });
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let identity = r#""run_id":"order-7","home_id":"orders""#;
        for (text, error) in [
            (
                format!("{{{identity},\n{CONTAINMENT},\"budget\":1}}"),
                "unknown field `budget`, expected one of `run_id`",
            ),
            (format!("{{{identity},\"containment\":{{\"kind\":\"a\",\"name\":1}}}}"), "unknown field `name`"),
            (format!("{{{identity}}}"), "missing field `containment`"),
            (format!("{{{identity},\"containment\":[\"a\",\"b\"]}}"), "expected an object"),
            (format!("{{{identity},{identity},{CONTAINMENT}}}"), "duplicate field `run_id`"),
            (format!("{{\"run_id\":\"a/b\",\"home_id\":\"orders\",{CONTAINMENT}}}"), "a/b"),
            (format!("{{{identity},{CONTAINMENT}}} x"), "trailing characters"),
            (r#"["order-7","orders",null]"#.to_owned(), "expected an object"),
            (String::new(), "EOF"),
        ] {
            let told = parse(&text).unwrap_err().to_string();
            assert!(told.contains(error) && told.contains(" at line "), "{text}: {told}");
        }
    }
}
