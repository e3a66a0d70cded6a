"""Groups of texts that say the same: what can be chosen, how they are found, what is found."""
