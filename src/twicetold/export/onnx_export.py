"""A model as ONNX graphs, for runtimes without PyTorch.

Two graphs, so that each text is encoded once: `encoder.onnx` from feature rows to vectors, `score.onnx` from two
vectors to score and probability. Feature rows are the arrays of `CsrRows`: `indices` (K,) int64 columns of all entries,
`offsets` (B + 1,) int64 where each text's begin, `values` (K,) float32. Making them from texts is the featuriser's
work, whose files are beside the graphs: `read_featuriser`.

It works for the families of dense layers over feature counts. PyTorch's exporter writes the graphs, and onnxruntime
runs them on some texts before the folder is written: the scores must be those of the model.

Shape letters: B texts, K entries, D dimensions, P pairs.
"""

import json
import logging
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twicetold import layout
from twicetold.encoding import Encoding, SparseRows
from twicetold.features.rows import CsrRows, Featuriser
from twicetold.files import write_folder, write_json
from twicetold.layers.linear_map import LinearMap
from twicetold.layers.two_tower import OwnDimensions, divided
from twicetold.models.dae import DenoisingAutoencoder
from twicetold.models.dssm import Dssm
from twicetold.models.dssm_mlp import DssmMlp
from twicetold.models.static_mlp import StaticMlp
from twicetold.trained.model_folder import load_featuriser, load_scorer, read_recipe, require_model_files
from twicetold.trained.scoring import Scorer

ENCODER, SCORE = "encoder.onnx", "score.onnx"
ABOUT = "onnx.json"  # settings of the featuriser, width, threshold and the label that it is about
DENSE = (LinearMap, StaticMlp, Dssm, DssmMlp, DenoisingAutoencoder)
OPSET = 18
TOLERANCE = 1e-5
SAMPLE = (
    "How do I learn Python?",
    "What is the best way to learn Python?",
    "the government of the city has a new plan for water",
    "a new plan for water in the city",
    "",
    "12 cats & 3 dogs",
)


class _Texts(nn.Module):
    """Feature rows to vectors: the embedding, and the dimensions that only a comparing network sees."""

    def __init__(self, encoder: Any, width: int) -> None:
        super().__init__()
        self.encoder, self.width = encoder, width

    def forward(self, indices: Tensor, offsets: Tensor, values: Tensor) -> Tensor:
        encoding: Encoding = self.encoder.encode(SparseRows(indices, offsets, values, self.width))
        own = encoding.extra
        embedding = encoding.embedding
        assert isinstance(embedding, Tensor)
        vectors = torch.cat([embedding, own.own], 1) if isinstance(own, OwnDimensions) else embedding
        # A text without a known column has a zero vector; other runtimes round f(b) - f(b) of `dae` to nearly zero.
        return vectors * (offsets.diff() > 0)[:, None]


