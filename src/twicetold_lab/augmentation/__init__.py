"""Altered copies of training texts, for augmentation and consistency with any family."""
