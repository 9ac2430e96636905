"""Which intent a call is, which key it has, and whether it may leave."""

from dataclasses import replace
from uuid import UUID

import pytest

from services.authority import approval_needed
from services.calls import Call
from services.ledger import (
    AskFirst,
    Beyond,
    Go,
    Ledger,
    Plan,
    Read,
    Resolve,
    Same,
    Say,
    changed_declarations,
    plan,
    plan_undo,
)
from services.messages import Choice, Grant, Intent, IntentState, Ruling
from services.phrases import summary, unkeyed
from tools import TOOLS, registry
from tools.tool import Approval, Repeat, Tool

ROOT = UUID("7f3c1b1e-0c57-4d0e-9d1e-0a9a5c1d2e3f")
TOOLSET = registry(TOOLS)


def ask(name: str = "charge_card", turn: int = 1, index: int = 0, **arguments: object) -> Call:
    if name == "charge_card":
        arguments = {"customer_id": "cus_1", "amount_cents": 100, "currency": "EUR", "memo": "", **arguments}
    return Call(turn, index, "id", name, dict(arguments), None)  # type: ignore[arg-type]


def planned(
    ledger: Ledger, *calls: Call, grant: Grant | None = None, tools: dict[str, Tool] | None = None
) -> tuple[Ledger, list[Plan]]:
    plans = []
    for call in calls:
        ledger, made = plan(ledger, call, tools or TOOLSET, grant or Grant(), {})
        plans.append(made)
    return ledger, plans


def fresh() -> Ledger:
    return Ledger(ROOT, 1)


def intent_of(made: Plan) -> Intent:
    assert isinstance(made, Go | AskFirst | Resolve)
    return made.intent


def with_state(ledger: Ledger, key: str, state: IntentState, **more: object) -> Ledger:
    return ledger.put(ledger.rows[key].model_copy(update={"state": state, **more}))


def next_pass(ledger: Ledger) -> Ledger:
    return replace(ledger, pass_number=ledger.pass_number + 1, asked={})


def test_the_key_depends_on_the_root_the_tool_the_identity_and_the_occurrence_only() -> None:
    ledger = fresh()
    key = ledger.key("charge_card", {"a": 1, "b": 2}, 1)
    assert key == ledger.key("charge_card", {"b": 2, "a": 1}, 1)
    others = {
        ledger.key("charge_card", {"a": 1, "b": 2}, 2),
        ledger.key("charge_card", {"a": 1, "b": 3}, 1),
        ledger.key("refund_payment", {"a": 1, "b": 2}, 1),
        Ledger(UUID(int=1), 1).key("charge_card", {"a": 1, "b": 2}, 1),
    }
    assert key not in others and len(others) == 4


def test_words_that_are_no_identity_make_no_second_intent() -> None:
    ledger, (first,) = planned(fresh(), ask(memo="first"))
    ledger = with_state(ledger, intent_of(first).key, IntentState.DONE, result="paid")
    _, (second,) = planned(next_pass(ledger), ask(memo="other words"))
    assert second == Say("paid")


def test_the_same_ids_and_other_arguments_are_other_intents() -> None:
    _, (one, two) = planned(fresh(), ask(customer_id="a"), ask(customer_id="b"))
    assert isinstance(one, Go) and isinstance(two, Go) and one.intent.key != two.intent.key


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (IntentState.DONE, Say),
        (IntentState.DENIED, Say),
        (IntentState.GIVEN_UP, Say),
        (IntentState.ARMED, Resolve),
        (IntentState.UNKNOWN, Resolve),
        (IntentState.WAITING, AskFirst),
        (IntentState.PROPOSED, AskFirst),
        (IntentState.NOT_SENT, Go),
        (IntentState.REJECTED, Go),
    ],
)
def test_what_an_ask_of_a_further_pass_gets(state: IntentState, kind: type[Plan]) -> None:
    ledger, (first,) = planned(fresh(), ask())
    key = intent_of(first).key
    _, (second,) = planned(next_pass(with_state(ledger, key, state)), ask())
    assert isinstance(second, kind)
    if state is IntentState.REJECTED:
        assert intent_of(second).occurrence == 2 and intent_of(second).key != key
    elif isinstance(second, Go | AskFirst | Resolve):
        assert intent_of(second).key == key


@pytest.mark.parametrize(("repeat", "kind"), [(Repeat.ASK, AskFirst), (Repeat.ALLOW, Go), (Repeat.REUSE, Same)])
def test_a_second_ask_in_the_same_pass_follows_the_tools_repeat(repeat: Repeat, kind: type[Plan]) -> None:
    tools = {**TOOLSET, "charge_card": replace(TOOLSET["charge_card"], repeat=repeat)}
    _, (first, second) = planned(fresh(), ask(), ask(index=1), tools=tools)
    assert isinstance(first, Go) and isinstance(second, kind)
    if isinstance(second, AskFirst):
        assert first.intent.key in second.because


