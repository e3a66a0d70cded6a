"""Nothing that the project loads can run code: no pickle, no shell."""

import ast
from pathlib import Path

import pytest
import yaml
from omegaconf._utils import get_yaml_loader

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("pipelines/*.py"), *ROOT.glob("benchmarks/*.py")])
FORBIDDEN_IMPORTS = {"pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_pickle_no_shell_no_unsafe_load(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_IMPORTS
        if isinstance(node, ast.ImportFrom) and node.module == "joblib":
            assert {alias.name for alias in node.names} <= {
                "Parallel",
                "delayed",
                "parallel_config",
            }  # they load nothing from files
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN_IMPORTS
        if isinstance(node, ast.Call):
            call = ast.unparse(node.func)
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            assert given.get("shell", "False") == "False"
            assert given.get("allow_pickle", "False") == "False"
            assert call not in {"eval", "exec", "os.system"}
            if call == "yaml.load":  # OmegaConf's loader refuses double keys, and is a safe one
                assert given.get("Loader") == "get_yaml_loader()"
                assert issubclass(get_yaml_loader(), yaml.SafeLoader | yaml.CSafeLoader)
            if call == "np.load":
                assert given.get("allow_pickle") == "False"
            if call == "torch.load":
                assert given.get("weights_only") == "True"
