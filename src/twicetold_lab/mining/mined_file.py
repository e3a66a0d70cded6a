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


class Mined:
    """Base of dataclasses of mined examples: each field but `card` is a column, an array with a number per example."""

    card: Mapping[str, Any]

    @classmethod
    def columns(cls) -> list[str]:
        """Names of the columns."""
        return [field.name for field in fields(cls) if field.name != "card"]  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(getattr(self, self.columns()[0]))

    def save(self, path: Path) -> None:
        """Write the columns to `path` (Parquet) and their card beside it (`<stem>.card.json`)."""
        with write_file(path) as temporary:
            pq.write_table(pa.table({name: getattr(self, name) for name in self.columns()}), temporary)
        write_json(card_file(path), dict(self.card))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        table = pq.read_table(path, columns=cls.columns())
        card = json.loads(card_file(path).read_text(encoding="utf-8"))
        return cls(**{**{name: table[name].to_numpy() for name in cls.columns()}, "card": card})


def card_file(path: Path) -> Path:
    """File of the card of mined triplets or pairs, beside them."""
    return path.with_suffix(layout.TRIPLETS_CARD)
