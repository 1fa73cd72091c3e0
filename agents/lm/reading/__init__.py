"""Reading replies: `parsing` is the entry.

`thinking` removes thoughts, `objects` finds JSON in any text, `fields` chooses the object that is the reply, `orders`
and `messages` interpret it, `issues` lists what is not used. `schemas` has the schema that a reply should match.
"""
