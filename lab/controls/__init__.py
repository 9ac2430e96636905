"""Workers of the lab's own that lack something on purpose: each must fail where the real agent must not.

Rule: they share the mocks with the agent and no code with it.
"""
