//! What a tool answered, as text.
//!
//! Blocks of content are the same for all: `{type: text, text}`, and pictures and documents with their bytes in Base64,
//! which are told by type and size and not copied. The Anthropic API has type and bytes in `source` as `media_type` and
//! `data`; the Model Context Protocol has them beside the type as `mimeType` and `data`.

use alloc::{format, string::String, vec::Vec};

use crate::json::Json;

/// Returns what a tool answered, as text.
pub(crate) fn text_of_result(content: Json<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let mut pieces: Vec<String> = Vec::new();
    content.for_each_element(|block| pieces.push(text_of_block(block)));
    // A result of another kind, such as the error object of a server's tool, is shown as it is.
    if pieces.is_empty() && content.source() != "[]" { String::from(content.source()) } else { pieces.join("\n") }
}

fn text_of_block(block: Json<'_>) -> String {
    let [kind, text, source] = block.fields(["type", "text", "source"]);
    let kind = kind.and_then(Json::text).unwrap_or_default();
    if kind == "text" {
        return text.and_then(Json::text).unwrap_or_default().into_owned();
    }
    let [media_type, mime_type, data] = source.unwrap_or(block).fields(["media_type", "mimeType", "data"]);
    let media_type = media_type.or(mime_type).and_then(Json::text).unwrap_or_default();
    match data.and_then(Json::text) {
        Some(data) => format!("[{kind} {media_type}, {} bytes]", decoded_len(&data)),
        None => format!("[{kind}]"),
    }
}

/// Returns how many bytes a Base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() / 4 * 3 + base64.trim_end_matches('=').len() % 4 * 3 / 4
}
