"""Checks: does an environment keep its contract, and how large and fast is it?"""

from goexplore.checks._check import CheckReport, Proven, check_env, require_env
from goexplore.checks._contract import Check

__all__ = ["Check", "CheckReport", "Proven", "check_env", "require_env"]
