"""Deciders: stateless processes that choose by the last published belief and log what they chose."""
