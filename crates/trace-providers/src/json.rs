//! JSON that is looked at and not built.
//!
//! A line may be tens of megabytes, nested without end, or have a field of an unexpected type. So no tree is built of
//! it and no type is imposed on the whole: a value is its text, known to be well-formed, and a field is looked up by
//! running over that text. That takes no memory, does not recurse, and one odd field spoils no other.

use alloc::{borrow::Cow, string::String};
use core::fmt;

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// A well-formed JSON value that is not null.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<'a>(&'a RawValue);

impl<'a> Json<'a> {
    /// Reads a text that is one object and nothing else.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or is a value of another kind.
    pub(crate) fn object(text: &'a str) -> Result<Self, serde_json::Error> {
        let value: &RawValue = serde_json::from_str(text)?;
        if value.get().starts_with('{') {
            return Ok(Self(value));
        }
        Err(serde::de::Error::custom("not an object"))
    }

    /// Reads the value that the text begins with, and returns it with what follows.
    ///
    /// # Errors
    ///
    /// The text begins with no whole value.
    pub(crate) fn prefix(text: &'a str) -> Result<(Self, &'a str), serde_json::Error> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        match values.next() {
            Some(value) => Ok((Self(value?), text.get(values.byte_offset()..).unwrap_or_default())),
            None => Err(serde::de::Error::custom("nothing but white space")),
        }
    }

    /// Returns the value as it is written.
    pub(crate) fn source(self) -> &'a str {
        self.0.get()
    }

    /// Returns the fields of those names; a field is absent where it is null, and everywhere in a value that is no
    /// object. The last one of a repeated name counts.
    pub(crate) fn fields<const N: usize>(self, names: [&str; N]) -> [Option<Self>; N] {
        let mut reader = serde_json::Deserializer::from_str(self.source());
        reader.deserialize_map(Fields(names)).unwrap_or([None; N])
    }

    /// Returns one field: see [`fields`](Self::fields).
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        let [field] = self.fields([name]);
        field
    }

    /// Calls `each` with every field of an object that is not null, in the order of the text.
    pub(crate) fn for_each_field(self, mut each: impl FnMut(&str, Self)) {
        let mut reader = serde_json::Deserializer::from_str(self.source());
        // The text is well-formed, so it can only be a value of another kind, which has no fields.
        let _: Result<(), _> = reader.deserialize_map(EachField(&mut each));
    }

    /// Calls `each` with every element of an array that is not null, in the order of the text.
    pub(crate) fn for_each_element(self, mut each: impl FnMut(Self)) {
        let mut reader = serde_json::Deserializer::from_str(self.source());
        // The text is well-formed, so it can only be a value of another kind, which has no elements.
        let _: Result<(), _> = reader.deserialize_seq(EachElement(&mut each));
    }

    /// Returns the text of a string.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let written = self.source().strip_prefix('"')?.strip_suffix('"')?;
        // It is well-formed, so without an escape it is what it says.
        match memchr::memchr(b'\\', written.as_bytes()) {
            None => Some(Cow::Borrowed(written)),
            Some(_) => serde_json::from_str(self.source()).map(Cow::Owned).ok(),
        }
    }

    /// Returns the text of a string that is not empty.
    pub(crate) fn name(self) -> Option<String> {
        self.text().filter(|text| !text.is_empty()).map(Cow::into_owned)
    }

    /// Returns a whole number that is not negative, also where it is written with a fraction of zeros.
    pub(crate) fn number(self) -> Option<u64> {
        let (whole, fraction) = self.source().split_once('.').unwrap_or((self.source(), "0"));
        whole.parse().ok().filter(|_| !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0'))
    }

    /// Tells whether the value is `true`.
    pub(crate) fn is_true(self) -> bool {
        self.source() == "true"
    }

    /// Tells whether the value is one of those that mean no, in any of the spellings that writers have for it.
    pub(crate) fn is_no(self) -> bool {
        matches!(self.source(), "false" | "0" | "\"false\"" | "\"\"")
    }

    /// Returns a value that was read, unless it is null.
    pub(crate) fn new(value: &'a RawValue) -> Option<Self> {
        (value.get() != "null").then_some(Self(value))
    }
}

struct Fields<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Fields<'_, N> {
    type Value = [Option<Json<'de>>; N];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(position) = map.next_key_seed(PositionIn(&self.0))? {
            match position.and_then(|position| found.get_mut(position)) {
                Some(field) => *field = Json::new(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// Reads a key as its position in a list of names.
struct PositionIn<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for PositionIn<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for PositionIn<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

struct EachField<'f, F>(&'f mut F);

impl<'de, F: FnMut(&str, Json<'de>)> Visitor<'de> for EachField<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            if let Some(value) = Json::new(value) {
                (self.0)(&key, value);
            }
        }
        Ok(())
    }
}

struct EachElement<'f, F>(&'f mut F);

impl<'de, F: FnMut(Json<'de>)> Visitor<'de> for EachElement<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            if let Some(element) = Json::new(element) {
                (self.0)(element);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec::Vec};

    use super::*;

    #[test]
    fn a_field_is_found_whatever_stands_around_it() {
        let json = Json::object(r#" {"a":{"b":[1]},"b":"x\ny","a":7,"c":null,"d":true,"e":-1} "#).unwrap();
        let [repeated, text, null, truth, negative, absent] = json.fields(["a", "b", "c", "d", "e", "f"]);
        assert_eq!(repeated.and_then(Json::number), Some(7), "the last one counts");
        assert_eq!(text.and_then(Json::name).as_deref(), Some("x\ny"));
        assert!(null.is_none() && absent.is_none() && truth.is_some_and(Json::is_true));
        assert_eq!(negative.and_then(Json::number), None);
        assert!(text.unwrap().field("a").is_none());
    }

    #[test]
    fn elements_and_fields_come_in_their_order() {
        let json = Json::object(r#"{"list":[1,null,"two",{}],"map":{"z":1,"a":2,"n":null}}"#).unwrap();
        let mut seen = Vec::new();
        json.field("list").unwrap().for_each_element(|element| seen.push(element.source().to_string()));
        json.field("map").unwrap().for_each_field(|key, value| seen.push([key, value.source()].join("=")));
        json.field("map").unwrap().for_each_element(|_| panic!("an object has no elements"));
        assert_eq!(seen, ["1", "\"two\"", "{}", "z=1", "a=2"]);
    }

    #[test]
    fn only_a_whole_object_is_one() {
        assert!(Json::object("[1]").is_err() && Json::object("{} {}").is_err() && Json::object("{").is_err());
        let (first, rest) = Json::prefix("{\"a\":1}{\"b\":2}").unwrap();
        assert_eq!((first.source(), rest), ("{\"a\":1}", "{\"b\":2}"));
        assert!(Json::prefix(" ").is_err());
    }
}
