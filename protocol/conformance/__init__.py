"""The compliance checks: numbered steps to run on any bot or engine. `ggp check` runs all of them.

Here is what is asked and what must come back; no judgement of play, and no I/O of its own.
"""

from ggp.protocol.conformance.bots import BOT
from ggp.protocol.conformance.catalogue import catalogue, checks_for, run_checks
from ggp.protocol.conformance.checks import RULES, Check, CheckVerdict, Demand, Finding, Rule, RuleSource, rule_of
from ggp.protocol.conformance.engines import ENGINE
from ggp.protocol.conformance.framing import FRAMING

__all__ = [
    "BOT",
    "ENGINE",
    "FRAMING",
    "RULES",
    "Check",
    "CheckVerdict",
    "Demand",
    "Finding",
    "Rule",
    "RuleSource",
    "catalogue",
    "checks_for",
    "rule_of",
    "run_checks",
]
