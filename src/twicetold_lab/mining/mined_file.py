"""Mined examples, and their files: columns in Parquet, and beside them a card in JSON that says how they were mined."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from twicetold import layout
from twicetold.files import write_file, write_json
from twicetold_lab.data.corpus import Corpus


class Mined:
    """Base of dataclasses of mined examples: each field but `card` is a column, an array with a number per example."""

    card: Mapping[str, Any]

    @classmethod
    def columns(cls) -> list[str]:
        """Return names of the columns."""
        return [field.name for field in fields(cls) if field.name != "card"]  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(getattr(self, self.columns()[0]))

    def save(self, path: Path) -> None:
        """Write the columns to `path` (Parquet) and their card beside it (`<stem>.card.json`)."""
        with write_file(path) as temporary:
            pq.write_table(pa.table({name: getattr(self, name) for name in self.columns()}), temporary)
        write_json(card_file(path), dict(self.card))

    @classmethod
    def of(cls, corpus: Corpus, folder: Path, strategy: str, *, remedy: str) -> Self:
        """Read what one strategy mined from the train texts of a corpus.

        Args:
            corpus: whose train texts it must have been mined from.
            folder: of the mined files.
            strategy: how it was mined.
            remedy: what to do if there is no such file, a sentence without its full stop.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it was mined from another train split.
        """
        path = layout.mined_file(folder, strategy)
        for file in (path, card_file(path)):
            if not file.exists():
                names = ", ".join(sorted(p.stem for p in folder.glob("*.parquet"))) or "nothing"
                raise FileNotFoundError(
                    f"expected what {strategy!r} mined in {file}, got {names} in its folder. {remedy}"
                )
        mined = cls.load(path)
        if mined.card.get("train") != corpus.train_digest():
            raise ValueError(
                f"{path} is of another train split of {corpus.name} than the one that is there now. {remedy}"
            )
        return mined

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        table = pq.read_table(path, columns=cls.columns())
        card = json.loads(card_file(path).read_text(encoding="utf-8"))
        return cls(**{**{name: table[name].to_numpy() for name in cls.columns()}, "card": card})


def card_file(path: Path) -> Path:
    """Return the file of the card of mined triplets or pairs, beside them."""
    return path.with_suffix(layout.TRIPLETS_CARD)
