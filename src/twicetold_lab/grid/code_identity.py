"""Hash of the code that a stage of a cell runs: the import closure of its script and of its config's `_target_`s.

Computed from the syntax trees without importing anything. Comments, docstrings and formatting do not count, nor does
what only type checkers read: `if TYPE_CHECKING:`, annotations of functions, and imports for these. Package data belong
to the module beside them that has their name as a string (`data_of`), and count byte by byte.
`checkout` sees to it that the code that is hashed here is the code that runs.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

Config = dict[str, Any]
HOME = Path(__file__).resolve().parents[3]  # the checkout that this file lies in, whatever the current folder
ROOTS = ("src", "pipelines")  # where our modules are; a script imports its neighbours in pipelines/
OURS = ("twicetold", "twicetold_lab")  # whose `_target_`s have a module in src/
OBSERVERS = (
    "checkout",
    "twicetold_lab.tracking",
    "twicetold.command_line",
    "twicetold.errors",
    "twicetold.files",
    "twicetold.printable",
    "twicetold_lab.runs.environment",
    "twicetold.use",
    "twicetold.dedupe",
    "twicetold.staged",
    "twicetold.index",
    *(
        f"twicetold.labels.{name}"  # `matched_links` moves the matcher of `evaluate`
        for name in ("calibration", "decision_file", "estimates", "labelling", "review", "sampling")
    ),
    "twicetold.__main__",
    "twicetold.commands",
    "twicetold_lab.grid.standalone",
    "twicetold_lab.grid.code_identity",
    "twicetold_lab.grid.jobs",
    "twicetold_lab.grid.multirun",
    "twicetold_lab.grid.settings",
    "twicetold_lab.grid.study",
    "twicetold_lab.grid.trials",
    "twicetold_lab.grid.observation",
)
"""Modules that are left out, because no stage's output depends on them: they only affect MLflow or the terminal, refuse
settings or foreign code, name checkpoints, run other stages, or are for people who use a trained model."""
NOT_LEARNT_FROM = ("data", "paths", "runtime", "tracking", "evaluator", "matched")
"""Keys of a training's config whose code does not affect the trained model; of the evaluator, a training reads three
values and builds `Selection`, which its script imports."""
DESCENT = "twicetold_lab.training.fit.descend"  # code of every training that has something to learn
MATCHER = ("src/twicetold/matching/pair_features.py", "src/twicetold_lab/matching/sources.py")
"""What imports all that makes features of pairs, and all that makes the files that the matcher is learnt from."""
MATCHER_ALONE = (
    "src/twicetold/matching/comparison.py",
    "src/twicetold/matching/regression.py",
    "src/twicetold/trained/fitted.py",
    "src/twicetold_lab/matching/learning.py",
)
"""What else the generic matcher is learnt by, without its imports, which read these very numbers, group and load."""


def code_identity(script: str, config: Any) -> str:
    """Hash of all project code that a script runs with a config.

    Args:
        script: path from the project's root.
        config: the parts of a resolved config that the script builds, as plain containers.

    Returns:
        16 hexadecimal digits.

    Raises:
        ValueError: if a `_target_` of the project has no module, or a file cannot be parsed.
    """
    return _identity(closure(script, frozenset(targets(config))))


def matcher_identity() -> str:
    """Hash of the code that the numbers of the generic matcher are learnt by: of features, files and the regression."""
    files = {file for part in MATCHER for file in closure(part, frozenset())}
    return _identity(sorted({*files, *MATCHER_ALONE}))


def learnt_from(config: Config) -> Config:
    """Return the part of a training's config whose code affects the trained model."""
    descent = {} if config["objective"]["_target_"] is None else {"descend": {"_target_": DESCENT}}
    return {key: value for key, value in config.items() if key not in NOT_LEARNT_FROM} | descent


def built_by(config: Config) -> dict[str, Config]:
    """Return stage -> the parts of a training's config that its script builds."""
    scoring = {key: config[key] for key in ("features", "encoder")}  # of every stage that loads a trained model
    evaluated = scoring | {key: config[key] for key in ("evaluator", "matched")}
    return {"train": learnt_from(config), "evaluate": evaluated, "measure": scoring}


def code_now(stage: str, config: Config, parts: Any) -> str:
    """Hash of the code with which a stage runs now.

    Args:
        stage: its name, that of its script.
        config: its resolved config, by hand or as `compose` rendered it.
        parts: what the script builds.

    Raises:
        ValueError: if the config was rendered for other code.
    """
    code = code_identity(f"pipelines/{stage}.py", parts)
    if (rendered := (config.get("code") or {}).get(stage, code)) != code:
        raise ValueError(
            f"the code of {stage} has changed since the settings were rendered (code.{stage} {rendered}, now {code}), "
            "so the result would stand beside a hash that is not its own: call `dvc repro` again, which renders first"
        )
    return code


def _identity(files: Iterable[str]) -> str:
    """Return 16 hexadecimal digits of files in their order."""
    return hashlib.sha256("".join(f"{file} {_parsed(file)[0]}\n" for file in files).encode()).hexdigest()[:16]


