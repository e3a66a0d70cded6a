"""The served model: texts to embeddings, or pairs of texts to score, probability and decision.

MLflow keeps this file with every logged model and runs it to load the model (models from code: nothing is pickled).
It works on the copy of the package that was logged with it, a zip file, and on the model folder that a training wrote.

Give it a table with the column `text`, or one with the columns `left` and `right`; the parameter `about` names another
label than the model's finest one. For anything else it raises MLflow's
own exception, which the scoring server answers with status 400 and the message.
"""

import reprlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

EXPECTED = "give a table with either the column `text` (for embeddings) or the columns `left` and `right` (for pairs)"


class ServedModel(PythonModel):  # type: ignore[misc]
    """MLflow's interface to a `twicetold.trained.scoring.TrainedModel`."""

    def load_context(self, context: Any) -> None:
        """Load the model from the model folder, by the code that was logged with it."""
        sys.path.insert(0, context.artifacts["code"])
        from twicetold.trained.loaded import LoadedModel

        self._model = LoadedModel.from_folder(Path(context.artifacts["model"])).trained

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Embed or score each row.

        Args:
            context: not used; the model is loaded already.
            model_input: `text`, or `left` and `right`; strings, none missing.
            params: `about`, the label of the verdicts; None: the model's finest one.

        Returns:
            One row for each row of the input, with its index. For texts the column `embedding`, a list of numbers;
            lexical families, whose embeddings are as wide as the vocabulary, give the columns `indices` and `values`
            of the entries that are not zero instead. For pairs the columns `score` (higher is more alike), `about`
            (the label that two texts which say the same share), `probability` (that they do) and `duplicate` (the
            decision at the threshold chosen on validation). Of a model that cannot answer about the label these two
            are missing values, and a further column, `no_verdict`, says why.

        Raises:
            MlflowException: if the columns are other than these, there are no rows, a value is not a string, the model
                cannot read the texts, for example because it scores pairs only, or it knows no such label.
        """
        columns = [name for name in ("text", "left", "right") if name in model_input.columns]
        if columns not in (["text"], ["left", "right"]):
            # columns that the signature does not name were dropped before, with a warning of MLflow's that lists them
            raise _refusal(f"of the columns text, left and right the input has {columns or 'none'}: {EXPECTED}")
        if not len(model_input):
            raise _refusal(f"the input has no rows: {EXPECTED}")
        texts = {name: _strings(model_input[name]) for name in columns}
        try:
            about = (params or {}).get("about")
            answer = self._embedded(**texts) if columns == ["text"] else self._judged(**texts, about=about)
        except (TypeError, ValueError) as error:  # the model scores pairs only, a text is too long
            raise _refusal(str(error)) from error
        return pd.DataFrame(answer, index=model_input.index)

    def _embedded(self, text: list[str]) -> dict[str, Any]:
        return _embedding_columns(self._model.embed(text))

    def _judged(self, left: list[str], right: list[str], about: str | None) -> dict[str, Any]:
        verdicts = self._model.decisions.of(about)
        scores = np.asarray(self._model.score(left, right), dtype=np.float64)
        answer = {"score": scores, "about": [verdicts.label] * len(left)}
        if verdicts.no_verdict:
            reasons = [verdicts.no_verdict] * len(left)
            nothing: list[None] = [None] * len(left)
            return answer | {"probability": nothing, "duplicate": nothing, "no_verdict": reasons}
        decision = verdicts.usable
        return answer | {
            "probability": np.asarray(decision.probability(scores), dtype=np.float64),
            "duplicate": np.asarray(decision.duplicate(scores), dtype=bool),
        }


def _refusal(message: str) -> MlflowException:
    return MlflowException.invalid_parameter_value(message)


def _strings(column: pd.Series) -> list[str]:
    values: list[Any] = column.tolist()
    for row, value in zip(column.index.tolist(), values, strict=True):
        if not isinstance(value, str):
            got = reprlib.repr(value)
            raise _refusal(f"row {row} of column `{column.name}` is no text but {got}: every value must be a string")
    return values


def _embedding_columns(embeddings: Any) -> dict[str, list[Any]]:
    if isinstance(embeddings, np.ndarray):
        return {"embedding": embeddings.tolist()}
    rows = embeddings.tocsr()
    cuts = rows.indptr[1:-1]
    return {
        "indices": [part.tolist() for part in np.split(rows.indices, cuts)],
        "values": [part.tolist() for part in np.split(rows.data, cuts)],
    }


set_model(ServedModel())
