"""Settings that make no sense, refused in a line or two: unknown keys and choices, values of a wrong type.

The settings of a part are declared once, by the annotations of what its `_target_` builds.
"""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, Unpack, get_args, get_origin, get_type_hints

import hydra._internal.utils
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from twicetold.errors import readable_errors

CONF = Path(__file__).resolve().parents[3] / "conf"
IN_WORDS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text", Path: "a path"}
IN_WORDS |= {NoneType: "null", list: "a list", dict: "a mapping"}
MISSING = "???"  # Hydra's mark of a value that the command has to give
OF_TRAINING = (
    "examples",
    "objective",
    "optimizer",
    "trainer",
    "negatives",
    "teacher",
)
"""Parts of a configuration that only a training reads."""
APPENDED = "experiment"
"""The group that no primary config has: a command adds one of its recipes of choices, `+experiment=static_ema`."""


def choices(group: str) -> list[str]:
    """Return names of the files of a group of conf/."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def without_hydra(cfg: DictConfig) -> DictConfig:
    """Return the settings without Hydra's own, which are not all there before a job of a sweep begins."""
    return OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])


def run_script(main: Callable[[], Any]) -> None:
    """Run a script of Hydra. What Hydra refuses before the script begins ends like the script's own expected errors."""
    hydra._internal.utils.run_and_report = _run_and_report
    main()