@pytest.mark.parametrize("state", [IntentState.UNKNOWN, IntentState.GIVEN_UP])
def test_what_may_have_happened_is_not_asked_for_under_another_key(state: IntentState) -> None:
    ledger, (first,) = planned(fresh(), ask())
    _, (second,) = planned(with_state(ledger, intent_of(first).key, state), ask(turn=2))
    assert isinstance(second, Say) and "unknown" in second.text


def test_a_rejected_effect_may_be_asked_for_again_without_a_person() -> None:
    ledger, (first,) = planned(fresh(), ask())
    _, (second,) = planned(with_state(ledger, intent_of(first).key, IntentState.REJECTED), ask(turn=2))
    assert isinstance(second, Go) and second.intent.occurrence == 2


def test_what_was_not_sent_keeps_its_key_when_it_is_asked_for_again() -> None:
    ledger, (first,) = planned(fresh(), ask())
    _, (second,) = planned(with_state(ledger, intent_of(first).key, IntentState.NOT_SENT), ask(turn=2))
    assert isinstance(second, Go) and second.intent.key == intent_of(first).key


def test_a_read_has_no_row_and_is_never_held_back() -> None:
    ledger, plans = planned(fresh(), ask("look_up_order", order_id="1"), ask("look_up_order", order_id="1"))
    assert all(isinstance(made, Read) for made in plans) and not ledger.rows


class TestGrant:
    def test_a_tool_outside_it_is_not_run(self) -> None:
        _, (made,) = planned(fresh(), ask(), grant=Grant(tools=("look_up_order",)))
        assert isinstance(made, Beyond) and "may use only look_up_order" in made.text

    def test_the_total_is_reserved_in_the_order_of_the_calls(self) -> None:
        grant = Grant(total_cents=250)
        _, plans = planned(fresh(), *(ask(customer_id=f"c{n}") for n in range(4)), grant=grant)
        assert [type(made) for made in plans] == [Go, Go, Beyond, Beyond]

    @pytest.mark.parametrize(
        ("state", "counts"),
        [
            (IntentState.DONE, True),
            (IntentState.UNKNOWN, True),
            (IntentState.ARMED, True),
            (IntentState.WAITING, True),
            (IntentState.GIVEN_UP, True),
            (IntentState.DENIED, False),
            (IntentState.REJECTED, False),
            (IntentState.NOT_SENT, False),
        ],
    )
    def test_what_counts_over_all_passes(self, state: IntentState, counts: bool) -> None:
        ledger, (first,) = planned(fresh(), ask(customer_id="a"))
        ledger = next_pass(with_state(ledger, intent_of(first).key, state))
        _, (second,) = planned(ledger, ask(customer_id="b"), grant=Grant(total_cents=150))
        assert isinstance(second, Beyond) is counts

    def test_what_was_not_sent_takes_its_part_of_the_grant_again(self) -> None:
        ledger, (first,) = planned(fresh(), ask(customer_id="a"))
        ledger = with_state(ledger, intent_of(first).key, IntentState.NOT_SENT)
        grant = Grant(total_cents=100)
        _, (other, again) = planned(ledger, ask(customer_id="b", turn=2), ask(customer_id="a", turn=2), grant=grant)
        assert isinstance(other, Go) and isinstance(again, Beyond)

    def test_one_effect_and_the_currency_have_limits(self) -> None:
        _, (made,) = planned(fresh(), ask(amount_cents=101), grant=Grant(each_cents=100))
        assert isinstance(made, Beyond) and "101 cents is above the 100" in made.text
        _, (made,) = planned(fresh(), ask(currency="USD"), grant=Grant(currency="EUR"))
        assert isinstance(made, Beyond) and "EUR only" in made.text

    @pytest.mark.parametrize(("grant", "leaves"), [(Grant(currency="EUR"), False), (Grant(each_cents=100), True)])
    def test_what_does_not_say_its_currency_is_not_within_one(self, grant: Grant, leaves: bool) -> None:
        refund = ask("refund_payment", payment_id="pay_1", amount_cents=100, reason="")
        _, (made,) = planned(fresh(), refund, grant=grant)
        assert isinstance(made, Go if leaves else Beyond)
        if isinstance(made, Beyond):
            assert "EUR only" in made.text and "refund_payment does not say in which currency" in made.text

    def test_an_amount_below_zero_moves_as_much_and_makes_no_room(self) -> None:
        _, (made,) = planned(fresh(), ask(amount_cents=-101), grant=Grant(each_cents=100))
        assert isinstance(made, Beyond) and "101 cents is above the 100" in made.text
        back, more = ask(customer_id="a", amount_cents=-100), ask(customer_id="b", amount_cents=101)
        _, plans = planned(fresh(), back, more, grant=Grant(total_cents=200))
        assert [type(each) for each in plans] == [Go, Beyond]
        _, (asked,) = planned(fresh(), ask(amount_cents=-101), grant=Grant(approve_above_cents={"charge_card": 100}))
        assert isinstance(asked, AskFirst)

    def test_a_currency_holds_nothing_back_that_moves_no_money(self) -> None:
        _, (made,) = planned(fresh(), ask("send_sms", to="+491", text="x"), grant=Grant(currency="EUR"))
        assert isinstance(made, Go)

    def test_a_refused_amount_is_refused_before_a_person_is_asked(self) -> None:
        grant = Grant(each_cents=50, approve_above_cents={"charge_card": -1})
        _, (made,) = planned(fresh(), ask(), grant=grant)
        assert isinstance(made, Beyond)


