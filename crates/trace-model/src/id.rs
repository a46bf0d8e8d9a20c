//! Ids: newtypes with a visible prefix, parsed once and never plain text after that.

use alloc::string::String;
use core::{fmt, str::FromStr};

use uuid::Uuid;

use crate::{
    ModelError,
    text_enum::{FixedText, serde_as_text},
};

/// Declares an id that Trace makes: a UUID with a prefix.
macro_rules! uuid_id {
    ($(#[$meta:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Returns the id of a UUID: version 7 for what was recorded, version 8 for what was imported.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the id without its prefix.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }

            /// Returns the last eight characters, by which people call it.
            pub fn short(self) -> String {
                let text = alloc::format!("{}", self.0.simple());
                String::from(&text[24..])
            }
        }

        impl $name {
            fn text(self) -> FixedText<{ $prefix.len() + 32 }> {
                let mut text = [0; $prefix.len() + 32];
                let (prefix, digits) = text.split_at_mut($prefix.len());
                prefix.copy_from_slice($prefix.as_bytes());
                self.0.simple().encode_lower(digits);
                FixedText::of_ascii(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.text())
            }
        }

        impl FromStr for $name {
            type Err = ModelError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.strip_prefix($prefix)
                    .filter(|hex| hex.len() == 32 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
                    .and_then(|hex| Uuid::try_parse(hex).ok())
                    .map(Self)
                    .ok_or_else(|| ModelError::BadId {
                        kind: $kind,
                        text: String::from(text),
                        expected: concat!("'", $prefix, "' and 32 lower-case hexadecimal digits"),
                    })
            }
        }

        serde_as_text!($name, text);
    };
}

uuid_id!(
    /// One start of a provider's agent.
    LaunchId, "launch", "launch_"
);
uuid_id!(
    /// One input delivered to an agent and all that it did about it.
    TurnId, "turn", "turn_"
);

/// Declares an id that may come from outside: `[0-9A-Za-z._-]{1,64}` without a leading dot.
macro_rules! outside_id {
    ($(#[$meta:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// What an id of this kind begins with when Trace makes it.
            pub const PREFIX: &'static str = $prefix;

            /// Returns the id that Trace makes from a UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(alloc::format!(concat!($prefix, "{}"), uuid.simple()))
            }

            /// Returns the id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ModelError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                if (1..=64).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(allowed) {
                    return Ok(Self(String::from(text)));
                }
                Err(ModelError::BadId {
                    kind: $kind,
                    text: String::from(text),
                    expected: "1 to 64 of 0-9, A-Z, a-z, '.', '_' and '-', not beginning with '.'",
                })
            }
        }

        serde_as_text!($name);
    };
}

outside_id!(
    /// One piece of work that a person or a scheduler started; it may span several processes.
    RunId, "run", "run_"
);
outside_id!(
    /// One operating-system process of a harness.
    ProcessId, "process", "proc_"
);
outside_id!(
    /// What an orchestrator calls one piece of work of its own, for which it reserves launches.
    ControlRunId, "control run", "control_"
);

/// The end of an id, by which a person names a launch: four or more of its last hexadecimal digits.
///
/// ```
/// use trace_model::id::IdSuffix;
///
/// assert!("3fa9".parse::<IdSuffix>().is_ok());
/// assert!("fa9".parse::<IdSuffix>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdSuffix(String);

impl IdSuffix {
    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether the launch's id ends so.
    pub fn matches(&self, id: LaunchId) -> bool {
        alloc::format!("{}", id.as_uuid().simple()).ends_with(self.as_str())
    }
}

impl fmt::Display for IdSuffix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for IdSuffix {
    type Err = ModelError;

    /// Reads the last digits of an id, or a whole id with its prefix.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(LaunchId::PREFIX).unwrap_or(text);
        if (4..=32).contains(&digits.len()) && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Ok(Self(String::from(digits)));
        }
        Err(ModelError::BadId {
            kind: "launch",
            text: String::from(text),
            expected: "a whole id, or four or more of its last hexadecimal digits",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    const UUID: Uuid = Uuid::from_u128(0x0192_3456_789a_7bcd_8ef0_1234_5678_9abc);

    #[test]
    fn an_id_explains_itself_and_survives_its_text() {
        let launch = LaunchId::from_uuid(UUID);
        assert_eq!(launch.to_string(), "launch_01923456789a7bcd8ef0123456789abc");
        assert_eq!(launch.to_string().parse(), Ok(launch));
        assert_eq!(launch.short(), "56789abc");
        assert_eq!(RunId::from_uuid(UUID).to_string(), "run_01923456789a7bcd8ef0123456789abc");
    }

    #[test]
    fn an_id_of_another_kind_or_spelling_is_refused() {
        for bad in [
            "turn_01923456789a7bcd8ef0123456789abc",
            "01923456789a7bcd8ef0123456789abc",
            "launch_0192",
            "launch_0192345-789a7bcd8ef0123456789abc",
            "launch_0192345\u{df}789a7bcd8ef012345678",
            "launch_0192345F789A7BCD8EF0123456789ABC",
            "",
        ] {
            assert!(bad.parse::<LaunchId>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn an_outside_id_cannot_be_a_path_of_its_own() {
        for bad in ["", ".", "..", ".hidden", "a/b", "a b", "ä", &"a".repeat(65)] {
            assert!(bad.parse::<RunId>().is_err(), "{bad:?} was taken");
            assert!(bad.parse::<ProcessId>().is_err(), "{bad:?} was taken");
        }
        assert_eq!("nightly-7.2_a".parse::<RunId>().unwrap().as_str(), "nightly-7.2_a");
    }

    #[test]
    fn a_suffix_matches_the_end_of_an_id() {
        let launch = LaunchId::from_uuid(UUID);
        for good in ["9abc", "56789abc", "launch_01923456789a7bcd8ef0123456789abc"] {
            assert!(good.parse::<IdSuffix>().unwrap().matches(launch), "{good}");
        }
        assert!(!"0192".parse::<IdSuffix>().unwrap().matches(launch));
        assert!("bc".parse::<IdSuffix>().is_err());
        assert!("zzzz".parse::<IdSuffix>().is_err());
    }
}