@cache
def closure(script: str, targets: frozenset[str]) -> tuple[str, ...]:
    """Return the project's files that a script and the given targets import, at any depth, and their data; sorted."""
    seen: set[str] = set()
    todo = [script]
    for target in targets:
        files = modules_of(target)
        if target.partition(".")[0] in OURS and not any(
            file.endswith(".py") and "__init__" not in file for file in files
        ):
            raise ValueError(f"_target_ {target} names no module of src/: correct it in conf/")
        todo += files
    while todo:
        if (file := todo.pop()) not in seen:
            seen.add(file)
            todo += _parsed(file)[1]
    return tuple(sorted(seen))


def targets(value: Any) -> Iterator[str]:
    """Yield every `_target_` within a config."""
    if isinstance(value, dict):
        if isinstance(target := value.get("_target_"), str):
            yield target
        value = value.values()
    elif not isinstance(value, list):
        return
    for inner in value:
        yield from targets(inner)


@cache
def modules_of(name: str) -> tuple[str, ...]:
    """Files of the module of a dotted name and of its packages; none for third-party code and for `OBSERVERS`."""
    if any(f"{name}.".startswith(f"{observer}.") for observer in OBSERVERS):
        return ()  # nor what its packages import
    parts = name.split(".")
    stems = [f"{root}/{'/'.join(parts[: n + 1])}" for n in range(len(parts)) for root in ROOTS]
    files = [file for stem in stems for file in (f"{stem}.py", f"{stem}/__init__.py")]
    return tuple(file for file in files if (HOME / file).is_file())


@cache
def data_of(folder: str) -> dict[str, tuple[str, ...]]:
    """Name in a folder of modules -> its data files: itself, or all files of a folder that holds no module."""
    files_by_name = {}
    for path in (HOME / folder).iterdir():
        files = [file for file in (path, *path.rglob("*")) if file.is_file()]
        if not any(file.suffix in (".py", ".pyc") for file in files):
            files_by_name[path.name] = tuple(str(file.relative_to(HOME)) for file in files)
    return files_by_name


@cache
def _parsed(file: str) -> tuple[str, tuple[str, ...]]:
    """Hash of a module's syntax tree or of a data file, and the project's files that it imports or has as data."""
    try:
        content = (HOME / file).read_bytes()
        if not file.endswith(".py"):
            return hashlib.sha256(content).hexdigest(), ()
        outline, names, strings = _read(content, Path(file).parent.parts[1:])
    except (OSError, SyntaxError) as error:
        raise ValueError(f"cannot read the imports of {file}: {error}") from error
    modules = [file for name in names for file in modules_of(name)]
    data = [path for name, files in data_of(str(Path(file).parent)).items() if name in strings for path in files]
    return outline, (*modules, *data)


@cache
def _read(source: bytes, package: tuple[str, ...]) -> tuple[str, tuple[str, ...], frozenset[str]]:
    """Hash of a module's syntax tree, the dotted names that it imports, and its strings."""
    tree = _without_types(ast.parse(source))
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    strings = frozenset(value for value in constants if isinstance(value, str))
    return hashlib.sha256(_outline(tree).encode()).hexdigest(), tuple(_imports(tree, package)), strings


class _Types(ast.NodeTransformer):
    """Removes `if TYPE_CHECKING:` and the annotations of functions, of which it collects the names."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_If(self, node: ast.If) -> Any:
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            return self.generic_visit(node)
        return self.generic_visit(ast.Module(node.orelse, [])).body  # type: ignore[attr-defined]

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self.names |= _names(node.annotation) if node.annotation else set()
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.names |= _names(node.returns) if node.returns else set()
        node.returns = None
        return self.generic_visit(node)


def _without_types(tree: ast.AST) -> ast.AST:
    """A tree without what only type checkers read."""
    types = _Types()
    tree = types.visit(tree)
    only = types.names - _names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [each for each in node.names if not _binds(each) & only]
    return tree


def _binds(alias: ast.alias) -> set[str]:
    """The name that an import makes for its own module; none for `X as X`, which is for others."""
    return {alias.asname or alias.name.partition(".")[0]} - {alias.name if alias.asname else ""}


def _names(tree: ast.AST) -> set[str]:
    """The names in a tree, and its strings, as `__all__` has names that others import."""
    nodes = list(ast.walk(tree))
    strings = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return strings | {node.id for node in nodes if isinstance(node, ast.Name)}


def _imports(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Yield dotted names that are imported anywhere in the tree, also within functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package_of = package[: len(package) - node.level + 1] if node.level else ()
            base = [*package_of, *([node.module] if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def _outline(node: Any) -> str:
    """Return a syntax tree as text, without bare strings (docstrings).

    Empty fields are left out, because newer versions of Python add fields to the trees.
    """
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({','.join(f'{name}={_outline(value)}' for name, value in fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(_outline, _without_strings(node)))}]"
    return repr(node)


def _without_strings(nodes: list[Any]) -> Iterable[Any]:
    """Yield statements without bare strings, and without imports of nothing that is left."""
    for node in nodes:
        bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if not (bare or (isinstance(node, ast.Import | ast.ImportFrom) and not node.names)):
            yield node
