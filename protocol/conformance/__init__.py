"""The compliance checks for bots and engines: numbered steps without I/O. ggp.referee.tools.check runs them."""

from ggp.protocol.conformance.catalogue import catalogue
from ggp.protocol.conformance.checks import RULES, Check, CheckVerdict, Demand, Rule, RuleSource, rule_of

__all__ = ["RULES", "Check", "CheckVerdict", "Demand", "Rule", "RuleSource", "catalogue", "rule_of"]