@pytest.mark.parametrize(("limit", "asks"), [(-1, True), (0, True), (99, True), (100, False)])
def test_an_approval_is_needed_above_the_limit(limit: int, asks: bool) -> None:
    _, (made,) = planned(fresh(), ask(), grant=Grant(approve_above_cents={"charge_card": limit}))
    assert isinstance(made, AskFirst) is asks


def test_the_grant_can_tighten_the_settings_and_not_loosen_them() -> None:
    grant = Grant(approve_above_cents={"charge_card": 1_000_000})
    _, made = plan(fresh(), ask(), TOOLSET, grant, {"charge_card": 50})
    assert isinstance(made, AskFirst)


@pytest.mark.parametrize(
    ("approval", "arguments", "because"),
    [
        (Approval(argument="cents", above=100), {"cents": 100}, None),
        (Approval(argument="cents", above=100), {"cents": 101}, "101 is above the 100"),
        (Approval(argument="cents", above=100), {}, "each time"),
        (Approval(argument="cents", above=100), {"cents": "5"}, "each time"),
        (Approval(always=True), {}, "each time"),
        (Approval(always=True, argument="cents", above=100), {"cents": 1}, "each time"),
        (None, {"cents": 101}, None),
    ],
)
def test_what_a_tool_declares_needs_an_approval(
    approval: Approval | None, arguments: dict[str, int | str], because: str | None
) -> None:
    _, (first,) = planned(fresh(), ask())
    row = intent_of(first).model_copy(update={"arguments": arguments, "amount_cents": None})
    said = approval_needed(replace(TOOLSET["charge_card"], approval=approval), row, Grant(), {})
    assert because in str(said) if because else said is None


def test_an_approval_of_what_was_not_sent_holds_for_its_pass_only() -> None:
    ledger, (first,) = planned(fresh(), ask())
    ruling = Ruling(key="k", choice=Choice.APPROVE, who="ann", at=1.0)
    ledger = with_state(ledger, intent_of(first).key, IntentState.NOT_SENT, rulings=(ruling,))
    grant = Grant(approve_above_cents={"charge_card": -1})
    _, (same,) = planned(replace(ledger, asked={}), ask(), grant=grant)
    _, (further,) = planned(next_pass(ledger), ask(), grant=grant)
    assert isinstance(same, Go) and isinstance(further, AskFirst)
    assert intent_of(same).key == intent_of(further).key


class TestAGrantThatIsNarrowerInAFurtherPass:
    @pytest.mark.parametrize("state", [IntentState.PROPOSED, IntentState.WAITING, IntentState.NOT_SENT])
    def test_refuses_what_has_not_left_and_takes_its_part_back(self, state: IntentState) -> None:
        ledger, (first,) = planned(fresh(), ask())
        ledger = next_pass(with_state(ledger, intent_of(first).key, state))
        ledger, (made,) = planned(ledger, ask(), grant=Grant(each_cents=99))
        assert isinstance(made, Beyond) and "above the 99" in made.text
        assert made.intent is not None and made.intent.key == intent_of(first).key
        assert ledger.moved_cents(but="") == 0

    @pytest.mark.parametrize("state", [IntentState.ARMED, IntentState.UNKNOWN])
    def test_sends_nothing_again_that_may_have_happened(self, state: IntentState) -> None:
        ledger, (first,) = planned(fresh(), ask())
        ledger = next_pass(with_state(ledger, intent_of(first).key, state))
        _, (made,) = planned(ledger, ask(), grant=Grant(total_cents=99))
        assert isinstance(made, Resolve) and made.barred is not None and "may still move" in made.barred

    @pytest.mark.parametrize("state", [IntentState.WAITING, IntentState.ARMED])
    def test_its_own_part_of_the_total_is_not_counted_against_it(self, state: IntentState) -> None:
        ledger, (first,) = planned(fresh(), ask())
        ledger = next_pass(with_state(ledger, intent_of(first).key, state))
        _, (made,) = planned(ledger, ask(), grant=Grant(total_cents=100))
        assert not isinstance(made, Beyond) and not (isinstance(made, Resolve) and made.barred)


