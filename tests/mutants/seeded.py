"""Bugs that a person could make, each with the claim it breaks and the tests that must see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

JOURNAL, LEASE = "tests/state/test_journal.py::", "tests/state/test_lease.py::"
RECOVER, TAKEN = (f"tests/apply/test_{name}.py::" for name in ("recover", "taken"))
GONE, STORMS = (f"tests/observe/test_{name}.py::" for name in ("gone", "storms"))
MEDDLING = "tests/apply/test_meddling.py::"
RETRY, PACING = "tests/client/test_client_retry.py::", "tests/client/test_client_pacing.py::"
TRANSFERS = "tests/transfers/test_"
ORDER, GRAPH = "tests/plan/test_order.py::", "tests/plan/test_graph.py::"


@dataclass(frozen=True)
class Bug:
    """With `new` in place of `old`, which the file has exactly once, `claim` no longer holds, and one of `tests` fails."""

    file: str
    old: str
    new: str
    claim: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}-{self.claim}"

    def applied(self, text: str) -> str:
        """The text of the file with the bug; ValueError where `old` is not in it exactly once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{text.count(self.old)} times in {self.file}: {self.old!r}")
        return text.replace(self.old, self.new)


def _bug(module: str, old: str, new: str, claim: str, *tests: str) -> Bug:
    return Bug(f"reconciler/{module.replace('.', '/')}.py", old, new, claim, tests)


