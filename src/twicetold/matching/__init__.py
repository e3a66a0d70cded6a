"""Pairs of texts: candidates, what their texts have in common and what not, and a probability that they match."""
