//! What can be wrong with prices that a user gives.

use alloc::string::String;

/// Why prices cannot be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// The text is not a JSON object of models.
    #[error("prices are a JSON object of models, each of them an object")]
    NotPrices {
        /// Where it stops to be one.
        #[source]
        source: serde_json::Error,
    },
    /// What stands for a price is no decimal number of dollars.
    #[error("{field} of {model} is no price: {value}")]
    BadPrice {
        /// The model, as the text names it.
        model: String,
        /// The field.
        field: String,
        /// What stands there.
        value: String,
    },
    /// A class of tokens has a price for long prompts only.
    #[error("{model} has a price of {class} for long prompts, and none for short ones")]
    NoBasePrice {
        /// The model, as the text names it.
        model: String,
        /// The field that is missing.
        class: String,
    },
}