BUGS: Final = (
    # -- the journal: no request without an intent, no outcome twice, nothing without the lease ---------------------------------------
    _bug(
        "state.journal",
        "self._lease.check(connection)\n            if raises",
        "if raises",
        "every transaction checks the lease",
        f"{JOURNAL}test_after_the_lease_nothing_is_written[sqlite]",
    ),
    _bug(
        "state.journal",
        'if ending.status != "in-doubt"',
        "if ending.status",
        "what is in doubt stays open for the next run",
        f"{JOURNAL}test_every_ending_but_in_doubt_closes_an_intent",
    ),
    _bug(
        "state.journal",
        "self._failed = self._failed or failure",
        "self._failed = None",
        "a database that failed once stops all writing",
        f"{JOURNAL}test_a_journal_that_failed_once_takes_no_intent_any_more[sqlite]",
    ),
    _bug(
        "state.reading",
        'if row.verb == "delete":',
        'if row.verb == "erase":',
        "what was deleted lately need not be in any list",
        "tests/state/test_journal.py::test_what_was_deleted_after_that_need_not_be_in_any_list",
    ),
    _bug(
        "state.journal",
        "id=last + index",
        "id=index",
        "an intent's id is never given twice",
        f"{JOURNAL}test_ids_of_intents_grow_over_runs_and_carry_the_run[sqlite]",
    ),
    _bug(
        "state.journal",
        'if waiting:\n            wrong = f"intent {min(waiting)} is not open',
        'if waiting and not endings:\n            wrong = f"intent {min(waiting)} is not open',
        "an intent ends once",
        f"{JOURNAL}test_an_intent_that_ended_does_not_end_again",
    ),
    _bug(
        "state.journal",
        "for step in (aside, back):",
        "for step in (aside,):",
        "places below a renamed address follow it",
        f"{JOURNAL}test_renaming_keeps_fields_and_moves_the_places_below[sqlite]",
    ),
    _bug(
        "state.journal",
        "serial = serial + 1",
        "serial = serial + 0",
        "each record of a run raises the serial, which pushes and saved plans are held against",
        f"{JOURNAL}test_the_serial_grows_with_each_record_of_a_run[sqlite]",
    ),
    _bug(
        "state.journal",
        '"DELETE FROM open_intents WHERE state = :state',
        '"DELETE FROM open_intents WHERE state = :state AND 1 = 0',
        "what ended is not recovered again",
        f"{JOURNAL}test_every_ending_but_in_doubt_closes_an_intent",
    ),
    _bug(
        "state.journal",
        "rows.bind(connection, self._state, bind, stored)",
        "pass",
        "an outcome and its binding are one transaction",
        f"{JOURNAL}test_an_ending_binds_forgets_and_sees_in_one_transaction[sqlite]",
    ),
    # -- the lease ----------------------------------------------------------------------------------------------------------------------
    _bug(
        "state.lease",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        "one run at a time",
        f"{LEASE}test_a_second_lease_in_the_same_process_is_locked_out[sqlite]",
    ),
    _bug(
        "state.lease",
        ", state=self.state) == self.epoch",
        ", state=self.state) is not None",
        "a run that was taken for dead writes nothing more",
        f"{LEASE}test_a_run_that_was_taken_for_dead_writes_nothing_more[sqlite]",
    ),
    _bug(
        "state.lease",
        "os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW",
        "os.O_CREAT | os.O_CLOEXEC",
        "a lock file that is a link is not followed",
        f"{LEASE}test_a_lock_file_that_is_a_link_is_not_followed",
    ),
    _bug(
        "state.lease",
        "self._ended.set()\n                if renewing",
        "if renewing",
        "after its block a lease is no leave to write",
        f"{JOURNAL}test_after_the_lease_nothing_is_written[sqlite]",
    ),
    _bug(
        "signals",
        "if self._waiting and not self._blocks:",
        "if self._waiting and self._blocks:",
        "what waited for a block comes at its end",
        f"{LEASE}test_a_signal_while_a_lease_is_taken_or_given_back_leaves_none_behind[sqlite]",
    ),
    # -- recovery -----------------------------------------------------------------------------------------------------------------------
    _bug(
        "apply.recover",
        "max(left, BETWEEN_READINGS)",
        "BETWEEN_READINGS",
        "an absence is believed only after the deadline and the settle time",
        f"{RECOVER}test_absence_is_believed_only_after_deadline_and_settle_time",
    ),
    _bug(
        "apply.recover",
        "await wait(max(left",
        "recovery.date or await wait(max(left",
        "an undefined value yet is waited for",
        f"{RECOVER}test_absence_is_believed_only_after_deadline_and_settle_time",
    ),
    _bug(
        "apply.recover",
        "await recovery.look(group, final=True)",
        "[recovery._close(intent) for intent in group]",
        "an absence is read twice",
        f"{RECOVER}test_a_late_delete_is_seen_before_its_address_is_planned",
    ),
    _bug(
        "apply.recover",
        "if len(created) > 1 or not certain:",
        "if not certain:",
        "several that could be it stop",
        f"{RECOVER}test_several_that_match_stop_and_are_listed",
    ),
    _bug(
        "apply.recover",
        "if len(mine) > len(intents):",
        "if len(mine) > 9 * len(intents):",
        "more copies than were asked for stop",
        f"{RECOVER}test_more_copies_than_were_asked_for_stop",
    ),
    _bug(
        "apply.recover",
        "if len(mine) < len(intents) and not final:",
        "if not mine and not final:",
        "a copy that is still missing is waited for though another is there",
        f"{RECOVER}test_a_copy_that_is_still_missing_is_waited_for_though_another_is_there",
    ),
    _bug(
        "apply.recover",
        "self.journal.hold(intent.kind, intent.address.container)",
        "pass",
        "where a list could not be read nothing is made in it",
        f"{RECOVER}test_where_a_list_could_not_be_read_nothing_else_is_made_in_it",
    ),
    _bug(
        "apply.recover",
        "        if final:\n            self._close(intent)\n        return final",
        "        self._close(intent)\n        return True",
        "a write that is not seen may still come",
        f"{RECOVER}test_an_update_that_is_not_seen_is_planned_again_only_when_it_can_no_longer_arrive",
    ),
    _bug(
        "apply.recover",
        "            except NotFound:\n                return Sight(None)",
        "            except ServiceError:\n                return Sight(None)",
        "what could not be read is not gone",
        f"{RECOVER}test_an_object_that_cannot_be_read_is_neither_there_nor_gone",
    ),
    # -- evidence -----------------------------------------------------------------------------------------------------------------------
    _bug(
        "apply.evidence",
        "(observed.id not in intent.known or ",
        "(observed.id or ",
        "what was there before is not ours",
        f"{RECOVER}test_an_object_that_was_there_before_is_not_ours",
    ),
    _bug(
        "apply.evidence",
        "    ranked.pop(NameEvidence.NONE, None)\n",
        "",
        "what a create made carries its natural key",
        f"{RECOVER}test_a_new_object_of_another_natural_key_is_not_ours",
    ),
    _bug(
        "apply.evidence",
        "(observed.id not in intent.known or upsert) and (kind.name, observed.id) not in bound:",
        "(observed.id not in intent.known or upsert):",
        "what is bound to another address is not ours",
        f"{RECOVER}test_an_object_tracked_elsewhere_is_not_ours",
    ),
    _bug(
        "apply.evidence",
        'now is None or intent.verb == "move"',
        "now is None",
        "an order is not told by one object",
        f"{RECOVER}test_an_object_in_the_right_collection_may_still_be_moved_within_it",
    ),
    _bug(
        "apply.evidence",
        'return [tree.get("title"), tree.get("slug"), outline(tree.get("pages"))]',
        'return [tree.get("title"), tree.get("slug")]',
        "a copy has its source's pages",
        f"{RECOVER}test_a_copy_whose_pages_differ_is_somebody_elses",
    ),
    _bug(
        "apply.evidence",
        "return bool(shown) and all(",
        "return bool(shown) or all(",
        "an update was done when its values are there",
        f"{RECOVER}test_an_update_that_is_not_seen_is_planned_again_only_when_it_can_no_longer_arrive",
    ),
    # -- retry --------------------------------------------------------------------------------------------------------------------------
    _bug(
        "client.retry",
        "case RetryClass.CREATE:\n            return _UNKNOWN",
        "case RetryClass.CREATE:\n            return _UNKNOWN_AGAIN",
        "a create whose end is not known is not sent again",
        f"{RETRY}test_each_class_answers_each_failure_as_the_table_says",
    ),
    _bug(
        "client.retry",
        "case AttemptFault.NOT_SENT | 429:",
        "case AttemptFault.NOT_SENT | AttemptFault.BROKEN | 429:",
        "only what provably never was sent is as if it had not been",
        f"{RETRY}test_each_class_answers_each_failure_as_the_table_says",
    ),
    _bug(
        "client.retry",
        "if in_doubt and not (",
        "if in_doubt and result == 503 and not (",
        "a write stays in doubt whatever later attempts are answered",
        f"{RETRY}test_a_write_stays_in_doubt_whatever_later_attempts_are_answered",
    ),
    _bug(
        "client.retry",
        "case int() if 400 <= result <= 499 and result != 408:",
        "case int() if 400 <= result <= 499:",
        "a 408 may have been carried out",
        f"{RETRY}test_each_class_answers_each_failure_as_the_table_says",
    ),
    _bug(
        "client.retry",
        "max(BUDGET_MIN, BUDGET_SHARE * requests)",
        "BUDGET_MIN + requests",
        "an outage does not multiply the load",
        f"{RETRY}test_the_budget_grants_twenty_retries_and_then_a_fifth_of_the_requests",
    ),
    _bug(
        "client.retry",
        "elif sent >= self._row_began:",
        "else:",
        "a reset that cuts many connections is one failure",
        f"{RETRY}test_a_reset_that_cuts_many_connections_at_once_is_one_failure",
    ),
    # -- pacing -------------------------------------------------------------------------------------------------------------------------
    _bug(
        "client.pacing",
        "        if ticket.at < self._cut_at:\n            return  # sent before the last cut: the same wave\n",
        "",
        "a wave of 429s slows down once",
        f"{PACING}test_the_429s_of_one_wave_slow_down_once",
    ),
    _bug(
        "client.pacing",
        "        if ticket.quota:\n            ticket.quota.remaining -= 1\n",
        "",
        "requests that were lost count as taken",
        f"{PACING}test_requests_that_were_lost_count_as_taken",
    ),
    _bug(
        "client.pacing",
        "if now + max(0.0, wait) > until:",
        "if now > until:",
        "a write whose deadline ends before its turn is not sent",
        f"{PACING}test_a_write_whose_deadline_ends_before_the_reset_fails_at_once_and_was_not_sent",
    ),
    _bug(
        "client.pacing",
        "max(self._next_slot, now - CATCH_UP) + 1.0 / rate",
        "max(self._next_slot, now - 1.0) + 1.0 / rate",
        "the rate that was asked for is never exceeded",
        f"{PACING}test_max_rps_is_never_exceeded",
    ),
    _bug(
        "client.pacing",
        "                other.quota = quota\n                quota.under_way += 1",
        "                pass",
        "what was sent before the limit was told counts against it",
        f"{PACING}test_requests_sent_before_the_limit_was_known_count_against_it",
    ),
    # -- applying -----------------------------------------------------------------------------------------------------------------------
    _bug(
        "apply.step",
        'retry = RetryClass.CREATE if step.create_like or step.verb == "transfer" else RetryClass.IDEMPOTENT',
        "retry = RetryClass.IDEMPOTENT",
        "a create is never sent twice",
        f"{RECOVER}test_a_create_without_an_answer_is_sent_once",
    ),
    _bug(
        "apply.step",
        "if left <= 0:",
        "if self.sent and left <= 0:",
        "a run that stood still past its deadline sends nothing",
        f"{RECOVER}test_a_run_that_stood_still_past_its_deadline_sends_nothing",
    ),
    _bug(
        "apply.step",
        "min(task.options.deadline, SEND_SECONDS_MAX)",
        "max(task.options.deadline, SEND_SECONDS_MAX)",
        "a request is over before another run can hold the lease",
        f"{RECOVER}test_a_deadline_is_over_before_another_run_can_hold_the_lease",
    ),
    _bug(
        "apply.step",
        "            self.answers.expected.note_in_doubt(kind, str(intent.target), writes)\n",
        '            self.group.settle(IntentEnding(intent.id, "failed", error.message))\n',
        "what is ambiguous stays open until it is read",
        f"{RECOVER}test_a_create_without_an_answer_is_sent_once",
    ),
    _bug(
        "apply.answer",
        "        if not is_kind(kind, raw):\n            wrong = f",
        "        if not is_kind(kind, raw):\n"
        '            self.group.settle(IntentEnding(intent.id, "failed", "odd"))\n'
        '            return StepResult(step, StepStatus.FAILED, "odd")\n            wrong = f',
        "a create answered by something else is in doubt",
        f"{RECOVER}test_an_answer_that_is_something_else_leaves_a_create_in_doubt_until_it_is_read",
    ),
    _bug(
        "apply.answer",
        "or field.role is FieldRole.CHOICE or field.same(value, sent, sent):",
        "or field.role is FieldRole.CHOICE or value is not UNSET:",
        "what does not come back as it was sent has failed",
        f"{TAKEN}test_an_update_that_does_not_come_back_has_failed",
    ),
    _bug(
        "apply.answer",
        "taken = {name: value for name, value in writes.items() if name not in refused}",
        "taken = dict(writes)",
        "what was not taken is not remembered as sent",
        f"{TAKEN}test_an_object_created_with_other_values_is_tracked_and_failed_and_never_created_twice",
    ),
    _bug(
        "apply.answer",
        "        binding = bound_as(",
        '        if refused:\n            self.group.settle(IntentEnding(intent.id, "failed", "not taken"))\n'
        '            return StepResult(step, StepStatus.FAILED, "not taken")\n        binding = bound_as(',
        "the id is stored whatever else the answer says",
        f"{TAKEN}test_an_object_created_with_other_values_is_tracked_and_failed_and_never_created_twice",
    ),
    _bug(
        "apply.preconditions",
        "return self.reader.monotonic() - at > self.fresh",
        "return self.reader.monotonic() - at > 1000 * self.fresh",
        "what was read long ago is read again before it is written",
        f"{MEDDLING}test_what_was_read_within_ten_seconds_is_not_read_again_and_later_one_reading_serves_all",
    ),
    _bug(
        "apply.preconditions",
        "return old and self._takes_contents(step)",
        "return False and self._takes_contents(step)",
        "what a delete takes along is counted again",
        f"{MEDDLING}test_the_contents_of_a_delete_are_counted_again_however_fresh_the_reading_is",
    ),
    _bug(
        "apply.preconditions",
        "if key in self._unread:",
        "if key in self._unread and step.verb == 'delete':",
        "what cannot be read again is not written",
        f"{MEDDLING}test_what_cannot_be_read_again_is_not_written",
    ),
    _bug(
        "apply.run",
        "if result.status is StepStatus.DONE:",
        "if result.status is not StepStatus.FAILED:",
        "what needs a step in doubt waits",
        f"{RECOVER}test_a_create_without_an_answer_is_sent_once",
    ),
    _bug(
        "apply.run",
        "run.steps.sent and not interrupted",
        "run.steps.sent and interrupted",
        "what was written is read again",
        f"{MEDDLING}test_what_somebody_changes_after_our_write_is_reported_and_never_remembered_as_ours",
    ),
    # -- the order of siblings ------------------------------------------------------------------------------------------------------------
    _bug(
        "plan.siblings.moves",
        "behind = previous >= 0 and is_narrow[previous]",
        "behind = previous >= 0",
        "only what the service can place beside is an anchor",
        f"{ORDER}test_only_anchors_that_stand_for_good_are_used",
    ),
    _bug(
        "plan.siblings.moves",
        "rest = max(behind_narrow.behind(place), behind_wide.behind(place))",
        "rest = behind_narrow.behind(place)",
        "as many stay as can",
        f"{ORDER}test_where_nothing_is_narrow_everything_but_the_longest_rising_run_moves",
    ),
    _bug(
        "plan.siblings.moves",
        "settled = narrow[0] if narrow else right",
        "settled = right",
        "the moves lead to the wanted order",
        f"{ORDER}test_the_moves_lead_to_the_wanted_order",
    ),
    _bug(
        "plan.siblings.moves",
        "places = [None if item in moving else positions[item] for item in wanted]",
        "places = [positions.get(item) for item in wanted]",
        "what must move moves",
        f"{ORDER}test_what_must_move_moves_and_nothing_moves_twice",
    ),
    # -- the graph of steps ---------------------------------------------------------------------------------------------------------------
    _bug(
        "plan.steps.graph",
        "in self._needed_by[ahead.pop()]:",
        "in self._followers[ahead.pop()]:",
        "what only comes after a failure runs",
        f"{GRAPH}test_what_comes_after_a_failure_runs_and_what_needs_it_does_not",
    ),
    _bug(
        "plan.steps.graph",
        "        for follower in skipped:\n            self._end(",
        "        for follower in skipped[:1]:\n            self._end(",
        "what is skipped has ended",
        f"{GRAPH}test_a_schedule_runs_each_step_when_its_edges_allow_and_skips_exactly_what_needs_a_failure",
    ),
    _bug(
        "plan.steps.graph",
        "waiting = {node: len(edges.all) for node, edges in nodes.items()}",
        "waiting = {node: len(edges.needs) for node, edges in nodes.items()}",
        "nothing stands before what it comes after",
        f"{GRAPH}test_every_node_comes_after_those_that_it_waits_for",
    ),
    # -- what is gone ---------------------------------------------------------------------------------------------------------------------
    _bug(
        "plan.matching.missing",
        "max(AT_LEAST, int(SHARE * len(state.bindings)))",
        "max(AT_LEAST, len(state.bindings))",
        "much that is gone at once is an outage",
        f"{GONE}test_more_than_three_and_a_tenth_at_once_is_refused_and_can_be_accepted",
    ),
    _bug(
        "plan.matching.missing",
        "if at.container is None or not matches[at.container].gone}",
        "if at}",
        "what went with its container counts once",
        f"{GONE}test_a_deleted_site_counts_once_however_much_went_with_it",
    ),
    _bug(
        "observe.missing",
        "range(1 if self.survey.is_absent(kind, id) else 2)",
        "range(0 if self.survey.is_absent(kind, id) else 1)",
        "gone is what was not found twice",
        f"{GONE}test_what_is_not_in_the_list_is_asked_for_by_its_id_twice_and_somebody_vouches",
    ),
    _bug(
        "observe.missing",
        "if witness is not None and not await self._answers(*witness):",
        "if witness is None and not others:",
        "an absence needs another object that answers",
        f"{GONE}test_without_another_tracked_object_that_answers_by_id_it_is_unknown",
    ),
    _bug(
        "observe.missing",
        "PAUSE: Final = 1.0",
        "PAUSE: Final = 0.0",
        "two listings that must agree are a second apart",
        f"{GONE}test_an_object_without_a_read_by_id_is_absent_if_two_listings_a_second_apart_lack_it",
    ),
    _bug(
        "run.guards",
        "if len(changes) <= most:",
        "if len(changes) <= most + 1:",
        "a plan that deletes one more than it may is refused",
        "tests/run/test_guards.py::test_more_are_refused_and_the_number_to_pass_is_said",
    ),
    # -- transfers: nobody else's people, nothing lost on the way -----------------------------------------------------------------------
    _bug(
        "plan.transfers",
        "replace(decide(world, matches), unsettled=unsettled)",
        "decide(world, matches)",
        "a transfer that has to wait keeps its address in the state",
        f"{TRANSFERS}lines.py::test_where_one_of_the_organizations_cannot_be_read_the_state_keeps_the_address[org_acme]",
    ),
    _bug(
        "plan.transfers",
        "self._shows_another(draft, id)",
        "False",
        "a variant that shows another space stops showing the one that is transferred",
        f"{TRANSFERS}guards.py::test_a_variant_that_shows_another_space_does_so_before_the_transfer",
    ),
    _bug(
        "plan.audience.readers",
        " and self.of in (None, other.of)",
        "",
        "members of another organization are other people",
        f"{TRANSFERS}guards.py::test_a_transfer_says_who_gains_and_who_loses_access",
    ),
    _bug(
        "plan.siblings.rows",
        "(draft.address in movable and _never_placed(draft))",
        "_never_placed(draft)",
        "a run about some siblings moves no others",
        "tests/plan/test_targets.py::test_siblings_of_unknown_position_are_not_moved[a]",
    ),
)
