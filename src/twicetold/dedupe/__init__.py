"""Groups of duplicates: what can be chosen, how they are found, what is found."""
