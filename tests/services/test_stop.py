"""Several cancels of one run, and one that came too late."""

from services.decision import Stop, joined


def test_the_first_cancel_says_who_and_an_undo_is_not_taken_back() -> None:
    anna, ben = Stop(who="anna", undo=True, invocation="inv_1"), Stop(who="ben", invocation="inv_1")
    assert joined(None, anna) == anna
    assert joined(anna, ben) == anna
    assert joined(ben, anna) == Stop(who="ben", undo=True, invocation="inv_1")


def test_a_cancel_of_an_earlier_invocation_does_not_count() -> None:
    late, now = Stop(who="anna", undo=True, invocation="inv_1"), Stop(who="ben", invocation="inv_2")
    assert joined(late, now) == now
