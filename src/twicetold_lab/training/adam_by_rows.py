"""Adam with lazy updates: a row of a table is updated only when it is read, with the same result as plain Adam.

A batch reads a few thousand rows of a table, but Adam (Kingma and Ba, ICLR 2015) updates every row in every step,
because its mean gradient decays slowly. Between two gradients of a row nothing else changes it, so these updates can be
applied together before the row is next read. With m and v of the row's last gradient, at step s, the updates of the
steps s + 1 to t add up to

    Σ_i α_i β₁^(i−s) m / (√(β₂^(i−s) v) + ε √(1 − β₂^i)),   α_i = lr_i √(1 − β₂^i) / (1 − β₁^i)
    ≈ m / (√v + ε √(1 − β₂^s)) · A_s(t),                    A_s(t) = Σ_i α_i r^(i−s),   r = β₁ / √β₂

where ≈ is exact up to ε, which matters only for gradients of that size. A is one number for each s. (PyTorch's
SparseAdam omits these updates, which is a different algorithm.)

`layers.first_layer.product` announces the rows that it reads, and its gradient has these rows only.

Shape letters: E numbers of a row, R distinct rows of a batch, K rows read.
"""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

FADED = 1e-12
"""Updates smaller than this share of the first one are ignored."""


class AdamByRows(torch.optim.Adam):
    """Adam with lazy updates of parameters that have sparse gradients.

    Args:
        params: parameters to optimise.
        lr: learning rate.
        betas: β₁ and β₂, decay rates of the means of the gradient and of its square.
        eps: ε.

    Raises:
        ValueError: if β₁² ≥ β₂, so that updates do not decay.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        if betas[0] ** 2 >= betas[1]:
            raise ValueError(f"betas: the square of the first must be less than the second; got {tuple(betas)}")
        super().__init__(params, lr=lr, betas=betas, eps=eps, fused=True)
        self._tables: dict[nn.Parameter, RowsOfTable] = {}
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.before_reading = partial(self._catch_up, parameter)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Return one step; `closure`, if given, computes the gradients first."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        by_rows = []
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and (parameter.grad.is_sparse or parameter in self._tables):
                    self._table(parameter, group).step(parameter.grad)
                    by_rows.append((parameter, parameter.grad))
                    parameter.grad = None  # the other parameters are updated by Adam
        super().step()
        for parameter, gradient in by_rows:
            parameter.grad = gradient
        return loss

    @torch.no_grad()
    def catch_up(self) -> None:
        """Apply the missed updates of all rows; needed before anything but `product` reads a table."""
        for table in self._tables.values():
            table.catch_up_all()

    def release(self) -> None:
        """Catch up and remove the references from parameters to this optimizer; from then on it is plain Adam."""
        self.catch_up()
        for group in self.param_groups:
            for parameter in group["params"]:
                vars(parameter).pop("before_reading", None)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of Adam, after all rows have caught up."""
        self.catch_up()
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state of Adam."""
        super().load_state_dict(state_dict)
        self._tables.clear()

    def _table(self, parameter: nn.Parameter, group: dict[str, Any]) -> "RowsOfTable":
        if parameter not in self._tables:
            state = self.state[parameter]
            if not state:
                state["step"] = torch.zeros((), device=parameter.device)
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
            self._tables[parameter] = RowsOfTable(parameter, state, group)
        return self._tables[parameter]

    @torch.no_grad()
    def _catch_up(self, parameter: nn.Parameter, read: Int64[Tensor, " K"]) -> None:
        if parameter in self._tables:
            self._tables[parameter].catch_up(read)


class RowsOfTable:
    """State of one table.

    Args:
        table: the parameter.
        state: of Adam: `step`, `exp_avg` (m), `exp_avg_sq` (v).
        group: of Adam: `lr`, `betas`, `eps`.
    """

    def __init__(self, table: nn.Parameter, state: dict[str, Any], group: dict[str, Any]) -> None:
        self.table = table
        self.state = state
        self.group = group
        self.first, self.second = group["betas"]
        self.ratio = self.first / self.second**0.5
        horizon = int(math.log(FADED) / math.log(self.ratio)) + 1 if self.ratio else 1
        self.fading = self.ratio ** torch.arange(1, horizon + 1, dtype=torch.float64, device=table.device)
        self.steps = int(state["step"])
        # For each row: the step of its last gradient, to which m and v belong; and the step of its last update.
        self.seen = torch.full((len(table),), self.steps, device=table.device)
        self.moved = self.seen.clone()
        self.missed: Float[Tensor, " _"]  # A of the steps from `began` on, with spare capacity
        self._forget()

    def step(self, gradient: Tensor) -> None:
        """Step the rows that have a gradient."""
        if gradient.is_sparse:
            gradient = gradient.coalesce()
            rows, values = gradient.indices()[0], gradient.values()  # (R,), (R, E)
        else:
            rows, values = torch.arange(len(self.table), device=gradient.device), gradient
        self.catch_up(rows)
        self.steps += 1
        self.state["step"] += 1
        waited = self.steps - self.seen[rows]  # (R,)
        m, v = self._means(rows)
        m.mul_(self._each(self.first ** waited.double())).add_(values, alpha=1 - self.first)
        v.mul_(self._each(self.second ** waited.double())).addcmul_(values, values, value=1 - self.second)
        self.state["exp_avg"].index_copy_(0, rows, m)
        self.state["exp_avg_sq"].index_copy_(0, rows, v)
        self.seen[rows] = self.moved[rows] = self.steps
        size = self.group["lr"] * (1 - self.second**self.steps) ** 0.5 / (1 - self.first**self.steps)
        self._push(rows, m.mul_(size), v)
        self._remember(size)

    def catch_up(self, read: Int64[Tensor, " K"]) -> None:
        """Apply the missed updates of these rows; rows may be repeated."""
        if self.steps == self.began:
            return
        late = torch.zeros(len(self.table), dtype=torch.bool, device=read.device)
        late[read] = True
        rows = (late & (self.moved < self.steps)).nonzero().squeeze(1)  # (R,)
        moved, seen = self.moved[rows], self.seen[rows]
        missed = self.missed[moved - self.began] * self.ratio ** (moved - seen).double()
        m, v = self._means(rows)
        self._push(rows, m.mul_(self._each(missed)), v)
        self.moved[rows] = self.steps

    def catch_up_all(self) -> None:
        """Bring all rows, m and v up to date."""
        if self.steps == self.began:
            return
        self.catch_up(torch.arange(len(self.table), device=self.table.device))
        waited = (self.steps - self.seen).double()
        self.state["exp_avg"].mul_(self._each(self.first**waited))
        self.state["exp_avg_sq"].mul_(self._each(self.second**waited))
        self.seen.fill_(self.steps)
        self._forget()

    def _means(self, rows: Int64[Tensor, " R"]) -> tuple[Float[Tensor, "R E"], Float[Tensor, "R E"]]:
        """Return copies of m and v; `index_select` is twice as fast as indexing."""
        m, v = (self.state[name].index_select(0, rows) for name in ("exp_avg", "exp_avg_sq"))
        return m, v

    def _push(self, rows: Int64[Tensor, " R"], m: Float[Tensor, "R E"], v: Float[Tensor, "R E"]) -> None:
        """Add −m / (√v + ε √(1 − β₂^s)) to rows; m and v are overwritten."""
        seen = self.seen[rows].clamp(min=1).double()  # avoids 0 / 0 in rows without a gradient, where m = 0
        epsilon = self.group["eps"] * (1 - self.second**seen) ** 0.5
        self.table.index_add_(0, rows, m.div_(v.sqrt_().add_(self._each(epsilon))), alpha=-1)

    def _each(self, numbers: Float[Tensor, " R"]) -> Float[Tensor, "R 1"]:
        """Return one number for each row, in the table's precision."""
        return numbers.to(self.table.dtype)[:, None]

    def _remember(self, size: float) -> None:
        """Add α_t r^(t−s) to A_s for each step s before the current step t, and append A_t."""
        count = self.steps - self.began  # length of A
        if count == len(self.missed):
            self.missed = torch.cat([self.missed, torch.zeros_like(self.missed)])
        recent = min(count, len(self.fading))
        self.missed[count - recent : count] += size * self.fading[:recent].flip(0)

    def _forget(self) -> None:
        """Reset A: all rows are up to date."""
        self.began = self.steps
        self.missed = torch.zeros(1024, dtype=torch.float64, device=self.table.device)
