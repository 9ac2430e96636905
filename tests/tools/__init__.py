"""Tests of the tools, against real sockets on 127.0.0.1."""
