"""Faults in containers: the stack of docker-compose.yml, and the cluster, hurt as an engine and a network hurt them.

Rule: everything is done by the `docker` command and over published ports, so that it holds for any engine. What became
of the runs is judged by the same checker as everything else in the lab.
"""
