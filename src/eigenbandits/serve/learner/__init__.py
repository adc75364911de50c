"""The learner: follows what deciders log, in one order, and publishes the beliefs that they choose by."""
