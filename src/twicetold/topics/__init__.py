"""What vectors of texts are good for besides duplicates: groups by topic, and what measures them."""
