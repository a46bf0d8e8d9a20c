//! Launches that an orchestrator reserves.

use std::fs;

use serde_json::Value;

use super::scripted::{CONTROL, ScriptedHome};

/// Returns a home beside which the control stands.
fn home_with_control() -> ScriptedHome {
    let home = ScriptedHome::missing();
    fs::write(home.path("control.json"), CONTROL).unwrap();
    home
}

fn reserve(home: &ScriptedHome) -> String {
    let printed = home.print(&["reserve", "--control", "control.json"]);
    let id = printed.strip_suffix('\n').unwrap();
    assert!(id.parse::<trace_model::id::LaunchId>().is_ok(), "{printed:?}");
    id.to_owned()
}

fn reservations(home: &ScriptedHome) -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(&home.print(&["reservations", "--json"])).unwrap();
    assert_eq!(document["schema_version"], 1);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = document["reservations"].as_array().unwrap().iter();
    rows.map(|row| (text(&row["launch_id"]), text(&row["state"]))).collect()
}

#[test]
fn one_launch_at_a_time_is_reserved_for_a_control_run() {
    let home = home_with_control();
    let first = reserve(&home);
    let (code, text) = home.complain(&["reserve", "--control", "control.json"]);
    let error = "a launch is reserved for the control run order-7 already";
    let next = "let a launch take it over, or give it up with `trace release order-7`";
    assert_eq!((code, text), (1, format!("error: {error}\nnext: {next}\n")));

    assert_eq!(home.print(&["release", "order-7"]), format!("{first}\n"));
    let second = reserve(&home);
    assert_ne!(first, second);
    let state = |id: &String, state: &str| (id.clone(), state.to_owned());
    assert_eq!(reservations(&home), [state(&first, "released"), state(&second, "waiting")]);
}

#[test]
fn a_reservation_is_a_document_too() {
    let home = home_with_control();
    let options = ["--provider", "codex", "--model", "m-1", "--surface", "worker", "--json"];
    let reserved = home.print(&[&["reserve", "--control", "control.json"], &options[..]].concat());
    let mut reserved: Value = serde_json::from_str(&reserved).unwrap();
    let expected = ["codex", "m-1", "worker", "waiting"];
    assert_eq!(["provider", "model", "surface", "state"].map(|key| reserved[key].as_str().unwrap()), expected);
    assert_eq!((&reserved["control"]["run_id"], &reserved["schema_version"]), (&"order-7".into(), &1.into()));

    let listed: Value = serde_json::from_str(&home.print(&["reservations", "--json"])).unwrap();
    reserved.as_object_mut().unwrap().remove("schema_version");
    assert_eq!(listed["reservations"], Value::Array(vec![reserved.clone()]));

    let released: Value = serde_json::from_str(&home.print(&["release", "order-7", "--json"])).unwrap();
    assert_eq!(released["launch_id"], reserved["launch_id"]);
    assert_eq!(released["state"], "released");
}

#[test]
fn what_was_given_up_stays_so_and_what_is_not_there_cannot_be_given_up() {
    let home = home_with_control();
    let nothing = "error: there is no reservation order-7\nnext: `trace reservations` lists what was reserved\n";
    assert_eq!(home.complain(&["release", "order-7"]), (1, nothing.to_owned()));
    assert!(!home.home().exists());
    let id = reserve(&home);
    assert_eq!(home.print(&["release", "order-7"]), home.print(&["release", "order-7"]));
    assert_eq!(reservations(&home), [(id, "released".to_owned())]);
    let nothing = nothing.replace("order-7", "order-8");
    assert_eq!(home.complain(&["release", "order-8"]), (1, nothing));
}

#[test]
fn reservations_are_listed_with_their_age() {
    let home = home_with_control();
    assert_eq!(home.complain(&["reservations"]), (0, "note: nothing is reserved\n".to_owned()));
    assert!(!home.home().exists());
    let id = reserve(&home);
    let shown = home.print(&["reservations"]);
    let [titles, row] = shown.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(titles.contains("AGE"), "{titles}");
    assert!(row.contains("order-7") && row.contains(&id[id.len() - 8..]) && row.ends_with("orders"), "{row}");
}

#[test]
fn a_file_that_holds_no_control_is_wrong_usage() {
    let home = home_with_control();
    for (text, error) in [
        (&CONTROL.replace("home_id", "homeid"), "unknown field `homeid`, expected one of `run_id`, `home_id`"),
        (&CONTROL.replace("order-7", "../7"), "../7"),
        (&"[]".to_owned(), "expected an object"),
    ] {
        fs::write(home.path("control.json"), text).unwrap();
        let (code, told) = home.complain(&["reserve", "--control", "control.json"]);
        assert_eq!(code, 2, "{told}");
        let [first, cause, next] = told.lines().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(first, "error: control.json holds no control");
        assert!(
            cause.starts_with("cause: ") && cause.contains(error) && cause.contains(" at line 1 column "),
            "{told}"
        );
        assert!(next.starts_with("next: a control is an object with run_id"), "{told}");
    }
    assert!(!home.home().exists());
}
