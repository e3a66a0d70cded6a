"""Code shared by the scripts of `pipelines/`; the only code besides them that knows Hydra and DVC."""
