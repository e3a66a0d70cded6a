"""What the scripts of `pipelines/` share; the only code besides them that knows Hydra and DVC."""
