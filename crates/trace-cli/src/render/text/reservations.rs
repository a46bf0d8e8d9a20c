//! The list of reservations.

use anstyle::Style;
use trace_model::{control::Reservation, timestamp::Timestamp, words::ReservationState};
use trace_report::reservations::ReservationsReport;

use super::{
    escape, figures, style,
    table::{Column, Row, Table},
};

/// Returns the lines of the list, with the age that each reservation has now.
pub(crate) fn lines(report: &ReservationsReport, now: Timestamp, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("CONTROL RUN").shrinks(),
        Column::text("STATE"),
        Column::text("LAUNCH"),
        Column::text("RESERVED (UTC)").left_out(2),
        Column::number("AGE"),
        Column::text("PROVIDER").left_out(1),
        Column::text("MODEL").left_out(4),
        Column::text("SURFACE").left_out(5),
        Column::text("HOME").left_out(3),
    ]);
    for reservation in &report.reservations {
        table.push(row(reservation, now));
    }
    table.into_lines(width)
}

fn row(reservation: &Reservation, now: Timestamp) -> Row {
    let text = |text: &str| escape::line(text).into_owned();
    let (style, mark) = state(reservation.state);
    Row::new([
        reservation.control.run_id.to_string(),
        reservation.state.to_string(),
        reservation.launch_id.short(),
        figures::minute(reservation.reserved_at),
        figures::duration(now.since(reservation.reserved_at)),
        reservation.provider.to_string(),
        text(reservation.model.as_deref().unwrap_or_default()),
        text(&reservation.surface),
        text(&reservation.control.home_id),
    ])
    .mark(style, mark)
    .faint_if(reservation.state == ReservationState::Released)
}

/// Returns the style and the mark of a reservation's state.
const fn state(state: ReservationState) -> (Style, &'static str) {
    match state {
        ReservationState::Waiting => (style::NAME, "●"),
        ReservationState::Taken => (style::GOOD, "✓"),
        ReservationState::Released => (style::FAINT, "■"),
    }
}

#[cfg(test)]
mod tests {
    use trace_model::{
        control::{Containment, Control},
        id::LaunchId,
        words::Provider,
    };
    use uuid::Uuid;

    use super::*;

    fn reservation(number: u32, run: &str, state: ReservationState) -> Reservation {
        Reservation {
            control: Control {
                run_id: run.parse().unwrap(),
                home_id: "orders \u{1b}[31m".to_owned(),
                account_id: None,
                containment: Containment { kind: "container".to_owned(), id: "c-1".to_owned() },
                resume_token: Some("a secret".to_owned()),
                opaque_basis: None,
            },
            launch_id: LaunchId::from_uuid(Uuid::from_u128(number.into())),
            provider: Provider::Codex,
            model: None,
            surface: "headless".to_owned(),
            reserved_at: format!("2026-11-30T17:18:{number:02}Z").parse().unwrap(),
            state,
        }
    }

    #[test]
    fn reservations_are_told_with_their_age_and_nothing_of_them_steers_a_terminal() {
        let states = ReservationState::ALL.iter().zip(["order-7", "order-8", "a-name-that-is-rather-long-for-a-run"]);
        let reservations = (1..).zip(states).map(|(number, (state, run))| reservation(number, run, *state)).collect();
        let report = ReservationsReport::new(reservations);
        let now = "2026-11-30T17:20:06.5Z".parse().unwrap();
        let shown = |width| {
            let lines = lines(&report, now, width);
            lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!("wide", shown(None));
        insta::assert_snapshot!("narrow", shown(Some(80)));
    }
}
