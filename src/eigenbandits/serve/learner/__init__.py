"""The learner: follows what deciders log, in one order, and publishes the beliefs by which they choose."""