class _Pairs(nn.Module):
    """Vectors of both texts to score and probability."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.encoder: Any = scorer.encoder
        self.as_documents = scorer.as_documents
        self.own = int(getattr(scorer.encoder, "own", 0))
        decision = scorer.decisions.of().usable
        self.slope, self.intercept = decision.slope, decision.intercept

    def forward(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        one, two = divided(left, self.own), divided(right, self.own)
        if self.as_documents:
            score = (self.encoder.search_vectors(one)[0] * self.encoder.search_vectors(two)[1]).sum(1)
        else:
            score = self.encoder.score(one, two)
        return score, torch.sigmoid(self.slope * score + self.intercept)


def save_onnx(model: Path, folder: Path) -> float:
    """Write the graphs of the model in `model` to `folder`, replacing what was there only when it is done.

    Returns:
        The largest difference between scores of onnxruntime and of the model on some texts; relative for scores
        beyond 1, such as log-odds.

    Raises:
        FileNotFoundError: if there is no trained model.
        ModuleNotFoundError: without the packages of the extra `export`.
        ValueError: if the family has other parts than dense layers, the model gives no verdict, or the scores differ by
            more than `TOLERANCE`.
    """
    scorer = load_scorer(model)
    if not isinstance(scorer.encoder, DENSE):
        raise ValueError(
            f"{type(scorer.encoder).__name__} in {model} is no family of dense layers over feature counts, so it has "
            f"no ONNX graph here; those that have: static, static_mlp, dssm, dssm_mlp, dae and linear ones"
        )
    verdicts = scorer.decisions.of()
    verdicts.usable  # noqa: B018 (its error comes before anything is written)
    needed()
    recipe = read_recipe(model)
    width = int(scorer.featuriser.shape["width"])
    with write_folder(folder) as target:
        _write_graphs(scorer, width, target)
        for name in (layout.FEATURISER_ARRAYS, layout.FEATURISER_STATE):
            shutil.copyfile(model / name, target / name)
        about = {"features": recipe["features"], "width": width}
        about |= {"about": verdicts.label, "threshold": verdicts.usable.threshold}
        write_json(target / ABOUT, about)
        difference = _difference(scorer, target)
        if not difference <= TOLERANCE:
            raise ValueError(
                f"the scores of the ONNX graphs of {model} differ from those of the model by {difference:.1e}, more "
                f"than {TOLERANCE:.0e}: nothing was written"
            )
    return difference


def needed() -> None:
    """Check that the packages of the extra `export` are there.

    Raises:
        ModuleNotFoundError: if one is missing; says what to install.
    """
    from importlib.util import find_spec

    if missing := [name for name in ("onnx", "onnxruntime", "onnxscript") if find_spec(name) is None]:
        raise ModuleNotFoundError(f"exporting to ONNX needs {', '.join(missing)}: pip install 'twicetold[export]'")


def read_featuriser(folder: Path) -> Featuriser:
    """The featuriser of an exported model: its `transform` makes the inputs of `encoder.onnx`.

    Raises:
        ValueError: if there is a link, a pipe or a device in the folder, or its files are not those of a featuriser.
    """
    require_model_files(folder, what="an exported model")
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    return load_featuriser(about["features"], folder)


def inputs_of(rows: CsrRows) -> dict[str, NDArray[Any]]:
    """The inputs of `encoder.onnx` from what a featuriser's `transform` returns."""
    values = np.ones(len(rows.indices), np.float32) if rows.values is None else rows.values.astype(np.float32)
    return {"indices": rows.indices.astype(np.int64), "offsets": rows.indptr.astype(np.int64), "values": values}


def _write_graphs(scorer: Scorer, width: int, target: Path) -> None:
    texts = _Texts(scorer.encoder, width).eval()
    example = {name: torch.from_numpy(array) for name, array in _example(width).items()}
    entries, bounds, pairs = (torch.export.Dim(name) for name in ("entries", "bounds", "pairs"))
    shapes: dict[str, Any] = {"indices": {0: entries}, "offsets": {0: bounds}, "values": {0: entries}}
    _export(texts, example, target / ENCODER, outputs=["vectors"], shapes=shapes)
    with torch.inference_mode():
        vectors = texts(**example)
    both: dict[str, Any] = {"left": {0: pairs}, "right": {0: pairs}}
    sides = {"left": vectors.clone(), "right": vectors.flip(0).clone()}
    _export(_Pairs(scorer).eval(), sides, target / SCORE, outputs=["score", "probability"], shapes=both)


def _export(
    module: nn.Module, example: dict[str, Tensor], file: Path, *, outputs: Sequence[str], shapes: dict[str, Any]
) -> None:
    with _quiet():
        torch.onnx.export(
            module,
            (),
            file,
            kwargs=example,
            input_names=list(example),
            output_names=list(outputs),
            dynamic_shapes=shapes,
            opset_version=OPSET,
            external_data=False,
            dynamo=True,
            verbose=False,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's warnings about itself."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)


def _example(width: int) -> dict[str, NDArray[Any]]:
    """Three texts with some entries, for the exporter to trace."""
    columns = np.arange(7, dtype=np.int64) % width
    return {
        "indices": columns,
        "offsets": np.array([0, 3, 5, 7], np.int64),
        "values": np.array([1, 2, 1, 1, 1, 3, 1], np.float32),
    }


def _difference(scorer: Scorer, folder: Path) -> float:
    import onnxruntime

    sessions = (
        onnxruntime.InferenceSession(folder / name, providers=["CPUExecutionProvider"]) for name in (ENCODER, SCORE)
    )
    encode, compare = sessions
    left = [text for text in SAMPLE for _ in SAMPLE]
    right = list(SAMPLE) * len(SAMPLE)
    sides = [encode.run(None, inputs_of(scorer.featuriser.transform(texts)))[0] for texts in (left, right)]
    score, _ = compare.run(None, dict(zip(("left", "right"), sides, strict=True)))
    expected = scorer.score(left, right)
    return float((np.abs(np.asarray(score) - expected) / np.maximum(np.abs(expected), 1)).max())
