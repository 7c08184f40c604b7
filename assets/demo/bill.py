"""Shares a bill among friends."""


def split_bill(cents, people):
    """Returns what each of `people` pays of `cents`."""
    return [cents // people] * people


def with_tip(cents, percent):
    """Returns the bill with a tip, rounded to whole cents."""
    return cents + round(cents * percent / 100)
