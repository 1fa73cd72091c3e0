"""All that agents up to a depth can do against given opponents."""

from modal_env.best_replies.search import CALLS, FoundReply, replies

__all__ = ["CALLS", "FoundReply", "replies"]
