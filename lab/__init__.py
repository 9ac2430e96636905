"""The lab: starts the real thing, hurts it on purpose, and counts what the outside world saw.

Rule: black box. It knows processes, ports and the mocks' rows; never what the services or the tools look like inside.
"""