def _run_and_report(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        with readable_errors(), readable_refusals():
            raise error


@contextmanager
def readable_refusals() -> Iterator[None]:
    """Raise what Hydra refuses as an error that names the setting and what there is instead.

    Raises:
        ValueError: if a key or a choice does not exist.
    """
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        if (words := _in_words(error)) is None:
            raise
        raise ValueError(words) from error


def _in_words(error: Exception) -> str | None:
    """Return the message for a key or a choice that does not exist; None for other errors."""
    if isinstance(error, MissingConfigException) and error.options:
        group, _, choice = (error.missing_cfg_file or "").rpartition("/")
        return no_such(f"{group}={choice}", choice, error.options, before=f"{'+' * (group == APPENDED)}{group}=")
    unknown = error.__cause__ or error
    if not isinstance(unknown, ConfigKeyError | ConfigAttributeError) or unknown.parent_node is None:
        return None
    above, _, _ = f"{unknown.full_key}".rpartition(".")
    names = [f"{name}" for name in unknown.parent_node if not f"{name}".startswith("_")]
    if not above:
        names = sorted({*names, *(path.name for path in CONF.iterdir() if path.is_dir())} - {"hydra"})
    return no_such(f"{unknown.full_key}", f"{unknown.key}", names, before=above and f"{above}.")


def no_such(what: str, name: str, names: Iterable[str], *, before: str = "") -> str:
    """Say that a name is unknown, perhaps another one is meant, and which ones there are.

    Args:
        what: as the command says it.
        name: the last part of it.
        names: those that there are.
        before: what goes before a name in a command.
    """
    close = difflib.get_close_matches(name, names := list(names), n=1)
    hint = f": did you mean {before}{close[0]}?" if close else "."
    return f"there is no {what}{hint} There are: {', '.join(names) or 'none'}"


def check_settings(cfg: DictConfig, **read_by: tuple[type, ...]) -> None:
    """Check what a command adds, and every part with a `_target_` against the annotations of what it builds.

    Args:
        cfg: the config; Hydra's own part may be left out where it is that of this process.
        read_by: of parts without a `_target_`, the classes that their settings go to.

    Raises:
        ValueError: for a setting that a part does not have, a value of a wrong type, or a key that nothing reads.
    """
    if hydra := cfg.get("hydra") or (HydraConfig.get() if HydraConfig.initialized() else None):
        check_added(hydra.job.config_name, hydra.overrides.task)
    config = OmegaConf.to_container(without_hydra(cfg), resolve=True)
    for key, part in _parts(config):
        accepted = _accepted(get_object(part["_target_"]))
        for name, value in _settings(part):
            if not accepted.any_name and name not in accepted.names:
                named = [name for name in part if not name.startswith("_") and name in accepted.names]
                raise ValueError(
                    f"{no_such(f'{key}.{name}', name, named, before=f'{key}.')} ({part['_target_']} reads them). "
                    f"{name} may come from the recipe, whose values are for its own {key}, or from conf/tuned/: then "
                    "add tuned=none"
                )
            _check(f"{key}.{name}", value, accepted.hints.get(name, Any))
    for key, classes in read_by.items():
        if not isinstance(config.get(key, {}), dict):
            raise ValueError(f"{key} has settings of its own ({key}.<name>=...); got {config[key]!r}")
        check_names(key, config.get(key, {}), *classes)
        hints = {name: hint for one in classes for name, hint in get_type_hints(one).items()}
        for name, value in _settings(config.get(key, {})):
            _check(f"{key}.{name}", value, hints.get(name, Any))


def check_names(key: str, part: Mapping[str, Any], *classes: type) -> None:
    """Check that one of the classes that a part's settings go to has each of them.

    Raises:
        ValueError: if none has one.
    """
    known = {name for one in classes for name in get_type_hints(one)}
    for name in part:
        if name not in known:
            raise ValueError(no_such(f"{key}.{name}", f"{name}", sorted(known), before=f"{key}."))


def check_added(primary: str, overrides: Iterable[str]) -> None:
    """Check that something reads the keys that overrides add (`+key=value`), within a program of Hydra.

    Hydra refuses an unknown key without `+`. With it, a part that has a `_target_` may have the key, which
    `check_settings` knows, and a mapping of parts or an empty one may have any; everything else has the keys that conf/
    gives it.

    Args:
        primary: name of the primary config.
        overrides: all of the command.

    Raises:
        ValueError: if nothing reads a key.
    """
    given = list(overrides)
    if not (added := [o for o in given if o.startswith("+") and part_of(o) != APPENDED]):
        return
    loader = GlobalHydra.instance().config_loader()
    with readable_refusals():
        cfg = loader.load_configuration(primary, [o for o in given if o not in added], RunMode.RUN)
    known = OmegaConf.to_container(without_hydra(cfg))
    for override in added:
        _check_read(known, override.lstrip("+").partition("=")[0].rpartition("@")[2])


def _check_read(node: Any, key: str) -> None:
    """Check a key that is added somewhere within a config."""
    names = re.split("[./]", key)
    for depth, name in enumerate(names):
        if not isinstance(node, dict) or "_target_" in node or all(map(_is_part, node.values())):
            return
        if name not in node:
            before = "".join(f"{above}." for above in names[:depth])
            known = [f"{other}" for other in node if not f"{other}".startswith("_")]
            raise ValueError(f"{no_such(before + name, name, known, before=before)}. Nothing would read +{key}")
        node = node[name]


def _is_part(value: Any) -> bool:
    """Check for a part, one of several that a config may name as it likes, such as strategies of mining."""
    return isinstance(value, dict) and "_target_" in value


def is_trained(cfg: Mapping[str, Any] | DictConfig) -> bool:
    """Return true if there are examples to learn from, and an objective."""
    return all(cfg[part]["_target_"] is not None for part in ("objective", "examples"))


def check_used(cfg: Mapping[str, Any] | DictConfig, overrides: Iterable[str]) -> None:
    """Check that a command that trains nothing sets nothing of a training.

    Args:
        cfg: the composed configuration.
        overrides: of the command; what the recipe, the profile and conf/tuned/ set is not among them.

    Raises:
        ValueError: if an override would change nothing.
    """
    nothing = [part for part in ("objective", "examples") if cfg[part]["_target_"] is None]
    idle = [o for o in overrides if part_of(o) in OF_TRAINING and not o.endswith("=none")]
    if nothing and idle:
        reads = [part for part in ("features", "encoder", "evaluator") if any(k[0] != "_" for k in cfg[part])]
        raise ValueError(
            f"{cfg['name']} is not trained here ({' and '.join(f'{part}=none' for part in nothing)}), so "
            f"{' and '.join(idle)} would change nothing: leave it out, or choose objective and examples for a family "
            f"with weights to learn. What it reads: {', '.join(reads)} and data"
        )


def part_of(override: str) -> str:
    """Return first part of an override's key."""
    return re.split(r"[./=@]", override.lstrip("+~"), maxsplit=1)[0]


def check_whole(cfg: DictConfig, key: str) -> None:
    """Check a setting that counts something.

    Raises:
        ValueError: if it is not a whole number from 1 on.
    """
    value = OmegaConf.select(cfg, key)
    if not (_fits(value, int) and value >= 1):
        raise ValueError(f"{key} must be a whole number from 1 on; got {value!r}")


class _Accepted(NamedTuple):
    """Arguments that a class or function accepts."""

    names: frozenset[str]
    any_name: bool
    hints: Mapping[str, Any]


def _accepted(target: Callable[..., Any]) -> _Accepted:
    parameters = inspect.signature(target).parameters.values()
    names = frozenset(one.name for one in parameters if one.kind != one.VAR_KEYWORD)
    others = next((one.name for one in parameters if one.kind == one.VAR_KEYWORD), "")
    try:
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target)
    except NameError:  # a type that is imported for the type checker alone
        hints = {}
    if get_origin(hints.get(others)) is Unpack:  # those of a TypedDict
        further = get_type_hints(*get_args(hints[others]))
        return _Accepted(names.union(further), any_name=False, hints=hints | further)
    return _Accepted(names, bool(others), hints)


