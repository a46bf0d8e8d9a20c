//! Bars of shares.

/// The columns of a whole bar.
pub(crate) const WIDTH: u32 = 20;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns the bar of a share in thousandths, to the eighth of a column; a share above nothing is never invisible.
pub(crate) fn bar(per_mille: u32) -> String {
    let eighths = (per_mille.min(1000) * WIDTH * 8 + 500) / 1000;
    let eighths = eighths.max(u32::from(per_mille > 0));
    let mut bar: String = (0..eighths / 8).map(|_| '█').collect();
    let rest = usize::try_from(eighths % 8).expect("it is below eight");
    bar.push_str(EIGHTHS[rest]);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for (per_mille, expected) in [
            (0, ""),
            (1, "▏"),
            (50, "█"),
            (75, "█▌"),
            (500, "██████████"),
            (1000, "████████████████████"),
            (9999, "████████████████████"),
        ] {
            assert_eq!(bar(per_mille), expected, "{per_mille}");
        }
    }
}
