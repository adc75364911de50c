"""Deciders: stateless processes that choose by the latest published belief and log their choices."""