def _parts(value: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every mapping with a `_target_`, and its key."""
    if isinstance(value, dict):
        if isinstance(value.get("_target_"), str):
            yield key, value
        inner: Iterable[tuple[Any, Any]] = value.items()
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from _parts(part, f"{key}.{name}" if key else f"{name}")


def _settings(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in part.items() if not name.startswith("_") and value != MISSING)


def _check(key: str, value: Any, hint: Any) -> None:
    if not _fits(value, hint):
        raise ValueError(f"{key} must be {_expected(hint)}; got {value!r}")


def _fits(value: Any, hint: Any) -> bool:
    """Check a value of a config against an expected type; a type that says nothing accepts any value."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    kind = origin or hint
    if not inspect.isclass(kind) or kind in (object, Any) or getattr(kind, "_is_protocol", False):
        return True
    if isinstance(value, dict) and "_target_" in value:
        return True
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if isinstance(value, str):  # it is a sequence as well, which is not meant
        return kind in (str, Path)
    if isinstance(value, list):
        return (issubclass(list, kind) or kind is tuple) and _all_fit(value, inner or (Any,))
    return isinstance(value, kind)


def _all_fit(values: list[Any], hints: tuple[Any, ...]) -> bool:
    kinds = [hint for hint in hints if hint is not Ellipsis]
    return all(any(_fits(value, kind) for kind in kinds) for value in values)


def _expected(hint: Any) -> str:
    """Name of a type for a message."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        known = [_expected(one) for one in inner if one is not NoneType and (get_args(one) or one in IN_WORDS)]
        return " or ".join([*dict.fromkeys(known), *(["null"] if NoneType in inner else [])])
    if origin is Literal:
        return f"{', '.join(map(str, inner[:-1]))} or {inner[-1]}" if len(inner) > 1 else f"{inner[0]}"
    kind = origin or hint
    if (inspect.isclass(kind) and issubclass(list, kind)) or kind is tuple:
        each = [_expected(one) for one in inner if one is not Ellipsis]
        return "a list" + (f", each item {' or '.join(dict.fromkeys(each))}" if each else "")
    if inspect.isclass(kind) and issubclass(dict, kind):
        return "a mapping"
    return IN_WORDS.get(kind, getattr(kind, "__name__", f"{kind}"))