class TestTakingBack:
    def done(self) -> tuple[Ledger, Intent]:
        ledger, (first,) = planned(fresh(), ask())
        ledger = with_state(ledger, intent_of(first).key, IntentState.DONE)
        return ledger, ledger.rows[intent_of(first).key]

    def begun(self, state: IntentState) -> tuple[Ledger, Intent, Intent]:
        ledger, row = self.done()
        made = plan_undo(ledger, row, TOOLSET["charge_card"])
        assert isinstance(made, Go)
        back = made.intent.model_copy(update={"state": state, "armed_at": 5.0})
        return next_pass(ledger.put(back)), row, back

    @pytest.mark.parametrize("state", [IntentState.DONE, IntentState.GIVEN_UP])
    def test_is_not_done_again_once_it_is_final(self, state: IntentState) -> None:
        ledger, row, _ = self.begun(state)
        assert plan_undo(ledger, row, TOOLSET["charge_card"]) is None

    @pytest.mark.parametrize("state", [IntentState.ARMED, IntentState.UNKNOWN])
    def test_that_may_have_happened_goes_on_with_its_key_and_its_age(self, state: IntentState) -> None:
        ledger, row, back = self.begun(state)
        made = plan_undo(ledger, row, TOOLSET["charge_card"])
        assert isinstance(made, Resolve) and made.intent == back

    def test_that_was_not_sent_goes_under_the_same_key(self) -> None:
        ledger, row, back = self.begun(IntentState.NOT_SENT)
        made = plan_undo(ledger, row, TOOLSET["charge_card"])
        assert isinstance(made, Go) and made.intent == back

    def test_that_was_refused_is_another_one(self) -> None:
        ledger, row, back = self.begun(IntentState.REJECTED)
        made = plan_undo(ledger, row, TOOLSET["charge_card"])
        assert isinstance(made, Go) and made.intent.key != back.key and made.intent.undoes == row.key


def test_a_tool_that_is_gone_or_named_by_other_arguments_is_noticed() -> None:
    ledger, (first,) = planned(fresh(), ask())
    ledger = with_state(ledger, intent_of(first).key, IntentState.DONE)
    rows = list(ledger.rows.values())
    assert not changed_declarations(rows, TOOLSET)
    assert "no tool has that name now" in changed_declarations(rows, {})[0]
    other = {"charge_card": replace(TOOLSET["charge_card"], identity=("customer_id",))}
    assert "was identified by amount_cents, currency, customer_id" in changed_declarations(rows, other)[0]


def test_the_model_is_told_at_the_start_of_a_further_pass_what_must_not_be_repeated() -> None:
    assert summary([]) is None
    ledger, (first,) = planned(fresh(), ask())
    ledger = with_state(ledger, intent_of(first).key, IntentState.DONE)
    text = summary(ledger.rows.values())
    assert text is not None and "charge_card" in text and "must not be done again" in text
    assert "key" not in text and intent_of(first).key not in text
    back = intent_of(first).model_copy(update={"key": "k", "undoes": intent_of(first).key, "state": IntentState.DONE})
    (_, line) = str(summary([*ledger.rows.values(), back])).splitlines()
    assert line.endswith("is done, and was taken back since")


def test_what_was_taken_back_is_made_again_only_with_a_person_s_approval() -> None:
    ledger, (first,) = planned(fresh(), ask())
    done = intent_of(first)
    ledger = with_state(ledger, done.key, IntentState.DONE)
    back = done.model_copy(update={"key": "k", "identity": {"undoes": done.key}, "undoes": done.key})
    for state, kind in ((IntentState.DONE, AskFirst), (IntentState.UNKNOWN, Say)):
        further = replace(ledger.put(back.model_copy(update={"state": state})), asked={})
        _, (again,) = planned(further, ask())
        assert isinstance(again, kind)
        if isinstance(again, AskFirst):
            assert again.intent.key != done.key and "made before and taken back" in again.because


def test_keys_that_a_receiver_sends_back_are_taken_out_of_its_text() -> None:
    ledger, (first,) = planned(fresh(), ask())
    key, other = intent_of(first).key, "11111111-2222-3333-4444-555555555555"
    written = f'{{"reference":"{key}","again":"{key.upper()}","plain":"{key.replace("-", "")}","id":"{other}"}}'
    assert unkeyed(written, {**ledger.rows, key: intent_of(first)}) == (
        f'{{"reference":"(key)","again":"(key)","plain":"(key)","id":"{other}"}}'
    )
    assert unkeyed(written, {}) == written
