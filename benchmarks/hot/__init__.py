"""Benchmarks of our own hot paths."""
