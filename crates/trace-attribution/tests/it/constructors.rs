//! The doors: what each constructor makes.

use trace_attribution::{AssetSpec, PreparedTurnContext, Prompts, ProviderInvocation};
use trace_model::words::{AssetKind, Channel, Coverage, DecisionKind, Scope, TokenizerName};

use crate::support::{TOKENIZER, attribute, outcomes, prompts, spec, tiles};

#[test]
fn prompts_without_sources_are_one_assembly_asset_each() {
    let context = PreparedTurnContext::from_prompts(TokenizerName::O200kBase, prompts("Be kind.", "Go on."));
    assert_eq!(tiles(&context), [("system prompt", "Be kind."), ("task prompt", "Go on.")]);
    let facts: Vec<_> = context.assets().map(|one| (one.kind, one.scope, one.included_by.as_str())).collect();
    assert_eq!(
        facts,
        [
            (AssetKind::Assembly, Scope::Global, "provider_invocation"),
            (AssetKind::Assembly, Scope::Task, "provider_invocation"),
        ]
    );
    assert!(context.decisions().is_empty());
    assert_eq!((context.coverage(), context.tokenizer()), (Coverage::Assembled, Some(TokenizerName::O200kBase)));
    assert_eq!(context.total_tokens(), Some(6));
    for asset in context.assets() {
        assert_eq!((asset.isolated_tokens, asset.attributed_tokens), (3, 3));
    }
}

#[test]
fn an_empty_system_prompt_is_absent() {
    for context in [
        PreparedTurnContext::from_prompts(TOKENIZER, prompts("", "Go on.")),
        attribute("Go on.", &[AssetSpec { channel: Channel::System, ..spec("a", "Go") }]),
    ] {
        assert_eq!(context.system(), None);
        assert_eq!(context.assets().next().unwrap().channel, Channel::Task);
    }
}

#[test]
fn an_empty_task_prompt_has_one_empty_asset() {
    let context = PreparedTurnContext::from_prompts(TOKENIZER, prompts("Be kind.", ""));
    assert_eq!(tiles(&context), [("system prompt", "Be kind."), ("task prompt", "")]);
    assert_eq!(context.task().unwrap().tokens(), 0);
    assert_eq!(tiles(&attribute("", &[])), [("prompt assembly", "")]);
}

#[test]
fn a_prompt_that_was_not_given_is_absent() {
    let system_only = Prompts { system: Some("Be kind.".to_owned()), task: None };
    let context = PreparedTurnContext::from_prompts(TOKENIZER, system_only);
    assert_eq!(context.task(), None);
    let specs = [spec("a", "x"), spec("b", "")];
    let context =
        PreparedTurnContext::from_attributed_prompts(TOKENIZER, Prompts::default(), &specs, Vec::new()).unwrap();
    assert_eq!(context.assets().count(), 0);
    assert_eq!(
        outcomes(&context),
        [
            (0, "a", DecisionKind::Excluded, "content not found in the prompt", None),
            (1, "b", DecisionKind::Excluded, "empty", None),
        ]
    );
}

#[test]
fn assembly_has_the_scope_of_its_channel() {
    let context =
        PreparedTurnContext::from_attributed_prompts(TOKENIZER, prompts("Be kind.", "Go on."), &[], Vec::new())
            .unwrap();
    let facts: Vec<_> = context.assets().map(|one| (one.label.as_str(), one.scope, one.included_by.as_str())).collect();
    assert_eq!(
        facts,
        [
            ("prompt assembly", Scope::Global, "provider_invocation"),
            ("prompt assembly", Scope::Task, "provider_invocation"),
        ]
    );
}

#[test]
fn a_follow_up_is_one_user_message() {
    let context = PreparedTurnContext::provider_total_only(TOKENIZER, "And now the tests.");
    assert_eq!(tiles(&context), [("user message", "And now the tests.")]);
    let asset = context.assets().next().unwrap();
    assert_eq!((asset.kind, asset.scope), (AssetKind::UserMessage, Scope::User));
    assert_eq!((asset.channel, asset.included_by.as_str()), (Channel::Task, "provider_session_input"));
    assert_eq!(context.coverage(), Coverage::ProviderTotalOnly);
    assert_eq!(context.system(), None);
    let reason = "sent as a follow-up provider-session input";
    assert_eq!(outcomes(&context), [(0, "user message", DecisionKind::Included, reason, Some(0))]);
    assert_eq!(context.decisions()[0].original_tokens, context.total_tokens());
}

#[test]
fn an_unknown_context_states_no_number() {
    let context = PreparedTurnContext::unknown();
    assert_eq!((context.coverage(), context.tokenizer()), (Coverage::Unknown, None));
    assert_eq!(context.total_tokens(), None);
    assert_eq!(context.assets().count() + context.decisions().len(), 0);
}

#[test]
fn a_spec_is_read_from_json() {
    let json = r#"{"channel":"task","kind":"memory","scope":"repo","label":"m","included_by":"h","content":"x"}"#;
    let read: AssetSpec = serde_json::from_str(json).unwrap();
    assert_eq!(
        read,
        AssetSpec { kind: AssetKind::Memory, label: "m".into(), included_by: "h".into(), ..spec("m", "x") }
    );
    let written = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<AssetSpec>(&written).unwrap(), read);

    let misspelled = json.replace("\"content\"", "\"match_all_occurences\":true,\"content\"");
    let error = serde_json::from_str::<AssetSpec>(&misspelled).unwrap_err().to_string();
    assert!(error.contains("match_all_occurences"), "{error}");
}

#[test]
fn an_invocation_does_not_show_its_arguments() {
    let context = PreparedTurnContext::unknown();
    let invocation = ProviderInvocation { context, argv: vec!["agent".into(), "--key=hunter2".into()] };
    assert!(!format!("{invocation:?}").contains("hunter2"));
}
