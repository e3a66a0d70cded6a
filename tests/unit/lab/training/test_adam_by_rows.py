"""Adam that moves rows as they are read: equal to Adam, whatever is read when."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from twicetold.encoding import SparseRows
from twicetold.layers.first_layer import product
from twicetold_lab.training.adam_by_rows import AdamByRows
from twicetold_lab.training.learner import clip_gradients

LENGTH, SIZE, STEPS = 40, 6, 400


class Sums(nn.Module):
    """A table, and a dense layer on sums of its rows."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Parameter(torch.randn(LENGTH, SIZE, dtype=torch.float64))
        self.layer = nn.Linear(SIZE, 3).double()

    def forward(self, *sides: SparseRows) -> Tensor:
        """A loss in which the gradient of a row depends on where it stands."""
        found: Tensor = sum(self.layer(product(side, self.table, but=0)).tanh() for side in sides)  # type: ignore[assignment]
        return found.sin().sum()


def batches(*, weighted: bool) -> list[tuple[SparseRows, SparseRows]]:
    """Two sides each; low columns are frequent, high ones come every hundred steps, and some texts are empty."""
    generator = torch.Generator().manual_seed(1)

    def side() -> SparseRows:
        count = int(torch.randint(1, 9, (), generator=generator))
        columns = (LENGTH * torch.rand(count, generator=generator, dtype=torch.float64) ** 6).long()
        values = torch.rand(count, generator=generator, dtype=torch.float64) if weighted else None
        offsets = torch.tensor([0, count // 2, count // 2, count])
        return SparseRows(columns, offsets, values, LENGTH)

    return [(side(), side()) for _ in range(STEPS)]


def train(
    optimizer: torch.optim.Optimizer, model: Sums, steps: list[tuple[SparseRows, SparseRows]], *, clip: float | None
) -> None:
    """Steps with a learning rate that falls."""
    for number, sides in enumerate(steps):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - number / (2 * STEPS))
        optimizer.zero_grad()
        model(*sides).backward()
        if clip is not None:
            clip_gradients(model.parameters(), clip)
        optimizer.step()


def largest_difference(one: nn.Module, other: nn.Module) -> float:
    """Over all parameters."""
    return max(float((a - b).abs().max().detach()) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("weighted", [False, True], ids=["binary", "weighted"])
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize(("eps", "tolerance"), [(1e-16, 1e-12), (1e-8, 5e-5)], ids=["exact", "as used"])
def test_it_is_adam(weighted: bool, clip: float | None, eps: float, tolerance: float) -> None:
    """Where ε counts, it is equal to a thousandth of a step (0.05), after 400 steps."""
    theirs, ours = Sums(), Sums()
    adam = torch.optim.Adam(theirs.parameters(), eps=eps)
    by_rows = AdamByRows(ours.parameters(), eps=eps)
    train(adam, theirs, batches(weighted=weighted), clip=clip)
    train(by_rows, ours, batches(weighted=weighted), clip=clip)
    assert ours.table.grad is not None
    assert ours.table.grad.is_sparse
    behind = largest_difference(ours, theirs)
    by_rows.catch_up()
    assert largest_difference(ours, theirs) < tolerance
    assert clip is not None or behind > 1e-3
    for name in ("exp_avg", "exp_avg_sq"):
        mine, expected = by_rows.state[ours.table][name], adam.state[theirs.table][name]
        torch.testing.assert_close(mine, expected, rtol=0, atol=tolerance)


def test_only_the_rows_of_a_batch_move() -> None:
    model = Sums()
    before = model.table.detach().clone()
    train(AdamByRows(model.parameters()), model, [(row(3), row(5))], clip=None)
    assert (model.table != before).any(1).nonzero().flatten().tolist() == [3, 5]


def test_reading_without_a_gradient_catches_up_as_well() -> None:
    """As gradient caching does, and a row may be read at one step and have its gradient many steps later."""
    theirs, ours = Sums(), Sums()
    adam, by_rows = torch.optim.Adam(theirs.parameters()), AdamByRows(ours.parameters())
    for number in range(30):
        for optimizer, model in ((adam, theirs), (by_rows, ours)):
            if number in (7, 8, 12):
                with torch.no_grad():
                    read = product(row(3), model.table)
                if model is theirs:
                    expected = read
                else:
                    torch.testing.assert_close(read, expected, rtol=1e-6, atol=1e-6)
            train(optimizer, model, [(row(3 if number % 20 == 0 else 5), row(9))], clip=None)
    by_rows.catch_up()
    assert largest_difference(ours, theirs) < 1e-6


def test_a_dense_gradient_may_come_in_between() -> None:
    theirs, ours = Sums(), Sums()
    adam, by_rows = torch.optim.Adam(theirs.parameters()), AdamByRows(ours.parameters())
    for number, sides in enumerate(batches(weighted=False)[:60]):
        for optimizer, model in ((adam, theirs), (by_rows, ours)):
            optimizer.zero_grad()
            if number % 3 == 2:
                by_rows.catch_up()
            loss = (model.table**2).sum() if number % 3 == 2 else model(*sides)
            loss.backward()
            optimizer.step()
    by_rows.catch_up()
    assert largest_difference(ours, theirs) < 1e-6


def test_release_the_table_is_where_adam_has_it_and_an_ordinary_one() -> None:
    theirs, ours = Sums(), Sums()
    adam, by_rows = torch.optim.Adam(theirs.parameters()), AdamByRows(ours.parameters())
    for optimizer, model in ((adam, theirs), (by_rows, ours)):
        train(optimizer, model, batches(weighted=False)[:50], clip=None)
    by_rows.release()
    assert largest_difference(ours, theirs) < 5e-5
    ours(row(3), row(5)).backward()
    assert ours.table.grad is not None
    ours.zero_grad()
    ours(row(3), row(5)).backward()
    assert not ours.table.grad.is_sparse


def test_gradients_are_clipped_as_torch_clips_them() -> None:
    dense, sparse = Sums(), Sums()
    AdamByRows(sparse.parameters())
    sides = batches(weighted=True)[5]
    for model in (dense, sparse):
        model(*sides).backward()
    nn.utils.clip_grad_norm_(dense.parameters(), 0.1)
    clip_gradients(sparse.parameters(), 0.1)
    for one, other in zip(dense.parameters(), sparse.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(other.grad.to_dense(), one.grad)


def test_pushes_that_do_not_fade_are_refused() -> None:
    make = partial(AdamByRows, [nn.Parameter(torch.zeros(1))])
    with pytest.raises(ValueError, match="square of the first"):
        make(betas=(0.99, 0.9))


def row(column: int) -> SparseRows:
    """A text of one column."""
    return SparseRows(torch.tensor([column]), torch.tensor([0, 1]), None, LENGTH)
