"""Reference pages of the library: instructions for mkdocstrings, which reads signatures and docstrings."""

import names

FOLDER = "reference/library"
USE, INDEXES = "use", "indexes"
TITLES = {
    "models": "Families",
    "data": "Data and sources",
    "mining": "Mining of triplets and negatives",
    "examples": "Examples of a training step",
    "layers": "Layers that families share",
    "encoding": "What an encoder is given and gives",
    "training": "Optimizers and solvers",
    "trained": "Model folders",
}
"""Titles of packages whose name says too little."""
OVERVIEW = (
    "What users call comes first, then, by package, what settings build and what one extends. All text is that of "
    "docstrings."
)
PROTOCOLS = (
    "twicetold.models.protocol",
    "twicetold_lab.objectives.protocol",
    "twicetold.features.rows",
    "twicetold_lab.examples.batches",
)


def pages() -> dict[str, str]:
    """Path of each page in the site -> its Markdown."""
    made = {f"{FOLDER}/{USE}.md": _use(), f"{FOLDER}/{INDEXES}.md": _indexes()}
    for package, modules in modules_by_package().items():
        made[f"{FOLDER}/{package}.md"] = _package(package, modules)
    titles = {
        path.removeprefix(f"{FOLDER}/"): text.partition("\n")[0].removeprefix("# ") for path, text in made.items()
    }
    lines = "\n".join(f"- [{title}]({path})" for path, title in titles.items())
    return {f"{FOLDER}/index.md": f"# Library\n\n{OVERVIEW}\n\n{lines}\n"} | made


def documented() -> set[str]:
    """Return dotted paths that have a place on a page: names of front packages, and modules with all in them."""
    return {*names.exported(), *(module for modules in modules_by_package().values() for module in modules)}


def modules_by_package() -> dict[str, list[str]]:
    """Package -> the modules of it that one extends or builds on: those of protocols, of `conf/` and of guides."""
    modules = {*PROTOCOLS, *(path.rpartition(".")[0] for path in (*names.built(), *names.imported()))}
    found: dict[str, list[str]] = {}
    for module in sorted(modules, key=lambda path: (path not in PROTOCOLS, path)):
        found.setdefault(module.split(".")[1], []).append(module)
    return dict(sorted(found.items()))


def page_of(path: str) -> str:
    """The page in the site that has a name of the library."""
    if path in names.exported():
        return f"{FOLDER}/{INDEXES if path.startswith('twicetold.index.') else USE}.md"
    return f"{FOLDER}/{path.split('.')[1]}.md"


def title_of(package: str) -> str:
    """The title of a package's page."""
    return TITLES.get(package, package.capitalize())


def _use() -> str:
    ours = [path for path in names.exported() if not path.startswith(f"{names.PACKAGE}.index.")]
    return (
        "# Using models\n\n`import twicetold` gives `load`, `fit`, `Model` and `TextEncoder`; `twicetold.use` has them "
        "and `TextGroups`. The guide [Using a model](../../guides/using-a-model.md) shows them at work.\n\n"
        + _front(ours)
    )


def _indexes() -> str:
    ours = [path for path in names.exported() if path.startswith(f"{names.PACKAGE}.index.")]
    return (
        "# Indexes\n\n`twicetold.index` has `TextIndex`, `open_index` and `changing`. The guide "
        "[The index](../../guides/index-and-search.md) shows them at work.\n\n" + _front(ours)
    )


def _front(paths: list[str]) -> str:
    """What front packages export, by its short name, and below it what calls of it give back."""
    returned = "\nWhat calls give back, of `{}`:\n\n"
    parts = [
        (returned.format(path.rpartition(".")[0]) if path in names.GIVEN_BACK else "") + _directive(path, full=False)
        for path in paths
    ]
    return "\n".join(parts)


def _package(package: str, modules: list[str]) -> str:
    if modules == [f"twicetold.{package}"]:
        return f"# {title_of(package)}\n\n" + "\n".join(map(_directive, modules))
    head = f"# {title_of(package)}\n\nModules of `twicetold.{package}` that settings build, protocols and guides.\n"
    return f"{head}\n" + "\n".join(map(_directive, modules))


def _directive(path: str, *, full: bool = True) -> str:
    """What mkdocstrings replaces by signatures and docstrings; `full`: the heading is the dotted path."""
    return f"::: {path}\n    options:\n      heading_level: 2\n      show_root_full_path: {str(full).lower()}\n"
