//! How single values stand in columns. Every type has one form, given here once for both directions.

use std::{collections::BTreeMap, fmt::Display, fmt::Write as _, str::FromStr};

use rusqlite::{
    Row, Statement,
    types::{Null, ValueRef},
};
use trace_model::{
    context::Sha256Hex,
    control::Control,
    id::{ControlRunId, LaunchId, ProcessId, RunId, TurnId},
    money::NanoUsd,
    path::ArtifactPath,
    timestamp::Timestamp,
    usage::Agent,
    usage_sum::Doubts,
    words::{
        AssetKind, CaptureStatus, Channel, Coverage, DecisionKind, Grain, InputOp, LaunchOutcome, PartialReason,
        Provider, Quality, ReservationState, Scope, TagKey, TokenizerName, TurnStatus,
    },
};

use crate::{error::Cause, rows::Table};

/// Writes the values of one row into the parameters of a statement, from the left.
pub(crate) struct Writer<'a, 'connection> {
    statement: &'a mut Statement<'connection>,
    index: usize,
    text: String,
}

impl<'a, 'connection> Writer<'a, 'connection> {
    /// Returns a writer for a statement that takes one row after the other.
    pub(crate) fn new(statement: &'a mut Statement<'connection>) -> Self {
        Self { statement, index: 0, text: String::new() }
    }

    /// Writes the next value.
    pub(crate) fn put(&mut self, value: &(impl ToColumn + ?Sized)) -> rusqlite::Result<()> {
        self.index += 1;
        value.write(self)
    }

    /// Runs the statement with the values, and begins the next row.
    pub(crate) fn execute(&mut self) -> Result<(), Cause> {
        self.index = 0;
        self.statement.raw_execute()?;
        Ok(())
    }

    fn display(&mut self, value: impl Display) -> rusqlite::Result<()> {
        self.text.clear();
        // Writing into a string does not fail.
        let _ = write!(self.text, "{value}");
        self.statement.raw_bind_parameter(self.index, self.text.as_str())
    }
}

/// Reads the values of one row of a table, from the left.
pub(crate) struct Reader<'a> {
    row: &'a Row<'a>,
    table: &'static Table,
    index: usize,
}

impl<'a> Reader<'a> {
    /// Returns a reader of a row that holds all columns of the table, in order.
    pub(crate) fn new(row: &'a Row<'a>, table: &'static Table) -> Self {
        Self { row, table, index: 0 }
    }

    /// Reads the next value.
    pub(crate) fn next<T: FromColumn>(&mut self) -> Result<T, Cause> {
        let value = self.row.get_ref(self.index)?;
        let value = T::read(value).map_err(|detail| self.damage(&detail))?;
        self.index += 1;
        Ok(value)
    }

    /// Leaves out the next value.
    pub(crate) fn skip(&mut self) {
        self.index += 1;
    }

    /// Returns the error of a value, or of a whole row, that makes no sense. Rows are named by their first column.
    pub(crate) fn damage(&self, detail: &dyn Display) -> Cause {
        let table = self.table.name;
        let row = self.row.get_ref(0).ok().and_then(|id| String::read(id).ok()).unwrap_or_default();
        Cause::Damaged(match self.table.columns.get(self.index) {
            Some(column) => format!("{column} of {row:?} in {table}: {detail}"),
            None => format!("{row:?} in {table}: {detail}"),
        })
    }
}

/// A value that can be written into a column.
pub(crate) trait ToColumn {
    /// Binds the value to the writer's current parameter.
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()>;
}

/// A value that can be read from a column.
pub(crate) trait FromColumn: Sized {
    /// Reads the value, or says what it is instead.
    fn read(value: ValueRef<'_>) -> Result<Self, String>;
}

impl<T: ToColumn> ToColumn for Option<T> {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        match self {
            Some(value) => value.write(to),
            None => to.statement.raw_bind_parameter(to.index, Null),
        }
    }
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
}

impl<T: ToColumn + ?Sized> ToColumn for &T {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        T::write(self, to)
    }
}

impl ToColumn for str {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        to.statement.raw_bind_parameter(to.index, self)
    }
}

impl ToColumn for String {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        self.as_str().write(to)
    }
}

impl FromColumn for String {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        text(value).map(Self::from)
    }
}

impl ToColumn for i64 {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        to.statement.raw_bind_parameter(to.index, *self)
    }
}

impl FromColumn for i64 {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Integer(number) => Ok(number),
            other => Err(format!("{} where an integer belongs", other.data_type())),
        }
    }
}

/// All 64 bits, so that no number that a provider may state is refused or changed.
impl ToColumn for u64 {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        self.cast_signed().write(to)
    }
}

impl FromColumn for u64 {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        i64::read(value).map(i64::cast_unsigned)
    }
}

impl ToColumn for u32 {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        i64::from(*self).write(to)
    }
}

impl FromColumn for u32 {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        let number = i64::read(value)?;
        Self::try_from(number).map_err(|_| format!("{number} is out of range"))
    }
}

impl ToColumn for Timestamp {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        self.as_micros().write(to)
    }
}

impl FromColumn for Timestamp {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        let micros = i64::read(value)?;
        Self::from_micros(micros).ok_or_else(|| format!("{micros} is no time between the years 1 and 9999"))
    }
}

impl ToColumn for NanoUsd {
    fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
        self.as_nanos().write(to)
    }
}

impl FromColumn for NanoUsd {
    fn read(value: ValueRef<'_>) -> Result<Self, String> {
        u64::read(value).map(Self::from_nanos)
    }
}

/// Gives types the column form of their JSON.
macro_rules! json_columns {
    ($($name:ty),+ $(,)?) => {
        $(
            impl ToColumn for $name {
                fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
                    let json = serde_json::to_string(self)
                        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                    json.write(to)
                }
            }

            impl FromColumn for $name {
                fn read(value: ValueRef<'_>) -> Result<Self, String> {
                    serde_json::from_str(text(value)?).map_err(|error| error.to_string())
                }
            }
        )+
    };
}

json_columns!(BTreeMap<TagKey, String>, Control, Doubts);

/// Gives types the column form of their text.
macro_rules! text_columns {
    ($write:expr; $($name:ty),+ $(,)?) => {
        $(
            impl ToColumn for $name {
                fn write(&self, to: &mut Writer<'_, '_>) -> rusqlite::Result<()> {
                    $write(to, self)
                }
            }

            impl FromColumn for $name {
                fn read(value: ValueRef<'_>) -> Result<Self, String> {
                    <$name as FromStr>::from_str(text(value)?).map_err(|error| error.to_string())
                }
            }
        )+
    };
}

text_columns! {
    |to: &mut Writer<'_, '_>, value: &_| to.display(value);
    LaunchId, TurnId, Sha256Hex,
}

// What has its text at hand is not formatted: there are thousands of these.
text_columns! {
    |to, value: &Self| value.as_str().write(to);
    ControlRunId, RunId, ProcessId, ArtifactPath, Agent, Provider, AssetKind, CaptureStatus, Channel, Coverage,
    DecisionKind, Grain, InputOp, LaunchOutcome, PartialReason, Quality, ReservationState, Scope, TokenizerName, TurnStatus,
}

fn text(value: ValueRef<'_>) -> Result<&str, String> {
    match value {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_err(|error| error.to_string()),
        other => Err(format!("{} where text belongs", other.data_type())),
    }
}
