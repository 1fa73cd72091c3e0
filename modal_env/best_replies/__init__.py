"""All that agents up to a depth can do against given opponents, and certificates of best replies."""

from modal_env.best_replies.certificates import Certificate, certify, faults
from modal_env.best_replies.search import CALLS, FoundReply, replies

__all__ = ["CALLS", "Certificate", "FoundReply", "certify", "faults", "replies"]
