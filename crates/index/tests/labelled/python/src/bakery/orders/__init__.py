"""Orders."""

from .model import Order
from .desk import take, Desk

__all__ = ["Order", "take", "Desk"]
