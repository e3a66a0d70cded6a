"""Random batches of encoded pairs, for objectives that compare them."""

import torch

from twicetold.encoding import EncodedBatch, Encoding, Roles


def batch(size, seed, *, groups=True, labels=True, mined=1, ties=False, views=None):
    """Labels are 0 or 1, clusters from −1 to 2; each row has so many mined negatives, and each text may have views."""
    random = torch.Generator().manual_seed(seed)
    group = torch.randint(-1, 3, (2 + mined, size), generator=random)
    same = torch.randint(0, 2, (size,), generator=random)

    def side(count):
        embedding, *roles = torch.randn(3, count, views or 1, 4, generator=random, dtype=torch.float64)
        embedding, *roles = ((each.sign() if ties else each).requires_grad_() for each in (embedding[:, 0], *roles))
        return Encoding(embedding, Roles(*roles) if views else None)

    return EncodedBatch(
        anchor=side(size),
        positive=side(size),
        negative=side(size * mined) if mined else None,
        label=same.double() if labels else None,
        group=group[0] if groups else None,
        positive_group=group[1] if groups else None,
        negative_group=group[2:].flatten() if groups and mined else None,
    )
