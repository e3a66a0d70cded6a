"""The launcher of Hydra for Ray, without Ray."""

import sys
from types import SimpleNamespace

from hydra_plugins.ray_launcher import RayLauncher


def test_ray_is_started_once_for_all_batches_of_a_sweep(monkeypatch):
    calls = []
    ray = SimpleNamespace(
        init=lambda **options: calls.append(options),
        is_initialized=lambda: bool(calls),
        remote=lambda _: SimpleNamespace(options=lambda **_: None),
        wait=lambda jobs, **_: (jobs, []),
        get=list,
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    launcher = RayLauncher(init={"address": "local"}, remote={})
    launcher.setup(hydra_context=None, task_function=None, config=None)
    assert [launcher.launch([], 0), launcher.launch([], 2)] == [[], []]
    assert calls == [{"address": "local"}]
