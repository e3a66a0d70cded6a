"""Files of mined examples: columns in Parquet, and beside them a card in JSON that says how they were mined."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold import layout
from twicetold.files import write_file, write_json


def card_file(path: Path) -> Path:
    """File of the card of mined triplets or pairs, beside them."""
    return path.with_suffix(layout.TRIPLETS_CARD)


def save_mined(path: Path, mined: Any, columns: Sequence[str], card: Mapping[str, Any]) -> None:
    """Write the columns of mined examples to `path`, and their card beside it (`<stem>.card.json`)."""
    with write_file(path) as temporary:
        pq.write_table(pa.table({name: getattr(mined, name) for name in columns}), temporary)
    write_json(card_file(path), dict(card))


def load_mined(path: Path, columns: Sequence[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The columns and the card that `save_mined` wrote."""
    table = pq.read_table(path, columns=list(columns))
    card = json.loads(card_file(path).read_text(encoding="utf-8"))
    return {name: table[name].to_numpy() for name in columns}, card
