"""Whether the weights of a model may have met texts of a dataset, there or where these texts were drawn from."""

from collections.abc import Sequence

from twicetold.trained.provenance import may_have_seen

DRAWN_FROM = {"stsb": ("nli",)}
"""Dataset -> sources that texts of it were drawn from. STS-B has sentences of SNLI (Cer et al., SemEval 2017)."""


def may_have_met(seen: Sequence[str] | None, data: str) -> bool:
    """Whether texts of a dataset may be among what was seen.

    Args:
        seen: names of sources, or of single datasets; None where they are not known.
        data: name of the dataset.
    """
    return any(may_have_seen(seen, name) for name in (data, *DRAWN_FROM.get(data, ())))
