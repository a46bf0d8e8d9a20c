//! The file of asset specs: a JSON array of objects.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};
use trace_attribution::AssetSpec;

use crate::object::Object;

/// What is wrong with a file of specs.
#[derive(Debug)]
pub(super) struct BadSpecs {
    pub(super) place: Place,
    /// What is wrong there, with line and column.
    pub(super) error: serde_json::Error,
}

/// Where a file of specs is wrong, as the end of a sentence about the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Around the specs.
    Array,
    /// In the spec of that number, from 1.
    Spec(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array => formatter.write_str("is no JSON array of asset specs"),
            Self::Spec(number) => write!(formatter, "makes no sense in asset spec {number}"),
        }
    }
}

/// Reads a JSON array of specs.
pub(super) fn parse(text: &str) -> Result<Vec<AssetSpec>, BadSpecs> {
    let mut place = Place::Array;
    let mut json = serde_json::Deserializer::from_str(text);
    let specs = Specs(&mut place).deserialize(&mut json).and_then(|specs| json.end().map(|()| specs));
    specs.map_err(|error| BadSpecs { place, error })
}

/// Reads the array, and keeps note of the place.
struct Specs<'a>(&'a mut Place);

impl<'de> DeserializeSeed<'de> for Specs<'_> {
    type Value = Vec<AssetSpec>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Specs<'_> {
    type Value = Vec<AssetSpec>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of asset specs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut specs = Vec::new();
        loop {
            *self.0 = Place::Spec(specs.len() + 1);
            let Some(Object(spec)) = array.next_element()? else { break };
            specs.push(spec);
        }
        *self.0 = Place::Array;
        Ok(specs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"{"channel":"task","kind":"goal","scope":"task","label":"a","included_by":"b","content":"c"}"#;

    #[test]
    fn specs_are_objects_in_an_array() {
        let specs = parse(&format!("[{SPEC},\n{SPEC}]\n")).unwrap();
        assert_eq!(specs.len(), 2);
        assert_eq!((specs[1].label.as_str(), specs[1].content.as_str()), ("a", "c"));
        assert_eq!(parse("[]").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let array = r#"["task","goal","task","a",null,"b","c",false]"#;
        for (text, place, error) in [
            ("{}".to_owned(), Place::Array, "invalid type: map, expected an array of asset specs at line 1 column 0"),
            (format!("[{SPEC}] x"), Place::Array, "trailing characters at line 1 column"),
            (format!("[\n{SPEC},\n{array}]"), Place::Spec(2), "invalid type: sequence, expected an object at line 3"),
            (format!("[{SPEC},\n\n{{}}]"), Place::Spec(2), "missing field `channel` at line 3 column 2"),
            (SPEC.replacen("goal", "gaol", 1), Place::Array, "invalid type: map"),
            (format!("[\n{}]", SPEC.replacen("goal", "gaol", 1)), Place::Spec(1), "gaol"),
            (format!("[\n{}]", SPEC.replacen("label", "lable", 1)), Place::Spec(1), "unknown field `lable`"),
            (format!("[{SPEC}"), Place::Spec(2), "EOF while parsing a list at line 1"),
        ] {
            let found = parse(&text).unwrap_err();
            assert_eq!(found.place, place, "{text}: {}", found.error);
            let told = found.error.to_string();
            assert!(told.contains(error) && told.contains(" at line "), "{text}: {told}");
        }
    }
}
