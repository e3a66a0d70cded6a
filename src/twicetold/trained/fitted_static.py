"""Static vectors of a folder as a model of a file: texts are compared by cosine, and nobody has labelled any.

The folder is one of model2vec, or of sentence-transformers' `StaticEmbedding`. Unlike vectors of some texts, vectors of
tokens make a model of any text, which can be saved, labelled for and calibrated. Texts are read in their normal form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twicetold.neighbours.nearest import Matrix
from twicetold.trained.building import construct
from twicetold.trained.fitted import COSINE, TABLE, UNTRAINED, fitted_data, unlabelled
from twicetold.trained.folder_files import refusing
from twicetold.trained.model_folder import save_scorer
from twicetold.trained.scoring import Scorer, search_vectors
from twicetold.trained.static_folder import checked_width, files_in, is_model2vec

MODEL2VEC_READS = 512  # tokens of a text, unless it is told otherwise


@dataclass(frozen=True)
class FittedStatic:
    """A model of the vectors of a folder.

    Args:
        scorer: the model.
        features: configuration of the featuriser; it names the folder without its path.
        encoder: configuration of the encoder.
        vectors: of the texts that it was fitted to, as queries and as documents.
    """

    scorer: Scorer
    features: Mapping[str, Any]
    encoder: Mapping[str, Any]
    vectors: tuple[Matrix, Matrix]

    @classmethod
    def to(cls, texts: Sequence[str], folder: Path) -> "FittedStatic":
        """Fit to distinct texts.

        Raises:
            ValueError: if there is no text, or the folder is another one or damaged.
        """
        if not texts:
            raise ValueError("there are no texts to fit to")
        place = files_in(folder)
        with refusing(folder, what="read the vectors of tokens", again="download or save the folder"):
            name = folder.resolve().name
            features = {
                "_target_": "twicetold.features.folded.FoldedTokens",
                "model": name,
                "pretrained_on": f"vectors of {name}",
                "max_length": MODEL2VEC_READS if is_model2vec(place) else None,
                "seen": None,
            }
            encoder = {**TABLE, "embedding": checked_width(place)}
            featuriser = construct({**features, "model": str(folder.resolve())}, "features").fit(texts)
            built = construct(encoder, "models", **featuriser.shape)
            plain = Scorer(featuriser.set_params(model=name), built, COSINE, as_documents=True)
            vectors = search_vectors(plain, texts)
            decision, by_label = unlabelled(plain, vectors[0], texts)
            scorer = replace(plain, decision=decision, by_label=by_label)
            return cls(scorer, features, encoder, vectors)

    def save(self, folder: Path, texts: Sequence[str], *, name: str) -> None:
        """Write it to `folder`, as any model.

        Args:
            folder: the model folder.
            texts: that it was fitted to.
            name: of these texts, such as that of their file.
        """
        save_scorer(
            folder,
            self.scorer,
            features=self.features,
            settings=self.encoder,
            data=fitted_data(texts, name),
            training=UNTRAINED,
            pretrained_on=[self.features["pretrained_on"]],
            seen=None,
        )
