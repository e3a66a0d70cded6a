"""Training data regimes: what is done to the texts of the examples, whatever the family; leaves of `conf/regime/`."""
